"""From scores to class probabilities and back, where the scores were fitted with clipped gradients.

A row of class j has the gradient ``p - e_j`` (p the softmax of its scores, e_j the corner of its class),
scaled by ``s_j = min(1, clip / |p - e_j|)``. Among rows with class shares q and the same scores, gradients
add up to 0 where ``sum_j q_j s_j (p - e_j) = 0``, so that ``q_j s_j`` is p_j times the same number for all j:
scores come to rest not where p = q but where

    q_j  is proportional to  p_j / s_j = p_j max(1, |p - e_j| / clip).

This is the link from p to q. It leaves the order of classes. Let p_i >= p_j, so |p - e_i| <= |p - e_j|. If
neither was clipped, or only j, then p_i / s_i >= p_j / s_j at once. If both were, this is, squared, with
``|p - e_j|**2 = A - 2 p_j`` and ``A = 1 + |p|**2``,

    A (p_i**2 - p_j**2) >= 2 (p_i**3 - p_j**3),  or, divided by p_i - p_j,  A s >= 2 (s**2 - t)

with s = p_i + p_j <= 1 and t = p_i p_j. Because A >= 1 + s**2 - 2 t, the difference of the two sides is at
least ``s (1 - s)**2 + 2 t (1 - s) >= 0``.

Two classes with one score between them have the gradient ``p_1 - y``, whose size is ``|p - e_y| / sqrt(2)``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

_NEARLY_ONE = (
    1 - 2.0**-20
)  # power of 1 / s_j: where q is the same for a whole range of p, p decides the order
_HALVINGS = 200

Floats = NDArray[np.float64]


def probabilities(scores: Floats, clip: float) -> Floats:
    """Return the class shares for which scores are at rest.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_classes)
        Scores, one for every class.
    clip : float
        Length ``|p - e_j|`` beyond which gradients were clipped.

    Examples
    --------
    >>> probabilities(np.log([[0.05, 0.95], [0.5, 0.5]]), clip=0.5**0.5).round(4)
    array([[0.0909, 0.9091],
           [0.5   , 0.5   ]])
    """
    p = softmax(scores, axis=1)
    q = p * _stretches(p, clip) ** _NEARLY_ONE
    shares: Floats = q / q.sum(axis=1, keepdims=True)
    return shares


def resting_scores(shares: Floats, clip: float) -> Floats:
    """Return scores whose `probabilities` are these, by the fixed point of p = q s: the mean of both sides.

    Examples
    --------
    >>> p = np.exp(resting_scores(np.array([0.09, 0.91]), clip=0.5**0.5))
    >>> (p / p.sum()).round(3)
    array([0.049, 0.951])
    """
    p = shares
    for _ in range(_HALVINGS):
        other = shares / _stretches(p[None], clip)[0]
        p = (p + other / other.sum()) / 2
    scores: Floats = np.log(p)
    return scores


def _stretches(p: Floats, clip: float) -> Floats:
    """Return 1 / s_j of every class."""
    squares = 1 + (p**2).sum(axis=1, keepdims=True) - 2 * p
    found: Floats = np.maximum(1.0, np.sqrt(np.maximum(squares, 0.0)) / clip)
    return found
