"""What the class that was chosen for a leaf says about its rows. Post-processing: costs nothing.

Where classes are chosen with the cuts (`dpforest.mechanisms.named`), leaves are counted with little of the
budget. Counts of a single leaf are loud then, but those of all leaves of one class together are not: how
often leaves are right, and what their other rows are, is learnt from these.
"""

from __future__ import annotations

import numpy as np

from dpforest._arrays import FloatArray, IntArray

_ROWS = 2.0  # that the prior of a class counts for, ...
_NOISE = 2.0  # ... beside so many standard deviations of the noise; study
_RIGHT = 0.995  # rows that leaves name correctly, at most
# Of the shares that a class speaks for, beside those that the counts of its leaf do. Study (20 tables at 0.1
# and 0.5): 0.75 gains 0.7 points over leaves without classes, 0.5 0.1 and 0.95 0.6; log loss is as before,
# and with 0.95 .02 higher.
_WEIGHT = 0.75


def with_names(of_counts: FloatArray, named: FloatArray) -> FloatArray:
    """Put class shares from the counts of leaves and from their classes together."""
    return (1 - _WEIGHT) * of_counts + _WEIGHT * named


def named_shares(counts: IntArray, noise_sd: float, classes: IntArray, prior: FloatArray) -> FloatArray:
    """Class shares of leaves that depend on nothing but the class that was chosen for them.

    Parameters
    ----------
    counts : ndarray of shape (n_leaves, n_classes)
        Released counts; of leaves that no row can reach, 0.
    noise_sd : float
        Standard deviation of their noise.
    classes : ndarray of shape (n_leaves,)
        Released class of every leaf.
    prior : ndarray of shape (n_classes,)
        Class shares of all rows, positive.

    Returns
    -------
    ndarray of shape (n_leaves, n_classes)
        Positive; each row sums to 1, and the leaf's own class has the largest share.

    Examples
    --------
    >>> counts = np.array([[90, 10], [80, 20], [5, 45]])
    >>> named_shares(counts, 1.0, np.array([0, 0, 1]), np.array([0.7, 0.3])).round(2)
    array([[0.85, 0.15],
           [0.85, 0.15],
           [0.1 , 0.9 ]])
    """
    n_classes = len(prior)
    every = np.arange(n_classes)
    is_of = classes[None] == every[:, None]
    of_class = is_of @ counts.astype(np.float64)  # rows of all leaves of a class, by class
    right = float(np.trace(of_class)) / max(float(of_class.sum()), 1.0)
    right = min(max(right, 1 / n_classes), _RIGHT)
    expected = prior / np.maximum(1 - prior, 1e-12)[:, None] * (1 - right)
    expected[every, every] = right
    rows = _ROWS + _NOISE * noise_sd * np.sqrt(np.maximum(is_of.sum(axis=1), 1))
    shares = np.maximum(of_class, 0.0) + rows[:, None] * expected
    # what was chosen leads, if only by a hair
    shares[every, every] = shares.max(axis=1) * (1 + 1e-6)
    shares /= shares.sum(axis=1, keepdims=True)
    found: FloatArray = shares[classes]
    return found
