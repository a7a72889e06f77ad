"""`dpforest audit gallery`: what published forests promise, what they lose, what the repaired ones lose."""

from __future__ import annotations

import sys

import click

from dpforest.cli.answers import AnsweringCommand, answer, working


@click.command(cls=AnsweringCommand)
@click.option("--quick", is_flag=True, help="Fewer draws where losses are sampled.")
@click.option("--words", is_flag=True, help="Explain every case in sentences instead of a table.")
def gallery(quick: bool, words: bool) -> None:
    """Show the broken promises of published forests beside their repairs.

    The exit code is 1 if a repaired form was found to break its promise, 130 after Ctrl-C.
    """
    from dpforest import audit
    from dpforest.cli.reports import table

    with working("computing losses"):
        report = audit.gallery(quick=quick)
    published, repaired = report.results[0::2], report.results[1::2]
    broken = sum(result.violation for result in published)
    flagged = [result.name for result in repaired if result.violation]
    title = "broken promises and their repairs"
    shown = [f"{result}\n" for result in report] if words else [table(title, report.results, events=True)]
    answer(
        {
            "results": report.to_records(),
            "published_forms_that_break_their_promise": broken,
            "repaired_forms_that_do": flagged,
            "interrupted": report.interrupted,
        },
        *shown,
        f"published forms that break their promise: {broken} of {len(published)}",
        f"repaired forms that do: {len(flagged)} of {len(repaired)}",
    )
    if flagged or report.interrupted:
        sys.exit(1 if flagged else 130)
