"""Replays of recorded payoffs, and the command that shows them."""

import json

import numpy as np
import pytest

from tailproof.bandits import simulation, simulation_report
from tailproof.cli import main


def urns(seed=0):
    rng = np.random.default_rng(seed)
    return [mean + rng.standard_t(2.0, 400) for mean in (0.0, 0.5, 2.0)]


def test_regret_is_counted_against_the_best_recorded_mean():
    result = simulation.simulate(urns(), ["a", "b", "c"], rounds=600, seeds=3)
    assert result.best == 2
    for replay in result.replays:
        gaps = result.means[2] - result.means[replay.choices]
        assert replay.regret == pytest.approx(np.cumsum(gaps, axis=1))
    bandit, plain, uniform = result.replays
    assert bandit.regret[:, -1].mean() < uniform.regret[:, -1].mean() / 3
    assert np.bincount(uniform.choices[0]).tolist() == [200, 200, 200]
    assert (bandit.recommended == 2).all()
    assert plain.policy == "Thompson on sample means"


def test_minimizing_is_maximizing_the_negative():
    up = simulation.simulate(urns(), "abc", rounds=200, seeds=2, seed=3)
    down = simulation.simulate(
        [-u for u in urns()], "abc", rounds=200, seeds=2, minimize=True, seed=3
    )
    for one, other in zip(up.replays, down.replays, strict=True):
        assert np.array_equal(one.choices, other.choices)
        assert one.regret == pytest.approx(other.regret)


@pytest.mark.parametrize(
    ("payoffs", "options", "named"),
    [
        ([[1.0, 2.0]], {}, "2 named arms"),
        ([[1.0], []], {}, "2 named arms"),
        ([[1.0], [np.nan]], {}, "payoffs"),
        ([[1.0], [2.0]], {"rounds": 0}, "rounds"),
        ([[1.0], [2.0]], {"seeds": 0}, "seeds"),
        ([[1.0], [2.0]], {"half_life": -1.0}, "half_life"),
    ],
)
def test_bad_input_is_named(payoffs, options, named):
    with pytest.raises(ValueError, match=named):
        simulation.simulate(payoffs, ["a", "b"][: len(payoffs)], **{"rounds": 5, **options})


def test_the_command_prints_tables_and_writes_a_picture(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    rows = [
        f"{name},{y:.3f}"
        for name, urn in zip(("$x_{$", "y\x1b", "z"), urns(), strict=True)
        for y in urn
    ]
    path = tmp_path / "payoffs.csv"
    path.write_text("variant,revenue\n" + "\n".join(rows) + "\nrare,9.0\n")
    command = ["bandit", "simulate", str(path), "--by", "variant", "--value", "revenue"]
    options = ["--rounds", "300", "--repetitions", "2", "--out", str(tmp_path / "out")]
    assert main([*command, *options]) == 0
    said = capsys.readouterr().out
    assert "recommended it" in said
    assert "1 arms with fewer than 20 payoffs are left out" in said
    record = json.loads((tmp_path / "out" / "bandit.json").read_text())
    assert record["best"] == "z"
    assert record["policies"][0]["recommended"] == ["z", "z"]
    assert (tmp_path / "out" / "bandit.png").read_bytes().startswith(b"\x89PNG")


def test_a_file_without_enough_payoffs_is_refused(tmp_path, capsys):
    path = tmp_path / "payoffs.csv"
    path.write_text("variant,revenue\na,1\nb,2\n")
    assert main(["bandit", "simulate", str(path), "--by", "variant", "--value", "revenue"]) == 2
    assert "at-least" in capsys.readouterr().err


def test_tables_list_the_best_arms_first():
    result = simulation.simulate(urns(), ["a", "b", "c"], rounds=50, seeds=1)
    lines = simulation_report.arm_table(result).splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["c", "b", "a"]
