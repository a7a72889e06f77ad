"""Draw noisy leaves towards their ancestors. Post-processing: costs nothing.

Counts of inner nodes are sums of the released leaves below. Going down from the root, each node's estimate is
drawn towards its parent's by as much as its noise explains the difference (positive-part James-Stein), so
that a leaf that holds little but noise says what its ancestors say.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def shrunk_means(sums: NDArray[np.int64], noise_sd: float, levels: int, prior: float) -> NDArray[np.float64]:
    """Mean target, in fixed-point levels, of every leaf of one tree.

    How far nodes of a level truly are from their parents is estimated from all nodes of the level at once.

    Parameters
    ----------
    sums : ndarray of shape (n_leaves, 2)
        Released noisy sums of y and of levels - y.
    noise_sd : float
        Standard deviation of their noise.
    levels : int
        Fixed-point levels of the target.
    prior : float
        Mean target of all rows.

    Returns
    -------
    ndarray of shape (n_leaves,)

    Examples
    --------
    >>> import numpy as np
    >>> shrunk_means(np.array([[900, 100], [10, -8]]), noise_sd=5.0, levels=10, prior=5.0).round(1)
    array([9., 5.])
    """
    means = np.array([prior])
    for nodes, leaves_below in _levels(sums.astype(np.float64)):
        parent = np.repeat(means, 2)
        rows = nodes.sum(axis=1) / levels
        heard = rows > np.sqrt(2 * leaves_below) * noise_sd / levels
        rows = np.where(heard, rows, 1.0)
        own = np.clip(nodes[:, 0] / rows, 0, levels)
        share = parent / levels
        spread = share * (1 - share) / 4  # a guess of the targets' variance, in units of levels squared
        noise = noise_sd**2 * leaves_below * (share**2 + (1 - share) ** 2) / rows**2
        noise = noise + levels**2 * spread / rows
        weight = np.where(heard, rows, 0.0)
        weight = weight / max(weight.sum(), 1.0)
        # less one standard deviation of what noise alone would give: few nodes are easily misled
        by_chance = np.sqrt(2 * (weight**2 * noise**2).sum())
        excess = max((weight * ((own - parent) ** 2 - noise)).sum() - by_chance, 0.0)
        trust = excess / (excess + noise)
        means = parent + np.where(heard, trust, 0.0) * (own - parent)
    return means


def _levels(leaves: NDArray[np.float64]) -> list[tuple[NDArray[np.float64], int]]:
    """Return the sums over the leaves below each node, level by level, and the number of those leaves."""
    found = [(leaves, 1)]
    while len(found[-1][0]) > 2:
        nodes, below = found[-1]
        found.append((nodes[::2] + nodes[1::2], 2 * below))
    return found[::-1] if len(leaves) > 1 else []
