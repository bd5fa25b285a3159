"""Files in, and the command line."""

import argparse
import importlib
import json
import sys

import numpy as np
import pytest

from tailproof.tails import diagnose, diagnose_file, tables
from tailproof.tails.cli import add_parser
from tailproof.tails.picture import draw
from tailproof.tails.tables import read_table


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


@pytest.mark.parametrize("text", ["a\n1\n2\n\n\n", "\ufeffa\n1\n2\n", 'a\r\n"1"\r\n2'])
def test_line_ends_byte_order_marks_and_quotes_are_understood(tmp_path, text):
    assert values(write(tmp_path / "e.csv", text)) == {"a": [1.0, 2.0]}


def test_pieces_join_without_a_seam(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    rows = [
        f"{'xyz'[i]},{float(v)!r}"
        for i, v in zip(rng.integers(0, 3, 100), rng.random(100), strict=True)
    ]
    path = write(tmp_path / "l.csv", "arm,payoff\n" + "\n".join(rows) + "\n")
    whole = values(path, by="arm", value="payoff")
    monkeypatch.setattr(tables, "_PIECE", 7)
    assert values(path, by="arm", value="payoff") == whole


def test_progress_is_told(tmp_path, monkeypatch):
    path = write(tmp_path / "p.csv", "a\n" + "1\n" * 35)
    monkeypatch.setattr(tables, "_PIECE", 5)
    monkeypatch.setattr(tables, "_REPORT_EVERY", 10)
    told = []
    read_table(path, progress=told.append)
    assert told == [10, 20, 30]


@pytest.mark.parametrize(
    ("name", "text", "options", "message"),
    [
        ("e.csv", "", {}, "it is empty"),
        ("h.csv", "a,b\n", {}, "it has no rows"),
        ("h.csv", "a,b\n", {"value": "a"}, "it has no rows"),
        ("n.csv", "a\n1\nnan\n", {}, "`a` must be finite, but got nan in row 2"),
        ("i.csv", "a\n1\ninf\n", {}, "`a` must be finite, but got inf in row 2"),
        ("m.csv", "a,b\n1,2\n1,\n", {}, "`b` must hold numbers, but got an empty cell in row 2"),
        ("m.csv", "a,b\n1,\n1,2\n", {}, "`b` must hold numbers, but got an empty cell in row 1"),
        ("t.csv", "a,b\n1,x\n2,y\n", {}, "got text in 'b'"),
        ("t.csv", "a,b\n1,x\n2,y\n", {"value": "b"}, "`b` must hold numbers, but got 'x' in row 1"),
        ("t.csv", "a,b\n1,2\n2,y\n", {}, "`b` must hold numbers, but got 'y' in row 2"),
        ("t.csv", "a\nx\ny\n", {}, "must hold a column of numbers"),
        ("c.csv", "a,b\n1,2\n", {"value": "z"}, "`value` must be a column of the file"),
        ("c.csv", "a,b\n1,2\n", {"by": "z"}, "`by` must be a column of the file"),
        ("c.csv", "a,b\n1,2\n", {"by": "a", "value": "a"}, "must be two columns"),
        ("c.csv", "a,b,c\n1,2,3\n", {"by": "a"}, "`value` must name the column of payoffs"),
        ("d.csv", "a,a\n1,2\n", {}, "names of their own"),
        ("r.csv", "a,b\n1,2\n1\n", {}, "every row must have 2 cells, but row 2 has 1"),
        ("g.csv", "a\n1\n\n2\n", {}, "every row must have 1 cells, but row 2 has 0"),
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


def test_missing_file_and_wrong_encoding(tmp_path):
    with pytest.raises(FileNotFoundError, match="must be a file"):
        read_table(tmp_path / "none.csv")
    (tmp_path / "latin.csv").write_bytes(b"a\n\xff\xfe\n")
    with pytest.raises(ValueError, match="must be UTF-8 text"):
        read_table(tmp_path / "latin.csv")


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
    monkeypatch.setattr(tables, "_PIECE", 64)
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
        ({"a": [1.0, None]}, {}, "`a` must be finite, but got nan in row 2"),
        ({"a": [1.0], "b": ["x"]}, {}, "got text in 'b'"),
        (
            {"a": [1.0], "b": ["x"]},
            {"value": "b"},
            "`b` must hold numbers, but got a column of type",
        ),
        ({"a": [1.0]}, {"value": "z"}, "`value` must be a column of the file"),
        ({"a": np.empty(0)}, {}, "it has no rows"),
    ],
)
def test_bad_parquet_is_refused(tmp_path, parquet, columns, options, message):
    with pytest.raises(ValueError, match=message):
        read_table(parquet(tmp_path / "b.parquet", **columns), **options)


def test_a_file_that_only_claims_to_be_parquet(tmp_path, parquet):
    with pytest.raises(ValueError, match="must be a Parquet file"):
        read_table(write(tmp_path / "no.parquet", "a\n1\n"))


def test_parquet_without_pyarrow_names_the_extra_and_csv_works(tmp_path, monkeypatch):
    for name in ("pyarrow", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install tailproof\[parquet\]"):
        read_table(write(tmp_path / "p.parquet", "x"))
    assert values(write(tmp_path / "c.csv", "a\n1\n")) == {"a": [1.0]}


# ---- picture and command line ----------------------------------------


@pytest.fixture
def run(capsys):
    def call(*arguments):
        parser = argparse.ArgumentParser(prog="tailproof")
        add_parser(parser.add_subparsers(required=True))
        args = parser.parse_args(["diagnose", *map(str, arguments)])
        code = args.run(args)
        out, err = capsys.readouterr()
        return code, out, err

    return call


@pytest.fixture
def long_file(tmp_path):
    rng = np.random.default_rng(2)
    rows = zip(rng.choice(["x", "y"], 2_000), rng.standard_t(2.5, 2_000), strict=True)
    return write(
        tmp_path / "l.csv", "arm,payoff\n" + "".join(f"{a},{float(p)!r}\n" for a, p in rows)
    )


@pytest.mark.parametrize(
    "payoffs",
    [
        np.random.default_rng(3).standard_t(3, 300),
        np.random.default_rng(4).standard_normal((40, 65)),
        np.random.default_rng(5).standard_normal((200, 2)).cumsum(axis=0),
        (np.random.default_rng(6).random(200) < 0.5).astype(float),
    ],
    ids=["one arm", "many arms", "walks", "coin"],
)
def test_every_kind_of_diagnosis_can_be_drawn(tmp_path, payoffs):
    pytest.importorskip("matplotlib", reason="drawing needs matplotlib")
    path = draw(diagnose(payoffs), tmp_path / "t.png")
    assert path.read_bytes().startswith(b"\x89PNG")


def test_command_prints_table_and_sentence_and_writes_json_and_picture(tmp_path, long_file, run):
    pytest.importorskip("matplotlib", reason="drawing needs matplotlib")
    code, out, err = run(long_file, "--by", "arm", "--value", "payoff", "--out", tmp_path / "out")
    assert (code, err) == (0, "")
    assert "all 2 arms" in out
    assert "Heavy-tailed" in out
    record = json.loads((tmp_path / "out" / "tails.json").read_text())
    assert record["sentence"] in " ".join(out.split())
    assert [arm["name"] for arm in record["arms"]] == [
        a.name for a in diagnose_file(long_file, by="arm").arms
    ]
    assert (tmp_path / "out" / "tails.png").read_bytes().startswith(b"\x89PNG")


def test_command_without_out_writes_nothing(tmp_path, long_file, run):
    code, out, _ = run(long_file, "--by", "arm")
    assert code == 0
    assert "wrote" not in out
    assert [p.name for p in tmp_path.iterdir()] == ["l.csv"]


def test_options_reach_the_diagnosis(tmp_path, run):
    prices = np.exp(np.random.default_rng(7).standard_t(3, 400).cumsum() / 100.0)
    path = write(tmp_path / "p.csv", "price\n" + "".join(f"{float(p)!r}\n" for p in prices))
    _, out, _ = run(path, "--transform", "log-returns", "--level", "0.8", "--seed", "3")
    out = " ".join(out.split())
    assert diagnose_file(path, transform="log-returns", level=0.8, seed=3).sentence in out
    assert "At 80% confidence" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.csv"], "must be a file"),
        (["{long}", "--by", "z"], "`by` must be a column of the file"),
        (["{long}", "--by", "arm", "--level", "2"], "`0 < level < 1` must hold"),
        (["{long}", "--by", "arm", "--seed", "-1"], "`seed >= 0` must hold"),
    ],
)
def test_command_says_what_is_wrong_and_returns_two(long_file, run, arguments, message):
    code, out, err = run(*(a.format(long=long_file) for a in arguments))
    assert (code, out) == (2, "")
    assert err.startswith("tailproof diagnose: ")
    assert message in err


def test_picture_without_matplotlib_names_the_extra_before_any_work(
    tmp_path, long_file, run, monkeypatch
):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    code, out, err = run(long_file, "--by", "arm", "--out", tmp_path / "out")
    assert (code, out) == (2, "")
    assert "pip install tailproof[plot]" in err
    assert run(long_file, "--by", "arm")[0] == 0


def test_command_tells_progress_on_stderr(long_file, run, monkeypatch):
    monkeypatch.setattr(tables, "_PIECE", 500)
    monkeypatch.setattr(tables, "_REPORT_EVERY", 1_000)
    _, _, err = run(long_file, "--by", "arm")
    assert err.splitlines() == ["read 1,000 rows", "read 2,000 rows"]
