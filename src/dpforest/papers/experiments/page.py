"""The page of results in the documentation, made of the kept result files.

`keep` condenses result files into small ones that are committed; `results_page` writes the page from those
and from ``remarks.toml`` beside them, where likely reasons for differences stand, by experiment and paper.
`docs/results/write_results.py` calls both.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from dpforest.papers.experiments.catalogue import experiment_names, find_experiment
from dpforest.papers.experiments.claims import judge
from dpforest.papers.experiments.experiment import Cell, Experiment
from dpforest.papers.experiments.metrics import find_metric
from dpforest.papers.experiments.report import markdown, table_of_text, verdict
from dpforest.papers.experiments.results import read_results, result_path
from dpforest.papers.experiments.summary import (
    FEWEST_REPEATS,
    Comparison,
    Summary,
    compare,
    join_kept,
    read_kept,
    shortfall,
    summarise,
    write_kept,
)
from dpforest.papers.experiments.tables._claims import CLAIMS

__all__ = ["keep", "results_page"]

QUICK_FIT, ENOUGH = 1.0, 20  # seconds, and the repeats that fits quicker than that should have
INTRODUCTION = """# Results: what of the papers reproduces

Generated from the files in `results/` by `python docs/results/write_results.py`; do not edit.

Every published figure stands beside two runs of ours on the same kind of split: the paper's own algorithm,
flaws included (`as_published=True`), and the rigorous form, which keeps its promise. A figure counts as
reproduced if our run of the paper's own form (or of the reference method) differs from it by at most two
standard errors of the difference, taking the paper's repeats to scatter as ours do (and, for few repeats, as
many errors more as Student's t asks for); by chance alone about one figure in twenty then fails. Where two
errors are more than 5 points (for figures that are no percentages, more than a fifth of the figure), a figure
that agrees would agree with much else: "cannot tell". Runs with fewer repeats than the paper's are marked
quick. Run any of it with `dpforest bench run NAME`, or all of it, unattended, with `dpforest bench run --all
--repeats 20 --slow 1`: every fit is on disk when it ends, and started again the command does what is left.

"False ground" counts figures whose published guarantee does not hold (see `explanation/broken-promises.md`):
they are accuracies of algorithms that are not as private as stated. "Rigorous no worse" counts those where
our private form gives the published figure or a better one, within the same two standard errors, out of those
where the runs can tell. "Other" are differences of numbers that are neither good nor bad.

What papers say in words is judged in the same way: a claim about all datasets holds if the difference is
clear (beyond two standard errors) on all, and does not if it is clear the other way on one, or if no
difference is clear and none of a point (or a twentieth of the figure) can have been overlooked, "the same"; a
claim about most of them is settled by half. All methods of a repeat had the same rows, so differences are
taken repeat by repeat where the kept files have single values.

