"""CSV files in chunks: forms that are understood, and errors that name file, line and column."""

import gzip

import numpy as np
import pytest

from tailproof._util import tables
from tailproof._util.tables import DataFileError, open_csv, spreadsheet_safe


def write(path, text):
    path.write_bytes(text.encode())
    return path


def read(path, numbers, text=(), *, header_optional=False, **options):
    with open_csv(path, "a table", header_optional=header_optional) as table:
        return table.read(numbers, text, **options)


@pytest.mark.parametrize(
    "text",
    [
        "a,b\n1,x\n2,y\n",
        "a,b\r\n1,x\r\n2,y\r\n",
        "a,b\r1,x\r2,y",
        "\ufeffa,b\n1,x\n2,y",
        '"a","b"\n"1","x"\n 2 ,"y"\n',
        " a , b \n1,x\n2,y\n",
        "\n\na,b\n1,x\n\n2,y\n\n\n",
    ],
    ids=["plain", "windows", "old mac", "byte order mark", "quotes", "spaces", "blank lines"],
)
def test_the_usual_forms_are_understood(tmp_path, text):
    columns = read(write(tmp_path / "t.csv", text), ["a"], ["b"])
    assert columns.rows == 2
    assert columns["a"].tolist() == [1.0, 2.0]
    assert columns.text("b") == ["x", "y"]


def test_a_compressed_file_is_read(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a\n1\n2\n"))
    assert read(path, ["a"])["a"].tolist() == [1.0, 2.0]
    path.write_bytes(gzip.compress(b"a\n1\n2\n" * 1_000)[:40])
    with pytest.raises(DataFileError, match=r"t.csv.gz: expected a table, but found: "):
        read(path, ["a"])


def test_text_columns_are_kept_as_codes_in_the_order_of_first_rows(tmp_path):
    columns = read(write(tmp_path / "t.csv", "a,b\n1,z\n2,y\n3,z\n"), ["a"], ["b"])
    assert columns.labels["b"] == {"z": 0, "y": 1}
    assert columns["b"].tolist() == [0, 1, 0]


def test_a_first_line_of_numbers_is_a_row_where_the_header_is_optional(tmp_path):
    path = write(tmp_path / "t.csv", "1,2\n3,4\n")
    named = read(path, ["1", "2"])
    assert named["2"].tolist() == [4.0]
    columns = read(path, ["column 1", "column 2"], header_optional=True)
    assert columns["column 2"].tolist() == [2.0, 4.0]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_chunks_join_without_a_seam(tmp_path, monkeypatch, size):
    monkeypatch.setattr(tables, "CHUNK_ROWS", size)
    rng = np.random.default_rng(0)
    values, labels = rng.random(50), rng.choice(["x", "y", "z"], 50)
    rows = "".join(f"{float(v)!r},{k}\n" for v, k in zip(values, labels, strict=True))
    told = []
    columns = read(write(tmp_path / "t.csv", "a,b\n" + rows), ["a"], ["b"], progress=told.append)
    assert columns["a"].tolist() == values.tolist()
    assert columns.text("b") == labels.tolist()
    assert told == [*range(size, 50, size), 50]


@pytest.mark.parametrize("size", [1, 2, 100])
def test_blank_lines_between_the_rows_of_one_column_are_empty_cells(tmp_path, monkeypatch, size):
    monkeypatch.setattr(tables, "CHUNK_ROWS", size)
    path = write(tmp_path / "t.csv", "a\n1\n\n\n2\n\n\n")
    with pytest.raises(DataFileError, match=r"but found '', not a number, in line 3, column 'a'"):
        read(path, ["a"])
    values = read(path, ["a"], allow_missing=True)["a"]
    np.testing.assert_array_equal(values, [1.0, np.nan, np.nan, 2.0])


def test_missing_cells_become_nan_where_they_are_allowed(tmp_path):
    path = write(tmp_path / "t.csv", "a,b\n1,2\nNA,3\n,4\n nan ,5\n")
    values = read(path, ["a"], allow_missing=True)["a"]
    np.testing.assert_array_equal(values, [1.0, np.nan, np.nan, np.nan])


@pytest.mark.parametrize("size", [2, 100])
@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("", "an empty file"),
        ("\n\n", "an empty file"),
        ("a,b\n", "a header and no rows"),
        ("a,b\n1,2\n3,4\n5,x\n", "'x', not a number, in line 4, column 'b'"),
        ("a,b\n1,2\n\n3,4\n\n5,x\n", "'x', not a number, in line 6, column 'b'"),
        ('a,b\n1,2\n"\n3",4\n5,x\n', "'x', not a number, in line 5, column 'b'"),
        ("\ufeffa,b\n1,2\n3,\n", "'', not a number, in line 3, column 'b'"),
        ("a,b\n1,2\n3,4\nNaN,6\n", "'NaN', not a finite number, in line 4, column 'a'"),
        ("a,b\n1,2\n3,4\n5,-inf\n", "'-inf', not a finite number, in line 4, column 'b'"),
        ("a,b\n1,2\n3,4\n5\n", "1 cells under a header of 2 columns in line 4"),
        ("a,c\n1,2\n", "no column 'b' among 'a', 'c'"),
    ],
)
def test_errors_name_file_line_and_column(tmp_path, monkeypatch, size, text, finding):
    monkeypatch.setattr(tables, "CHUNK_ROWS", size)
    path = write(tmp_path / "t.csv", text)
    with pytest.raises(DataFileError) as caught:
        read(path, ["a", "b"])
    assert str(caught.value) == f"{path}: expected a table, but found {finding}."


