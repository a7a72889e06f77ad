"""Class shares of leaves as a mixture over all prunings of a released tree. Post-processing: costs nothing.

A tree that was grown with noise is too deep in some places and right in others. Instead of one pruning, every
pruning is weighed by how well it explains the released counts (context-tree weighting, Willems, Shtarkov and
Tjalkens 1995). With E(v) the evidence of a node as a leaf, and s(v) the prior probability of a split,

    W(v) = E(v) at the bottom,   W(v) = (1 - s) E(v) + s W(left) W(right) above,

and (1 - s) E(v) / W(v) is the probability that the tree stops at v. A leaf's shares are those of its
ancestors, each weighed by the probability that the tree stops there: sums over 2^leaves prunings in one pass.

Two things differ from the textbook:

* **Counts are noisy.** A leaf of n rows and impurity g tells as much as n g / (n g + noise) of its rows would
  without noise (the variance of its shares is that much smaller), so its counts enter at this part.
* **Splits were chosen.** A split picked among many by its score seems better than it is. The exponential
  mechanism at epsilon prefers, by chance alone, a gain of about epsilon^2 n g / 4 nats; the prior takes it
  away, up to a cap, because a mechanism with much budget picks real ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from dpforest._arrays import FloatArray
from dpforest._structure import FlatTrees

_LARGEST_EPSILON = 1e6  # whose square is a number


@dataclass(frozen=True)
class PruningConfig:
    """Constants of the mixture; see `dpforest.forests.guided_config` for what "study" means."""

    prior_rows: float = 2.0  # rows that the prior of a node's shares counts for in its evidence; study
    parent_rows: float = 3.0  # rows that the parent's shares count for; study
    split_odds: float = -1.0  # nats against a split before anything is known (negative: in favour); study
    most_penalty: float = 8.0  # over the number of classes: cap of a chosen split's penalty, in nats; study
    noise_classes: int = 3  # classes whose noise counts at most: the projection below removes that of others


class Prunings(NamedTuple):
    """For every level, root first, of all its nodes: noisy rows, class shares, probability to stop there.

    `counted` are the class counts that made the shares, `trust` the part at which each leaf's rows entered,
    `prior` the shares of all rows.
    """

    rows: list[FloatArray]
    shares: list[FloatArray]
    stop: list[FloatArray]
    counted: list[FloatArray]
    trust: FloatArray
    prior: FloatArray
    parent_rows: float

    def leaf_shares(self) -> FloatArray:
        """Class shares of every leaf: positive, each row sums to 1."""
        n_leaves = len(self.stop[-1])
        left, found = np.ones(n_leaves), np.zeros((n_leaves, self.shares[0].shape[1]))
        for stop, shares in zip(self.stop, self.shares, strict=True):
            here = left * np.repeat(stop, n_leaves // len(stop))
            found += here[:, None] * np.repeat(shares, n_leaves // len(stop), axis=0)
            left = left - here
        total: FloatArray = found.sum(axis=1, keepdims=True)
        return found / total

    def left_out_shares(self) -> FloatArray:
        """Class shares of every leaf as they would be without one of its rows, by the class of that row.

        A row says of its own leaf what it was counted for; judged by its own rows, a tree with few rows in a
        leaf seems to know everything. The probabilities to stop are held.

        Returns
        -------
        ndarray of shape (n_leaves, n_classes, n_classes)
            Leaf, class of the row, share of a class.
        """
        n_leaves, n_classes = len(self.trust), len(self.prior)
        row = self.trust[:, None, None] * np.eye(n_classes)
        shares = np.broadcast_to(self.prior, (n_leaves, n_classes, n_classes))
        left, found = np.ones(n_leaves), np.zeros((n_leaves, n_classes, n_classes))
        for stop, counted in zip(self.stop, self.counted, strict=True):
            below = n_leaves // len(stop)
            others = np.maximum(np.repeat(counted, below, axis=0)[:, None] - row, 0.0)
            total = others.sum(axis=2, keepdims=True) + self.parent_rows
            shares = (others + self.parent_rows * shares) / total
            here = left * np.repeat(stop, below)
            found += here[:, None, None] * shares
            left = left - here
        of_all: FloatArray = found.sum(axis=2, keepdims=True)
        return found / of_all

    def importances(self, trees: FlatTrees, n_columns: int) -> FloatArray:
        """Decrease of impurity by the splits of each column, times the probability that a split is real.

        Sums to 1, or to 0 if no split says anything.
        """
        found, alive = np.zeros(n_columns), np.ones(1)
        for level in range(trees.depth):
            alive = alive * (1 - self.stop[level])
            rows, shares = self.rows[level + 1][:, None], self.shares[level + 1]
            total = np.maximum(rows[::2] + rows[1::2], 1e-9)
            mean = (rows[::2] * shares[::2] + rows[1::2] * shares[1::2]) / total
            away = rows[::2] * (shares[::2] - mean) ** 2 + rows[1::2] * (shares[1::2] - mean) ** 2
            np.add.at(found, trees.feature[0, trees.level(level)], alive * away.sum(axis=1))
            alive = np.repeat(alive, 2)
        return found / found.sum() if found.sum() > 0 else found


def mix_prunings(
    counts: NDArray[np.int64],
    noise_sd: float,
    prior: FloatArray,
    reachable: NDArray[np.bool_],
    level_epsilons: FloatArray,
    config: PruningConfig,
) -> Prunings:
    """Weigh all prunings of one tree.

    Parameters
    ----------
    counts : ndarray of shape (n_leaves, n_classes)
        Released noisy class counts.
    noise_sd : float
        Standard deviation of their noise.
    prior : ndarray of shape (n_classes,)
        Class shares of all rows.
    reachable : ndarray of shape (n_leaves,)
        Leaves that rows can fall in; the others hold nothing but noise.
    level_epsilons : ndarray of shape (depth,)
        Epsilon at which the splits of each level were chosen.
    config : PruningConfig
        Constants.

    Examples
    --------
    >>> counts = np.array([[90, 10], [88, 12], [5, 95], [50, 0]])
    >>> everywhere, epsilons = np.ones(4, bool), np.full(2, 0.1)
    >>> found = mix_prunings(counts, 2.0, np.array([0.6, 0.4]), everywhere, epsilons, PruningConfig())
    >>> found.leaf_shares().round(2)[:, 0]
    array([0.89, 0.88, 0.06, 0.95])
    >>> [stop.round(2).tolist() for stop in found.stop[:2]]  # the split on the left says nothing
    [[0.0], [0.69, 0.0]]
    """
    rows, counted, trust = _effective_counts(counts, noise_sd, prior, reachable, config)
    below = _up(reachable.astype(np.float64))
    shares = [_drawn(counted[0], prior[None], config)]
    for nodes in counted[1:]:
        shares.append(_drawn(nodes, np.repeat(shares[-1], 2, axis=0), config))
    stop = [np.ones(len(counts))]
    weight = _evidence(counted[-1], prior, config)
    for level in range(len(counted) - 2, -1, -1):
        gini = 1 - (shares[level] ** 2).sum(axis=1)
        penalty = min(level_epsilons[level], _LARGEST_EPSILON) ** 2 * rows[level] * gini / 4
        odds = config.split_odds + np.minimum(config.most_penalty / counts.shape[1], penalty)
        split = weight[::2] + weight[1::2]
        # a node that sends everything to one side has nothing to stop: it is that child
        one_sided = (below[level + 1][::2] == 0) | (below[level + 1][1::2] == 0)
        stopped = _evidence(counted[level], prior, config) - np.logaddexp(0, -odds)
        both = np.logaddexp(stopped, split - np.logaddexp(0, odds))
        stop.insert(0, np.where(one_sided, 0.0, np.exp(stopped - both)))
        weight = np.where(one_sided, split, both)
    return Prunings(rows, shares, stop, counted, trust, prior, config.parent_rows)


def _effective_counts(
    counts: NDArray[np.int64],
    noise_sd: float,
    prior: FloatArray,
    reachable: NDArray[np.bool_],
    config: PruningConfig,
) -> tuple[list[FloatArray], list[FloatArray], FloatArray]:
    """Rows of the nodes of every level, class counts that tell as much without noise, and at which part."""
    raw = np.where(reachable[:, None], counts, 0).astype(np.float64)
    rows = np.maximum(raw.sum(axis=1), 0.0)
    own = _projected(raw, rows)
    shares = (own + config.parent_rows * prior) / (rows[:, None] + config.parent_rows)
    squares = (shares**2).sum(axis=1)
    # a leaf is no purer than its noisy counts let it seem; take the impurity of all rows as the least
    impurity = np.maximum(1 - squares, 1 - float((prior**2).sum()))
    heard = min(counts.shape[1], config.noise_classes)
    # Noise a_k of variance v on K counts moves the share of class k by (a_k - p_k sum of a_j) / n, which has
    # variance v (1 - 2 p_k + K p_k**2) / n**2; summed over classes, times n**2: v (K - 2 + K sum of p_k**2).
    noise = noise_sd**2 * (heard - 2 + heard * squares)
    effective = rows * impurity / (rows * impurity + noise + 1e-9)
    return _up(rows), _up(effective[:, None] * own), effective


def _up(leaves: FloatArray) -> list[FloatArray]:
    """Add up the leaves below every node, root first."""
    found = [leaves]
    while len(found[0]) > 1:
        found.insert(0, found[0][::2] + found[0][1::2])
    return found


def _projected(counts: FloatArray, totals: FloatArray) -> FloatArray:
    """Nearest counts that are not negative and add up to the totals: clamping many classes would add rows."""
    falling = -np.sort(-counts, axis=1)
    excess = falling.cumsum(axis=1) - totals[:, None]
    kept = np.maximum((falling - excess / np.arange(1, counts.shape[1] + 1) > 0).sum(axis=1), 1)
    shift = excess[np.arange(len(counts)), kept - 1] / kept
    found: FloatArray = np.maximum(counts - shift[:, None], 0.0)
    found[totals <= 0] = 0.0
    return found


def _drawn(counts: FloatArray, parent: FloatArray, config: PruningConfig) -> FloatArray:
    """Shares of nodes, with the parent's as so many more rows."""
    total = counts.sum(axis=1, keepdims=True) + config.parent_rows
    shares: FloatArray = (counts + config.parent_rows * parent) / total
    return shares


def _evidence(counts: FloatArray, prior: FloatArray, config: PruningConfig) -> FloatArray:
    """Logarithm of the probability of a node's labels under a Dirichlet prior."""
    a = np.maximum(prior, 0.02 / len(prior))
    a = config.prior_rows * a / a.sum()
    of_classes = gammaln(counts + a) - gammaln(a)
    found: FloatArray = (
        gammaln(config.prior_rows) - gammaln(counts.sum(axis=1) + config.prior_rows) + of_classes.sum(axis=1)
    )
    return found
