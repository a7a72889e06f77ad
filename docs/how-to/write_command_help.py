"""Put the help texts of all commands into command-line.md, between its two markers.

Run ``python docs/how-to/write_command_help.py`` after a command changed; a test compares.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from dpforest.cli import main

PAGE = Path(__file__).with_name("command-line.md")
BEGIN, END = "<!-- begin of generated help -->\n", "<!-- end of generated help -->\n"


def help_texts(command: click.Command, context: click.Context) -> Iterator[str]:
    """Yield the help of a command and of everything below it."""
    yield f"### `{context.command_path}`\n\n```text\n{command.get_help(context)}\n```\n"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.commands[name]
            inner = click.Context(
                below, info_name=name, parent=context, terminal_width=80, max_content_width=80
            )
            yield from help_texts(below, inner)


def generated() -> str:
    """Return the help of all commands as Markdown."""
    context = click.Context(
        main, info_name="dpforest", terminal_width=80, max_content_width=80, **main.context_settings
    )
    return "\n".join(help_texts(main, context))


def page(text: str) -> str:
    """Return the page with fresh help in it."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{generated()}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