@pytest.mark.parametrize(
    ("cell", "finding"),
    [
        ("inf", "'inf', not a finite number, in line 3, column 'a'"),
        ("slow", "'slow', not a number, in line 3, column 'a'"),
    ],
)
def test_only_missing_cells_are_allowed_to_be_no_numbers(tmp_path, cell, finding):
    path = write(tmp_path / "t.csv", f"a,b\n,0\n{cell},0\n")
    with pytest.raises(DataFileError, match=finding):
        read(path, ["a"], allow_missing=True)


def test_rows_without_a_header_are_counted_from_the_first_line(tmp_path):
    path = write(tmp_path / "t.csv", "1\n2\nx\n")
    with pytest.raises(DataFileError, match="'x', not a number, in line 3"):
        read(path, ["column 1"], header_optional=True)


def test_files_that_cannot_be_read_are_named(tmp_path):
    with pytest.raises(DataFileError, match=r"none.csv: expected a table, but found no readable"):
        read(tmp_path / "none.csv", ["a"])
    (tmp_path / "latin.csv").write_bytes(b"a\n\xff\xfe\n")
    with pytest.raises(DataFileError, match="bytes that are not UTF-8 text"):
        read(tmp_path / "latin.csv", ["a"])
    write(tmp_path / "long.csv", "a\n" + "x" * 200_000 + "\n")
    with pytest.raises(DataFileError, match="field larger than field limit"):
        read(tmp_path / "long.csv", ["a"])


@pytest.mark.parametrize(
    "text",
    [
        *(
            "=cmd|' /C calc'!A0",
            "@SUM(1)",
            "+1+1",
            "-2+3",
            "\t=1",
            "\r=1",
            "\n=1",
            " =1",
            "\uff1d1",
        ),
        *("-x", "--", "+", "'quoted'", "-1.5.2", "=1"),
    ],
)
def test_text_that_looks_like_a_formula_gets_an_apostrophe(text):
    assert spreadsheet_safe(text) == "'" + text


@pytest.mark.parametrize(
    "text", ["", "plain", "a=b", "a@b", "1-2", "-1.5", "+2", "1e-5", "-inf", " ", "x\t=1"]
)
def test_numbers_and_plain_text_stay_as_they_are_in_a_spreadsheet(text):
    assert spreadsheet_safe(text) == text
