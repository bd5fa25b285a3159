"""The probe: a small run holds, and what does not hold is counted and named."""

import sys
from pathlib import Path

import numpy as np
import pytest

import probe
import probe_cases
import probe_files
import probe_sequences
import probe_tuners
import tailproof as tp
from tailproof.storage import read_members, write_members

pytestmark = pytest.mark.filterwarnings("ignore::tailproof.TheoryWarning")


def test_a_small_run_holds_and_prints_its_counts(monkeypatch, capsys):
    arguments = ["--files", "60", "--sequences", "45", "--kills", "0", "--restarts", "0"]
    arguments += ["--interrupts", "0"]
    monkeypatch.setattr(sys, "argv", ["probe.py", *arguments])
    assert probe.main() == 0
    out = capsys.readouterr().out
    for kind in probe_files.MUTATIONS:
        assert f"state files, {kind}: tried 12, held 12, broke 0" in out
    for name in probe_cases.SEARCHES | probe_cases.POLICIES | probe_cases.BANDITS:
        assert f"call sequences, {name}: tried 3, held 3, broke 0" in out
    assert "all: tried 105, held 105, broke 0" in out


def saved(folder):
    optimizer = probe_cases.SEARCHES["Optimizer, mixed"](0)
    probe_cases.run(optimizer, 8, np.random.default_rng(0))
    optimizer.save(folder / "run.npz")
    return folder / "run.npz", probe_cases.behavior(optimizer)


def test_a_damaged_file_that_behaves_otherwise_is_counted(tmp_path):
    path, expected = saved(tmp_path)
    members = read_members(path)
    header = members["header.json"].replace(b'"minimize": false', b'"minimize": true')
    write_members(path, members | {"header.json": header})
    tally = probe_cases.Tally("state files, bytes flipped")
    probe_files.verdict(path, "aim", expected, tally)
    assert tally.broken == ["aim: damage changes what it does"]
    edited = probe_cases.Tally("state files, header edited")
    probe_files.verdict(path, "aim", expected, edited)
    assert edited.remarks == {"another sound run": 1}


def test_an_optimizer_that_contradicts_its_payoffs_is_counted(tmp_path, monkeypatch):
    path, expected = saved(tmp_path)
    real = tp.load

    def wrong(path):
        optimizer = real(path)
        optimizer.predict([dict(optimizer.trials[0].trial.params)])
        model = optimizer._model._fitted["robust"]
        moved = type(model)(**vars(model) | {"location": model.location + 1e3})
        optimizer._model._fitted["robust"] = moved
        optimizer._model._posterior = None
        return optimizer

    monkeypatch.setattr(tp, "load", wrong)
    tally = probe_cases.Tally("state files, header edited")
    probe_files.verdict(path, "location", expected, tally)
    assert tally.broken == ["location: contradicts itself"]


FAULTS = {
    "IndexError": ("recommend", lambda self: [][0]),
    "a payoff told is not there": ("tell", lambda self, trial, value: None),
    "refused, and changed all the same": (
        "add",
        lambda self, params, value: [self.ask() for _ in range(2)] and self.withdraw(-1),
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_errors_lost_payoffs_and_changes_are_counted(fault, tmp_path, monkeypatch):
    method, wrong = FAULTS[fault]
    monkeypatch.setattr(tp.Optimizer, method, wrong)
    monkeypatch.setattr(probe_sequences, "LENGTHS", (40, 41))
    monkeypatch.setattr(
        probe_sequences,
        "SEARCH",
        {"bad-add": (1.0, probe_sequences.bad_add)} if method == "add" else probe_sequences.SEARCH,
    )
    broken = [reason for tally in probe_sequences.probe(3, tmp_path) for reason in tally.broken]
    assert fault in str(broken)


@pytest.mark.parametrize(
    ("code", "counts", "after", "reason"),
    [
        (0, {"complete": 60}, {3: 1.0}, ""),
        (1, {"complete": 60}, {3: 1.0}, "exit code 1"),
        (0, {"complete": 60}, {3: 2.0}, "finished trials lost: [3]"),
        (0, {"complete": 60}, {}, "finished trials lost: [3]"),
        (0, {"complete": 61}, {3: 1.0}, "not the budget"),
        (0, {"complete": 60, "running": 1}, {3: 1.0}, "not the budget"),
    ],
)
def test_a_study_is_judged_by_its_trials(code, counts, after, reason, monkeypatch):
    found = (probe_tuners.TrialCounts(**counts), after)
    monkeypatch.setattr(probe_tuners, "complete_trials", lambda url: found)
    judged = probe_tuners.judge(code, "sqlite://", {3: 1.0})
    assert judged.startswith(reason) if reason else not judged


def test_a_killed_tuner_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(probe_tuners, "BUDGET", 15)
    monkeypatch.setattr(probe_tuners, "DELAYS", (0.5, 1.5))
    monkeypatch.setattr(probe_tuners, "KILLS", 1)
    monkeypatch.setattr(probe_tuners, "PATIENCE", 1200.0)
    tally = probe_tuners.probe_kills(1, tmp_path)
    assert (tally.tried, tally.held) == (1, 1), tally


OWN = f'Traceback (most recent call last):\n  File "{Path(tp.__file__)}", line 1, in <module>\n'


@pytest.mark.parametrize(
    ("code", "printed", "remark", "broke"),
    [
        (130, "tailproof: interrupted.\n", "with one line", ""),
        (-2, "", "before the interpreter", ""),
        (0, "", "too late", ""),
        (1, "Traceback (most recent call last):\n  <frozen runpy>\n", "of the interpreter", ""),
        (1, OWN, "", "a traceback of ours"),
        (130, "", "", "exit code 130"),
        (0, "Exception ignored in: x\nKeyboardInterrupt: \n" + OWN, "", "a traceback of ours"),
    ],
)
def test_an_interrupt_is_judged_by_what_is_printed(code, printed, remark, broke):
    found = probe_tuners.judge_interrupt(code, printed)
    assert remark in found[0]
    assert found[1].startswith(broke)
    assert bool(found[1]) == bool(broke)


def test_interrupts_are_counted(monkeypatch):
    monkeypatch.setattr(probe_tuners, "MOMENTS", (0.0, 0.05))
    tally = probe_tuners.probe_interrupts(1)
    assert (tally.tried, tally.held) == (1, 1), tally
