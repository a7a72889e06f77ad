"""The black-box auditor: run anything that fits many times on two neighbouring tables, and compare.

The runs have three uses, kept apart so that the bound at the end is honest:

    a quarter    which of several pairs of tables leaks most
    a quarter    which outcome gives that pair away (`events`)
    one half     how often this outcome comes with either table: Clopper-Pearson, then the logarithm

Only the last half enters the bound, and the outcome was fixed before it: whatever the search did, the bound
is above the true loss with probability at most 1 - confidence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpforest.audit.events import Numbers, find_outcome, loss_lower_bound
from dpforest.audit.observe import Observer, observe
from dpforest.audit.pairs import NeighbourPair, presets
from dpforest.audit.result import AuditReport, AuditResult
from dpforest.audit.running import Progress, Subject, collect
from dpforest.forests.base import PrivateForest
from dpforest.privacy import NeighboringRelation
from dpforest.schema import Classes, Range, Schema

CONFIDENCE = 1 - 1e-6
INTERRUPTED = "interrupted"
SCOUTING_ALPHA = 0.05  # for comparing pairs, where nothing is concluded


def audit(
    subject: Any,
    pair: NeighbourPair | Sequence[NeighbourPair] | tuple[Any, Any] | str | None = None,
    *,
    runs: int = 10_000,
    claim: float | None = None,
    delta: float | None = None,
    confidence: float = CONFIDENCE,
    observe: Observer = observe,
    schema: Schema | None = None,
    name: str | None = None,
    n_jobs: int | None = None,
    random_state: int | None = None,
    progress: bool = True,
) -> AuditResult:
    """Measure how far one person can be seen in the output of an estimator or function.

    Parameters
    ----------
    subject : estimator or callable
        An unfitted estimator of this or any other library, or a function that is called with ``(X, y)`` and,
        if it has such a parameter, ``random_state``, and returns what would be released.
    pair : NeighbourPair, list of them, two tables, name of a preset, or None
        Neighbouring tables, ``((X, y), (X, y))``. None tries all `presets` of the declared domain.
    runs : int, default=10_000
        Fits in all, on both tables together.
    claim : float, optional
        The promised epsilon; by default the estimator's `epsilon`.
    delta : float, optional
        The promised delta; by default the estimator's `delta`, or 0.
    confidence : float, default=0.999999
        Probability that the reported loss is not above the true one.
    observe : callable, optional
        Called with what `fit` (or the function) returned and the pair's probes; returns a number, an array or
        a mapping from names to numbers. The default looks at all that a model releases.
    schema : Schema, optional
        The domain to make pairs from; by default the estimator's `schema`, or its `bounds` and `classes`.
    name : str, optional
        How the result calls it.
    n_jobs : int, optional
        Processes; -1 for all cores.
    random_state : int, optional
        Makes the audit repeatable, by giving every run a seed of its own. None audits the randomness that
        users get.
    progress : bool, default=True
        Show a progress bar, if there is a terminal.

    Returns
    -------
    AuditResult
        After Ctrl-C, of the runs until then; its note says so.

    Examples
    --------
    A count with half the noise that it needs:

    >>> import numpy as np
    >>> from dpforest.audit import audit
    >>> def noisy_count(X, y, random_state):
    ...     return len(X) + np.random.default_rng(random_state).laplace(scale=0.5)
    >>> tables = (([[0.0]], [0]), ([[0.0], [1.0]], [0, 1]))
    >>> result = audit(noisy_count, tables, claim=1.0, runs=4000, random_state=0)
    >>> result.verdict
    'violation found'
    """
    from joblib import effective_n_jobs

    name = name or getattr(subject, "__name__", None) or type(subject).__name__
    promise = _Promise(name, *claim_of(subject, claim, delta), confidence)
    pairs = _pairs(subject, pair, schema)
    parts = _Division.of(runs, len(pairs))
    runner = Subject(subject, observe, random_state)
    processes = effective_n_jobs(n_jobs)
    with Progress(name, 2 * parts.per_table, progress) as bar:
        best = pairs[0]
        if len(pairs) > 1:
            scouts, interrupted = collect(runner, pairs, 0, parts.scouting, processes, bar.advance)
            if interrupted:
                return promise.nothing(best.words)
            hopes = [find_outcome(*scout.matrices(), SCOUTING_ALPHA, promise.delta)[1] for scout in scouts]
            best = pairs[int(np.argmax(hopes))]
        again = parts.searching + parts.testing
        (seen,), interrupted = collect(runner, [best], len(pairs), again, processes, bar.advance)
    first, second, names = seen.matrices()
    at = parts.searching
    if interrupted and min(len(first), len(second)) <= at:
        return promise.nothing(best.words)
    note = f"{INTERRUPTED} after {len(seen):,} of {2 * again:,} runs on this pair" if interrupted else ""
    done = 2 * parts.scouting * len(pairs) + len(seen)
    search, test = (first[:at], second[:at]), (first[at:], second[at:])
    return promise.test(search, test, names, best.words, done, note)


def audit_every(
    subjects: Mapping[str, Any],
    *,
    runs: int = 10_000,
    confidence: float = CONFIDENCE,
    n_jobs: int | None = None,
    random_state: int | None = None,
    progress: bool = True,
    on_result: Callable[[AuditResult], None] | None = None,
) -> AuditReport:
    """Audit several estimators one after the other.

    Parameters
    ----------
    subjects : mapping of name to estimator
        What to audit.
    runs, confidence, n_jobs, random_state, progress
        As in `audit`, for each of them.
    on_result : callable, optional
        Called with every result as soon as it is there.

    Returns
    -------
    AuditReport
        After Ctrl-C, of the subjects until then.
    """
    results = []
    for name, subject in subjects.items():
        result = audit(
            subject, runs=runs, confidence=confidence, name=name, n_jobs=n_jobs, random_state=random_state,
            progress=progress,
        )  # fmt: skip
        results.append(result)
        if on_result is not None:
            on_result(result)
        if result.note.startswith(INTERRUPTED):
            return AuditReport(results, interrupted=True)
    return AuditReport(results)


def audit_samples(
    first: ArrayLike,
    second: ArrayLike,
    claim: float,
    *,
    delta: float = 0.0,
    confidence: float = CONFIDENCE,
    names: Sequence[str] | None = None,
    name: str = "samples",
    pair: str = "as given",
) -> AuditResult:
    """Audit outputs that were drawn elsewhere: in another language or process, or in one vectorised call.

    Parameters
    ----------
    first, second : array of shape (n_runs,) or (n_runs, n_numbers)
        Outputs of independent runs with either table. The first half of each finds the outcome, the second
        half measures it, so their order must not have been chosen by looking at them.
    claim, delta, confidence
        As in `audit`.
    names : sequence of str, optional
        The numbers in words.
    name, pair : str
        How the result calls the subject and the two tables.

    Returns
    -------
    AuditResult

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> result = audit_samples(rng.laplace(0, 0.5, 10_000), rng.laplace(1, 0.5, 10_000), claim=1.0)
    >>> result.violation, 1.5 < result.loss < 2
    (True, True)
    """
    a, b = (_two_dimensional(x) for x in (first, second))
    columns = list(names) if names is not None else [f"output {i}" for i in range(a.shape[1])]
    middle = min(len(a), len(b)) // 2
    search, test = (a[:middle], b[:middle]), (a[middle:], b[middle:])
    return _Promise(name, claim, delta, confidence).test(search, test, columns, pair, len(a) + len(b))


@dataclass(frozen=True)
class _Promise:
    """What is audited and what it claims."""

    name: str
    claim: float
    delta: float
    confidence: float

    def test(
        self,
        search: tuple[Numbers, Numbers],
        test: tuple[Numbers, Numbers],
        names: Sequence[str],
        pair: str,
        runs: int,
        note: str = "",
    ) -> AuditResult:
        """Find an outcome in the runs for searching, and measure it in those for testing."""
        alpha = 1 - self.confidence
        outcome, _ = find_outcome(*search, names, alpha, self.delta)
        counts = [(int(outcome.holds(part).sum()), len(part)) for part in test]
        likelier, other = counts if outcome.first_likelier else counts[::-1]
        loss = loss_lower_bound(*likelier, *other, alpha, self.delta)
        return self._result(loss, pair, str(outcome), runs, note)

    def nothing(self, pair: str) -> AuditResult:
        """Return the result of an audit that was stopped before anything was tested."""
        return self._result(0.0, pair, "none yet", 0, f"{INTERRUPTED} before any outcome was tested")

    def _result(self, loss: float, pair: str, event: str, runs: int, note: str) -> AuditResult:
        return AuditResult(
            self.name, self.claim, loss, "statistical", self.confidence, pair, event, runs, self.delta, note
        )


@dataclass(frozen=True)
class _Division:
    """Runs per table and pair, by use."""

    scouting: int
    searching: int
    testing: int
    per_table: int

    @classmethod
    def of(cls, runs: int, n_pairs: int) -> _Division:
        """Divide the runs; a single pair needs no scouting."""
        quarter, half = runs // 8, runs // 4
        scouting = quarter // n_pairs if n_pairs > 1 else 0
        searching = quarter if n_pairs > 1 else half
        if searching < 4 or (n_pairs > 1 and scouting < 4):
            raise ValueError(f"{runs} runs are too few for {n_pairs} pairs of tables; give more runs.")
        return cls(scouting, searching, half, n_pairs * scouting + searching + half)


def claim_of(subject: Any, claim: float | None, delta: float | None) -> tuple[float, float]:
    """Return epsilon and delta of the promise, from the estimator where they are not given."""
    if claim is None:
        claim = getattr(subject, "epsilon", None)
    if claim is None:
        raise ValueError("What is promised? Give claim=epsilon (claim=float('inf') if nothing is promised).")
    return float(claim), float(getattr(subject, "delta", 0.0) if delta is None else delta)


def _pairs(subject: Any, pair: Any, schema: Schema | None) -> list[NeighbourPair]:
    """Take the pairs that were given, or make them from the declared domain."""
    if isinstance(pair, NeighbourPair):
        return [pair]
    if isinstance(pair, tuple):
        return [NeighbourPair.of(*pair)]
    if isinstance(pair, list):
        return pair
    made = presets(
        schema or declared_schema(subject),
        relation_of(subject),
        rows_per_person=getattr(subject, "max_rows_per_person", 1),
        labelled_and_not=getattr(subject, "persons_in_both", False),
        unknown_values=isinstance(subject, PrivateForest),
    )
    if pair is None:
        return made
    chosen = [candidate for candidate in made if candidate.name == pair]
    if not chosen:
        raise ValueError(f"There is no preset {pair!r} here; there are {[made.name for made in made]}.")
    return chosen


def relation_of(subject: Any) -> NeighboringRelation:
    """Return what one person may change; other libraries promise for adding or removing a row."""
    if isinstance(subject, PrivateForest):
        return subject.privacy_plan().relation
    return NeighboringRelation.ADD_OR_REMOVE_ONE


def declared_schema(subject: Any) -> Schema:
    """Return the domain that an estimator declares, as `schema`, or as `bounds` with classes or a range.

    Parameters
    ----------
    subject : estimator
        Of this library, or of another one that uses the same parameters.

    Returns
    -------
    Schema
        With one feature where scalar bounds leave their number open.
    """
    schema = getattr(subject, "schema", None)
    if schema is not None:
        return schema if isinstance(schema, Schema) else Schema.from_dict(schema)
    bounds: Any = getattr(subject, "bounds", None)
    classes: Any = getattr(subject, "classes", None)
    target: Any = getattr(subject, "target_bounds", None)
    if bounds is None or (target is None and classes is None):
        raise ValueError(
            "The tables to try are made from the declared domain, and there is none here: give pair=((X, y), "
            "(X, y)), or schema=Schema(...)."
        )
    features = Schema.from_bounds(bounds, n_features=max(np.size(bounds[0]), np.size(bounds[1]))).features
    return Schema(features, Classes(list(classes)) if target is None else Range(*target))


def _two_dimensional(values: ArrayLike) -> Numbers:
    array = np.asarray(values, np.float64)
    return array.reshape(len(array), -1)
