"""Means and standard errors of results, kept in small files, and how they compare with published figures.

`summarise` turns the lines of a result file into one `Summary` per cell; `compare` puts published,
as-published and rigorous side by side, which `report`, `figures` and `page` show.
"""

from __future__ import annotations

import csv
import math
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import astuple, dataclass, fields, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from dpforest.papers.experiments.experiment import Cell, Experiment
from dpforest.papers.experiments.jobs import jobs_of
from dpforest.papers.experiments.methods import AS_PUBLISHED, find
from dpforest.papers.experiments.metrics import find_metric
from dpforest.papers.experiments.results import Result

__all__ = [
    "Comparison",
    "Summary",
    "compare",
    "join_kept",
    "pairs",
    "read_kept",
    "shortfall",
    "summarise",
    "write_kept",
]

ERRORS_ALLOWED = 2.0
FEWEST_REPEATS = 3  # fewer say too little about their own scatter
WIDEST_POINTS, WIDEST_PART = 0.05, 0.2  # an interval beyond 5 points, or a fifth of the figure, tells nothing


@dataclass(frozen=True)
class Summary:
    """Mean of a cell over its repeats.

    Parameters
    ----------
    dataset, method, epsilon, setting : str, str, float, str
        The cell.
    mean, standard_error : float
        Of the metric; the error of one repeat alone is not a number.
    repeats, failed : int
        Fits that count, and fits that failed.
    n_train : int
        Rows to learn from.
    version, revision : str
        Of this library; several are joined by spaces.
    seconds : float, default=nan
        Processor time of the quickest fit; not a number for results that were kept without.
    values : tuple of float, default=()
        The metric of every repeat, in order, not a number for one that failed; empty for results that were
        kept without. Methods of a repeat see the same rows, so that differences can be taken in pairs.
    """

    dataset: str
    method: str
    epsilon: float
    setting: str
    mean: float
    standard_error: float
    repeats: int
    failed: int
    n_train: int
    version: str
    revision: str
    seconds: float = math.nan
    values: tuple[float, ...] = ()

    @property
    def cell(self) -> Cell:
        """Where it belongs in the table."""
        return Cell(self.dataset, self.method, self.epsilon, self.setting)


Summaries = Mapping[Cell, Summary]


def summarise(results: Iterable[Result]) -> dict[Cell, Summary]:
    """Average results over their repeats; of a job that was tried again, the last try counts.

    Parameters
    ----------
    results : iterable of Result
        Lines of a result file.

    Returns
    -------
    dict of Cell to Summary
    """
    last = {result.key: result for result in results}
    groups: dict[Cell, list[Result]] = defaultdict(list)
    for result in last.values():
        groups[result.cell].append(result)
    return {cell: _summary(cell, group) for cell, group in groups.items()}


def _summary(cell: Cell, group: list[Result]) -> Summary:
    by_repeat = {result.repeat: result.value for result in group if result.status == "ok"}
    values = list(by_repeat.values())
    n = len(values)
    mean = sum(values) / n if n else math.nan
    variance = sum((value - mean) ** 2 for value in values) / (n - 1) if n > 1 else math.nan
    return Summary(
        cell.dataset,
        cell.method,
        cell.epsilon,
        cell.setting,
        mean,
        math.sqrt(variance / n) if n else math.nan,
        n,
        len(group) - n,
        max(result.n_train for result in group),
        " ".join(sorted({result.dpforest for result in group})),
        " ".join(sorted({result.revision for result in group})),
        min(result.seconds for result in group),
        tuple(by_repeat.get(repeat, math.nan) for repeat in range(max(by_repeat, default=-1) + 1)),
    )


