"""What is taken for public and is not: the number of rows, the bounds of a column, the list of classes.

The depth rule is that of Consul and Williamson, 2021. Reading bounds and classes off the rows is a habit of
machine-learning libraries; this library does it only when told to (`on_leak="warn"`) and then says so, which
is how the habit is shown here.
"""

from __future__ import annotations

import warnings
from fractions import Fraction
from typing import Any

import numpy as np

from dpforest.forests import DiPriMeForestClassifier
from dpforest.forests.base import PrivateForestClassifierBase
from dpforest.forests.depths import depth_by_occupancy
from dpforest.mechanisms import Rate, discrete_laplace_log_pmf
from dpforest.papers.gallery import rigorous
from dpforest.papers.gallery.case import Case, Measured, log_ratio, make_case
from dpforest.papers.published.median_forest import depth_from_rows
from dpforest.privacy import PrivacyLeakWarning
from dpforest.schema import Numeric

__all__ = ["CASES", "depth_chances"]

N_ROWS, N_TREES, LEAF_ROWS = 15_999, 10, 25
VALUES = [i / 20 for i in range(20)]
OUTLIER = 100.0


# --- depth from the number of rows ---------------------------------------------------------------------


def _published_depth() -> Measured:
    before, after = (depth_from_rows(n / N_TREES) for n in (N_ROWS, N_ROWS + 1))
    return Measured(log_ratio(float(before == 6), float(after == 6)), note=f"depth {before} against {after}")


def depth_chances(n_rows: int, rate: Rate) -> dict[int, float]:
    """Return the law of the depth that follows from a noisy number of rows; depths of no weight are left out.

    Examples
    --------
    >>> depth_chances(15_999, Rate.floor(Fraction(1, 50)))
    {5: 0.50..., 6: 0.49...}
    """
    noise = np.arange(-2000, 2001)  # beyond, the mass is below exp(-40)
    chances: dict[int, float] = {}
    for k, chance in zip(noise, np.exp(discrete_laplace_log_pmf(noise, rate)), strict=True):
        depth = depth_by_occupancy(n_rows + int(k), N_TREES, LEAF_ROWS)
        chances[depth] = chances.get(depth, 0.0) + float(chance)
    return chances


def _repaired_depth() -> Measured:
    forest = DiPriMeForestClassifier(N_TREES, epsilon=1.0, expected_leaf_rows=LEAF_ROWS)
    rate = Rate.floor(rigorous.amount(forest, "count"))
    before, after = (depth_chances(n, rate)[6] for n in (N_ROWS, N_ROWS + 1))
    return Measured(
        rigorous.count_loss([N_ROWS], [N_ROWS + 1], rate),
        event="the worst of all noisy numbers of rows, from which the depth follows",
        note=f"the count takes 2 % of the budget; depth 6 has probability {before:.3f} against {after:.3f}",
    )


# --- bounds and classes from the rows ------------------------------------------------------------------


def _fit_leaking(X: list[list[float]], y: list[int], **declared: Any) -> PrivateForestClassifierBase:
    forest = DiPriMeForestClassifier(1, epsilon=1.0, max_depth=1, on_leak="warn", random_state=0, **declared)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        return forest.fit(np.array(X), np.array(y))


def _published_bounds() -> Measured:
    reaches = []
    for values in (VALUES, [*VALUES, OUTLIER]):
        model = _fit_leaking([[value] for value in values], [0] * len(values), classes=[0, 1])
        feature = model.schema_.features["x0"]
        reaches.append(float(isinstance(feature, Numeric) and feature.high > 1))
    return Measured(log_ratio(*reaches), note="the bounds are stored in the model")


def _repaired_bounds() -> Measured:
    loss = rigorous.median_loss(Numeric(0, OUTLIER), VALUES, [*VALUES, OUTLIER], Fraction(1))
    return Measured(loss, event="the worst of all thresholds of the public grid")


def _published_classes() -> Measured:
    knows = []
    for labels in ([0, 1], [0, 1, 2]):
        model = _fit_leaking([[0.5]] * len(labels), labels, bounds=(0, 1))
        knows.append(float(2 in model.classes_))
    return Measured(log_ratio(*knows), note="the classes are stored in the model")


def _repaired_classes() -> Measured:
    loss = rigorous.count_loss([1, 1, 0], [1, 1, 1], Rate.floor(Fraction(1)))
    note = "classes are declared; a row with an undeclared one is left out without a word"
    return Measured(loss, event="the worst of all noisy class counts", note=note)


CASES: tuple[Case, ...] = (
    make_case(
        "depth from the number of rows",
        paper="Consul and Williamson 2020 and 2021, depth of the experiments",
        claims="A depth at which leaves hold 25 rows on average is free.",
        claim=1.0,
        pair="15999 rows for ten trees, and one more",
        event="the trees have depth 6",
        published=_published_depth,
        repaired=_repaired_depth,
    ),
    make_case(
        "bounds read off the rows",
        paper="a habit of machine-learning libraries; diffprivlib warns of it",
        claims="The smallest and the largest value of a column may be used.",
        claim=1.0,
        pair="20 values in [0, 1], and one more at 100",
        event="the grid of the model reaches beyond 1",
        published=_published_bounds,
        repaired=_repaired_bounds,
    ),
    make_case(
        "classes read off the rows",
        paper="a habit of machine-learning libraries; diffprivlib's forest (commit 0cc2f48) does not warn",
        claims="The labels that occur may be listed.",
        claim=1.0,
        pair="a row of class 0 and one of class 1, and one more of class 2",
        event="the model knows class 2",
        published=_published_classes,
        repaired=_repaired_classes,
    ),
)
"""Cases of facts that are not public."""
