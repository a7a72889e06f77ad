"""From summed noisy leaf statistics to predictions. Post-processing: costs nothing.

Trees vote with the statistics themselves: the noisy counts of the leaves that a row meets are added up
before anything non-linear happens, so that independent noise cancels and full leaves weigh more than empty
ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def class_probabilities(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Clamp summed noisy counts at zero and normalise; all-zero rows become uniform.

    Examples
    --------
    >>> import numpy as np
    >>> class_probabilities(np.array([[3.0, 1.0], [-2.0, -1.0]]))
    array([[0.75, 0.25],
           [0.5 , 0.5 ]])
    """
    clamped = np.maximum(counts, 0.0)
    total = clamped.sum(axis=1, keepdims=True)
    uniform = np.full_like(clamped, 1.0 / counts.shape[1])
    np.divide(clamped, total, out=uniform, where=total > 0)
    return uniform


def label_votes(labels: NDArray[np.int64], n_classes: int) -> NDArray[np.float64]:
    """Give each leaf one vote for its released label.

    Examples
    --------
    >>> import numpy as np
    >>> label_votes(np.array([[1, 0]]), 2)
    array([[[0., 1.],
            [1., 0.]]])
    """
    votes = np.zeros((*labels.shape, n_classes))
    np.put_along_axis(votes, labels[..., None], 1.0, axis=-1)
    return votes


def class_shares(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Class fractions of every leaf from its noisy counts, clamped at zero.

    Examples
    --------
    >>> import numpy as np
    >>> class_shares(np.array([[[3, 1], [-1, -2]]]))
    array([[[0.75, 0.25],
            [0.5 , 0.5 ]]])
    """
    flat = class_probabilities(counts.reshape(-1, counts.shape[-1]).astype(np.float64))
    return flat.reshape(counts.shape)


def majority_votes(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give each leaf one vote for its most common class, split evenly among ties.

    Examples
    --------
    >>> import numpy as np
    >>> majority_votes(np.array([[[0.75, 0.25], [0.5, 0.5]]]))
    array([[[1. , 0. ],
            [0.5, 0.5]]])
    """
    best = shares == shares.max(axis=-1, keepdims=True)
    votes: NDArray[np.float64] = best / best.sum(axis=-1, keepdims=True)
    return votes


def target_means(sums: NDArray[np.float64], levels: int, fallback: float) -> NDArray[np.float64]:
    """Mean target in fixed-point levels from summed noisy pairs (sum of y, sum of levels - y).

    Parameters
    ----------
    sums : ndarray of shape (n_rows, 2)
        Summed pairs of the leaves that each row meets.
    levels : int
        Fixed-point levels of the target.
    fallback : float
        Value where the pair holds less than one row's worth of evidence.

    Examples
    --------
    >>> import numpy as np
    >>> target_means(np.array([[30.0, 10.0], [-3.0, 2.0]]), levels=4, fallback=2.0)
    array([3., 2.])
    """
    total = sums.sum(axis=1)
    means = np.full(len(sums), fallback)
    np.divide(levels * sums[:, 0], total, out=means, where=total >= levels)
    clipped: NDArray[np.float64] = np.clip(means, 0.0, levels)
    return clipped
