"""Values, bits and lines that upset readers of tables; `door` puts them through."""

from __future__ import annotations

import datetime as dt
import math
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

SECRET = "secret value 4711"


class Hostile:
    """Raises whatever is asked of it."""

    def __str__(self):
        raise RuntimeError(SECRET)

    __float__ = __int__ = __index__ = __hash__ = __eq__ = __bool__ = __str__


class HostileList(Hostile):
    __len__ = __iter__ = __getitem__ = Hostile.__str__


class Chatty:
    """Warns about what is asked of it."""

    def __str__(self):
        warnings.warn(SECRET, stacklevel=2)
        return "x"


class StrangeText(str):
    def __eq__(self, other):
        raise RuntimeError(SECRET)

    __hash__ = __str__ = __len__ = __getitem__ = __eq__


class StrangeNumber(float):
    def __eq__(self, other):
        raise RuntimeError(SECRET)

    __ne__ = __lt__ = __gt__ = __float__ = __hash__ = __bool__ = __eq__


class StrangeInteger(int):
    def __eq__(self, other):
        raise RuntimeError(SECRET)

    __float__ = __int__ = __index__ = __hash__ = __bool__ = __eq__


class NoClass:
    @property
    def __class__(self):
        raise RuntimeError(SECRET)


class Zone(dt.tzinfo):
    def utcoffset(self, _moment):
        raise RuntimeError(SECRET)


TOKYO = dt.timezone(dt.timedelta(hours=9))
# What the columns of a well-kept table hold.
POOLS = {
    "floats": [0.5, 3.0, 99.25, -1e300, 1e-300, math.nan, None],
    "whole floats": [1.0, 2.0, 3.0, 0.0],
    "integers": [1, 2, 3, 7, 100, -4],
    "integers with gaps": [1, 2, 3, None],
    "large integers": [2**53, 2**53 + 1, 2**60, -(2**60), 1, 2**62 + 1],
    "booleans": [True, False],
    "booleans with gaps": [True, False, None],
    "words": ["x", "y", "True", "?", "é", None],
    "digits": ["1", "2", "007", "1.0", " 3", "1e2", "nan"],
    "dates": [dt.date(2020, 1, 31), dt.date(1999, 12, 31), dt.date(1, 1, 1), None],
    "times": [dt.datetime(2020, 1, 31), dt.datetime(1999, 12, 31, 23, 59, 59, 999_999), None],
    "times in a zone": [dt.datetime(2020, 1, 31, 9, tzinfo=TOKYO), dt.datetime(1999, 12, 31, tzinfo=dt.UTC)],
    "clocks": [dt.time(12, 30), dt.time(0, 0, 0, 1), None],
    "spans": [dt.timedelta(seconds=1), dt.timedelta(days=-1, microseconds=1), None],
    "decimals": [Decimal("1.5"), Decimal(2), Decimal("0.1"), None],
}  # fmt: skip
# What one record may hold that most libraries take, though they may change a column's type for it.
TAME = [
    None, math.nan, True, False, 0, 1, -1, 2, 2.5, 1e300, math.inf, -math.inf, 2**31, 2**53 + 1, 2**63, 2**64,
    "", "x", "word", "1", "2.0", "007", "nan", "true", "2020-01-31", "12:30", "1e400", "é", " ", "x" * 10_000,
    dt.date(2020, 1, 31), dt.datetime(2020, 1, 31), dt.datetime(9999, 12, 31, 23, 59, 59, 999_999),
    dt.time(12, 30), dt.timedelta(days=1), Decimal("1.5"), b"1", b"x", 'a,"b', '"', "two\nlines",
]  # fmt: skip
# What only columns of objects take.
WILD = [
    10**400, -(10**400), pd.NA, pd.NaT, np.datetime64("NaT"), np.float32(0.1), np.longdouble("1e4000"),
    np.int8(-1), np.bool_(True), np.str_("x"), np.bytes_(b"\xff"), np.datetime64(10**18, "Y"),
    np.datetime64(5, "as"), np.timedelta64(5, "M"), np.timedelta64(5), pd.Timestamp("2262-01-01"),
    pd.Timestamp("2020-01-31", tz="Europe/Berlin"), pd.Timedelta(1, "ns"), pd.Interval(0, 1),
    pd.Period("2020-01"), Decimal("NaN"), Decimal("sNaN"), Decimal("1e999999"), Fraction(1, 3), 1j,
    b"\xff\xfe", bytearray(b"x"), "\ud800", "\udcff", "a\x00b", "9" * 5_000, "-" * 99, 2.0**1023,
    [1], [], {}, {"a": 1}, (1, 2), {1}, range(3), np.array([1, 2]), np.array(1), np.zeros((2, 2)), object(),
    Hostile(), HostileList(), Chatty(), StrangeText("x"), StrangeNumber(1.5), StrangeInteger(1), NoClass(),
    Hostile, len, dt.datetime(2020, 1, 31, tzinfo=Zone()), dt.datetime.max.replace(tzinfo=TOKYO),
    pa.scalar(1), pl.Series([1]), pd.Series([1]), Exception(SECRET), float, NotImplemented, ...,
]  # fmt: skip
# What may stand in a line of text, or for a row of a list.
LINES = [
    b"", b'"', b"1", b'"1,x,', b'1"2,3', b'"a""', b",,,,,,,,,,", b"\xff\xfe\xff", b"\x00", b"1,2,3,4,5,6\r",
    b'"x"y,1', b'"1","2"', b"\xe2\x82", b"#", b"'", b"\\", b"\r", b'""""', b'x,"' + b"y" * 20_000, b"1,2,3",
]  # fmt: skip
ROWS = [
    None,
    5,
    "ab",
    [],
    [1],
    (1,) * 9,
    {},
    {"a": 1},
    np.zeros(2),
    np.zeros((2, 2)),
    HostileList(),
    range(2),
]

