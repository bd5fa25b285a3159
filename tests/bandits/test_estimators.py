"""Truncated sums and medians of means: hard cases that a posterior shows."""

import numpy as np
import pytest

import tailproof as tp

LINE = np.linspace(0, 1, 20)[:, None]


@pytest.mark.parametrize("period", [2, 4, 8, 7])
def test_medians_do_not_mind_arms_that_come_round_in_turn(period):
    """Groups by round number would hold one arm each, and every median would be zero."""
    labels = [f"arm {i}" for i in range(period)]
    opt = tp.moma_gp_ucb(
        tp.Finite(labels),
        tp.Precomputed(np.eye(period)),
        features=tp.Exact(),
        schedule=tp.CustomSchedule(1.0),
        seed=0,
    )
    rng = np.random.default_rng(0)
    index = np.tile(np.arange(period), 400)
    opt.tell_index(index, 5.0 + index + rng.standard_t(2, size=len(index)))
    np.testing.assert_allclose(opt.predict().mean, 5.0 + np.arange(period), atol=0.6)


@pytest.mark.parametrize("count", [1, 3, 4, 7, 9, 16, 17, 63])
@pytest.mark.parametrize("ridge", [1.0, 1e-6])
def test_medians_of_an_arm_with_few_payoffs_stay_within_them(count, ridge):
    """A number of blocks for all arms would leave blocks of the rarely played arm empty."""
    opt = tp.moma_gp_ucb(
        tp.Finite(["A", "B"]),
        tp.Precomputed(np.eye(2)),
        features=tp.Exact(),
        schedule=tp.CustomSchedule(2.0),
        ridge=ridge,
    )
    opt.tell("A", [1.0] * 1000)
    opt.tell("B", [10.0] * count)
    np.testing.assert_allclose(opt.predict().mean[1], 10.0 * count / (count + ridge), rtol=1e-9)


@pytest.mark.parametrize("ridge", [1e-3, 1e-9, 1e-13])
@pytest.mark.parametrize("features", [tp.Exact(), tp.QuadratureFourier(40)], ids=str)
def test_no_outlier_slips_through_however_small_the_ridge(features, ridge):
    """Leverages kept by subtraction lose their digits there; the search must not trust them."""
    opt = tp.ata_gp_ucb(
        tp.Finite(LINE),
        tp.SquaredExponential(0.2),
        features=features,
        moment=tp.MomentBound(1.0, 2.0),
        norm_bound=1.0,
        ridge=ridge,
        seed=0,
    )
    rng = np.random.default_rng(1)
    for t in range(500):
        payoff = 1e150 if t % 40 == 39 else float(rng.normal())
        opt.tell_index(int(rng.integers(20)), payoff)
        assert np.abs(opt.predict().mean).max() < 1e100, t
