"""Likely readings: variants of published forms that are not what is printed, but may be what was run.

Where a printed algorithm does not give the printed figures, a small change sometimes does. Such a change is a
guess about a program that nobody published; it is named, measured like everything else, and stands beside the
printed form, not in its place. Figure 1 of Huang, Lei and Kaban (2022) has two such variants itself.
None is private. `systems` registers them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dpforest.papers.experiments.methods import AS_PUBLISHED, Factory, register
from dpforest.papers.published import (
    PublishedForest,
    domain_of,
    local_sensitivity_forest,
    partitioning_ensemble,
    private_extra_trees,
    random_decision_trees,
    raw_matrix,
    raw_target,
    transductive_ensemble,
)
from dpforest.papers.published.forest import BinaryForest
from dpforest.papers.published.leaves import class_counts
from dpforest.papers.published.random_trees import Voting, leaf_values, noise_scale, random_tree
from dpforest.schema import Range, Schema

Fit = Callable[..., PublishedForest]


class AsRead:
    """A published form with options that no estimator has.

    Parameters
    ----------
    fit_form : callable
        A fit of `dpforest.papers.published`, all but rows, domain and generator given.
    schema : Schema
        How to read the table.
    seed : int
        Seed of all draws.
    semi_supervised : bool
        Whether rows without a label are handed over as such.
    """

    def __init__(self, fit_form: Fit, schema: Schema, seed: int, semi_supervised: bool) -> None:
        self.fit_form, self.schema, self.seed = fit_form, schema, seed
        self.semi_supervised = semi_supervised

    def fit(self, X: Any, y: Any) -> Self:
        """Fit to raw rows; nothing is promised."""
        rows, target = raw_matrix(X, self.schema), raw_target(y, self.schema)
        known = ~np.isnan(target) if isinstance(self.schema.target, Range) else target >= 0
        others = {"unlabelled": rows[~known]} if self.semi_supervised else {}
        rng = np.random.default_rng(self.seed)
        self.forest_ = self.fit_form(rows[known], target[known], domain_of(self.schema), rng, **others)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict rows."""
        votes = self.forest_.votes(raw_matrix(X, self.schema))
        if isinstance(self.schema.target, Range):
            return np.asarray(votes[:, 0])
        named: NDArray[Any] = np.asarray(self.schema.classes.labels)[votes.argmax(axis=1)]
        return named

    @property
    def published_(self) -> PublishedForest:
        """The forest, under the name that estimators have for it."""
        return self.forest_