[The papers, row by row](papers.md) lists what they contain.
"""


def keep(folder: str | os.PathLike[str], kept: str | os.PathLike[str]) -> None:
    """Condense the result files of a folder, full ones before quick ones.

    Cells that were not run anew stay as they were kept, so that single columns can be run again, and so do
    those that were kept with more repeats. If a method itself has changed, delete what was kept of it first.

    Parameters
    ----------
    folder : path
        What `run` wrote.
    kept : path
        Where the small files go.
    """
    Path(kept).mkdir(parents=True, exist_ok=True)
    for experiment in map(find_experiment, experiment_names()):
        for quick in (False, True):
            results = read_results(result_path(folder, experiment.name, quick))
            if results:
                path = Path(kept) / f"{experiment.name}.csv"
                before = read_kept(path) if path.exists() else {}
                write_kept(path, join_kept(before, summarise(results)))
                break


def results_page(kept: str | os.PathLike[str]) -> str:
    """Write the page of results.

    Parameters
    ----------
    kept : path
        Folder with the kept files and ``remarks.toml``.

    Returns
    -------
    str
        Markdown.
    """
    path = Path(kept) / "remarks.toml"
    remarks: dict[str, str] = tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    papers: dict[str, list[_Found]] = {}
    for found in _all_found(Path(kept)):
        paper = found.experiment.paper
        papers.setdefault(f"{paper.authors} ({paper.year})", []).append(found)
    everything = [found for group in papers.values() for found in group]
    parts = [INTRODUCTION, _power(everything), _overview(everything)]
    for name, group in papers.items():
        first = group[0].experiment
        parts += [f"## {name}\n", *([f"*{first.paper.title}*\n"] if first.paper.title else [])]
        parts += _remark(remarks, first.name.split("-")[0])
        parts += _claims(first.name.split("-")[0], Path(kept))
        for found in group:
            parts += _section(found, remarks) if found.compared else ()
        drawn = [found for found in group if not found.compared]
        if drawn:
            files = ", ".join(map(_link, drawn))
            parts.append(f"Run and kept, but without figures in print to compare with: {files}.\n")
    return "\n".join(parts)


def _claims(number: str, kept: Path) -> list[str]:
    """Lay out what a paper says in words, and what of it holds."""

    def of(name: str) -> Mapping[Cell, Summary]:
        path = kept / f"{name}.csv"
        return read_kept(path) if path.exists() else {}

    told = [(claim, judge(claim, of)) for claim in CLAIMS.get(number, ())]
    rows = [f"| {c.place} | {c.says} | {f.measured} | {f.verdict} |" for c, f in told]
    header = [
        "| place | the paper says | measured here, with the paper's own forms | verdict |",
        "|---|---|---|---|",
    ]
    return ["\n".join([*header, *rows, ""])] if rows else []


def _link(found: _Found) -> str:
    quick = shortfall(*found)
    name = found.experiment.name
    return f"[{name}](results/{name}.csv)" + (f" ({quick})" if quick else "")


class _Found(NamedTuple):
    """An experiment with what was kept of it."""

    experiment: Experiment
    summaries: Mapping[Cell, Summary]

    @property
    def compared(self) -> list[Comparison]:
        return [c for c in compare(self.experiment, self.summaries) if c.published is not None]


def _all_found(kept: Path) -> Iterator[_Found]:
    for name in experiment_names():
        path = kept / f"{name}.csv"
        if path.exists():
            yield _Found(find_experiment(name), read_kept(path))


def _power(everything: list[_Found]) -> str:
    """Say with how many repeats the papers' tables were run, where a fit is quick and where it is not."""
    cells = [
        summary
        for found in everything
        if found.experiment.compute is None and found.experiment.name.split("-")[0] in CLAIMS
        for summary in found.summaries.values()
    ]
    quick = [one for one in cells if one.seconds < QUICK_FIT]
    told = ", ".join(
        f"{sum(one.repeats >= least for one in quick)} have {least}" for least in (ENOUGH, 10, FEWEST_REPEATS)
    )
    slow = [one for one in cells if one.seconds >= QUICK_FIT]
    unknown = len(cells) - len(quick) - len(slow)
    return (
        f"Repeats: the papers' tables have {len(cells)} cells here, formulas left out, made of "
        f"{sum(one.repeats for one in cells):,} fits. Of {len(quick)} cells whose quickest fit took under a "
        f"second {told} or more. Of {len(slow)} slower ones "
        f"{sum(one.repeats >= FEWEST_REPEATS for one in slow)} have {FEWEST_REPEATS} or more; {unknown} were "
        "kept without their time. Every table below says how many each figure has.\n"
    )


def _overview(everything: list[_Found]) -> str:
    header = (
        "experiment", "published figures", "false ground", "compared", "reproduced", "cannot tell",
        "better here", "worse here", "other", "rigorous no worse",
    )  # fmt: skip
    lines = [f"| {' | '.join(header)} |", "|---" * len(header) + "|"]
    told = [(found.experiment, _counts(found)) for found in everything if found.compared]
    lines += [f"| [{one.name}](#{one.name}) | {_columns(counts)} |" for one, counts in told]
    once = [counts for one, counts in told if not one.is_reading]
    total = [sum(column) for column in zip(*once, strict=True)]
    lines += [f"| all but other readings | {_columns(total)} |"] if once else []
    return "\n".join([*lines, ""])


def _counts(found: _Found) -> list[int]:
    compared, metric = found.compared, find_metric(found.experiment.metric)
    judged = [c for c in compared if c.reproduced is not None]
    words = [verdict(c, metric).split()[0] for c in judged]
    forms = [c.rigorous_no_worse(metric.better == "higher") for c in compared if metric.better]
    known = [answer for answer in forms if answer is not None]
    void = sum(bool(c.void) for c in compared)
    kinds = [words.count(word) for word in ("reproduced", "cannot", "better", "worse", "differs")]
    return [len(compared), void, len(judged), *kinds, sum(known), len(known)]


def _columns(counts: list[int]) -> str:
    *numbers, good, known = counts
    return " | ".join([*map(str, numbers), f"{good} of {known}" if known else ""])


def _section(found: _Found, remarks: Mapping[str, str]) -> Iterator[str]:
    experiment = found.experiment
    text = table_of_text(experiment, found.summaries)
    yield f"### {experiment.name}\n"
    yield f"{experiment.title}. {experiment.paper}.\n"
    yield from (f"{note}\n" for note in text.notes)
    yield from _remark(remarks, experiment.name)
    versions = sorted({f"{s.version} ({s.revision})" for s in found.summaries.values()})
    yield f"<details><summary>All figures, run with dpforest {', '.join(versions)}</summary>\n"
    yield markdown(text._replace(notes=()), heading="")
    yield "</details>\n"


def _remark(remarks: Mapping[str, str], name: str) -> list[str]:
    return [f"{remarks[name].strip()}\n"] if name in remarks else []
