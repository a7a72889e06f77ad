"""A table of published figures beside ours, as rows of text, Markdown or HTML.

`report` is what users call; the command line lays out the same rows on a terminal, and `page` puts the
Markdown of all kept results together.
"""

from __future__ import annotations

import html
import json
import math
from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from dpforest.papers.experiments.experiment import Cell, Experiment
from dpforest.papers.experiments.metrics import Metric, find_metric
from dpforest.papers.experiments.rank_tests import rank_note, rank_outcomes
from dpforest.papers.experiments.results import Result
from dpforest.papers.experiments.summary import Comparison, Summary, compare, shortfall, summarise

__all__ = ["TableOfText", "report", "table_of_text"]

VOID = "†"
_STYLE = """body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto }
table { border-collapse: collapse } th, td { padding: .2rem .7rem; border-bottom: 1px solid #ddd }
th { text-align: left; position: sticky; top: 0; background: #fff } td.number { text-align: right }
td.no { color: #a40000 } td.yes { color: #00610e }"""


class TableOfText(NamedTuple):
    """A report as text, ready to be laid out.

    Parameters
    ----------
    title : str
        What is compared, and where it was published.
    header : tuple of str
        Names of the columns.
    rows : tuple of tuple of str
        One per cell of the paper's table.
    notes : tuple of str
        Sentences below.
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]


def report(
    experiment: Experiment,
    results: Iterable[Result] | Mapping[Cell, Summary],
    form: Literal["markdown", "html"] = "markdown",
) -> str:
    """Write a table of published figures beside ours.

    Parameters
    ----------
    experiment : Experiment
        The table.
    results : iterable of Result, or mapping of Cell to Summary
        Lines of a result file, or kept summaries.
    form : {"markdown", "html"}, default="markdown"
        How to write it.

    Returns
    -------
    str
    """
    text = table_of_text(experiment, results)
    return _html(text) if form == "html" else markdown(text)


def table_of_text(experiment: Experiment, results: Iterable[Result] | Mapping[Cell, Summary]) -> TableOfText:
    """Lay out a comparison; columns that would say the same in every row are left out.

    Parameters
    ----------
    experiment : Experiment
        The table.
    results : iterable of Result, or mapping of Cell to Summary
        Lines of a result file, or kept summaries.

    Returns
    -------
    TableOfText
    """
    summaries = results if isinstance(results, Mapping) else summarise(results)
    metric = find_metric(experiment.metric)
    compared = compare(experiment, summaries)
    wanted = {
        "epsilon": len({c.cell.epsilon for c in compared if not math.isinf(c.cell.epsilon)}) > 1,
        "setting": len({c.cell.setting for c in compared}) > 1,
    }
    told = [_line(experiment, comparison, metric) for comparison in compared]
    header = [name for name in _line_names() if wanted.get(name, True)]
    rows = tuple(tuple(line[name] for name in header) for line in told)
    title = f"{experiment.name}: {experiment.title}. {experiment.paper}"
    notes = _notes(experiment, summaries, compared, metric)
    ranks = (
        rank_note(experiment.rank_test, rank_outcomes(experiment, summaries)) if experiment.rank_test else ""
    )
    return TableOfText(title, tuple(header), rows, (*notes, ranks) if ranks else notes)


def _line_names() -> tuple[str, ...]:
    return (
        "dataset",
        "method",
        "epsilon",
        "setting",
        "published",
        "ours, as published",
        "ours",
        "verdict",
    )


def _line(experiment: Experiment, comparison: Comparison, metric: Metric) -> dict[str, str]:
    cell = comparison.cell
    texts = (
        short_names(experiment)[cell.dataset],
        experiment.labels.get(cell.method, cell.method),
        "" if math.isinf(cell.epsilon) else f"{cell.epsilon:g}",
        _setting(cell.setting),
        _published(comparison, metric),
        _mean(comparison.as_published, metric),
        _mean(comparison.rigorous, metric),
        verdict(comparison, metric),
    )
    return dict(zip(_line_names(), texts, strict=True))


def short_names(experiment: Experiment) -> dict[str, str]:
    """Return the datasets' names without the view ("@paper") behind them, as far as they stay different."""
    names = {*experiment.datasets, *(cell.dataset for cell in experiment.published_cells())}
    short = {name: name.split("@")[0] for name in names}
    return short if len(set(short.values())) == len(short) else {name: name for name in names}


def _setting(key: str) -> str:
    return ", ".join(f"{name}={value}" for name, value in json.loads(key).items()) if key else ""


def _published(comparison: Comparison, metric: Metric) -> str:
    if comparison.published is None:
        return ""
    spread = "" if comparison.spread is None else f" ± {_bare(comparison.spread, metric)}"
    mark = f" {VOID}" if comparison.void else ""
    return f"{metric.show(comparison.published)}{spread}{mark}"


