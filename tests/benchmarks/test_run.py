"""A whole arena by its command: tables, resuming, extending, and only code of today."""

import argparse
import csv
import json
import shutil

import pytest

from rivals import cli, plan, session
from rivals.analysis import POOLS
from rivals.contestants import PEERS
from rivals.laws import LAWS
from rivals.problems import PROBLEMS, cell_names
from rivals.records import Run
from tailproof.experiments.store import DirectoryMismatchError

WRITTEN = (session.RUNS, session.SUMMARY)


def arena(*words):
    parser = argparse.ArgumentParser()
    cli.add_parser(parser.add_subparsers())
    arguments = parser.parse_args(["arena", *map(str, words)])
    return arguments.run(arguments)


SMALL = ("--problems", "branin", "trap", "--laws", "t1.5", "--evaluations", 5, "--workers", 1)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Ours, random search and TPE with two seeds of five evaluations, in one go."""
    pytest.importorskip("optuna")
    out = tmp_path_factory.mktemp("whole") / "out"
    who = ("--contestants", "tailproof", "random", "optuna-tpe")
    assert arena(*SMALL, *who, "--seeds", 2, "--out", out) == 0
    return out


def test_every_run_is_in_the_table(whole):
    with (whole / session.RUNS).open() as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 2 * 3 * 2  # cells, contestants, seeds
    assert {row["contestant"] for row in rows} == {"tailproof", "random", "optuna-tpe"}
    assert all(row["round"] == "5" and not row["error"] for row in rows)
    assert all(float(row["simple_regret"]) >= 0.0 for row in rows)
    summary = json.loads((whole / session.SUMMARY).read_text())
    assert len(summary["cells"]) == 6
    assert "Branin, Student-t 1.5" in (whole / session.REPORT).read_text()
    assert (whole / session.TEXT).read_text().startswith("# The arena")


def test_two_seeds_hold_nothing(whole, capsys):
    """Nobody reads "holds" off a first look, neither on the terminal nor in what is written."""
    who = ("--contestants", "tailproof", "random", "optuna-tpe")
    assert arena(*SMALL, *who, "--seeds", 2, "--out", whole) == 0
    printed = capsys.readouterr().out
    told = [line for line in printed.splitlines() if "simple regret" in line or "trap:" in line]
    assert told
    assert all(line.startswith(("open, points to yes: ", "open, points to no: ")) for line in told)
    assert "Open: on fewer than 20 seeds in some cell nothing is said to hold." in printed
    assert "mean rank of all, heavy (2 of 31 cells with 2 or more seeds)" in printed
    found = json.loads((whole / session.SUMMARY).read_text())["claims"]
    assert {one["outcome"] for one in found} == {"open"}
    # Of a pool most cells are missing; the trap is whole.
    assert {("trap:" in one["text"], one["seeds"]) for one in found} == {(False, 0), (True, 2)}
    text = (whole / session.TEXT).read_text()
    assert f"0 hold in these runs, 0 do not, and {len(found)} are open" in text
    assert "| yes |" not in text
    assert 'class="yes"' not in (whole / session.REPORT).read_text()


def test_the_terminal_shows_both_rankings_and_what_holds():
    runs = [
        Run(*cell, who, seed, (value,), (1.0,))
        for cell in cell_names(PROBLEMS, tuple(LAWS))
        if POOLS["heavy"](cell)
        for who, value, seeds in (("tailproof", 0.1, 20), ("random", 0.5, 20), ("gp-ucb", 0.3, 1))
        for seed in range(seeds)
    ]
    lines = session.digest(runs).splitlines()
    head = "mean rank of all{}, heavy (31 of 31 cells with {} or more seeds)"
    assert lines[0] == head.format(" with 20 seeds", 20)
    assert lines[3] == head.format("", 1)
    assert [line.split()[0] for line in lines[4:7]] == ["tailproof", "GP-UCB", "random"]
    text = "best mean rank of all{} in simple regret, heavy: "
    assert any(line.startswith("holds: " + text.format(" with 20 seeds")) for line in lines)
    assert any(line.startswith("open, points to yes: " + text.format("")) for line in lines)
    decided = session.digest([one for one in runs if one.contestant != "gp-ucb"])
    assert "holds: " in decided
    assert "open" not in decided.lower()


def test_extended_bit_by_bit_it_ends_with_the_same_bytes(whole, tmp_path):
    out = tmp_path / "out"
    assert arena(*SMALL, "--contestants", "random", "--seeds", 1, "--out", out) == 0
    more = ("--contestants", "random", "tailproof")
    assert arena(*SMALL, *more, "--seeds", 2, "--out", out) == 0
    assert arena(*SMALL, "--contestants", "optuna-tpe", "--seeds", 2, "--out", out) == 0
    for name in WRITTEN:
        assert (out / name).read_bytes() == (whole / name).read_bytes()


def test_only_missing_and_damaged_matches_are_played(whole, tmp_path, monkeypatch):
    out = tmp_path / "out"
    shutil.copytree(whole, out)
    (out / "trials/trap.trap/random/0001.json").unlink()
    (out / "trials/branin.t1.5/tailproof/0000.json").write_text("{")
    played = []
    original = session.play
    monkeypatch.setattr(session, "play", lambda one: played.append(one.name) or original(one))
    who = ("--contestants", "tailproof", "random", "optuna-tpe")
    assert arena(*SMALL, *who, "--seeds", 2, "--out", out) == 0
    assert sorted(played) == [("branin.t1.5", "tailproof", 0), ("trap.trap", "random", 1)]
    for name in WRITTEN:
        assert (out / name).read_bytes() == (whole / name).read_bytes()


def test_several_workers_give_the_same_bytes(whole, tmp_path):
    out = tmp_path / "out"
    who = ("--contestants", "tailproof", "random", "optuna-tpe")
    assert arena(*SMALL[:-2], *who, "--seeds", 2, "--workers", 2, "--out", out) == 0
    for name in WRITTEN:
        assert (out / name).read_bytes() == (whole / name).read_bytes()


def test_other_evaluations_need_another_directory(whole):
    with pytest.raises(DirectoryMismatchError, match="evaluations is 5 there, 6 here"):
        arena("--problems", "trap", "--evaluations", 6, "--out", whole)
    with pytest.raises(DirectoryMismatchError, match="family is"):
        arena(*SMALL, "--family", "tune", "--out", whole)


def test_matches_by_other_code_are_left_out_and_played_again(whole, tmp_path, capsys):
    out = tmp_path / "out"
    shutil.copytree(whole, out)
    path = out / "trials/trap.trap/tailproof/0000.json"
    record = json.loads(path.read_text())
    path.write_text(json.dumps(record | {"code": "another", "simple": [123.0]}))
    assert arena(*SMALL, "--contestants", "random", "--seeds", 2, "--out", out) == 0
    assert "1 matches of tailproof" in capsys.readouterr().out
    assert "123.0" not in (out / session.RUNS).read_text()
    assert arena(*SMALL, "--contestants", "tailproof", "--seeds", 2, "--out", out) == 0
    for name in WRITTEN:
        assert (out / name).read_bytes() == (whole / name).read_bytes()


def test_a_peer_s_matches_survive_a_change_of_our_optimizer():
    package = plan.Path(plan.tailproof.__file__).parent
    deciding = {
        kind: {
            path.relative_to(package).as_posix()
            for pattern in plan.deciding(kind)
            for path in package.glob(pattern)
        }
        for kind in ("tailproof", "optuna-gp", "botorch-ucb")
    }
    assert {"optimizer.py", "taming.py", "calibration.py", "checks.py"} <= deciding["tailproof"]
    assert "cli.py" not in deciding["tailproof"]
    assert "experiments/arena/optuna_player.py" in deciding["optuna-gp"]
    assert "experiments/arena/botorch_player.py" in deciding["botorch-ucb"]
    for peer, other in (("optuna-gp", "botorch"), ("botorch-ucb", "optuna")):
        assert "optimizer.py" not in deciding[peer]
        assert f"experiments/arena/{other}_player.py" not in deciding[peer]
    for kind in deciding.values():
        assert {"experiments/arena/problems.py", "experiments/arena/match.py"} <= kind
    assert plan.code("random") != plan.code(PEERS[0])


def test_quick_is_small_and_peers_are_added_only_when_asked_for(monkeypatch, tmp_path):
    seen = []
    monkeypatch.setattr(session, "run", lambda request: seen.append(request.plan) or 0)
    arena("--quick", "--out", tmp_path)
    arena("--quick", "--peers", "--seeds", 7, "--out", tmp_path)
    arena("--out", tmp_path)
    quick, peers, default = seen
    assert (quick.seeds, quick.evaluations) == (cli.QUICK_SEEDS, cli.QUICK_EVALUATIONS)
    assert not set(PEERS) & set(quick.contestants)
    assert set(PEERS) <= set(peers.contestants)
    assert peers.seeds == 7
    assert (default.seeds, default.evaluations, len(default.cells)) == (20, 200, 36)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--problems", "sphere"), "`problems` must be one of"),
        (("--laws", "cauchy"), "`laws` must be one of"),
        (("--contestants", "nobody"), "`contestants` must be one of"),
        (("--seeds", "0"), "seeds >= 1"),
        (("--evaluations", "1"), "evaluations >= 2"),
        (("--workers", "0"), "workers >= 1"),
    ],
)
def test_wrong_arguments_are_named(words, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        arena(*words, "--out", tmp_path / "out")
