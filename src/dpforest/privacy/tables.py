"""Plain, HTML and pandas views of small tables. Called by the plan and the ledger to show themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from importlib import import_module
from typing import Any


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]], numeric: frozenset[str]) -> str:
    """Align columns with spaces; the columns named in `numeric` are set flush right.

    Examples
    --------
    >>> print(text_table(["pool", "share"], [["leaves", "5%"]], frozenset({"share"})))
    pool    share
    leaves     5%
    """
    lines = [list(header), *map(list, rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if name in numeric else cell.ljust(width)
            for cell, width, name in zip(line, widths, header, strict=True)
        ).rstrip()
        for line in lines
    )


def html_table(header: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> str:
    """Write an escaped HTML table with the caption below it.

    Examples
    --------
    >>> html_table(["pool"], [["a<b"]], "spent")
    '<table><caption ...>spent</caption><tr><th>pool</th></tr><tr><td>a&lt;b</td></tr></table>'
    """
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    style = "caption-side: bottom; text-align: left"
    return f'<table><caption style="{style}">{escape(caption)}</caption><tr>{head}</tr>{body}</table>'


def data_frame(records: Sequence[Mapping[str, object]], columns: Sequence[str]) -> Any:
    """Return the records as a pandas DataFrame; pandas is imported only here, because it is optional."""
    try:
        pandas = import_module("pandas")
    except ImportError as missing:
        raise ImportError(
            "to_frame() needs pandas: install it with `pip install 'dpforest[frames]'`, or call to_records()."
        ) from missing
    return pandas.DataFrame(list(records), columns=list(columns))
