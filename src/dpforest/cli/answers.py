"""How commands answer: tables for people, JSON for programs, one exit code for each kind of refusal.

Every command is an `AnsweringCommand`, which adds ``--json`` and turns errors of the library into a message
on stderr and an exit code; it calls `answer` once with its result. Texts may come from a hostile file, so
control characters are made visible before they reach a terminal.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

FAILED, USAGE, BUDGET_REFUSED, SCHEMA_MISMATCH = 1, 2, 3, 4
_JSON = "dpforest.json"
_WIDTH_OF_FILES = 120


class AnsweringCommand(click.Command):
    """A command that can answer in JSON and whose failures have exit codes."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.params.append(
            click.Option(
                ["--json"],
                is_flag=True,
                expose_value=False,
                callback=lambda context, _, value: context.meta.update({_JSON: value}),
                help="Answer in JSON.",
            )
        )

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; say what went wrong without a traceback."""
        try:
            return super().invoke(ctx)
        except (ValueError, TypeError, RuntimeError, OSError, ImportError) as error:
            if isinstance(error, click.exceptions.Exit | click.Abort):
                raise
            code, kind = _exit_code(error)
            if _as_json(ctx):
                failure = {"error": kind, "message": str(error), "exit_code": code}
                click.echo(json.dumps(failure, indent=1), err=True)
            else:
                click.echo(f"{kind}: {clean(str(error))}", err=True)
            ctx.exit(code)


def _exit_code(error: Exception) -> tuple[int, str]:
    from dpforest.modelfile import ModelFileError
    from dpforest.privacy import PrivacyError
    from dpforest.schema import SchemaError

    if isinstance(error, PrivacyError):
        return BUDGET_REFUSED, "budget refused"
    if isinstance(error, SchemaError):
        return SCHEMA_MISMATCH, "schema mismatch"
    if isinstance(error, ModelFileError):
        return FAILED, "not a model"
    if isinstance(error, ValueError | TypeError):
        return USAGE, "not valid"
    return FAILED, "failed"


def _as_json(context: click.Context) -> bool:
    return bool(context.meta.get(_JSON))


def answer(data: Mapping[str, Any], *shown: str | Table | Text) -> None:
    """Print the result of a command: `data` as JSON, or what is `shown` to people.

    Parameters
    ----------
    data : mapping
        JSON-ready.
    *shown : str, Table or Text
        Printed one below the other.
    """
    if _as_json(click.get_current_context()):
        click.echo(json.dumps(data, indent=1, allow_nan=False))
        return
    console = _console(sys.stdout)
    for part in shown:
        console.print(clean(part) if isinstance(part, str) else part)


def note(text: str) -> None:
    """Print a remark to stderr, where no program mistakes it for the answer."""
    click.echo(clean(text), err=True)


@contextmanager
def working(text: str) -> Iterator[None]:
    """Show that something is going on, on terminals only; lines printed meanwhile appear above."""
    console = _console(sys.stderr)
    if not console.is_terminal:
        yield
        return
    with console.status(clean(text)):
        yield


def table(header: Sequence[str], rows: Sequence[Sequence[str]], right: frozenset[str] = frozenset()) -> Table:
    """Make a table of texts; the columns named in `right` are set flush right."""
    made = Table(box=None, pad_edge=False, header_style="bold")
    for name in header:
        made.add_column(Text(clean(name)), justify="right" if name in right else "left", overflow="fold")
    for row in rows:
        made.add_row(*(Text(clean(cell)) for cell in row))
    return made


def heading(text: str) -> Text:
    """Return a headline."""
    return Text(f"\n{clean(text)}", style="bold")


def clean(text: str) -> str:
    r"""Make characters visible that could steer a terminal or cannot be printed.

    Examples
    --------
    >>> clean("ward \x1b[2J A\nB")
    'ward \\x1b[2J A\nB'
    """
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)


def _console(file: Any) -> Console:
    is_terminal = file.isatty()
    width = None if is_terminal else _WIDTH_OF_FILES
    return Console(file=file, width=width, markup=False, highlight=False, emoji=False)