UNITS = ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as")
NUMPY_TYPES = [
    "?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "g", ">i4", ">u8", ">f4", ">f8",
    "U3", "S3", ">U2", *(f"{kind}8[{unit}]" for kind in "mM" for unit in UNITS), "M8[25s]", "m8[7ms]",
    ">M8[us]",
]  # fmt: skip
ARROW_TYPES = [
    pa.bool_(), pa.int8(), pa.int64(), pa.uint8(), pa.uint64(), pa.float16(), pa.float32(), pa.float64(),
    pa.date32(), pa.date64(), pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns"),
    *(pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")), pa.timestamp("us", "Asia/Tokyo"),
    *(pa.duration(unit) for unit in ("s", "ms", "us", "ns")), pa.decimal128(10, 2), pa.decimal256(40, 5),
    pa.month_day_nano_interval(), pa.binary(4), pa.string(), pa.large_string(), pa.binary(),
    pa.large_binary(),
]  # fmt: skip


def pick(rng, options):
    return options[rng.integers(len(options))]


def numpy_bits(rng, dtype, size):
    """Random bits as values of a numpy type, some of them small, zero or all ones."""
    dtype = np.dtype(dtype)
    data = bytearray(rng.bytes(size * dtype.itemsize))
    for i in range(size):
        kind = rng.integers(6)
        place = slice(i * dtype.itemsize, (i + 1) * dtype.itemsize)
        if kind == 0:
            data[place] = bytes(dtype.itemsize)
        elif kind == 1:
            data[place] = b"\xff" * dtype.itemsize
        elif kind <= 3 and dtype.kind not in "US":
            data[place] = np.array(rng.integers(-5, 100)).astype("i8").astype(_plain(dtype)).tobytes()
        elif dtype.kind == "U":
            text = pick(rng, ["", "1", "x", "a\x00b", "\ud8ff"])[: dtype.itemsize // 4]
            data[place] = np.array(text, dtype).tobytes()
    return np.frombuffer(bytes(data), dtype)


def _plain(dtype):
    return dtype.newbyteorder("=") if dtype.kind not in "mM" else "i8"


def arrow_bits(rng, kind, size):
    """Random bits as an Arrow array with gaps."""
    gaps = pa.py_buffer(rng.bytes(size // 8 + 1))
    if kind in (pa.string(), pa.binary(), pa.large_string(), pa.large_binary()):
        wide = kind in (pa.large_string(), pa.large_binary())
        words = [
            pick(rng, [b"", b"1", b"x", b"\xff", b"2.5", b"2020-01-31", rng.bytes(4)]) for _ in range(size)
        ]
        ends = np.cumsum([0, *map(len, words)]).astype(np.int64 if wide else np.int32)
        buffers = [gaps, pa.py_buffer(ends.tobytes()), pa.py_buffer(b"".join(words))]
        return pa.Array.from_buffers(kind, size, buffers)
    width = max(1, kind.bit_width // 8)
    words = [rng.bytes(width) if rng.integers(2) else _small(rng, kind, width) for _ in range(size)]
    data = rng.bytes(size // 8 + 1) if pa.types.is_boolean(kind) else b"".join(words)
    return pa.Array.from_buffers(kind, size, [gaps, pa.py_buffer(data)])


def _small(rng, kind, width):
    if pa.types.is_floating(kind):
        return np.array(rng.integers(-5, 100)).astype(f"f{width}").tobytes()
    return int(rng.integers(0, 100)).to_bytes(width, "little")