def pairs(first: Summary, second: Summary) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the values of the repeats that two cells of a dataset share; they had the same rows."""
    both = [
        pair
        for pair in zip(first.values, second.values, strict=False)
        if not (math.isnan(pair[0]) or math.isnan(pair[1]))
    ]
    return tuple(one for one, _ in both), tuple(other for _, other in both)


def write_kept(path: str | os.PathLike[str], summaries: Summaries) -> None:
    """Write summaries to a small file, in a fixed order and with few digits, so that changes are readable."""
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(field.name for field in fields(Summary))
        ordered = sorted(summaries.values(), key=lambda s: (s.dataset, s.method, s.epsilon, s.setting))
        writer.writerows([_text(value) for value in astuple(summary)] for summary in ordered)


def read_kept(path: str | os.PathLike[str]) -> dict[Cell, Summary]:
    """Read what `write_kept` wrote."""
    floats, whole = ("epsilon", "mean", "standard_error", "seconds"), ("repeats", "failed", "n_train")
    readers: dict[str, Callable[[str], Any]] = {
        **dict.fromkeys(floats, float),
        **dict.fromkeys(whole, int),
        "values": lambda text: tuple(map(float, text.split())),
    }
    with Path(path).open(newline="", encoding="utf-8") as file:
        read = [
            Summary(**{name: readers.get(name, str)(value) for name, value in row.items()})
            for row in csv.DictReader(file)
        ]
    return {summary.cell: summary for summary in read}


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return " ".join(f"{one:.5g}" for one in value)
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def join_kept(before: Summaries, new: Summaries) -> dict[Cell, Summary]:
    """Return what to keep of two runs: of every cell the one with more repeats, else the new one.

    What was kept without its time takes that of the new run.
    """
    joined = dict(before)
    for cell, summary in new.items():
        old = before.get(cell)
        if old is None or summary.repeats >= old.repeats:
            joined[cell] = summary
        elif math.isnan(old.seconds):
            joined[cell] = replace(old, seconds=summary.seconds)
    return joined


@dataclass(frozen=True)
class Comparison:
    """A cell of a paper's table beside our two forms.

    Parameters
    ----------
    cell : Cell
        With the method's plain name.
    published : float or None
        The paper's figure.
    spread : float or None
        What the paper prints behind the plus-minus sign.
    void : tuple of str
        Why the guarantee that was published with the figure does not hold; empty if it does.
    as_published, rigorous : Summary or None
        Our runs of the paper's own form and of the method as it stands here.
    paper_repeats : int
        Repeats in the paper.
    formula : bool
        Whether the figure follows from a formula, so that nothing scatters.
    widest : float
        Differences up to here may go unnoticed; where more would, agreement means nothing.
    """

    cell: Cell
    published: float | None
    spread: float | None
    void: tuple[str, ...]
    as_published: Summary | None
    rigorous: Summary | None
    paper_repeats: int
    formula: bool = False
    widest: float = math.inf

    @property
    def ours(self) -> Summary | None:
        """The run that should give the paper's figure: its own form, if it is another than ours."""
        return self.as_published or self.rigorous

    @property
    def standard_error(self) -> float:
        """Of the difference between our mean and the paper's; its repeats scatter as ours do."""
        if self.ours is None:
            return math.nan
        return self.ours.standard_error * math.sqrt(1 + self.ours.repeats / self.paper_repeats)

    @property
    def difference(self) -> float:
        """Ours minus the paper's."""
        if self.ours is None or self.published is None:
            return math.nan
        return self.ours.mean - self.published

    @property
    def reproduced(self) -> bool | None:
        """Whether the two differ by at most two standard errors; None if unknown.

        Formulas do not scatter: they may differ by one in the last printed digit, since some papers round and
        some cut off. An error estimated from few repeats is itself uncertain: Student's t says how much two
        become.
        """
        if math.isnan(self.difference) or math.isnan(self.allowed):
            return None
        return abs(self.difference) <= self.allowed

    @property
    def allowed(self) -> float:
        """Largest difference that counts as reproduced."""
        if self.formula and self.published is not None:
            return 1.000001 * 10.0 ** int(Decimal(repr(self.published)).as_tuple().exponent)
        return _allowed(self.ours) * self.standard_error

    @property
    def cannot_tell(self) -> bool:
        """Whether the two agree only because our runs scatter so much that much else would agree too."""
        return bool(self.reproduced) and not self.formula and self.allowed > self.widest

    def rigorous_no_worse(self, higher_is_better: bool) -> bool | None:
        """Whether our rigorous form reaches the paper's figure within two standard errors; None: unknown."""
        if self.rigorous is None or self.published is None or self.as_published is None:
            return None
        error = self.rigorous.standard_error * math.sqrt(1 + self.rigorous.repeats / self.paper_repeats)
        gain = self.rigorous.mean - self.published
        allowed = _allowed(self.rigorous) * error
        gain = gain if higher_is_better else -gain
        if math.isnan(allowed) or (-allowed <= gain < 0 and allowed > self.widest):
            return None
        return gain >= -allowed


