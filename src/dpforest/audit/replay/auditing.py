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

from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from dpforest._curator import Observer
from dpforest.audit.promises import declared_schema
from dpforest.audit.replay.facts import differing
from dpforest.audit.replay.movement import Movement, price
from dpforest.audit.replay.neighbours import Neighbour, Source, Table, neighbours_of
from dpforest.audit.replay.result import Finding, ReplayResult
from dpforest.audit.replay.running import Outside, watched_fit
from dpforest.audit.replay.watching import Asked, Diverged, Recorder, Replayer
from dpforest.forests.base import PrivateForest
from dpforest.privacy import row_multiplier

Tell: TypeAlias = Callable[[str, str, str], None]


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
    talk = _Talk(estimator, source or _arrays_like(X, y), random_state)
    table = _table(estimator, list(X), list(y))
    person = _table(estimator, [row], [label], estimator.max_rows_per_person, talk.both)
    talk.record(table)
    neighbours = list(neighbours_of(table, person, talk.plan.relation, talk.both))
    if not neighbours:
        raise ValueError("This table has no neighbours by the promised relation; give it more rows.")
    costs = [talk.replay(neighbour) for neighbour in neighbours]
    return ReplayResult(
        name or type(estimator).__name__,
        float(talk.promised),
        float(max(costs)),
        talk.plan.symbol,
        sum(isinstance(entry, Asked) for entry in talk.recorder.entries),
        len(talk.recorder.looks),
        tuple(neighbour.words for neighbour in neighbours),
        tuple(talk.findings),
    )


class _Talk:
    """A fit that is recorded once and replayed many times, and what was found."""

    def __init__(self, estimator: PrivateForest, make: Source, random_state: int) -> None:
        if not isinstance(estimator, PrivateForest):
            raise TypeError("Only estimators of this library can be replayed; use `audit` for others.")
        voids = clone(estimator).set_params(random_state=None)._voids()
        if voids:
            raise ValueError(f"Nothing is promised, so there is nothing to replay: {'; '.join(voids)}.")
        self.estimator, self.make, self.random_state = estimator, make, random_state
        self.plan = estimator.privacy_plan()
        self.both: bool = getattr(estimator, "persons_in_both", False)
        self.recorder = Recorder()
        self.first = Outside()
        self.findings: list[Finding] = []

    @property
    def promised(self) -> Fraction:
        """What one person may cost, in the plan's currency."""
        return self.plan.epsilon if self._is_pure else self.plan.cost.rho

    @property
    def _is_pure(self) -> bool:
        return self.plan.currency == "pure"

    def record(self, table: Table) -> None:
        """Fit for the first time, and compare what the mechanisms were run at with what was charged."""
        self.first = self._fit(table.rows, table.labels, self.recorder)
        if self.first.error is not None:
            raise self.first.error
        for look in self.recorder.looks:
            if price(look, self._is_pure) > look.event.cost:
                where = f"the look for {look.event.purpose}"
                self.findings.append(Finding("price", where, "it ran at more than it was charged", "any"))

    def replay(self, neighbour: Neighbour) -> Fraction:
        """Fit on a neighbour with the answers of the first fit; return what the movements cost."""

        def tell(kind: str, where: str, what: str) -> None:
            self.findings.append(Finding(kind, where, what, neighbour.words))

        replayer = Replayer(self.recorder.entries, neighbour.kept, tell)
        try:
            second = self._fit(neighbour.rows, neighbour.labels, replayer)
            replayer.end()
            _compare(self.first, second, tell)
        except Diverged:
            pass  # told where
        return self._add_up(replayer.movements, tell)

    def _add_up(self, movements: list[Movement], tell: Tell) -> Fraction:
        """Compare how far tables moved with what was declared, and the cost of it all with the promise."""
        parts = 2 if self.both else 1
        allowed = parts * row_multiplier(self.plan.relation, self.plan.max_rows_per_person)
        cost = Fraction(0)
        for movement in movements:
            steps = movement.steps(self._is_pure)
            cost += movement.look.event.cost * (steps if self._is_pure else steps**2)
            if steps > allowed:
                where = f"the look for {movement.look.event.purpose}"
                tell("movement", where, f"its tables moved by {steps} declared steps, and {allowed} may be")
        if cost > self.promised:
            share = float(cost / self.promised)
            tell("total", "all queries", f"the movements cost {share:.4g} times what is promised")
        return cost

    def _fit(self, rows: list[Any], labels: list[Any], observer: Observer) -> Outside:
        with np.errstate(all="ignore"):  # a float32 cannot hold every float
            X, y = self.make(rows, labels)
        return watched_fit(self.estimator, X, y, self.random_state, observer)


def _compare(first: Outside, second: Outside, tell: Tell) -> None:
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
