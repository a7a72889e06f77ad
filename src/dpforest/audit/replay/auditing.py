"""The replay auditor: freeze the answers of one fit, and see what else differs on a neighbouring table.

A fit is a talk between an estimator and the curator. Given the answers so far, everything else (the next
question, its amount, its candidates, what is printed, what is kept in the model) must be the same on any two
neighbours, and the private tables behind the answers may differ by no more than was declared when they were
paid for. Both can be checked without any statistics: record the talk on one table, give the same answers on
the other. Noise plays no part, so a single row that changes the way of a fit is found however rare its
consequences are; and nothing is said about the noise itself, which `exact` and the tests of the mechanisms
are for.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from dpforest.audit.replay.facts import differing
from dpforest.audit.replay.movement import price
from dpforest.audit.replay.neighbours import Neighbour, Source, Table, neighbours_of
from dpforest.audit.replay.result import Finding, ReplayResult
from dpforest.audit.replay.running import Outside, watched_fit
from dpforest.audit.replay.watching import Asked, Diverged, Recorder, Replayer
from dpforest.audit.statistical import declared_schema
from dpforest.forests.base import PrivateForest
from dpforest.privacy import BudgetPlan, row_multiplier


def audit_replay(
    estimator: PrivateForest,
    X: Any,
    y: Any,
    row: Any,
    label: Any,
    *,
    source: Source | None = None,
    name: str | None = None,
    random_state: int = 0,
) -> ReplayResult:
    """Record a fit, replay it on neighbouring tables with the same answers, and compare everything else.

    The neighbours follow from the relation that the estimator promises for: the row is added in front, in the
    middle and at the end, and rows there are removed; or it takes the place of one there; or the label there
    is changed to `label`. With ``max_rows_per_person=k`` it is k rows, or labels, at a time; where a person
    may be in both parts of a table, as many without label as well.

    Parameters
    ----------
    estimator : estimator of this library
        Unfitted, with a declared domain.
    X, y : sequence of rows, sequence of labels
        The table: arrays, or lists.
    row, label : sequence, object
        The row that somebody may have, of any kind: beyond the domain, missing, undeclared.
    source : callable, optional
        Called with a list of rows and a list of labels, returns what `fit` is given, such as a data frame. By
        default arrays of the types of X and y, or of objects where a value does not fit.
    name : str, optional
        How the result calls the estimator.
    random_state : int, default=0
        Seed of all fits.

    Returns
    -------
    ReplayResult

    Examples
    --------
    >>> import numpy as np
    >>> from dpforest import RandomDecisionTreesClassifier
    >>> X = np.random.default_rng(0).random((50, 2))
    >>> model = RandomDecisionTreesClassifier(3, bounds=(0, 1), classes=[0, 1], max_depth=2)
    >>> result = audit_replay(model, X, X[:, 0] > 0.5, row=[np.inf, None], label=1)
    >>> result.violation, result.neighbours[0], round(result.loss, 6)
    (False, 'one row more, in front', 1.0)
    """
    if not isinstance(estimator, PrivateForest):
        raise TypeError("Only estimators of this library can be replayed; use `audit` for others.")
    voids = clone(estimator).set_params(random_state=None)._voids()
    if voids:
        raise ValueError(f"Nothing is promised, so there is nothing to replay: {'; '.join(voids)}.")
    plan = estimator.privacy_plan()
    make = source or _arrays_like(X, y)
    both = getattr(estimator, "persons_in_both", False)
    table = _table(estimator, list(X), list(y))
    person = _table(estimator, [row], [label], estimator.max_rows_per_person, both)
    recorder = Recorder()
    first = watched_fit(estimator, *_made(make, table.rows, table.labels), random_state, recorder)
    if first.error is not None:
        raise first.error
    pure = plan.currency == "pure"
    findings = [
        Finding("price", f"the look for {look.event.purpose}", "it ran at more than it was charged", "any")
        for look in recorder.looks
        if price(look, pure) > look.event.cost
    ]
    loss, seen = Fraction(0), []
    for neighbour in neighbours_of(table, person, plan.relation, both):
        given = _made(make, neighbour.rows, neighbour.labels)
        found, cost = _replay(estimator, given, random_state, recorder, first, neighbour, plan)
        findings += found
        loss = max(loss, cost)
        seen.append(neighbour.words)
    if not seen:
        raise ValueError("This table has no neighbours by the promised relation; give it more rows.")
    return ReplayResult(
        name or type(estimator).__name__,
        float(_promised(plan)),
        float(loss),
        plan.symbol,
        sum(isinstance(entry, Asked) for entry in recorder.entries),
        len(recorder.looks),
        tuple(seen),
        tuple(findings),
    )


def _replay(
    estimator: PrivateForest,
    table: tuple[Any, Any],
    random_state: int,
    recorder: Recorder,
    first: Outside,
    neighbour: Neighbour,
    plan: BudgetPlan,
) -> tuple[list[Finding], Fraction]:
    """Replay on one neighbour; return what was found and what the movements cost."""
    findings: list[Finding] = []

    def tell(kind: str, where: str, what: str) -> None:
        findings.append(Finding(kind, where, what, neighbour.words))

    replayer = Replayer(recorder.entries, neighbour.kept, tell)
    try:
        second = watched_fit(estimator, *table, random_state, replayer)
        replayer.end()
        _compare(first, second, tell)
    except Diverged:
        pass  # told where
    pure, cost = plan.currency == "pure", Fraction(0)
    both = 2 if getattr(estimator, "persons_in_both", False) else 1
    allowed = both * row_multiplier(plan.relation, plan.max_rows_per_person)
    for movement in replayer.movements:
        steps = movement.steps(pure)
        cost += movement.look.event.cost * (steps if pure else steps**2)
        if steps > allowed:
            where = f"the look for {movement.look.event.purpose}"
            tell("movement", where, f"its tables moved by {steps} times what was declared for {allowed}")
    if cost > _promised(plan):
        share = float(cost / _promised(plan))
        tell("total", "all looks", f"the movements cost {share:.4g} times what is promised")
    return findings, cost


def _compare(first: Outside, second: Outside, tell: Any) -> None:
    """Compare what is seen from outside."""
    if second.error is not None:
        kind = type(second.error).__name__
        tell("failure", f"a {kind}", "the fit fails on this table and not on the other")
        return
    for where, before, after in [
        ("the warnings", first.warnings, second.warnings),
        ("the log", first.log, second.log),
        ("the printed lines", first.printed, second.printed),
    ]:
        if before != after:
            tell("message", where, "they differ")
    for where in differing(first.released, second.released):
        tell("release", where, "it differs though all answers are the same")


def _promised(plan: BudgetPlan) -> Fraction:
    """Return what one person may cost, in the plan's currency."""
    return plan.epsilon if plan.currency == "pure" else plan.cost.rho


def _table(
    estimator: PrivateForest,
    rows: list[Any],
    labels: list[Any],
    times: int = 1,
    also_unlabelled: bool = False,
) -> Table:
    """Repeat rows, and add as many without label if a person may be in both parts of a table."""
    codes = declared_schema(estimator).encode_target(labels)
    if also_unlabelled and (codes >= 0).all():
        rows, labels, codes = rows * 2, labels + [None] * len(labels), np.append(codes, [-1] * len(codes))
    return Table(rows * times, labels * times, np.tile(codes, times))


def _made(make: Source, rows: list[Any], labels: list[Any]) -> tuple[Any, Any]:
    with np.errstate(all="ignore"):  # a float32 cannot hold every float
        return make(rows, labels)


def _arrays_like(X: Any, y: Any) -> Source:
    table, target = np.asarray(X), np.asarray(y)

    def make(rows: list[Any], labels: list[Any]) -> tuple[Any, Any]:
        width = table.shape[1] if table.ndim == 2 else 0
        return _array(rows, table.dtype).reshape(len(rows), width), _array(labels, target.dtype)

    return make


def _array(values: list[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    try:
        return np.array(values, dtype)
    except (TypeError, ValueError):
        return np.array(values, object)
