"""Which arms the upper confidence bounds of Bandit choose."""

import numpy as np
import pytest

from tailproof.bandits.arm_statistics import ArmStatistics
from tailproof.bandits.exploration import best_bound, best_bound_of_curve
from tailproof.bandits.kernel_prior import KernelPrior


def told(gap: float, unplayed: int) -> ArmStatistics:
    """Return ten arms, the last one better by `gap`, beside arms without payoffs."""
    statistics = ArmStatistics(10 + unplayed, None)
    rng = np.random.default_rng(0)
    arms = np.repeat(np.arange(10), 50)
    statistics.extend(arms, rng.standard_normal(500) + gap * (arms == 9))
    return statistics


def asked(statistics: ArmStatistics, count: int, explore: float, active=None) -> list[int]:
    """Return the arms of `count` asks without an answer."""
    n = len(statistics.mean)
    active = np.ones(n, dtype=bool) if active is None else active
    pending, result = np.zeros(n, dtype=np.int64), []
    for _ in range(count):
        result.append(best_bound(statistics, active, pending, explore))
        pending[result[-1]] += 1
    return result


@pytest.mark.parametrize("unplayed", [0, 200])
def test_without_width_the_best_mean_is_played(unplayed):
    statistics = told(3.0, unplayed)
    assert set(asked(statistics, 20, 0.0)) == {9}
    active = np.ones(len(statistics.mean), dtype=bool)
    active[9] = False
    played = asked(statistics, 300, 1.0, active)
    assert 9 not in played
    assert len(set(played)) > 2


def test_many_asks_at_once_are_spread_over_arms_that_may_be_best():
    assert len(set(asked(told(0.0, 0), 1_000, 1.0))) > 3
    assert set(asked(told(5.0, 0), 50, 1.0)) == {9}


def prior_told(gap: float) -> tuple[ArmStatistics, KernelPrior]:
    statistics = told(gap, 0)
    prior = KernelPrior(np.linspace(0.0, 1.0, 10)[:, None], None)
    prior.refresh(statistics)
    return statistics, prior


def asked_of_curve(gap: float, count: int, explore: float, active=None) -> list[int]:
    """Return the arms of `count` asks without an answer, under a kernel prior."""
    statistics, prior = prior_told(gap)
    active = np.ones(10, dtype=bool) if active is None else active
    pending, result = np.zeros(10, dtype=np.int64), []
    for _ in range(count):
        result.append(best_bound_of_curve(statistics, prior, active, pending, explore))
        pending[result[-1]] += 1
    return result


def test_without_width_the_best_mean_of_a_curve_is_played():
    assert set(asked_of_curve(3.0, 5, 0.0)) == {9}
    active = np.ones(10, dtype=bool)
    active[9] = False
    played = asked_of_curve(0.0, 400, 1.0, active)
    assert 9 not in played
    assert len(set(played)) > 2


def test_many_asks_of_a_curve_at_once_are_spread():
    assert len(set(asked_of_curve(0.0, 400, 1.0))) > 3
    assert set(asked_of_curve(5.0, 20, 1.0)) == {9}
