"""Text files of fields between delimiters (CSV, TSV), read line by line.

Every line is one record and is read by itself, so that no line can change how another is read:

* Lines end at a line feed, with or without a carriage return before it; a line without any character is no
  record. A field may stand in quotes, with two quotes for one, but cannot hold a line feed: a record spread
  over several lines is several records, none of which can be read. Another sign than " may be the quote, or
  none.
* A line that cannot be read (too many or too few fields, a quote that is not closed) is a record all of whose
  fields are other. It is not left out, so that the number of records does not depend on what they hold.
* Fields are text in UTF-8, or in an encoding that gives each byte its letter. Bytes that mean nothing in it
  make their own field other.
* Empty fields, and those that the reader names, are missing.
* In columns that the reader names, numbers may have a decimal comma (any one sign): "3,5" is then 3.5, and
  "3.5" is other.

The first line names the columns. Blocks of lines that look simple are split all at once, with the same
answer.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
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
# Encodings of which every byte is one letter, and those below 128 are ASCII's: a line feed is a line feed.
_BYTE_ENCODINGS = re.compile(
    r"ascii|iso8859-\d+|koi8-[rtu]|cp(437|737|775|85[02578]|86[0-69]|874|125[0-8])|mac-(cyrillic|greek|roman)"
)


@cache
def _quoted(quote: str) -> re.Pattern[str]:
    # Never steps back: a quote that is not closed costs one look at the line.
    q = re.escape(quote)
    return re.compile(f"{q}([^{q}]*+(?:{q}{q}[^{q}]*+)*+){q}")


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
    quote : str, default='"'
        One character around fields that hold a delimiter, or empty if there is none.
    encoding : str, default="utf-8"
        UTF-8 or an encoding in which every byte is one letter, such as ``"cp1252"``.
    decimal : str, default="."
        What stands before the decimals in the columns `numbers`.
    numbers : sequence of str
        Names of the columns in which `decimal` is looked for.
    """

    path: Path
    delimiter: str = ","
    missing: Sequence[str] = ()
    quote: str = '"'
    encoding: str = "utf-8"
    decimal: str = "."
    numbers: Sequence[str] = ()

    def __post_init__(self) -> None:
        ends = "\r\n"
        if len(self.delimiter) != 1 or self.delimiter in self.quote + ends:
            raise ValueError(f"a delimiter is one character and no quote, got {self.delimiter!r}.")
        if len(self.quote) > 1 or (self.quote and self.quote in ends):
            raise ValueError(f"a quote is one character, or empty for none, got {self.quote!r}.")
        if len(self.decimal) != 1 or self.decimal.isalnum() or self.decimal in "+-" + ends:
            raise ValueError(f"the decimal sign is one character such as a comma, got {self.decimal!r}.")
        try:
            name = codecs.lookup(self.encoding).name
        except (LookupError, ValueError):
            name = ""
        if name != "utf-8" and not _BYTE_ENCODINGS.fullmatch(name):
            raise ValueError(
                f"the encoding {self.encoding[:40]!r} cannot be read line by line: convert the file to UTF-8 "
                "first, or give one in which every byte is a letter, such as cp1252 or latin-1."
            )

    @cached_property
    def names(self) -> Sequence[str]:
        """Names of the columns; a first line that cannot be read is refused, and never shown."""
        with self.path.open("rb") as file:
            line = file.readline()
        try:
            text = line.removeprefix(_MARK).removesuffix(b"\n").removesuffix(b"\r").decode(self.encoding)
        except UnicodeDecodeError:
            raise ValueError(
                f"{self.path} is not text in {self.encoding.upper()}: say in which encoding it is "
                "(--encoding cp1252; in Python Source(path, encoding='cp1252')), or convert it."
            ) from None
        names = _fields(text, self.delimiter, self.quote)
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
                text = b"".join(lines).decode(self.encoding, "surrogateescape")
                yield [ListColumn(column) for column in self._columns(text, places)]

    def _columns(self, text: str, places: Sequence[int]) -> Iterator[list[Any]]:
        gaps = ["", *self.missing]
        columns = split_lines(text, self.delimiter, len(self.names), self.quote)
        for place in places:
            column = columns[place]
            present = [gap for gap in gaps if gap in column]
            if present:
                column = [None if field in present else field for field in column]
            if self.decimal != "." and self.names[place] in self.numbers:
                column = [self._with_point(field) for field in column]
            yield column

    def _with_point(self, field: Any) -> Any:
        if not isinstance(field, str):
            return field
        return UNREADABLE if "." in field else field.replace(self.decimal, ".")


def split_lines(text: str, delimiter: str, width: int, quote: str = '"') -> list[list[Any]]:
    r"""Split whole lines into columns, each line by itself.

    Parameters
    ----------
    text : str
        Lines, each with a line feed at its end, but perhaps the last.
    delimiter : str
        Between fields.
    width : int
        Number of fields of a line that can be read.
    quote : str
        Around fields that hold a delimiter; empty if there is none.

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
    own = [
        place
        for place, line in enumerate(lines)
        if line.count(delimiter) != width - 1 or (quote and quote in line)
    ]
    apart = {place: _fields(lines[place], delimiter, quote) for place in own}
    for place in own:
        lines[place] = delimiter * (width - 1)
    fields = delimiter.join(lines).split(delimiter) if lines else []
    columns: list[list[Any]] = [fields[j::width] for j in range(width)]
    for place, found in apart.items():
        fits = found is not None and len(found) == width
        for j in range(width):
            columns[j][place] = found[j] if fits and found is not None else UNREADABLE
    return columns


def _fields(line: str, delimiter: str, quote: str) -> list[str] | None:
    """Split one line, or return None if a field begins with a quote that is not closed at its end."""
    if not quote or quote not in line:
        return line.split(delimiter)
    fields, place = [], 0
    while True:
        if line.startswith(quote, place):
            found = _quoted(quote).match(line, place)
            if found is None:
                return None
            fields.append(found[1].replace(2 * quote, quote))
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
