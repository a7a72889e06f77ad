"""The black-box auditor: run anything that fits many times on two tables, and guess which of them it was.

    2/5 of the runs    which of several pairs of neighbouring tables leaks most (`scouting`)
    all others         guess the table of each run of that pair, in three batches (`wagers`), by a rule that
                       was found in the runs before (`events`)

Whoever keeps epsilon-DP lets nobody guess right more often than e^epsilon times for every wrong guess. Rules
are fixed before the runs that they are used in, so the bound is honest whatever the search did: it is above
the true loss with probability at most 1 - confidence (`evidence`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from dpforest.audit.columns import Runs
from dpforest.audit.fitting import CannotAuditError, Subject
from dpforest.audit.observe import Observer, named, observe
from dpforest.audit.pairs import NeighbourPair
from dpforest.audit.promises import claim_of, pairs_for
from dpforest.audit.result import AuditReport, AuditResult
from dpforest.audit.running import Progress, Runner
from dpforest.audit.scouting import Plan
from dpforest.audit.trial import INTERRUPTED, Promise, Trial
from dpforest.audit.wagers import Wagers
from dpforest.schema import Schema

CONFIDENCE = 1 - 1e-6


def audit(
    subject: Any,
    pair: NeighbourPair | Sequence[NeighbourPair] | tuple[Any, Any] | str | None = None,
    *,
    runs: int = 10_000,
    max_runs: int | None = None,
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
    subject : estimator, class, factory or function
        An unfitted estimator of this or any other library; or any other object with ``fit(X, y)``, a class of
        such objects, or a function without arguments that makes one; or a function that is called with
        ``(X, y)`` and, if it has such a parameter, ``random_state``, and returns what would be released.
    pair : NeighbourPair, list of them, two tables, name of a preset, or None
        Neighbouring tables, ``((X, y), (X, y))``. None tries all `presets` of the declared domain.
    runs : int, default=10_000
        Fits in all, on both tables together.
    max_runs : int, optional
        If these make a violation likely but do not prove it, go on until they do, or up to so many fits.
        The confidence holds all the same. By default `runs`.
    claim : float, optional
        The promised epsilon; by default the estimator's `epsilon`.
    delta : float, optional
        The promised delta; by default the estimator's `delta`, or 0.
    confidence : float, default=0.999999
        Probability that the reported loss is not above the true one.
    observe : callable, optional
        Called with the fitted model (or what the function returned) and the pair's probes; returns anything:
        numbers, NaN, texts, arrays of any shape, mappings. The default looks at all that a model releases.
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
        After Ctrl-C, of the runs until then; its note says so. That a fit fails or warns with one table only
        is a violation like any other; it is reported if nothing else is found, and in the note otherwise.

    Raises
    ------
    CannotAuditError
        If nothing was ever released with either table; the message says what to do.

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

    runner = Subject(subject, observe, random_state)
    name = name or getattr(subject, "__name__", None) or type(subject).__name__
    promise = Promise(name, *claim_of(runner.example, claim, delta), confidence)
    pairs = pairs_for(runner.example, pair, schema)
    plan = Plan.of(runs, len(pairs))
    with Progress(name, runs, progress) as bar:
        running = Runner(runner, pairs, effective_n_jobs(n_jobs), bar)
        return Trial(promise, running, plan).result(max_runs or runs)


def audit_every(
    subjects: Mapping[str, Any],
    *,
    runs: int = 10_000,
    max_runs: int | None = None,
    claim: float | None = None,
    schema: Schema | None = None,
    confidence: float = CONFIDENCE,
    n_jobs: int | None = None,
    random_state: int | None = None,
    progress: bool = True,
    on_result: Callable[[AuditResult], None] | None = None,
    on_failure: Callable[[str, CannotAuditError], None] | None = None,
) -> AuditReport:
    """Audit several estimators one after the other.

    Parameters
    ----------
    subjects : mapping of name to estimator
        What to audit.
    runs, max_runs, claim, schema, confidence, n_jobs, random_state, progress
        As in `audit`, for each of them.
    on_result : callable, optional
        Called with every result as soon as it is there.
    on_failure : callable, optional
        Called with the name and the error of every subject that cannot be audited, before the next one is; by
        default the error is raised.

    Returns
    -------
    AuditReport
        After Ctrl-C, of the subjects until then.
    """
    results = []
    for name, subject in subjects.items():
        try:
            result = audit(
                subject, runs=runs, max_runs=max_runs, claim=claim, schema=schema, confidence=confidence,
                name=name, n_jobs=n_jobs, random_state=random_state, progress=progress,
            )  # fmt: skip
        except CannotAuditError as error:
            if on_failure is None:
                raise
            on_failure(name, error)
            continue
        results.append(result)
        if on_result is not None:
            on_result(result)
        if result.note.startswith(INTERRUPTED):
            return AuditReport(results, interrupted=True)
    return AuditReport(results)


def audit_samples(
    first: Any,
    second: Any,
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
    first, second : array of shape (n_runs,) or (n_runs, n_numbers), or list of anything
        Outputs of independent runs with either table. Rules are found in the first ones and used on the
        others, so their order must not have been chosen by looking at them.
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
    a, b = (_runs_of(samples, names) for samples in (first, second))
    plan = Plan.of(2 * min(a.number, b.number), n_pairs=1)
    promise = Promise(name, claim, delta, confidence)
    wagers = Wagers(promise.alpha, delta)
    wagers.watch(a.part(0, plan.first), b.part(0, plan.first))
    for begin, end in pairwise(accumulate(plan.batches, initial=plan.first)):
        wagers.find(2 * (end - begin))
        wagers.play(a.part(begin, end), b.part(begin, end))
    return promise.result(wagers, pair, a.number + b.number)


def _runs_of(samples: Any, names: Sequence[str] | None) -> Runs:
    """Bring outputs drawn elsewhere into the form of runs."""
    try:
        array = np.asarray(samples)
    except ValueError:  # not all of one shape
        array = np.empty(0, object)
    if array.dtype.kind in "biuf":
        columns = array.reshape(len(array), -1).astype(np.float64)
        called = names or [f"output {i}" for i in range(columns.shape[1])]
        return Runs(len(array), dict(zip(called, columns.T, strict=True)))
    if names is not None:
        return Runs.of([named(dict(zip(names, np.atleast_1d(output), strict=True))) for output in samples])
    return Runs.of([named(output) for output in samples])
