"""Synthetic arms: draws from each arm's law, and arguments that are refused."""

import numpy as np
import pytest

from tailproof.environments import ArmEnvironment, Gaussian, Spike, SyntheticArms


def test_synthetic_arms_draw_each_arm_from_its_own_mean():
    arms = SyntheticArms(np.array([1.0, 2.0, 4.0]), Gaussian(1e-9))
    assert isinstance(arms, ArmEnvironment)
    y = arms.sample(np.array([2, 0, 1, 2]), np.random.default_rng(0))
    np.testing.assert_allclose(y, [4.0, 1.0, 2.0, 4.0], atol=1e-6)
    assert arms.moment_bound(1.0) == pytest.approx(16.0)
    assert not arms.means.flags.writeable


def test_synthetic_arms_tell_a_spike_where_it_strikes():
    arms = SyntheticArms(np.zeros(3), Spike(1, 10.0))
    y = arms.sample([0, 1, 2, 1], np.random.default_rng(0))
    assert np.array_equal(np.abs(y), [0.0, 10.0, 0.0, 10.0])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SyntheticArms([], Gaussian()), "at least one arm"),
        (lambda: SyntheticArms([0.0], Spike(1)), "`law.arm < 1` must hold"),
        (lambda: SyntheticArms([0.0], "gaussian"), "`law` must be a noise or payoff law"),
        (
            lambda: SyntheticArms([0.0], Gaussian()).sample([1], np.random.default_rng(0)),
            "`0 <= arm < 1` must hold, but got arm=1",
        ),
        (
            lambda: SyntheticArms([0.0], Gaussian()).sample([0.0], np.random.default_rng(0)),
            "`arm_indices` must be integers",
        ),
        (
            lambda: SyntheticArms([0.0], Gaussian()).sample([[0]], np.random.default_rng(0)),
            "`arm_indices` must have 1 dimension",
        ),
    ],
)
def test_wrong_arms_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_no_arms_asked_for_gives_no_payoffs():
    assert SyntheticArms([0.0], Gaussian()).sample([], np.random.default_rng(0)).shape == (0,)
