"""`dpforest audit gallery`: what published forests promise, what they lose, what the repaired ones lose."""

from __future__ import annotations

import sys

import click


@click.command()
@click.option("--quick", is_flag=True, help="Fewer draws where losses are sampled.")
@click.option("--words", is_flag=True, help="Explain every case in sentences instead of a table.")
def gallery(quick: bool, words: bool) -> None:
    """Show the broken promises of published forests beside their repairs.

    The exit code is 1 if a repaired form was found to break its promise, 130 after Ctrl-C.
    """
    from dpforest import audit
    from dpforest.cli.reports import console, table

    out = console()
    with out.status("computing losses"):
        report = audit.gallery(quick=quick)
    if words:
        for result in report:
            out.print(f"{result}\n", soft_wrap=True)
    else:
        out.print(table("broken promises and their repairs", report.results, events=True))
    published, repaired = report.results[0::2], report.results[1::2]
    broken = sum(result.violation for result in published)
    flagged = [result.name for result in repaired if result.violation]
    out.print(f"published forms that break their promise: {broken} of {len(published)}")
    out.print(f"repaired forms that do: {len(flagged)} of {len(repaired)}")
    if flagged or report.interrupted:
        sys.exit(1 if flagged else 130)
