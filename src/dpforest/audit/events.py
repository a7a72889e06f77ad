"""Outcomes that give two tables away: find them on some runs, measure them on others.

`statistical` calls `find_outcome` with the runs of the search phase and `loss_lower_bound` with the counts of
the test phase. An outcome is a threshold on one observed number, or on a score learned from all of them: the
optimal test between two distributions thresholds their likelihood ratio, and a learned score comes near it
(Bichsel et al. 2021, DP-Sniper).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta, norm

Numbers = NDArray[np.float64]

FEW_VALUES = 40  # numbers with at most this many values are cut at each of them, and compared for equality
LEVELS = np.concatenate([[0.002, 0.005, 0.01, 0.02], np.linspace(0.04, 0.96, 24), [0.98, 0.99, 0.995, 0.998]])
SCORE_BINS = 8


class Score(Protocol):
    """A number learned from all observed ones, large where the first table is likelier."""

    def __call__(self, observations: Numbers) -> Numbers:
        """Score each run."""

    def weights(self) -> Numbers:
        """How much each observed number counts."""


@dataclass(frozen=True)
class SumScore:
    """A sum over observed numbers of a step function of each: for many that each tell a little.

    Parameters
    ----------
    edges : tuple of ndarray
        Where the steps of each number are.
    heights : tuple of ndarray
        What each step adds.
    """

    edges: tuple[Numbers, ...]
    heights: tuple[Numbers, ...]

    @classmethod
    def learn(cls, first: Numbers, second: Numbers) -> SumScore:
        """Fit the log-odds of the first table against the second, one step per bin of every number."""
        from sklearn.linear_model import LogisticRegression

        both, labels = _labelled(first, second)
        edges = tuple(_bin_edges(column) for column in both.T)
        heights = []
        for edge, a, b in zip(edges, first.T, second.T, strict=True):
            counts = [np.bincount(np.searchsorted(edge, x, "right"), minlength=len(edge) + 1) for x in (a, b)]
            # one pseudo-observation per bin, so that rare bins say little
            heights.append(np.log((counts[0] + 1) / (counts[1] + 1)))
        # numbers repeat each other (a count, its sum, its prediction); weights keep them from adding up twice
        parts = cls(edges, tuple(heights)).parts(both)
        fit = LogisticRegression(C=0.1, max_iter=200).fit(parts, labels)
        return cls(edges, tuple(w * h for w, h in zip(fit.coef_[0], heights, strict=True)))

    def parts(self, observations: Numbers) -> Numbers:
        """Return what each number adds, shape (n_runs, n_numbers)."""
        columns = zip(self.edges, self.heights, observations.T, strict=True)
        return np.stack([height[np.searchsorted(edge, x, "right")] for edge, height, x in columns], axis=1)

    def __call__(self, observations: Numbers) -> Numbers:
        """Score each run."""
        return np.asarray(self.parts(observations).sum(axis=1))

    def weights(self) -> Numbers:
        """Return how far each number can move the score."""
        return np.array([np.ptp(height) for height in self.heights])


@dataclass(frozen=True)
class TreeScore:
    """A small decision tree: for a few numbers that tell much only together.

    Parameters
    ----------
    tree : DecisionTreeClassifier
        Fitted, the first table being class 1.
    """

    tree: Any

    @classmethod
    def learn(cls, first: Numbers, second: Numbers) -> TreeScore:
        """Grow the tree, with leaves of some runs each."""
        from sklearn.tree import DecisionTreeClassifier

        tree = DecisionTreeClassifier(max_depth=5, min_samples_leaf=20, random_state=0)
        return cls(tree.fit(*_labelled(first, second)))

    def __call__(self, observations: Numbers) -> Numbers:
        """Return the share of the first table in the leaf of each run."""
        return np.asarray(self.tree.predict_proba(observations)[:, 1])

    def weights(self) -> Numbers:
        """Return how much each number adds to the purity of the leaves."""
        return np.asarray(self.tree.feature_importances_)


@dataclass(frozen=True)
class Outcome:
    """A set of outputs: those whose number, or score, is at least, at most or equal to a value.

    Parameters
    ----------
    of : int or Score
        Position of the observed number, or a learned score.
    relation : {">=", "<=", "="}
        How it is compared.
    value : float
        With what.
    first_likelier : bool
        Whether it is more probable with the first of the two tables.
    name : str
        The number in words.
    """

    of: int | Score
    relation: Literal[">=", "<=", "="]
    value: float
    first_likelier: bool
    name: str

    def holds(self, observations: Numbers) -> NDArray[np.bool_]:
        """In which runs it came out."""
        x = observations[:, self.of] if isinstance(self.of, int) else self.of(observations)
        if self.relation == "=":
            return np.asarray(x == self.value)
        return np.asarray(x >= self.value if self.relation == ">=" else x <= self.value)

    def __str__(self) -> str:
        return f"{self.name} {self.relation} {self.value:.4g}"


def loss_lower_bound(
    hits: int, runs: int, other_hits: int, other_runs: int, alpha: float, delta: float = 0.0
) -> float:
    """Lower bound on epsilon from how often an outcome came with one table and with its neighbour.

    Clopper-Pearson bounds on both probabilities, each wrong with probability at most alpha / 2.

    Parameters
    ----------
    hits, runs : int
        How often it came in how many runs with the table that makes it likelier.
    other_hits, other_runs : int
        The same with the neighbour.
    alpha : float
        Probability that the bound is above the truth.
    delta : float
        Promised delta, taken off the larger probability.

    Returns
    -------
    float
        ln((low - delta) / high), at least 0.

    Examples
    --------
    >>> round(loss_lower_bound(500, 1000, 100, 1000, alpha=0.05), 3)
    1.36
    >>> loss_lower_bound(500, 1000, 450, 1000, alpha=1e-6)
    0.0
    """
    if min(runs, other_runs) == 0:
        return 0.0
    low = beta.ppf(alpha / 2, hits, runs - hits + 1) if hits else 0.0
    high = beta.isf(alpha / 2, other_hits + 1, other_runs - other_hits) if other_hits < other_runs else 1.0
    return max(0.0, math.log((low - delta) / high)) if low > delta else 0.0


def find_outcome(
    first: Numbers, second: Numbers, names: Sequence[str], alpha: float, delta: float = 0.0
) -> tuple[Outcome, float]:
    """Find the outcome that promises the largest lower bound.

    Scores are learned on one half of the given runs, all outcomes are compared on the other half: a score
    looks better than it is on the runs it was learned from.

    Parameters
    ----------
    first, second : ndarray of shape (n_runs, n_numbers)
        Observations of runs with either table.
    names : sequence of str
        The numbers in words.
    alpha, delta : float
        Of the bound to come.

    Returns
    -------
    outcome : Outcome
        The best one.
    promise : float
        About the bound that as many runs would give; for comparing pairs, not for reporting.
    """
    learn, choose = (first[0::2], second[0::2]), (first[1::2], second[1::2])
    if min(len(part) for part in (*learn, *choose)) == 0:
        raise ValueError("Not enough runs to look for an outcome; give at least two per table.")
    z = float(norm.isf(alpha / 2))
    candidates: list[tuple[int | Score, str, Numbers, Numbers]] = [
        (i, names[i], choose[0][:, i], choose[1][:, i]) for i in range(len(names))
    ]
    if len(names) > 1:
        for score in (SumScore.learn(*learn), TreeScore.learn(*learn)):
            main = np.argsort(-score.weights(), kind="stable")[:3]
            name = f"a learned score (mostly of {'; '.join(names[i] for i in main)})"
            candidates.append((score, name, score(choose[0]), score(choose[1])))
    best, promise = Outcome(0, ">=", math.inf, True, names[0]), -math.inf
    for of, name, a, b in candidates:
        for relation, values, rate_a, rate_b in _cuts(a, b):
            for first_likelier, p, q in ((True, rate_a, rate_b), (False, rate_b, rate_a)):
                low = _wilson(p, min(len(a), len(b)), -z) - delta
                high = _wilson(q, min(len(a), len(b)), z)
                bounds = np.log(np.maximum(low, 1e-300) / high)
                at = int(bounds.argmax())
                if bounds[at] > promise:
                    best = Outcome(of, relation, float(values[at]), first_likelier, name)
                    promise = float(bounds[at])
    return best, promise


def _cuts(a: Numbers, b: Numbers) -> Iterator[tuple[Literal[">=", "<=", "="], Numbers, Numbers, Numbers]]:
    """Values to compare with, and how often runs with either table are on that side."""
    values = np.unique(np.concatenate([a, b]))
    few = len(values) <= FEW_VALUES
    if not few:
        values = np.unique(
            np.quantile(values if len(values) < 4 * FEW_VALUES else np.concatenate([a, b]), LEVELS)
        )
    below_a, below_b = (np.searchsorted(np.sort(x), values, "left") / len(x) for x in (a, b))
    upto_a, upto_b = (np.searchsorted(np.sort(x), values, "right") / len(x) for x in (a, b))
    yield ">=", values, 1 - below_a, 1 - below_b
    yield "<=", values, upto_a, upto_b
    if few:
        yield "=", values, upto_a - below_a, upto_b - below_b


def _wilson(p: Numbers, n: int, z: float) -> Numbers:
    """Wilson's score bound of a probability, lower for negative z: near Clopper-Pearson and much faster."""
    centre = p + z * z / (2 * n)
    spread = z * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return np.asarray((centre + spread) / (1 + z * z / n))


def _labelled(first: Numbers, second: Numbers) -> tuple[Numbers, NDArray[np.int64]]:
    return np.concatenate([first, second]), np.repeat([1, 0], [len(first), len(second)])


def _bin_edges(column: Numbers) -> Numbers:
    values = np.unique(column)
    if len(values) <= SCORE_BINS:
        return (values[1:] + values[:-1]) / 2
    return np.unique(np.quantile(column, np.linspace(0, 1, SCORE_BINS + 1)[1:-1]))
