"""Columns of Arrow: tables, batches, datasets, Parquet and Feather files, and what pandas keeps in Arrow.

Fixed-width types are read as their integers, so that a date far away or a nanosecond is as good as any other;
text is read as bytes, so that one that is not UTF-8 is other for its own row alone.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.schema.columns import Coded, Numbers, Part, doubles, items
from dpforest.schema.times import seconds_of_ticks
from dpforest.schema.values import UNREADABLE

__all__ = ["ArrowColumn"]

_DATE_UNITS = {"date32[day]": "D", "date64[ms]": "ms"}


@dataclass(frozen=True)
class ArrowColumn:
    """A column of Arrow data.

    Parameters
    ----------
    values : pyarrow.Array or pyarrow.ChunkedArray
        The column.
    """

    values: Any

    def __len__(self) -> int:
        return len(self.values)

    def read(self, start: int, stop: int) -> Part:
        """Return some rows."""
        part = self.values.slice(start, stop - start)
        return _joined([_read(piece) for piece in _pieces(part)])


def _pieces(values: Any) -> list[Any]:
    """Return the chunks of a column; as one where Arrow puts them together whatever they hold."""
    arrow, types = import_module("pyarrow"), import_module("pyarrow.types")
    if not isinstance(values, arrow.ChunkedArray):
        return [values]
    if values.num_chunks == 1 or (
        values.num_chunks and not (types.is_primitive(values.type) or _is_bytes(values.type))
    ):
        # Dictionaries, for one, cannot be put together if one of them holds a null, or if they hold more
        # values than their indices can tell apart.
        return list(values.chunks)
    if types.is_string(values.type) or types.is_binary(values.type):
        values = values.cast(arrow.large_binary())  # the pieces together may exceed 32-bit offsets
    return [values.combine_chunks()]


def _joined(parts: list[Part]) -> Part:
    """Put parts that follow each other, of one type, together."""
    if len(parts) == 1:
        return parts[0]
    numbers = [part for part in parts if isinstance(part, Numbers)]
    if len(numbers) == len(parts):
        return Numbers(np.concatenate([doubles(part.values) for part in numbers]), numbers[0].kind)
    coded = [part for part in parts if isinstance(part, Coded)]
    if len(coded) == len(parts):
        first = np.cumsum([0, *(len(part.values) for part in coded)])
        codes = [np.where(part.codes < 0, -1, part.codes + n) for part, n in zip(coded, first, strict=False)]
        return Coded(np.concatenate(codes), _joined([part.values for part in coded]))
    return [value for part in parts if isinstance(part, list) for value in part]


def _read(values: Any) -> Part:
    types = import_module("pyarrow.types")
    kind = values.type
    if types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind):
        return Numbers(_with_gaps(values, _filled(values)))
    if str(kind) in _DATE_UNITS:
        return Numbers(_seconds(values, _DATE_UNITS[str(kind)]), "moment")
    if types.is_timestamp(kind):
        return Numbers(_seconds(values, kind.unit), "moment")
    if types.is_time(kind):
        return Numbers(_seconds(values, kind.unit), "clock")
    if types.is_duration(kind):
        return Numbers(_seconds(values, kind.unit))
    if _is_bytes(kind):
        with suppress(NotImplementedError):  # some pyarrow has no way from a view to bytes
            return _read_bytes(values)
    if types.is_dictionary(kind):
        codes = np.asarray(values.indices.cast("int64").fill_null(-1))
        if len(values.dictionary) <= len(values):
            return Coded(codes, _read(values.dictionary))
        # Only what these rows have, and each value once: decoded, a long one might exceed 32-bit offsets.
        used = np.unique(codes[codes >= 0])
        places = np.where(codes < 0, -1, np.searchsorted(used, codes))
        return Coded(places, _read(values.dictionary.take(import_module("pyarrow").array(used))))
    if types.is_run_end_encoded(kind):
        return _read(import_module("pyarrow.compute").run_end_decode(values))
    if types.is_nested(kind):
        return [UNREADABLE if valid else None for valid in np.asarray(values.is_valid()).tolist()]
    return items(len(values), lambda place: values[place].as_py(), values.to_pylist)


def _is_bytes(kind: Any) -> bool:
    types = import_module("pyarrow.types")
    tests = ("string", "large_string", "string_view", "binary", "large_binary", "binary_view")
    return any(getattr(types, f"is_{test}")(kind) for test in (*tests, "fixed_size_binary"))


def _read_bytes(values: Any) -> Part:
    arrow, types = import_module("pyarrow"), import_module("pyarrow.types")
    if types.is_string_view(values.type):  # text to bytes is never checked, but views go by steps
        values = values.cast(arrow.binary_view())
    distinct = values.cast(arrow.large_binary()).dictionary_encode()
    codes = np.asarray(distinct.indices.cast("int64").fill_null(-1))
    return Coded(codes, distinct.dictionary.to_pylist())


def _filled(values: Any) -> NDArray[Any]:
    if (
        str(values.type) == "halffloat"
    ):  # whose gaps older pyarrow cannot fill; every one of them is a float32
        values = values.cast("float32")
    zero = False if str(values.type) == "bool" else 0
    return values.fill_null(zero).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def _seconds(values: Any, unit: str) -> NDArray[np.float64]:
    arrow = import_module("pyarrow")
    ticks = values.view(arrow.int32() if values.type.bit_width == 32 else arrow.int64())
    return _with_gaps(values, seconds_of_ticks(_filled(ticks).astype(np.int64), unit))


def _with_gaps(values: Any, numbers: NDArray[Any]) -> NDArray[Any]:
    if values.null_count == 0:
        return numbers
    present = np.asarray(values.is_valid())
    return np.where(present, doubles(numbers), np.nan)
