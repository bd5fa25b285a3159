"""The width of the draws of Bandit, and which arms they can choose."""

import numpy as np
import pytest

from tailproof.bandits.arm_statistics import ArmStatistics
from tailproof.bandits.exploration import (
    CROWD,
    best_bound,
    count_competitors,
    draw_arm,
    draw_width,
)
from tailproof.bandits.kernel_prior import KernelPrior


def test_draws_keep_their_width_while_few_arms_compete():
    for competitors in (0.0, 1.0, CROWD):
        assert draw_width(competitors, 1) == draw_width(competitors, 10**6) == 1.0


def test_draws_are_narrower_with_more_competitors_and_wider_with_more_payoffs():
    by_crowd = [draw_width(k, 500) for k in (4, 10, 100, 1_000)]
    assert by_crowd == sorted(by_crowd, reverse=True)
    assert len(set(by_crowd)) == 4
    by_payoffs = [draw_width(100.0, t) for t in (10, 1_000, 10_000, 50_000, 100_000, 10**6)]
    assert by_payoffs == sorted(by_payoffs)
    assert by_payoffs[0] < 0.3
    assert by_payoffs[-2:] == [1.0, 1.0]


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


def test_without_width_the_best_mean_is_drawn():
    statistics, prior = prior_told(3.0)
    active, rng = np.ones(10, dtype=bool), np.random.default_rng(1)
    assert {draw_arm(statistics, prior, active, 0.0, rng) for _ in range(20)} == {9}
    active[9] = False
    drawn = {draw_arm(statistics, prior, active, 1.0, rng) for _ in range(300)}
    assert 9 not in drawn
    assert len(drawn) > 2


def test_arms_far_behind_do_not_compete():
    everything = np.ones(10, dtype=bool)
    few = count_competitors(*prior_told(5.0), everything)
    assert 0.0 < few <= 1.0 < count_competitors(*prior_told(0.0), everything)
