"""`tailproof diagnose`: what it prints and writes, and how it reports wrong input."""

import json
import sys

import numpy as np
import pytest

from command_line import runner, write
from tailproof._util import tables
from tailproof.tails import diagnose_file, files


@pytest.fixture
def run(capsys):
    return runner("diagnose", capsys)


@pytest.fixture
def long_file(tmp_path):
    rng = np.random.default_rng(2)
    rows = zip(rng.choice(["x", "y"], 2_000), rng.standard_t(2.5, 2_000), strict=True)
    return write(
        tmp_path / "l.csv", "arm,payoff\n" + "".join(f"{a},{float(p)!r}\n" for a, p in rows)
    )


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
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code, out, err = run(long_file, "--by", "arm", "--out", tmp_path / "out")
    assert (code, out) == (2, "")
    assert "pip install 'tailproof[plot]'" in err
    assert run(long_file, "--by", "arm")[0] == 0


def test_command_tells_progress_on_stderr(long_file, run, monkeypatch):
    monkeypatch.setattr(tables, "CHUNK_ROWS", 500)
    monkeypatch.setattr(files, "_REPORT_EVERY", 1_000)
    _, _, err = run(long_file, "--by", "arm")
    assert err.splitlines() == ["read 1,000 rows", "read 2,000 rows"]
