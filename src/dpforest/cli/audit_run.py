"""`dpforest audit run`: the statistical auditor over every estimator, or over one of your own."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpforest.cli.answers import AnsweringCommand, answer, answers_in_json
from dpforest.cli.schema import check_new

if TYPE_CHECKING:
    from dpforest.audit import AuditReport, AuditResult

RUNS, QUICK_RUNS = 4000, 500


@click.command(cls=AnsweringCommand)
@click.argument("subjects", nargs=-1, metavar="[SUBJECT]...")
@click.option(
    "--runs", type=click.IntRange(min=100), default=None, help=f"Fits per subject.  [default: {RUNS}]"
)
@click.option("--quick", is_flag=True, help=f"{QUICK_RUNS} fits per subject: finds gross flaws only.")
@click.option("--jobs", type=int, default=-1, show_default=True, help="Processes; -1 for all cores.")
@click.option("--seed", type=int, default=None, help="Make the audit repeatable.")
@click.option(
    "--alpha", type=float, default=1e-6, show_default=True, help="Chance of a false alarm, per subject."
)
@click.option("--out", type=click.Path(path_type=Path), help="Also write the results to a JSON file.")
@click.option("--list", "show_list", is_flag=True, help="Show the names of all subjects and stop.")
def run(
    subjects: tuple[str, ...],
    runs: int | None,
    quick: bool,
    jobs: int,
    seed: int | None,
    alpha: float,
    out: Path | None,
    show_list: bool,
) -> None:
    """Run the statistical auditor.

    SUBJECT is a part of the name of a built-in estimator with its option (see --list), or module:object for
    an unfitted estimator or a function of your own. Without any, all built-in ones are audited. The exit code
    is 1 if a violation was found, 130 after Ctrl-C.
    """
    from dpforest.audit import audit_every, every_estimator
    from dpforest.cli.reports import console, line

    chosen = _chosen(every_estimator(), subjects)
    if show_list:
        answer({"subjects": list(chosen)}, "\n".join(chosen))
        return
    check_new(out, overwrite=True)
    screen = None if answers_in_json() else console()
    per_subject = runs or (QUICK_RUNS if quick else RUNS)
    if screen:
        screen.print(
            f"{len(chosen)} subjects, {per_subject:,} fits each; Ctrl-C stops and keeps what is done."
        )

    def show(result: AuditResult) -> None:
        if screen:
            screen.print(line(result), soft_wrap=True)

    try:
        report = audit_every(
            chosen,
            runs=per_subject,
            confidence=1 - alpha,
            n_jobs=jobs,
            random_state=seed,
            on_result=show,
        )
    except ValueError as error:  # no domain, no claim, too few runs
        raise click.UsageError(str(error)) from error
    if out is not None:
        from dpforest.modelfile.files import write_file

        write_file(out, json.dumps(report.to_dicts(), indent=2).encode() + b"\n")
    _tell(report)


def _tell(report: AuditReport) -> None:
    """Answer, and end with the exit code that fits."""
    stopped = ", interrupted" if report.interrupted else ""
    answer(
        {
            "results": report.to_dicts(),
            "violations": [result.name for result in report.violations],
            "interrupted": report.interrupted,
        },
        *(f"\n{result}" for result in report.violations),
        f"violations found: {len(report.violations)} of {len(report)}{stopped}",
    )
    if report.violations or report.interrupted:
        sys.exit(1 if report.violations else 130)


def _chosen(known: dict[str, Any], wanted: tuple[str, ...]) -> dict[str, Any]:
    """Pick built-in subjects by a part of their name, and import others."""
    if not wanted:
        return known
    chosen: dict[str, Any] = {}
    for name in wanted:
        if ":" in name:
            sys.path.insert(0, "")  # modules of the working directory, as python -m has it
            module, _, attribute = name.partition(":")
            chosen[name] = getattr(import_module(module), attribute)
            continue
        found = {full: subject for full, subject in known.items() if name.lower() in full.lower()}
        if not found:
            raise click.BadParameter(f"no built-in subject has {name!r} in its name; try --list.")
        chosen |= found
    return chosen
