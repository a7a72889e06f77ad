"""How commands answer: tables for people, JSON for programs, one exit code for each kind of end.

Every command is an `AnsweringCommand`, which adds ``--json`` and turns errors of the library into a message
on stderr and an exit code; it calls `answer` once with its result. With ``--json``, stdout holds the answer
and stderr nothing, or stdout nothing and stderr the refusal: remarks are part of either. Texts may come from
a hostile file, so control characters are made visible before they reach a terminal.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

FAILED, USAGE, BUDGET_REFUSED, SCHEMA_MISMATCH = 1, 2, 3, 4  # nothing was charged
CHARGED_NO_MODEL, WRITTEN_BUDGET_AWAY, WRITTEN_ELSEWHERE = 5, 6, 7  # the charge stands
_JSON, _NOTES = "dpforest.json", "dpforest.notes"
_WIDTH_OF_FILES = 120


class ChargedError(RuntimeError):
    """The budget was charged, or may have been, and there is no model; asking again would pay again.

    Parameters
    ----------
    message : str
        What happened.
    charge : dict or None
        Where the charge stands, if that is known.
    """

    def __init__(self, message: str, charge: dict[str, Any] | None) -> None:
        super().__init__(message)
        self.charge = charge


class Program(click.Group):
    """The whole program: with ``--json``, also what click itself refuses is told in JSON."""

    def main(  # type: ignore[override]  # click overloads it
        self, args: Sequence[str] | None = None, *, standalone_mode: bool = True, **options: Any
    ) -> Any:
        """Run the command line."""
        given = list(sys.argv[1:] if args is None else args)
        if "--json" not in given or not standalone_mode:
            return super().main(given, standalone_mode=standalone_mode, **options)
        try:
            code = super().main(given, standalone_mode=False, **options)
        except click.ClickException as error:
            _refuse_in_json("usage", error.format_message(), error.exit_code)
            sys.exit(error.exit_code)
        except click.Abort:
            _refuse_in_json("interrupted", "interrupted", FAILED)
            sys.exit(FAILED)
        sys.exit(code if isinstance(code, int) else 0)


def _refuse_in_json(kind: str, message: str, code: int, **more: Any) -> None:
    failure = {"error": kind, "message": message, "exit_code": code, **more}
    click.echo(json.dumps(failure, indent=1), err=True)


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
                charge = error.charge if isinstance(error, ChargedError) else None
                _refuse_in_json(kind, str(error), code, charge=charge, notes=_notes(ctx))
            else:
                click.echo(f"{kind}: {clean(str(error))}", err=True)
            ctx.exit(code)


def _exit_code(error: Exception) -> tuple[int, str]:
    from dpforest.modelfile import ModelFileError
    from dpforest.privacy import PrivacyError
    from dpforest.schema import SchemaError

    if isinstance(error, ChargedError):
        return CHARGED_NO_MODEL, "charged, no model"
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


def _notes(context: click.Context) -> list[str]:
    found: list[str] = context.meta.setdefault(_NOTES, [])
    return found


def answer(data: Mapping[str, Any], *shown: str | Table | Text) -> None:
    """Print the result of a command: `data` as JSON, or what is `shown` to people.

    Parameters
    ----------
    data : mapping
        JSON-ready.
    *shown : str, Table or Text
        Printed one below the other.
    """
    context = click.get_current_context()
    if _as_json(context):
        click.echo(json.dumps({**data, "notes": _notes(context)}, indent=1, allow_nan=False))
        return
    console = _console(sys.stdout)
    for part in shown:
        console.print(clean(part) if isinstance(part, str) else part, soft_wrap=isinstance(part, str))


def answers_in_json() -> bool:
    """Whether the command that runs was asked for JSON."""
    return _as_json(click.get_current_context())


def note(text: str) -> None:
    """Print a remark to stderr, where no program mistakes it for the answer; JSON answers contain it."""
    context = click.get_current_context()
    if _as_json(context):
        _notes(context).append(text)
    else:
        click.echo(clean(text), err=True)


@contextmanager
def working(text: str) -> Iterator[Callable[[str], None]]:
    """Show that something is going on, on terminals only; lines printed meanwhile appear above.

    Gives a function that changes what is shown.
    """
    console = _console(sys.stderr)
    if not console.is_terminal or answers_in_json():
        yield lambda text: None
        return
    with console.status(clean(text)) as status:
        yield lambda text: status.update(clean(text))


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
