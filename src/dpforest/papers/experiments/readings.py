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

from dpforest.papers.experiments.methods import Factory, register
from dpforest.papers.published import (
    PublishedForest,
    domain_of,
    partitioning_ensemble,
    random_decision_trees,
    raw_matrix,
    raw_target,
    transductive_ensemble,
)
from dpforest.papers.published.random_trees import Voting
from dpforest.schema import Schema

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
        known = target >= 0
        others = {"unlabelled": rows[~known]} if self.semi_supervised else {}
        rng = np.random.default_rng(self.seed)
        self.forest_ = self.fit_form(rows[known], target[known], domain_of(self.schema), rng, **others)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict rows."""
        best = self.forest_.votes(raw_matrix(X, self.schema)).argmax(axis=1)
        named: NDArray[Any] = np.asarray(self.schema.classes.labels)[best]
        return named


class Searched(AsRead):
    """The forest with the least error on validation rows, out of many (Bojarski et al. 2014, Section 6).

    A tenth of the rows is held out; every size is fitted to the others at the whole budget, and nothing is
    paid for the search. Other parameters are those of `AsRead`.

    Parameters
    ----------
    sizes : sequence of (int, int)
        Numbers of trees and heights.
    """

    def __init__(self, fit_form: Fit, schema: Schema, seed: int, sizes: Sequence[tuple[int, int]]) -> None:
        super().__init__(fit_form, schema, seed, semi_supervised=False)
        self.sizes = sizes

    def fit(self, X: Any, y: Any) -> Self:
        """Fit every size and keep the one that does best on the rows held out."""
        rows, target = raw_matrix(X, self.schema), raw_target(y, self.schema)
        rng, domain = np.random.default_rng(self.seed), domain_of(self.schema)
        order = rng.permutation(np.flatnonzero(target >= 0))
        held, others = np.split(order, [len(order) // 10])
        least = math.inf
        for n_trees, height in self.sizes:
            options = {"n_trees": n_trees, "max_depth": height}
            forest = self.fit_form(rows[others], target[others], domain, rng, **options)
            error = float(np.mean(forest.votes(rows[held]).argmax(axis=1) != target[held]))
            if error < least:
                least, self.size_, self.forest_ = error, (n_trees, height), forest
        return self


def searching(voting: Voting) -> Factory:
    """Return a factory of `Searched`; an experiment may give other ``sizes``."""

    def make(*, task: str, schema: Schema, epsilon: float, seed: int, parameters: Mapping[str, Any]) -> Any:
        sizes = parameters.get("sizes", [(k, h) for k in range(1, 22, 2) for h in range(1, 16)])
        form = partial(random_decision_trees, epsilon=epsilon, voting=voting)
        return Searched(form, schema, seed, sizes)

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
    rules: tuple[tuple[str, Voting], ...] = (("MV", "majority"), ("TA", "threshold"))
    for letters, voting in rules:
        register(
            f"dpRF{letters} clamped",
            reading(random_decision_trees, SIZES, voting=voting, negative="zero", n_trees=11, max_depth=8),
            about=f"dpRF{letters} as published, but negative counts are set to zero",
            **counts,
        )
        register(
            f"dpRF{letters} searched",
            searching(voting),
            about=f"dpRF{letters} as published, sizes chosen on validation rows and not paid for",
            **counts,
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
