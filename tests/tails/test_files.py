"""Payoffs from CSV and Parquet files: which columns are arms, and what is refused."""

import importlib
import sys

import numpy as np
import pytest

from tailproof._util import tables
from tailproof.tails import diagnose_file, files
from tailproof.tails.files import read_table


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def values(path, **options):
    return {arm.name: arm.values.tolist() for arm in read_table(path, **options).arms}


def test_wide_table(tmp_path):
    path = write(tmp_path / "w.csv", "a,b\n1,2\n3,4\n")
    assert values(path) == {"a": [1.0, 3.0], "b": [2.0, 4.0]}
    assert read_table(path).aligned


@pytest.mark.parametrize("first", ["day,a\n2020-01-01,1\n2020-01-02,2\n", ",a\n0,1\n1,2\n"])
def test_first_column_of_dates_or_without_a_name_is_left_out_and_said(tmp_path, first):
    path = write(tmp_path / "w.csv", first)
    assert values(path) == {"a": [1.0, 2.0]}
    assert "left out" in read_table(path).notes[0]


def test_long_table_keeps_the_order_within_arms(tmp_path):
    path = write(tmp_path / "l.csv", "arm,payoff,other\nx,1,text\ny,2,text\nx,3,text\n")
    assert values(path, by="arm", value="payoff") == {"x": [1.0, 3.0], "y": [2.0]}
    assert values(path, by="arm") == {"x": [1.0, 3.0], "y": [2.0]}
    assert values(path, value="payoff") == {"payoff": [1.0, 2.0, 3.0]}


def test_numbers_alone_need_no_header(tmp_path):
    assert values(write(tmp_path / "n.csv", "1.5\n2.5\n-3e2\n")) == {"column 1": [1.5, 2.5, -300.0]}


def test_progress_is_told(tmp_path, monkeypatch):
    path = write(tmp_path / "p.csv", "a\n" + "1\n" * 35)
    monkeypatch.setattr(tables, "CHUNK_ROWS", 5)
    monkeypatch.setattr(files, "_REPORT_EVERY", 10)
    told = []
    read_table(path, progress=told.append)
    assert told == [10, 20, 30]


@pytest.mark.parametrize(
    ("name", "text", "options", "message"),
    [
        ("e.csv", "", {}, "e.csv: expected a table of payoffs, but found an empty file"),
        ("h.csv", "a,b\n", {}, "but found a header and no rows"),
        ("h.csv", "a,b\n", {"value": "a"}, "but found a header and no rows"),
        ("n.csv", "a\n1\nnan\n", {}, "but found 'nan', not a finite number, in line 3, column 'a'"),
        ("m.csv", "a,b\n1,2\n1,\n", {}, "but found '', not a number, in line 3, column 'b'"),
        ("m.csv", "a,b\n1,\n1,2\n", {}, "but found '', not a number, in line 2, column 'b'"),
        ("t.csv", "a,b\n1,x\n2,y\n", {}, "got text in 'b'"),
        ("t.csv", "a,b\n1,x\n2,y\n", {"value": "b"}, "'x', not a number, in line 2, column 'b'"),
        ("t.csv", "a,b\n1,2\n2,y\n", {}, "but found 'y', not a number, in line 3, column 'b'"),
        ("t.csv", "a\nx\ny\n", {}, "must hold a column of numbers"),
        ("c.csv", "a,b\n1,2\n", {"value": "z"}, "`value` must be a column of the file"),
        ("c.csv", "a,b\n1,2\n", {"by": "z"}, "`by` must be a column of the file"),
        ("c.csv", "a,b\n1,2\n", {"by": "a", "value": "a"}, "must be two columns"),
        ("c.csv", "a,b,c\n1,2,3\n", {"by": "a"}, "`value` must name the column of payoffs"),
        ("d.csv", "a,a\n1,2\n", {}, "distinct names"),
        ("r.csv", "a,b\n1,2\n1\n", {}, "1 cells under a header of 2 columns in line 3"),
        ("g.csv", "a\n1\n\n2\n", {}, "'', not a number, in line 3, column 'a'"),
        ("b.csv", "a\n1\n1e300\n", {}, r"`\|a\| <= 1e\+70` must hold"),
        ("x.txt", "a\n1\n", {}, "`path` must end in .csv, .parquet, .pq"),
        ("x", "a\n1\n", {}, "`path` must end in"),
    ],
)
def test_bad_files_are_refused(tmp_path, name, text, options, message):
    with pytest.raises(ValueError, match=message):
        read_table(write(tmp_path / name, text), **options)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\n1\n", "must hold for at least one arm, but the longest of 1 has 1"),
        ("a\n" + "3\n" * 40, "must vary, but got a constant series"),
    ],
)
def test_files_without_a_diagnosis_say_why(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        diagnose_file(write(tmp_path / "x.csv", text))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="must be a file"):
        read_table(tmp_path / "none.csv")


# ---- Parquet ----------------------------------------


@pytest.fixture
def parquet():
    pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    arrow = importlib.import_module("pyarrow")
    writer = importlib.import_module("pyarrow.parquet")

    def write_columns(path, **columns):
        writer.write_table(arrow.table(columns), path)
        return path

    return write_columns


def test_parquet_and_csv_agree(tmp_path, parquet, monkeypatch):
    rng = np.random.default_rng(1)
    arms, payoffs = rng.choice(["x", "y"], 200), rng.standard_t(3, 200)
    monkeypatch.setattr(tables, "CHUNK_ROWS", 64)
    rows = "".join(f"{a},{float(p)!r}\n" for a, p in zip(arms, payoffs, strict=True))
    text = write(tmp_path / "t.csv", "arm,payoff\n" + rows)
    columns = parquet(tmp_path / "t.parquet", arm=list(arms), payoff=payoffs)
    assert diagnose_file(columns, by="arm") == diagnose_file(text, by="arm")


def test_wide_parquet(tmp_path, parquet):
    path = parquet(tmp_path / "w.pq", day=["mon", "tue"], a=[1, 2], b=[0.5, 1.5])
    assert values(path) == {"a": [1.0, 2.0], "b": [0.5, 1.5]}


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ({"a": [1.0, None]}, {}, "but found nan in row 2, column 'a'"),
        ({"a": [1.0], "b": ["x"]}, {}, "got text in 'b'"),
        (
            {"a": [1.0], "b": ["x"]},
            {"value": "b"},
            "`b` must hold numbers, but got a column of type",
        ),
        ({"a": [1.0]}, {"value": "z"}, "`value` must be a column of the file"),
        ({"a": np.empty(0)}, {}, "expected rows of payoffs, but found none"),
    ],
)
def test_bad_parquet_is_refused(tmp_path, parquet, columns, options, message):
    with pytest.raises(ValueError, match=message):
        read_table(parquet(tmp_path / "b.parquet", **columns), **options)


def test_a_file_that_only_claims_to_be_parquet(tmp_path, parquet):
    with pytest.raises(ValueError, match="expected a Parquet file"):
        read_table(write(tmp_path / "no.parquet", "a\n1\n"))


def test_parquet_without_pyarrow_names_the_extra_and_csv_works(tmp_path, monkeypatch):
    for name in ("pyarrow", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"pip install 'tailproof\[parquet\]'"):
        read_table(write(tmp_path / "p.parquet", "x"))
    assert values(write(tmp_path / "c.csv", "a\n1\n")) == {"a": [1.0]}