def _allowed(summary: Summary | None) -> float:
    """Return how many estimated standard errors cover what two known ones do, 95.4 %; NaN for few repeats."""
    from scipy.stats import norm, t

    if summary is None or summary.repeats < FEWEST_REPEATS:
        return math.nan
    return float(t.ppf(norm.cdf(ERRORS_ALLOWED), summary.repeats - 1))


def compare(experiment: Experiment, summaries: Summaries) -> list[Comparison]:
    """Put every cell of a table, published or run, beside our two forms, in the order of the table.

    Parameters
    ----------
    experiment : Experiment
        The table.
    summaries : mapping of Cell to Summary
        What was run.

    Returns
    -------
    list of Comparison
    """
    plain = [
        Cell(cell.dataset, cell.method.removesuffix(AS_PUBLISHED), cell.epsilon, cell.setting)
        for cell in summaries
    ]
    cells = dict.fromkeys([*experiment.published_cells(), *plain])
    rows = {name: place for place, name in enumerate(experiment.datasets)}
    columns = {name: place for place, name in enumerate(experiment.methods)}
    settings = {key: place for place, key in enumerate(experiment.setting_keys())}

    def place(cell: Cell) -> tuple[int, int, float, int]:
        setting = settings.get(cell.setting, 999)
        return rows.get(cell.dataset, 999), columns.get(cell.method, 999), cell.epsilon, setting

    return [_comparison(experiment, cell, summaries) for cell in sorted(cells, key=place)]


def _comparison(experiment: Experiment, cell: Cell, summaries: Summaries) -> Comparison:
    published_form = Cell(cell.dataset, cell.method + AS_PUBLISHED, cell.epsilon, cell.setting)
    return Comparison(
        cell,
        experiment.published_value(cell),
        experiment.spread(cell),
        void_reasons(experiment, cell.method),
        summaries.get(published_form),
        summaries.get(cell),
        experiment.repeats,
        experiment.compute is not None,
        _widest(experiment, experiment.published_value(cell)),
    )


def _widest(experiment: Experiment, published: float | None) -> float:
    if published is None:
        return math.inf
    return WIDEST_POINTS if find_metric(experiment.metric).percent else WIDEST_PART * abs(published)


def shortfall(experiment: Experiment, summaries: Summaries) -> str:
    """Say in how many repeats a quick run was made, and of how many cells; empty if all was run."""
    repeats = [summary.repeats for summary in summaries.values()]
    if experiment.compute is not None or not repeats:
        return ""
    least, most = min(repeats), max(repeats)
    told = str(least) if least == most else f"{least} to {most}"
    parts = [f"{told} repeat{'s' if most > 1 else ''} of {experiment.repeats}"] * (least < experiment.repeats)
    lines = {
        (cell.dataset, cell.method) for cell in summaries
    }  # whole lines that are not here are told elsewhere
    cells = {job.cell for job in jobs_of(experiment, repeats=1)}
    wanted = {cell for cell in cells if (cell.dataset, cell.method) in lines}
    here = len(wanted & set(summaries))
    parts += [f"{here} of {len(wanted)} cells"] * (here < len(wanted))
    return f"quick: {', '.join(parts)}" if parts else ""


def void_reasons(experiment: Experiment, name: str) -> tuple[str, ...]:
    """Return why the guarantee published for a method does not hold; empty if it does or was never given."""
    method = find(name)
    own = (experiment.published_void[name],) if name in experiment.published_void else ()
    return own + (method.void_reasons(experiment.task) if method is not None else ())
