"""Text files of fields between delimiters (CSV, TSV), read line by line.

Every line is one record and is read by itself, so that no line can change how another is read:

* Lines end at a line feed, with or without a carriage return before it; a line without any character is no
  record. A field may stand in quotes, with two quotes for one, but cannot hold a line feed: a record spread
  over several lines is several records, none of which can be read.
* A line that cannot be read (too many or too few fields, a quote that is not closed) is a record all of whose
  fields are other. It is not left out, so that the number of records does not depend on what they hold.
* Fields are text in UTF-8. Bytes that are not UTF-8 make their own field other.
* Empty fields, and those that the reader names, are missing.

The first line names the columns. Blocks of lines that look simple are split all at once, with the same
answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from dpforest.schema.columns import Column, ListColumn
from dpforest.schema.errors import SchemaError
from dpforest.schema.streams import Stream, places_of
from dpforest.schema.values import UNREADABLE

__all__ = ["TextFile", "split_lines"]

# Lines are taken in blocks of about this many bytes, and always whole.
_BLOCK_BYTES = 2**22
_MARK = b"\xef\xbb\xbf"
# Never steps back: a quote that is not closed costs one look at the line.
_QUOTED = re.compile('"([^"]*+(?:""[^"]*+)*+)"')


@dataclass(frozen=True, eq=False)
class TextFile(Stream):
    """A text file whose first line names its columns.

    Parameters
    ----------
    path : Path
        The file.
    delimiter : str, default=","
        One character between fields, neither a quote nor the end of a line.
    missing : sequence of str
        Fields that mean missing, besides the empty one.
    """

    path: Path
    delimiter: str = ","
    missing: Sequence[str] = ()

    def __post_init__(self) -> None:
        if len(self.delimiter) != 1 or self.delimiter in '"\r\n':
            raise ValueError(f"a delimiter is one character and no quote, got {self.delimiter!r}.")

    @cached_property
    def names(self) -> Sequence[str]:
        """Names of the columns; a first line that cannot be read is refused, and never shown."""
        with self.path.open("rb") as file:
            line = file.readline()
        try:
            text = line.removeprefix(_MARK).removesuffix(b"\n").removesuffix(b"\r").decode()
        except UnicodeDecodeError:
            raise ValueError(f"{self.path} is not UTF-8 text; convert it first.") from None
        names = _fields(text, self.delimiter)
        if names is None or "\r" in text or "\0" in text:
            raise SchemaError(f"the first line of {self.path} cannot be read as names of columns.")
        return names

    def read(self, names: Sequence[str]) -> Iterator[list[Column]]:
        """Yield pieces of the named columns as text, None where missing."""
        places = places_of(names, self.names, self.path)
        with self.path.open("rb") as file:
            file.readline()
            while lines := file.readlines(_BLOCK_BYTES):
                # One that is not UTF-8 keeps its bytes as lone surrogates, which no number and no declared
                # text has; a line feed is never part of what could not be decoded.
                text = b"".join(lines).decode("utf-8", "surrogateescape")
                yield [ListColumn(column) for column in self._columns(text, places)]

    def _columns(self, text: str, places: Sequence[int]) -> Iterator[list[Any]]:
        gaps = ["", *self.missing]
        columns = split_lines(text, self.delimiter, len(self.names))
        for place in places:
            column = columns[place]
            present = [gap for gap in gaps if gap in column]
            yield [None if field in present else field for field in column] if present else column


def split_lines(text: str, delimiter: str, width: int) -> list[list[Any]]:
    r"""Split whole lines into columns, each line by itself.

    Parameters
    ----------
    text : str
        Lines, each with a line feed at its end, but perhaps the last.
    delimiter : str
        Between fields.
    width : int
        Number of fields of a line that can be read.

    Returns
    -------
    list of list
        One list of fields per column; `UNREADABLE` throughout a line that cannot be read.

    Examples
    --------
    >>> split_lines('1,"a,b"\n2,"c\n', ",", 2)[0]
    ['1', <object object at ...>]
    """
    lines = text.split("\n")
    if "\r" in text:
        lines = [line.removesuffix("\r") for line in lines]
    lines = [line for line in lines if line]
    # A line of its own: one with a quote, or with another number of delimiters. It is replaced by an empty
    # one for the fast way, and put back below.
    own = [place for place, line in enumerate(lines) if line.count(delimiter) != width - 1 or '"' in line]
    apart = {place: _fields(lines[place], delimiter) for place in own}
    for place in own:
        lines[place] = delimiter * (width - 1)
    fields = delimiter.join(lines).split(delimiter) if lines else []
    columns: list[list[Any]] = [fields[j::width] for j in range(width)]
    for place, found in apart.items():
        fits = found is not None and len(found) == width
        for j in range(width):
            columns[j][place] = found[j] if fits and found is not None else UNREADABLE
    return columns


def _fields(line: str, delimiter: str) -> list[str] | None:
    """Split one line, or return None if a field begins with a quote that is not closed at its end."""
    if '"' not in line:
        return line.split(delimiter)
    fields, place = [], 0
    while True:
        if line.startswith('"', place):
            found = _QUOTED.match(line, place)
            if found is None:
                return None
            fields.append(found[1].replace('""', '"'))
            place = found.end()
        else:
            end = line.find(delimiter, place)
            end = len(line) if end < 0 else end
            fields.append(line[place:end])
            place = end
        if place == len(line):
            return fields
        if line[place] != delimiter:
            return None
        place += 1