def _mean(summary: Summary | None, metric: Metric) -> str:
    if summary is None:
        return ""
    failed = f", {summary.failed} failed" if summary.failed else ""
    if not summary.repeats:
        return f"failed {summary.failed} times"
    error = "" if math.isnan(summary.standard_error) else f" ± {_bare(summary.standard_error, metric)}"
    return f"{metric.show(summary.mean)}{error} ({summary.repeats}{failed})"


def _bare(value: float, metric: Metric) -> str:
    return f"{100 * value:.2f}" if metric.percent else f"{value:.2g}"


def verdict(comparison: Comparison, metric: Metric) -> str:
    """Say whether our run of the paper's form gives the paper's figure, or else how far off it is."""
    if comparison.reproduced is None:
        return ""
    if comparison.cannot_tell:
        return f"cannot tell (± {_bare(comparison.allowed, metric)})"
    if comparison.reproduced:
        return "reproduced"
    better = (comparison.difference > 0) == (metric.better == "higher")
    words = ("better" if better else "worse") if metric.better else "differs"
    size = abs(comparison.difference)
    return f"{words} by {f'{100 * size:.2f} points' if metric.percent else f'{size:.2g}'}"


def _notes(
    experiment: Experiment, summaries: Mapping[Cell, Summary], compared: list[Comparison], metric: Metric
) -> tuple[str, ...]:
    direction = f" ({metric.better} is better)" if metric.better else ""
    errors = "" if experiment.compute else ": mean ± standard error (repeats)"
    notes = [f"Metric: {experiment.metric}{direction}{errors}."]
    quick = shortfall(experiment, summaries)
    notes += [f"**{quick.capitalize()}.**"] if quick else []
    if any(c.as_published is not None for c in compared):
        notes.append('"Ours" is the rigorous form; where the paper\'s own form differs, it stands beside it.')
    judged = [c.reproduced and not c.cannot_tell for c in compared if c.reproduced is not None]
    open_ = sum(c.cannot_tell for c in compared)
    if judged:
        allowed = "one in the last printed digit" if experiment.compute else "two standard errors"
        notes.append(
            f"{sum(judged)} of {len(judged)} published figures are reproduced: our run of the same form "
            f"differs by at most {allowed}." + (f" {open_} cannot be told from these runs." if open_ else "")
        )
    broken: dict[str, tuple[str, ...]] = {c.cell.method: c.void for c in compared if c.void and c.published}
    for name, reasons in broken.items():
        label = experiment.labels.get(name, name)
        notes.append(f"{VOID} The published guarantee of {label} does not hold: {'; '.join(reasons)}.")
    here = {c.cell.method for c in compared if c.ours is not None}
    absent = [name for name in experiment.methods if name not in here]
    if absent:
        notes.append(f"Not run: {', '.join(absent)}.")
    rows_here = {c.cell.dataset for c in compared if c.ours is not None}
    missing = [name for name in experiment.datasets if name not in rows_here]
    if missing:
        notes.append(f"Datasets not run: {', '.join(missing)}.")
    return (*notes, experiment.notes) if experiment.notes else tuple(notes)


def markdown(text: TableOfText, heading: str = "#") -> str:
    """Write a report as Markdown.

    Parameters
    ----------
    text : TableOfText
        The report.
    heading : str, default="#"
        Mark of the heading; none if empty.

    Returns
    -------
    str
    """
    cells = [text.header, tuple("---" for _ in text.header), *text.rows]
    lines = [f"| {' | '.join(cell.replace('|', '¦') for cell in row)} |" for row in cells]
    head = [f"{heading} {text.title}", ""] if heading else []
    return "\n".join([*head, *(f"{note}\n" for note in text.notes), *lines, ""])


def _html(text: TableOfText) -> str:
    def cell(name: str, value: str) -> str:
        kind = "number" if name in _line_names()[4:7] else ""
        if name == "verdict":
            kind = "yes" if value == "reproduced" else "no"
        return f'<td class="{kind}">{html.escape(value)}</td>'

    header = "".join(f"<th>{html.escape(name)}</th>" for name in text.header)
    rows = "\n".join(
        f"<tr>{''.join(cell(name, value) for name, value in zip(text.header, row, strict=True))}</tr>"
        for row in text.rows
    )
    notes = "\n".join(f"<p>{html.escape(note)}</p>" for note in text.notes)
    title = html.escape(text.title)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>\n'
        f"<style>{_STYLE}</style></head><body>\n<h1>{title}</h1>\n{notes}\n"
        f"<table><thead><tr>{header}</tr></thead><tbody>\n{rows}\n</tbody></table>\n</body></html>\n"
    )
