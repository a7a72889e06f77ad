"""`dpforest audit run`: the statistical auditor over every estimator, or over one of your own."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpforest.cli.answers import AnsweringCommand, answer, answers_in_json, note
from dpforest.cli.schema import FILE, check_new, load_schema

if TYPE_CHECKING:
    from rich.console import Console

    from dpforest.audit import AuditReport, AuditResult

RUNS, QUICK_RUNS, GO_ON = 4000, 500, 4
VIOLATION, CANNOT, INTERRUPTED = 1, 2, 130  # exit codes


@click.command(cls=AnsweringCommand)
@click.argument("subjects", nargs=-1, metavar="[SUBJECT]...")
@click.option(
    "--runs", type=click.IntRange(min=100), default=None, help=f"Fits per subject.  [default: {RUNS}]"
)
@click.option("--quick", is_flag=True, help=f"{QUICK_RUNS} fits per subject: finds gross flaws only.")
@click.option(
    "--claim", type=click.FloatRange(min=0), help="Promised epsilon; default: what the subject says."
)
@click.option(
    "--schema",
    "schema_file",
    type=FILE,
    help="Make tables from this schema; default: from the domain that the subject declares.",
)
@click.option("--target", metavar="NAME", help="Column of the schema to predict; default: the class.")
@click.option("--jobs", type=int, default=-1, show_default=True, help="Processes; -1 for all cores.")
@click.option("--seed", type=int, default=None, help="Make the audit repeatable.")
@click.option(
    "--alpha",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=1e-6,
    show_default=True,
    help="Chance of a false alarm, per subject.",
)
@click.option("--out", type=click.Path(path_type=Path), help="Also write the results to a JSON file.")
@click.option("--list", "show_list", is_flag=True, help="Show the names of all subjects and stop.")
def run(
    subjects: tuple[str, ...],
    runs: int | None,
    quick: bool,
    claim: float | None,
    schema_file: Path | None,
    target: str | None,
    jobs: int,
    seed: int | None,
    alpha: float,
    out: Path | None,
    show_list: bool,
) -> None:
    """Run the statistical auditor.

    SUBJECT is a part of the name of a built-in estimator with its option (see --list), or module:object for
    an unfitted estimator, a class with fit, or a function of (X, y) of your own. Without any, all built-in
    ones are audited. Where the fits make a violation likely but do not prove it, up to four times as many
    are done. The exit code is 1 if a violation was found, else 2 if a subject could not be audited, 130 after
    Ctrl-C.
    """
    from dpforest.audit import every_estimator
    from dpforest.cli.reports import console

    chosen = _chosen(every_estimator(), subjects)
    if show_list:
        answer({"subjects": list(chosen)}, "\n".join(chosen))
        return
    check_new(out, overwrite=True)
    per_subject = runs or (QUICK_RUNS if quick else RUNS)
    report, cannot = _audited(
        chosen,
        None if answers_in_json() else console(),
        runs=per_subject,
        max_runs=GO_ON * per_subject,
        claim=claim,
        schema=load_schema(schema_file, target)[0] if schema_file else None,
        confidence=1 - alpha,
        n_jobs=jobs,
        random_state=seed,
    )
    if out is not None:
        from dpforest.modelfile.files import write_file

        write_file(out, json.dumps(report.to_records(), indent=2).encode() + b"\n")
    _tell(report, cannot)


def _audited(chosen: dict[str, Any], screen: Console | None, **options: Any) -> tuple[AuditReport, list[str]]:
    """Audit everything that was chosen; return the results, and the names of what cannot be audited."""
    from dpforest.audit import audit_every
    from dpforest.cli.reports import line

    cannot: list[str] = []

    def show(result: AuditResult) -> None:
        if screen:
            screen.print(line(result), soft_wrap=True)

    def tell(name: str, error: Exception) -> None:
        cannot.append(name)
        note(f"{name}: {error}")

    if screen:
        fits = f"{len(chosen)} subjects, {options['runs']:,} fits each"
        screen.print(f"{fits}; Ctrl-C stops and keeps what is done.")
    try:
        return audit_every(chosen, on_result=show, on_failure=tell, **options), cannot
    except ValueError as error:  # no domain, no claim, too few runs
        raise click.UsageError(f"{error} (Here: --claim, --schema, --runs, --seed.)") from error


def _tell(report: AuditReport, cannot: list[str]) -> None:
    """Answer, and end with the exit code that fits."""
    stopped = ", interrupted" if report.interrupted else ""
    failed = f", {len(cannot)} could not be audited" if cannot else ""
    answer(
        {
            "results": report.to_records(),
            "violations": [result.name for result in report.violations],
            "interrupted": report.interrupted,
            "not_audited": cannot,
        },
        *(f"\n{result}" for result in report.violations),
        f"violations found: {len(report.violations)} of {len(report)}{stopped}{failed}",
    )
    codes = {VIOLATION: report.violations, INTERRUPTED: report.interrupted, CANNOT: cannot}
    sys.exit(next((code for code, happened in codes.items() if happened), 0))


def _chosen(known: dict[str, Any], wanted: tuple[str, ...]) -> dict[str, Any]:
    """Pick built-in subjects by a part of their name, and import others."""
    if not wanted:
        return known
    chosen: dict[str, Any] = {}
    for name in wanted:
        if ":" in name:
            chosen[name] = _imported(name)
            continue
        found = {full: subject for full, subject in known.items() if name.lower() in full.lower()}
        if not found:
            raise click.BadParameter(
                f"no built-in subject has {name!r} in its name; try --list, or module:object for your own."
            )
        chosen |= found
    return chosen


def _imported(address: str) -> Any:
    """Import module:object; say what is wrong with the address, or with the module."""
    module_name, _, path = address.partition(":")
    if "" not in sys.path:
        sys.path.insert(0, "")  # modules of the working directory, as python -m has it
    try:
        found = import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{module_name}.".startswith(f"{error.name}."):
            raise click.BadParameter(
                f"there is no module {module_name!r} in the working directory or among installed packages."
            ) from error
        raise click.BadParameter(
            f"importing {module_name!r} needs {error.name!r}, which is missing."
        ) from error
    except Exception as error:
        raise click.BadParameter(
            f"importing {module_name!r} failed with {type(error).__name__}: {error}"
        ) from error
    for part in path.split("."):
        if not hasattr(found, part):
            public = sorted(name for name in vars(found) if not name.startswith("_"))
            raise click.BadParameter(
                f"{module_name!r} has no {path!r}; it has {', '.join(public) or 'nothing'}."
            )
        found = getattr(found, part)
    return found
