"""`tailproof bounds`: the table, the plot, and what it prints where a bound does not apply."""

import argparse

import numpy as np
import pytest

import tailproof as tp
from tailproof import theory
from tailproof.bandits.schedules import MomentBound, Setting
from tailproof.theory import cli


def run(capsys, tmp_path, line):
    pytest.importorskip("matplotlib")
    parser = argparse.ArgumentParser()
    cli.add_parser(parser.add_subparsers(dest="command"))
    args = parser.parse_args(["bounds", *line.split(), "--out", str(tmp_path / "made" / "here")])
    assert args.run(args) == 0
    assert (tmp_path / "made" / "here" / "bounds.png").stat().st_size > 10_000
    return capsys.readouterr().out


def rows(text):
    """The table's cells by row, after its head."""
    lines = text.splitlines()
    first = next(i for i, line in enumerate(lines) if line.split()[:1] == ["T"])
    return [line.split() for line in lines[first + 1 : lines.index("", first)]]


def test_the_table_holds_the_bounds_of_the_functions(capsys, tmp_path):
    line = "--kernel se --dim 1 --alpha 0.9 --horizon 2000 --arms-per-dim 30 --nodes 40 --v 2"
    text = run(capsys, tmp_path, line)
    table = rows(text)
    rounds = np.array([int(row[0]) for row in table])
    np.testing.assert_array_equal(rounds, [10, 20, 50, 100, 200, 500, 1000, 2000])
    arms, kernel = np.linspace(0.0, 1.0, 30)[:, None], tp.SquaredExponential(0.2)
    setting = Setting(MomentBound(0.9, 2.0), 1.0, 1.0, 0.1, 2_000)
    gain = theory.gain_upper_bound(kernel, arms, 1.0, rounds)
    error = tp.QuadratureFourier(40).error_bound(kernel, arms)
    features = tp.Exact().embed(kernel, arms, np.random.default_rng(0))
    expected = [
        gain,
        theory.theorem1_regret_bound(setting, rounds, gain),
        theory.theorem3_regret_bound(setting, rounds, directions=40, kernel_error=error, gain=gain),
        theory.theorem4_regret_bound(setting, rounds, gain, accuracy=0.1, most_directions=30),
        theory.exact_features_regret_bound(
            setting, rounds, gain, directions=features.size, residual=0.0
        ),
        theory.trivial_regret_bound(setting, rounds),
        theory.squared_exponential_lower_rate(setting.moment, 1.0, rounds, dim=1),
    ]
    shown = np.array([[float(cell) for cell in row[1:]] for row in table]).T
    np.testing.assert_allclose(shown, np.array(expected), rtol=1e-3)
    assert "30 arms: a grid of 30 a side on [0, 1]^1" in text
    assert "not of the whole cube" in text
    assert "constant open" in text
    assert "a bound above it promises nothing" in text
    assert "Theorem 2 (lower) 0.526" in text


def test_matern_says_whether_the_bound_is_sublinear(capsys, tmp_path):
    line = "--kernel matern --dim 2 --alpha 0.9 --horizon 100 --arms-per-dim 5 --nu 1.5"
    text = run(capsys, tmp_path, line)
    assert "Theorem 3 is for the squared exponential kernel only" in text
    assert "Theorem 4 is not sublinear there: it asks for nu > d(d+1) / (2 alpha) = 3.333" in text
    assert "With the information gain of Vakili et al. (2021)" in text
    assert "sublinear for nu > 1.111" in text
    assert all(row[3] == "-" for row in rows(text))


def test_gp_ucb_has_a_column_where_its_noise_bound_is_given(capsys, tmp_path):
    line = "--kernel se --dim 1 --alpha 1 --horizon 100 --arms-per-dim 5 --noise-bound 0.5"
    text = run(capsys, tmp_path, line)
    assert "GP-UCB, 0.5-sub-Gaussian noise" in text


def test_hypotheses_that_fail_are_named_and_the_other_bounds_stay(capsys, tmp_path):
    line = "--kernel linear --dim 2 --alpha 1 --horizon 1000 --delta 0.5 --ridge 0.5"
    text = run(capsys, tmp_path, line)
    assert "`failure_probability <= 1/e` must hold" in text
    assert "`ridge >= 1` must hold" in text
    assert "Theorem 2 covers the SE and Matern kernels only" in text
    for row in rows(text):
        assert [cell == "-" for cell in row[2:]] == [True, True, True, False, False, True]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--kernel se --dim 1 --alpha 1.5 --horizon 10", r"`0 < alpha <= 1` must hold"),
        ("--kernel se --dim 0 --alpha 1 --horizon 10", r"`dim >= 1` must hold"),
        ("--kernel se --dim 1 --alpha 1 --horizon 0", r"`horizon >= 1` must hold"),
        ("--kernel se --dim 1 --alpha 1 --horizon 9 --nu 2", r'`nu` belongs to kernel="matern"'),
        ("--kernel matern --dim 1 --alpha 1 --horizon 9 --nodes 9", r"`nodes` belongs to"),
        ("--kernel linear --dim 1 --alpha 1 --horizon 9 --lengthscale 1", r"`lengthscale` must be"),
        ("--kernel se --dim 9 --alpha 1 --horizon 9 --arms-per-dim 9", r"`arms_per_dim\^dim <= "),
        ("--kernel se --dim 1 --alpha 1 --horizon 9 --accuracy 1", r"`0 < accuracy < 1` must hold"),
        ("--kernel se --dim 1 --alpha 1 --horizon 9 --nodes 0", r"`nodes >= 1` must hold"),
    ],
)
def test_wrong_options_are_named(capsys, tmp_path, line, message):
    with pytest.raises(ValueError, match=message):
        run(capsys, tmp_path, line)


def test_too_few_nodes_leave_theorem_3_without_a_bound(capsys, tmp_path):
    line = "--kernel se --dim 1 --alpha 1 --horizon 9 --nodes 20 --arms-per-dim 9"
    assert "`nodes > 1 / l^2` must hold for Theorem 3, but got nodes=20; take at least 26" in run(
        capsys, tmp_path, line
    )
