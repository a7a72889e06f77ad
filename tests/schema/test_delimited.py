"""Text files: every line alone, with the answer of the csv module where that has one."""

import csv

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.schema import Nominal, Numeric, Schema, SchemaError, delimited
from dpforest.schema.delimited import TextFile, split_lines
from dpforest.schema.values import UNREADABLE

WIDTH = 3
LINES = st.lists(
    st.one_of(
        st.text(alphabet=',,,,ab"1 \x00\r\udcff\u2028é', max_size=12),
        st.lists(st.text(alphabet='ab,"1', max_size=4), min_size=WIDTH, max_size=WIDTH).map(
            lambda fields: ",".join('"' + field.replace('"', '""') + '"' for field in fields)
        ),
        st.sampled_from(["1,2,3", '"1","2","3"', '1,2,"', '5" pipe,2,3', '"a""b",,']),
    ),
    max_size=8,
)


def oracle(line):
    """One line as the csv module reads it, in its strict form."""
    try:
        fields = next(csv.reader([line], strict=True))
    except csv.Error:
        fields = []
    return fields if len(fields) == WIDTH else None


@settings(max_examples=400, deadline=None)
@given(LINES, st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_every_line_is_read_as_if_it_were_alone(lines, end, closed):
    text = end.join(lines) + end * closed
    records = [record for line in text.split("\n") if (record := line.removesuffix("\r"))]
    found = list(zip(*split_lines(text, ",", WIDTH), strict=True))
    assert len(found) == len(records)
    for line, fields in zip(records, found, strict=True):
        (alone,) = zip(*split_lines(f"{line}\r", ",", WIDTH), strict=True)
        assert fields == alone
        if "\r" not in line:  # which the csv module takes for an end of line
            expected = oracle(line)
            assert list(fields) == (expected or [UNREADABLE] * WIDTH)


SCHEMA = Schema({"code": Nominal(["007", "a,b", 'a"b']), "x": Numeric(0, 4, bins=4)})


def read(tmp_path, data, **options):
    path = tmp_path / "rows.csv"
    path.write_bytes(data)
    return SCHEMA.encode_features(TextFile(path, **options).select(SCHEMA.names)).tolist()


def test_marks_ends_of_lines_quotes_and_gaps(tmp_path):
    plain = read(tmp_path, b'x,code\n1,007\n"2","a,b"\n3,"a""b"\n,\n"",""\nNA,NA\n', missing=["NA"])
    assert plain == [[0, 1], [1, 2], [2, 3], [3, 4], [3, 4], [3, 4]]
    assert read(tmp_path, b"\xef\xbb\xbfx,code\r\n1,007\r\n\r\n2,007") == [[0, 1], [0, 2]]
    assert read(tmp_path, b"x;code\n1;a,b\n", delimiter=";") == [[1, 1]]
    assert read(tmp_path, b"code,x\n") == []


def test_fields_of_any_size_and_any_bytes_are_read(tmp_path):
    huge = b"9" * 3_000_000
    rows = [
        b"007,1",
        huge + b"," + huge,
        b'"' + huge + b'",2',
        b'"' + huge,
        b"\xff,1",
        b"0\x0007,1",
        b"007,2",
    ]
    cells = read(tmp_path, b"code,x\n" + b"\n".join(rows))
    assert cells == [[0, 1], [4, 3], [4, 2], [4, 5], [4, 1], [4, 1], [0, 2]]


def test_blocks_of_lines_do_not_show(tmp_path, monkeypatch):
    data = b"code,x\n" + b"".join(b'"007",%d\n' % (i % 5) for i in range(2_000)) + b'"torn\n'
    whole = read(tmp_path, data)
    monkeypatch.setattr(delimited, "_BLOCK_BYTES", 64)
    assert read(tmp_path, data) == whole
    assert whole[-1] == [4, 5]
    assert len(whole) == 2_001


@pytest.mark.parametrize("names", [b"x\n", b"code,x,x\n", b"", b'"code,x\n', b"code\rx\n"])
def test_a_file_without_its_columns_is_refused(tmp_path, names):
    with pytest.raises(SchemaError):
        read(tmp_path, names + b"1,2\n")


@pytest.mark.parametrize("delimiter", ["", ",,", '"', "\n"])
def test_a_delimiter_is_one_character(tmp_path, delimiter):
    with pytest.raises(ValueError, match="one character"):
        read(tmp_path, b"code,x\n", delimiter=delimiter)
