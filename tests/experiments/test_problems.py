"""Problems: functions scaled as the authors did, data as recorded, panel f's noise at one arm."""

import dataclasses

import numpy as np
import pytest

from figure_panels import data_arms, problem_of, task, tasks
from tailproof.environments import Spike
from tailproof.experiments.panels import light_panel, stocks_panel
from tailproof.experiments.problems import Spiked


@pytest.mark.parametrize("letter", ["a", "b", "c"])
def test_functions_are_scaled_to_one_and_differ_between_repetitions(letter):
    f = [problem_of(t).environment.means for t in tasks(letter) if t.policy == "tgp"]
    assert np.abs(f).max(axis=1) == pytest.approx([1.0, 1.0])
    assert np.abs(f[0] - f[1]).max() > 0.01


def test_data_panels_keep_payoffs_raw_and_measure_regret_on_f_over_its_maximum():
    arms = data_arms(np.array([[0.0, 0.0], [1.0, 0.5], [0.2, 1.0]]))
    problem = light_panel(arms).source.problem(lambda purpose: None)
    assert problem.moment.alpha == 1.0
    assert problem.moment.v == pytest.approx(np.mean(arms.values**2))
    assert problem.norm_bound == pytest.approx(6.0)
    np.testing.assert_allclose(problem.gap, 1.0 - np.array([4.0, 6.0, 2.0]) / 6.0)
    space, kernel = problem.fourier
    assert kernel.lengthscale**2 == pytest.approx(0.1)
    np.testing.assert_array_equal(space.inputs, arms.coordinates)
    assert stocks_panel(arms).source.problem(lambda purpose: None).fourier is None


def test_panel_f_has_one_function_and_noise_at_one_arm_with_one_sign_per_repetition():
    problems = [problem_of(t) for t in tasks("f", repetitions=30) if t.policy == "gp"]
    f = problems[0].environment.means
    assert (f.min(), f.max()) == (pytest.approx(0.0), pytest.approx(1.0))
    shifts, arms = set(), set()
    for problem in problems:
        np.testing.assert_array_equal(problem.environment.means, f)
        payoffs = problem.environment.sample(np.arange(100), None)
        assert (payoffs != f).sum() == 1
        arms.add(int(np.flatnonzero(payoffs != f)[0]))
        shifts.add(round(float((payoffs - f).sum()), 9))
        assert problem.environment.moment_bound(1.0) == np.abs(payoffs).max() ** 2
    assert shifts == {-10.0, 10.0}
    assert len(arms) > 15


def test_the_redrawn_variant_draws_the_sign_in_every_round():
    redrawn = task("f", "gp-redrawn")
    source = dataclasses.replace(redrawn.panel.source, redrawn=True)
    environment = source.problem(redrawn.generator).environment
    assert isinstance(environment.law, Spike)
    fixed = Spiked(source.kernel).problem(redrawn.generator).environment
    assert environment.law.arm == fixed.arm


def test_other_data_have_another_description():
    arms = data_arms()
    values = arms.values.copy()
    values[0] += 1.0
    changed = dataclasses.replace(arms, values=values)
    first, second = (stocks_panel(data).source.describe() for data in (arms, changed))
    assert first["data_sha256"] != second["data_sha256"]
