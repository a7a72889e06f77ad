"""Draw noisy values towards what they would be if there were nothing to find. Post-processing: costs nothing.

One rule in four places. Let x be a noisy value, c what it is drawn to, v the variance of its noise. Then

    E (x - c)**2 = (truth - c)**2 + v,

so the mean of (x - c)**2 - v over several values estimates how far the truth is away, and what remains is

    c + trust (x - c),   trust = max(0, 1 - v / mean of (x - c)**2)   or   excess / (excess + v),

the positive-part estimate of James and Stein (1961; towards a common mean: Efron and Morris 1973), or the
posterior mean under a normal prior whose variance is the excess. Values that noise alone explains become c.
"""

from __future__ import annotations

import numpy as np

from dpforest._arrays import FloatArray, IntArray


def shrunk_counts(counts: FloatArray, noise_sd: float) -> FloatArray:
    """Class counts drawn towards equal ones as far as noise explains the differences; all are positive.

    With K classes the differences to their mean have K - 1 dimensions, and the rule takes K - 3 variances
    away (Efron and Morris 1973), here at least one. Two classes are left as they are: one difference alone
    cannot tell noise from truth.

    Examples
    --------
    >>> import numpy as np
    >>> shrunk_counts(np.array([400.0, 200.0, 300.0]), noise_sd=1.0).round()
    array([400., 200., 300.])
    >>> shrunk_counts(np.array([40.0, 20.0, 30.0]), noise_sd=50.0)
    array([30., 30., 30.])
    """
    n_classes = len(counts)
    mean = max(float(counts.sum()), noise_sd, 1.0) / n_classes
    away = counts - counts.mean()
    noise = max(n_classes - 3, 1) * noise_sd**2
    trust = max(0.0, 1 - noise / max(float((away**2).sum()), 1e-9)) if n_classes > 2 else 1.0
    least = max(min(noise_sd, mean / 2), 1.0) / 2
    shrunk: FloatArray = np.maximum(mean + trust * away, least)
    return shrunk


def shrunk_class_means(means: FloatArray, counts: FloatArray, noise: float, variance: float) -> FloatArray:
    """Class means of each feature, drawn towards their common mean.

    The mean of class c has variance v_c = noise / n_c**2 (of its sum) + variance / n_c (of its rows). With
    shares s_c and the common mean sum of s_c x_c, the mean square that noise alone gives is

        sum of s_c Var(x_c - common) = sum of s_c (v_c - 2 s_c v_c) + sum of s_c**2 v_c
                                     = sum of s_c (1 - s_c) v_c.

    Parameters
    ----------
    means : ndarray of shape (n_classes, n_features)
        Noisy class sums over class counts.
    counts : ndarray of shape (n_classes,)
        Class counts, positive.
    noise : float
        Variance of the noise of a sum.
    variance : float
        Of a feature within a class.

    Examples
    --------
    >>> import numpy as np
    >>> means, counts = np.array([[0.4], [-0.4]]), np.array([50.0, 50.0])
    >>> shrunk_class_means(means, counts, noise=200.0, variance=0.3).round(2)
    array([[ 0.29],
           [-0.29]])
    """
    share = counts / counts.sum()
    common = share @ means
    away = means - common
    spread = share @ away**2
    explained = float((share * (1 - share) * (noise / counts**2 + variance / counts)).sum())
    shrunk: FloatArray = common + away * np.maximum(0.0, 1 - explained / np.maximum(spread, 1e-12))
    return shrunk


def shrunk_means(sums: IntArray, noise_sd: float, levels: int, prior: float) -> FloatArray:
    """Mean target, in fixed-point levels, of every leaf of one tree.

    Sums of inner nodes are those of the released leaves below. Going down from the root, each node's mean is
    drawn towards its parent's, so that a leaf that holds little but noise says what its ancestors say. How
    far nodes of a level truly are from their parents is estimated from all nodes of the level at once.

    A node has the sums A of y and B of levels - y, each with noise a and b of variance v = noise_sd**2 times
    the leaves below. Its rows are n = (A + B) / levels, with noise of variance 2 v / levels**2, and its mean
    is A / n. To first order noise moves that by (a (1 - s) - b s) / n, where s = mean / levels: the variance
    is v (s**2 + (1 - s)**2) / n**2. The parent's s stands in for the node's, which is not known that well.

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
        # only a node that stands out of the noise of its own number of rows says anything
        heard = rows > np.sqrt(2 * leaves_below) * noise_sd / levels
        rows = np.where(heard, rows, 1.0)
        own = np.clip(nodes[:, 0] / rows, 0, levels)
        share = parent / levels
        spread = share * (1 - share) / 4  # a guess of the targets' variance, in units of levels squared
        noise = noise_sd**2 * leaves_below * (share**2 + (1 - share) ** 2) / rows**2
        noise = noise + levels**2 * spread / rows
        weight = np.where(heard, rows, 0.0)
        weight = weight / max(weight.sum(), 1.0)
        # Less one standard deviation of what noise alone would give, because few nodes are easily misled: the
        # square of a normal variable of variance v has variance 2 v**2.
        by_chance = np.sqrt(2 * (weight**2 * noise**2).sum())
        excess = max((weight * ((own - parent) ** 2 - noise)).sum() - by_chance, 0.0)
        # without noise (epsilon=inf) there is nothing to distrust where all targets are at one bound
        trust = np.divide(excess, excess + noise, out=np.ones_like(noise), where=noise > 0)
        means = parent + np.where(heard, trust, 0.0) * (own - parent)
    return means


def _levels(leaves: FloatArray) -> list[tuple[FloatArray, int]]:
    """Return the sums over the leaves below each node, level by level, and the number of those leaves."""
    found = [(leaves, 1)]
    while len(found[-1][0]) > 2:
        nodes, below = found[-1]
        found.append((nodes[::2] + nodes[1::2], 2 * below))
    return found[::-1] if len(leaves) > 1 else []
