"""Text files: every line alone, with the answer of the csv module where that has one."""

import csv

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.schema import Nominal, Numeric, Schema, SchemaError, Source, delimited
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


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"encoding": "cp1252"}, 'station,crp\n"Säle",2.5\nB,3\n'.encode("cp1252")),
        ({"encoding": "latin-1", "delimiter": ";"}, "station;crp\nSäle;2.5\nB;3\n".encode("latin-1")),
        ({"decimal": ",", "delimiter": ";", "numbers": ["crp"]}, "station;crp\nSäle;2,5\nB;3\n".encode()),
        ({"quote": "'"}, "station,crp\n'Säle','2.5'\nB,3\n".encode()),
    ],
)
def test_files_as_they_are(tmp_path, options, text):
    """Other encodings, decimal signs and quotes: the same cells, and each line still by itself."""
    schema = Schema({"station": Nominal(["B", "Säle"]), "crp": Numeric(0, 16, bins=32)})
    path = tmp_path / "rows.csv"
    encoding = options.get("encoding", "utf-8")
    path.write_bytes(text)
    honest = schema.encode_features(TextFile(path, **options)).tolist()
    assert honest == [[1, 5], [0, 6]]
    assert schema.encode_features(Source(path, **options)).tolist() == honest
    delimiter = options.get("delimiter", ",")
    for extra in (
        f"'{delimiter}",
        f'"{delimiter}1',
        "ü",
        f"B{delimiter}1{delimiter}2",
        "\x81",
        f"B{delimiter}1.000,5",
    ):
        path.write_bytes(text + extra.encode(encoding, "replace") + b"\n")
        assert schema.encode_features(TextFile(path, **options)).tolist()[:2] == honest


def test_a_quote_may_be_no_quote(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text('height,x\n5" 3,1\n"a,2\n')
    schema = Schema({"height": Nominal(['5" 3', '"a']), "x": Numeric(0, 4, bins=4)})
    assert schema.encode_features(TextFile(path, quote="")).tolist() == [[0, 1], [1, 2]]


def test_a_decimal_comma_is_for_the_named_columns_alone(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("code;x\n1,5;1,5\n1,5;1.5\n")
    schema = Schema({"code": Nominal(["1,5"]), "x": Numeric(0, 4, bins=4)})
    file = TextFile(path, ";", decimal=",", numbers=["x"])
    assert schema.encode_features(file).tolist() == [[0, 1], [0, schema.features["x"].other_cell]]


@pytest.mark.parametrize(
    "options",
    [{"encoding": "utf-16"}, {"encoding": "shift_jis"}, {"encoding": "utf-7"}, {"encoding": "no such"},
     {"quote": "''"}, {"quote": ","}, {"decimal": "5"}, {"decimal": ""}],
)  # fmt: skip
def test_what_cannot_be_read_line_by_line_is_refused(tmp_path, options):
    with pytest.raises(ValueError, match=r"encoding|quote|decimal"):
        TextFile(tmp_path / "rows.csv", **options)


def test_a_header_in_another_encoding_says_how_to_name_it(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes("größe\n1\n".encode("cp1252"))
    with pytest.raises(ValueError, match=r"--encoding cp1252; in Python Source\(path, encoding='cp1252'\)"):
        _ = TextFile(path).names
    assert Source(path, encoding="cp1252").names == ["größe"]


def test_only_text_is_written_in_some_way(tmp_path):
    with pytest.raises(TypeError, match="encoding: only rows in files"):
        Source(lambda: None, encoding="cp1252")
    with pytest.raises(ValueError, match="decimal needs numbers"):
        Source(tmp_path / "rows.csv", decimal=",")
    (tmp_path / "rows.csv").write_text("crp;age\n1,5;3\n")
    with pytest.raises(SchemaError, match="not there: 'CRP'"):
        Source(tmp_path / "rows.csv", delimiter=";", decimal=",", numbers=["CRP"])