class Searched:
    """The random trees with the least error on validation rows (Bojarski et al. 2014, Section 6).

    A tenth of the rows is held out; every number of trees and height is fitted to the others at the whole
    budget, and nothing is paid for the search. Forests of one height share their trees, each with noise of
    its own: the smaller one is the beginning of the larger. Only leaves with a row held out need noise for
    the search; the others of the chosen forest get theirs afterwards, which makes no difference.

    Parameters
    ----------
    voting : {"majority", "threshold", "probabilistic"}
        How trees are combined; the last one draws a class for each row.
    epsilon : float
        Budget of every forest.
    schema : Schema
        How to read the table.
    seed : int
        Seed of all draws.
    sizes : sequence of (int, int)
        Numbers of trees and heights.
    """

    def __init__(
        self, voting: Voting, epsilon: float, schema: Schema, seed: int, sizes: Sequence[tuple[int, int]]
    ) -> None:
        self.voting, self.epsilon, self.schema = voting, epsilon, schema
        self.seed, self.sizes = seed, sizes

    def fit(self, X: Any, y: Any) -> Self:
        """Fit every size and keep the one that does best on the rows held out."""
        rows, target = raw_matrix(X, self.schema), raw_target(y, self.schema)
        self.rng_ = rng = np.random.default_rng(self.seed)
        order = rng.permutation(np.flatnonzero(target >= 0))
        held, others = np.split(order, [len(order) // 10])
        heights = dict.fromkeys(height for _, height in self.sizes)
        found = [self._best(height, rows, target, held, others) for height in heights]
        self.error_, self.size_, self.forest_ = min(found, key=lambda one: one[0])
        return self

    def _best(
        self,
        height: int,
        rows: NDArray[np.float64],
        target: NDArray[np.int64],
        held: NDArray[np.intp],
        others: NDArray[np.intp],
    ) -> tuple[float, tuple[int, int], BinaryForest]:
        """Return the least error of a height, the size and the forest that has it."""
        domain, rng = domain_of(self.schema), self.rng_
        numbers = [n_trees for n_trees, one in self.sizes if one == height]
        trees = [random_tree(domain, height, rng) for _ in range(max(numbers))]
        # Trees are complete: leaf i of a tree is its node 2**height - 1 + i.
        counts = np.stack(
            [class_counts(tree, rows[others], target[others], domain.n_classes) for tree in trees]
        )
        ends = np.stack([tree.leaf_of(rows[held]) for tree in trees]) - (2**height - 1)
        seen, place = np.unique(ends + (np.arange(len(trees)) << height)[:, None], return_inverse=True)
        place, firsts = place.reshape(ends.shape), np.searchsorted(seen >> height, np.arange(len(trees) + 1))
        at_seen = counts.reshape(-1, domain.n_classes)[seen]
        least, best = math.inf, (0, at_seen)
        for n_trees in numbers:
            values = self._values(at_seen[: firsts[n_trees]], n_trees)
            guesses = self._classes(values[place[:n_trees]].sum(axis=0))
            error = float(np.mean(guesses != target[held]))
            if error < least:
                least, best = error, (n_trees, values)
        n_trees, known = best
        values = self._values(counts[:n_trees].reshape(-1, domain.n_classes), n_trees)
        values[seen[: len(known)]] = known
        chosen = [
            tree.with_values(of_tree) for tree, of_tree in zip(trees, np.split(values, n_trees), strict=False)
        ]
        return least, (n_trees, height), BinaryForest(chosen, domain, average=False)

    def _values(self, counts: NDArray[np.float64], n_trees: int) -> NDArray[np.float64]:
        """Return what leaves add to the votes, with noise."""
        noisy = counts + self.rng_.laplace(0.0, noise_scale(n_trees, self.epsilon), counts.shape)
        return leaf_values(noisy, self.voting, self.rng_)

    def _classes(self, votes: NDArray[np.float64]) -> NDArray[np.intp]:
        if self.voting != "probabilistic":
            return np.asarray(votes.argmax(axis=1))
        shares = (votes / votes.sum(axis=1, keepdims=True)).cumsum(axis=1)
        drawn = self.rng_.random((len(votes), 1))
        return np.asarray(np.minimum((shares < drawn).sum(axis=1), votes.shape[1] - 1))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict rows."""
        votes = self.forest_.votes(raw_matrix(X, self.schema))
        named: NDArray[Any] = np.asarray(self.schema.classes.labels)[self._classes(votes)]
        return named


def searching(voting: Voting) -> Factory:
    """Return a factory of `Searched`.

    An experiment may give other ``sizes``, or ``max_trees``, up to which all numbers are tried, for a height.
    """

    def make(*, task: str, schema: Schema, epsilon: float, seed: int, parameters: Mapping[str, Any]) -> Any:
        sizes = parameters.get("sizes", [(k, h) for k in range(1, 22, 2) for h in range(1, 16)])
        if "max_trees" in parameters:
            sizes = [(k, parameters["max_depth"]) for k in range(1, parameters["max_trees"] + 1)]
        return Searched(voting, epsilon, schema, seed, sizes)

    return make


def reading(form: Fit, options: Mapping[str, str], semi_supervised: bool = False, **fixed: Any) -> Factory:
    """Return a factory.

    Parameters
    ----------
    form : callable
        A fit of `dpforest.papers.published`.
    options : mapping of str to str
        Parameters of an experiment that it takes, and their names there.
    semi_supervised : bool, default=False
        Whether it takes rows without a label.
    **fixed
        What makes the reading, and sizes that an experiment does not give.
    """

    def make(*, task: str, schema: Schema, epsilon: float, seed: int, parameters: Mapping[str, Any]) -> Any:
        taken = {name: parameters[given] for given, name in options.items() if given in parameters}
        budget = {} if math.isinf(epsilon) else {"epsilon": epsilon}
        return AsRead(partial(form, **{**fixed, **budget, **taken}), schema, seed, semi_supervised)

    return make


SIZES = {"n_estimators": "n_trees", "max_depth": "max_depth"}


def register_all() -> None:
    """Register the readings."""
    counts: dict[str, Any] = {"broken": "random_decision_trees", "broken_when": ("epsilon=None",)}
    rules: tuple[tuple[str, Voting], ...] = (
        ("MV", "majority"), ("TA", "threshold"), ("PA", "probabilistic"),
    )  # fmt: skip
    for letters, voting in rules[:2]:
        register(
            f"dpRF{letters} clamped",
            reading(random_decision_trees, SIZES, voting=voting, negative="zero", n_trees=11, max_depth=8),
            about=f"dpRF{letters} as published, but negative counts are set to zero",
            **counts,
        )
    for letters, voting in rules:
        register(
            f"dpRF{letters} searched",
            searching(voting),
            about=f"dpRF{letters} as published, sizes chosen on validation rows and not paid for",
            **counts,
        )
    register(
        "DP-ERT" + AS_PUBLISHED,
        reading(private_extra_trees, SIZES),
        about="DP-ERT after the program of Consul and Williamson 2021",
        broken="private_extra_trees",
    )
    register(
        "DP-DF as called",
        reading(local_sensitivity_forest, SIZES, as_called=True),
        about="DP-DF with the slips in how the notebook of Consul and Williamson calls it",
        broken="local_sensitivity_forest",
    )
    supervised = {"broken": "partitioning_ensemble", "broken_when": ("label_only=False",)}
    for name, about, fixed in (
        ("SPE other features", "a path draws no feature twice", {"repeat_features": False}),
        ("true medians", "splits are true medians", {"medians": "true"}),
        ("random splits", "splits are random", {"medians": "random"}),
    ):
        factory = reading(partitioning_ensemble, SIZES, **fixed)
        register(name, factory, about=f"SPE as published, but {about}", **supervised)
    labels = {"semi_supervised": True, "label_only": True, "all_labels": True}
    for name, form, sizes in (
        ("SSPE-2 all labels", partitioning_ensemble, SIZES),
        ("PTE all labels", transductive_ensemble, {"n_estimators": "n_first", "max_depth": "max_depth"}),
    ):
        register(
            name,
            reading(form, sizes, **labels),
            about=f"{name.split()[0]} as published, but every tree has all labels",
            semi_supervised=True,
            broken=form.__name__,
            broken_when=("label_only=True",),
        )
