"""`dpforest audit replay`: every estimator, replayed on neighbouring tables with the answers of one fit."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from dpforest.cli.answers import AnsweringCommand, answer, answers_in_json, note


@click.command(cls=AnsweringCommand)
@click.argument("parts", nargs=-1, metavar="[PART]...")
@click.option("--quick", is_flag=True, help="Every estimator and option twice, instead of all combinations.")
@click.option("--jobs", type=int, default=-1, show_default=True, help="Processes; -1 for all cores.")
@click.option("--out", type=click.Path(path_type=Path), help="Also write the violations to a JSON file.")
def replay(parts: tuple[str, ...], quick: bool, jobs: int, out: Path | None) -> None:
    """Freeze the answers of a fit, and see what else differs on a neighbouring table.

    PART is a part of the name of a case, such as an estimator, "replace one" or "polars"; with several, all
    of them must be there. The exit code is 1 if a violation was found, 130 after Ctrl-C.
    """
    from dpforest.audit.replay.cases import all_cases, quick_cases, run_cases
    from dpforest.cli.reports import console

    screen = None if answers_in_json() else console()
    cases = [
        case
        for case in (quick_cases() if quick else all_cases())
        if all(part.lower() in case.name.lower() for part in parts)
    ]
    if not cases:
        raise click.BadParameter(f"no case has all of {', '.join(map(repr, parts))} in its name.")
    if screen:
        screen.print(f"{len(cases):,} cases; Ctrl-C stops.")
    n_done = n_replays = 0
    broken = []
    try:
        for result in run_cases(cases, jobs):
            n_done += 1
            n_replays += len(result.neighbours)
            if result.violation:
                broken.append(result)
                if screen:
                    screen.print(f"{result}\n", soft_wrap=True)
    except KeyboardInterrupt:
        note("interrupted")
    violations = [result.to_dict() for result in broken]
    if out is not None:
        from dpforest.modelfile.files import write_file

        write_file(out, json.dumps(violations, indent=2).encode() + b"\n")
    answer(
        {
            "cases": n_done,
            "replays": n_replays,
            "violations": violations,
            "interrupted": n_done < len(cases),
        },
        f"violations found: {len(broken)} of {n_done:,} cases, {n_replays:,} replays",
    )
    if broken or n_done < len(cases):
        sys.exit(1 if broken else 130)
