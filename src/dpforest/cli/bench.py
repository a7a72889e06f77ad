"""`dpforest bench`: rerun the tables of papers and compare with what was published."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpforest.cli.answers import AnsweringCommand, answer, heading, note, table

if TYPE_CHECKING:
    from dpforest.papers.experiments import Result

FOLDER = Path("bench-results")
_folder = click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=FOLDER,
    show_default=True,
    help="Where results are kept.",
)
_quick = click.option("--quick", is_flag=True, help="Fewer repeats, and large datasets sampled down.")
_plugins = click.option(
    "--plugin", "plugins", multiple=True, metavar="MODULE", help="Import first; may register methods."
)


@click.group()
def bench() -> None:
    """Rerun the tables of papers."""


@bench.command("list", cls=AnsweringCommand)
@_plugins
def list_command(plugins: tuple[str, ...]) -> None:
    """List the tables and figures that can be run."""
    _import(plugins)
    from dpforest.papers.experiments import experiment_names, find_experiment

    found = [find_experiment(name) for name in experiment_names()]
    data = [
        {
            "name": e.name,
            "title": e.title,
            "paper": str(e.paper),
            "datasets": list(e.datasets),
            "methods": list(e.methods),
        }
        for e in found
    ]
    rows = [[e.name, e.title, str(e.paper), f"{len(e.datasets)} x {len(e.methods)}"] for e in found]
    answer({"experiments": data}, table(("name", "what", "paper", "datasets x methods"), rows))


@bench.command(cls=AnsweringCommand)
@click.argument("names", nargs=-1, metavar="TABLE...")
@click.option("--all", "everything", is_flag=True, help="Every table.")
@_quick
@_folder
@click.option("--jobs", type=int, default=2, show_default=True, help="Processes; -1 for all cores.")
@click.option(
    "--repeats", type=click.IntRange(min=1), default=None, help="Repeats instead of the paper's number."
)
@click.option(
    "--slow",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="Fits that take longer are repeated as in a quick run only.",
)
@click.option(
    "--kept",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Condensed results, such as docs/results; what has enough repeats there is not run again.",
)
@click.option("--retry", is_flag=True, help="Run fits again that failed before.")
@_plugins
def run(
    names: tuple[str, ...],
    everything: bool,
    quick: bool,
    folder: Path,
    jobs: int,
    repeats: int | None,
    slow: float | None,
    kept: Path | None,
    retry: bool,
    plugins: tuple[str, ...],
) -> None:
    """Run tables, or go on where an earlier run stopped.

    TABLE may be a paper, such as huang2022, for all of its tables; --all takes every table. Those with the
    fewest fits left come first. Results are appended to FOLDER/TABLE.csv, those of quick runs to
    FOLDER/TABLE-quick.csv. The exit code is 1 if a fit failed or a dataset is missing, 130 after Ctrl-C.
    """
    _import(plugins)
    from dpforest.papers.experiments import experiment_names, experiments_of
    from dpforest.papers.experiments import run as run_experiment
    from dpforest.papers.experiments.runner import jobs_left

    if everything == bool(names):
        raise click.UsageError("name tables, or give --all.")
    wanted = [one for name in names or experiment_names() for one in experiments_of(name)]
    wanted.sort(key=lambda one: len(jobs_left(one, quick, repeats, slow=slow, kept=kept)))
    summaries = {}
    for experiment in wanted:
        note(f"{experiment.name}: {experiment.title}")
        done = run_experiment(
            experiment, folder, quick, jobs, repeats=repeats, slow=slow, kept=kept, retry_failed=retry
        )
        summaries[experiment.name] = done
        note(str(done))
        if done.interrupted:
            break
    data = {
        name: {
            "path": str(done.path),
            "done": done.done,
            "failed": done.failed,
            "before": done.before,
            "absent": done.absent,
            "missing": done.missing,
            "left_out": done.left_out,
            "interrupted": done.interrupted,
        }
        for name, done in summaries.items()
    }
    shown = [f"{done.path}" for done in summaries.values()]
    answer(data, *shown)
    if any(done.interrupted for done in summaries.values()):
        sys.exit(130)
    if any(done.failed or done.missing for done in summaries.values()):
        sys.exit(1)


@bench.command(cls=AnsweringCommand)
@click.argument("name", metavar="TABLE")
@_quick
@_folder
@click.option("--html", "html_path", type=click.Path(path_type=Path), help="Also write a page.")
@click.option("--plot", "plot_path", type=click.Path(path_type=Path), help="Also draw: PNG, SVG or PDF.")
@_plugins
def show(
    name: str,
    quick: bool,
    folder: Path,
    html_path: Path | None,
    plot_path: Path | None,
    plugins: tuple[str, ...],
) -> None:
    """Compare results with published figures.

    Without results of a full run those of a quick one are shown.
    """
    _import(plugins)
    from dpforest.papers.experiments import find_experiment, plot, report, summarise
    from dpforest.papers.experiments.report import table_of_text

    experiment = find_experiment(name)
    results = _results(folder, name, quick)
    text = table_of_text(experiment, results)
    if html_path is not None:
        html_path.write_text(report(experiment, results, "html"), encoding="utf-8")
    if plot_path is not None:
        plot(experiment, summarise(results), plot_path)
    rows: list[dict[str, Any]] = [dict(zip(text.header, row, strict=True)) for row in text.rows]
    data = {"title": text.title, "rows": rows, "notes": list(text.notes)}
    numbers = frozenset(text.header) & {"published", "ours, as published", "ours"}
    answer(data, heading(text.title), table(text.header, text.rows, numbers), *text.notes)


@bench.command(cls=AnsweringCommand)
def peers() -> None:
    """Install the forests of other libraries in an environment of their own."""
    from dpforest.papers.experiments.peers import install

    place = install()
    answer({"folder": str(place)}, f"installed in {place}")


def _results(folder: Path, name: str, quick: bool) -> list[Result]:
    from dpforest.papers.experiments import read_results, result_path

    for which in (True,) if quick else (False, True):
        found = read_results(result_path(folder, name, which))
        if found:
            return found
    note(f"no results in {folder}: run `dpforest bench run {name}` first.")
    return []


def _import(modules: tuple[str, ...]) -> None:
    if modules:
        sys.path.insert(0, "")  # modules of the working directory, as python -m has it
    for name in modules:
        import_module(name)
