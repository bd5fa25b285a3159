"""The width of the draws of Bandit, and which arms they can choose."""

import numpy as np
import pytest

from tailproof.bandits.arm_statistics import ArmStatistics
from tailproof.bandits.exploration import CROWD, count_competitors, draw_arm, draw_width


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


@pytest.mark.parametrize("unplayed", [0, 200])
def test_without_width_the_best_mean_is_drawn(unplayed):
    statistics = told(3.0, unplayed)
    active = np.ones(len(statistics.mean), dtype=bool)
    rng = np.random.default_rng(1)
    assert {draw_arm(statistics, None, active, 0.0, rng) for _ in range(20)} == {9}
    active[9] = False
    drawn = {draw_arm(statistics, None, active, 1.0, rng) for _ in range(300)}
    assert 9 not in drawn
    assert len(drawn) > 5


def test_arms_far_behind_do_not_compete():
    everything = np.ones(10, dtype=bool)
    assert count_competitors(told(0.0, 0), None, everything) > 5
    assert count_competitors(told(5.0, 0), None, everything) == 1
