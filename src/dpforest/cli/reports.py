"""How audit results look on a terminal. Used by the audit commands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from dpforest.audit import AuditResult


def console() -> Console:
    """Return a console that does not cut lines when its output is a file."""
    out = Console()
    return out if out.is_terminal else Console(width=150)


def table(title: str, results: Sequence[AuditResult], events: bool) -> Table:
    """Lay results out, one per line, violations in red.

    Parameters
    ----------
    title : str
        Above the table.
    results : sequence of AuditResult
        The lines.
    events : bool
        Also show which outcome gave the tables away.
    """
    shown = Table(title=title, title_justify="left")
    shown.add_column("name", overflow="fold")
    for name in ("claimed", "found"):
        shown.add_column(name, justify="right", no_wrap=True)
    shown.add_column("verdict")
    if events:
        shown.add_column("outcome", overflow="fold")
    for result in results:
        bound = "" if result.how == "exact" else ">= "
        cells = [result.name, f"{result.claim:.3g}", f"{bound}{result.loss:.3g}"]
        verdict = Text(result.verdict, style="bold red" if result.violation else "")
        shown.add_row(*cells, verdict, *([result.event] if events else []))
    return shown


def line(result: AuditResult) -> Text:
    """Write one result on one line, for results that come in slowly."""
    name = result.name if len(result.name) <= 75 else f"{result.name[:74]}…"
    text = Text(f"{name:<76} claimed {result.claim:<5.3g} found >= {result.loss:<6.3g} ")
    text.append(result.verdict, style="bold red" if result.violation else "")
    return text.append(f" ({result.note})" if result.note else "")
