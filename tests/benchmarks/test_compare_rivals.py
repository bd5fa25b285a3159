"""A whole comparison by its command: tables, resuming, extending, versions of methods."""

import csv
import json
import shutil

import pytest

import compare_rivals
from rivals import comparison, records
from rivals.methods import PEERS

WRITTEN = (comparison.RUNS, comparison.SUMMARY)
SMALL = ("--objectives", "branin", "trap", "--laws", "t1.5", "--evaluations", "5", "--workers", "1")
METHODS = ("--methods", "tailproof", "random", "optuna-tpe", "--seeds", "2")


def compare(*words):
    return compare_rivals.main([str(word) for word in words])


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Ours, random search and TPE with two seeds of five evaluations, by one command."""
    pytest.importorskip("optuna")
    out = tmp_path_factory.mktemp("whole") / "out"
    assert compare(*SMALL, *METHODS, "--out", out) == 0
    return out


@pytest.fixture
def copy(whole, tmp_path):
    return shutil.copytree(whole, tmp_path / "out")


def assert_same(out, whole):
    for name in WRITTEN:
        assert (out / name).read_bytes() == (whole / name).read_bytes()


def file_of(out, problem, method, seed):
    (path,) = (out / records.RUNS / problem / method).glob(f"*/{seed:04d}.json")
    return path


def test_every_run_is_in_the_table(whole):
    with (whole / comparison.RUNS).open() as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 2 * 3 * 2  # problems, methods, seeds
    assert {row["method"] for row in rows} == {"tailproof", "random", "optuna-tpe"}
    assert all(row["evaluations"] == "5" and not row["error"] for row in rows)
    assert all(float(row["simple_regret"]) >= 0.0 for row in rows)
    summary = json.loads((whole / comparison.SUMMARY).read_text())
    assert len(summary["problems"]) == 6
    assert "Branin, Student-t 1.5" in (whole / comparison.REPORT).read_text()
    assert (whole / comparison.TEXT).read_text().startswith("# Comparison with rivals")


def test_all_claims_are_open_with_two_seeds(whole, capsys):
    assert compare(*SMALL, *METHODS, "--out", whole) == 0
    printed = capsys.readouterr().out
    lines = [line for line in printed.splitlines() if "simple regret" in line or "trap:" in line]
    assert lines
    assert all(line.startswith(("open, points to yes: ", "open, points to no: ")) for line in lines)
    assert "A claim with fewer than 20 seeds on some problem is open." in printed
    assert "mean rank of all, heavy (2 of 31 problems with 2 or more seeds)" in printed
    found = json.loads((whole / comparison.SUMMARY).read_text())["claims"]
    assert {claim["outcome"] for claim in found} == {"open"}
    # Of a pool most problems are missing; the trap is complete.
    assert {("trap:" in claim["text"], claim["seeds"]) for claim in found} == {
        (False, 0),
        (True, 2),
    }
    text = (whole / comparison.TEXT).read_text()
    assert f"0 hold in these runs, 0 do not, and {len(found)} are open" in text
    assert "| holds |" not in text


def test_extended_step_by_step_it_ends_with_the_same_bytes(whole, tmp_path):
    out = tmp_path / "out"
    assert compare(*SMALL, "--methods", "random", "--seeds", 1, "--out", out) == 0
    more = ("--methods", "random", "tailproof", "--seeds", 2)
    assert compare(*SMALL, *more, "--out", out) == 0
    assert compare(*SMALL, "--methods", "optuna-tpe", "--seeds", 2, "--out", out) == 0
    assert_same(out, whole)


def test_only_missing_and_damaged_runs_are_executed(whole, copy, monkeypatch):
    file_of(copy, "trap.trap", "random", 1).unlink()
    file_of(copy, "branin.t1.5", "tailproof", 0).write_text("{")
    executed = []
    original = comparison.execute
    monkeypatch.setattr(comparison, "execute", lambda spec: executed.append(spec) or original(spec))
    assert compare(*SMALL, *METHODS, "--out", copy) == 0
    assert {(spec.objective, spec.method, spec.seed) for spec in executed} == {
        ("branin", "tailproof", 0),
        ("trap", "random", 1),
    }
    assert_same(copy, whole)


def test_several_workers_give_the_same_bytes(whole, tmp_path):
    out = tmp_path / "out"
    assert compare(*SMALL[:-2], *METHODS, "--workers", 2, "--out", out) == 0
    assert_same(out, whole)


def test_after_an_interrupt_the_same_command_continues(whole, tmp_path, monkeypatch, capsys):
    original = comparison.execute

    def interrupted(spec):
        if spec.seed == 1:
            raise KeyboardInterrupt
        return original(spec)

    out = tmp_path / "out"
    monkeypatch.setattr(comparison, "execute", interrupted)
    assert compare(*SMALL, *METHODS, "--out", out) == comparison.INTERRUPTED
    assert "Stopped with 6 of 12 runs" in capsys.readouterr().err
    monkeypatch.setattr(comparison, "execute", original)
    assert compare(*SMALL, *METHODS, "--out", out) == 0
    assert_same(out, whole)


def test_other_evaluations_or_families_need_another_folder(whole, capsys):
    for words, message in (
        (("--objectives", "trap", "--evaluations", 6), "runs with evaluations 5, not 6"),
        ((*SMALL, "--family", "tune"), "runs with family measure, not tune"),
    ):
        with pytest.raises(SystemExit):
            compare(*words, "--out", whole)
        assert message in capsys.readouterr().err


def test_runs_by_another_version_are_kept_but_not_mixed(whole, copy, monkeypatch, capsys):
    """A new version of a method replaces the old one's runs in the tables, not on disk."""
    versions = {"tailproof": "9.9", "random": "1.0", "optuna-tpe": "5.0"}
    monkeypatch.setattr(records, "version_of", lambda method: versions.get(method))
    assert compare(*SMALL, "--methods", "tailproof", "--seeds", 2, "--out", copy) == 0
    assert "tailproof: runs by version 9.9; those by" in capsys.readouterr().out
    assert len(list((copy / records.RUNS / "trap.trap" / "tailproof").iterdir())) == 2
    with (copy / comparison.RUNS).open() as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 12  # those of random search and TPE by the version that is there
    assert {row["version"] for row in rows if row["method"] == "tailproof"} == {"9.9"}
    monkeypatch.undo()
    assert compare(*SMALL, *METHODS, "--out", copy) == 0
    assert_same(copy, whole)


def test_quick_is_small_and_peers_are_added_only_on_request():
    def plan(*words):
        return compare_rivals.make_plan(compare_rivals.make_parser().parse_args(words))

    quick = plan("--quick")
    assert (quick.seeds, quick.evaluations) == (2, 40)
    assert not set(PEERS) & set(quick.methods)
    peers = plan("--quick", "--peers", "--seeds", "7")
    assert set(PEERS) <= set(peers.methods)
    assert (peers.seeds, peers.evaluations) == (7, 40)
    default = plan()
    assert (default.seeds, default.evaluations, len(default.problems)) == (20, 200, 36)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--objectives", "sphere"), "`objectives` must be one of"),
        (("--laws", "cauchy"), "`laws` must be one of"),
        (("--methods", "simplex"), "`methods` must be one of"),
        (("--seeds", "0"), "seeds >= 1"),
        (("--evaluations", "1"), "evaluations >= 2"),
        (("--workers", "0"), "workers >= 1"),
    ],
)
def test_wrong_arguments_are_named(words, message, tmp_path, capsys):
    with pytest.raises(SystemExit):
        compare(*words, "--out", tmp_path / "out")
    assert message in capsys.readouterr().err
