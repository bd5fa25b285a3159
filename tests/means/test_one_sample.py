"""The practical interval of one sample: equivariant, longer on the heavier side."""

import numpy as np
import pytest

from tailproof.means import robust_mean
from tailproof.means.one_sample import hidden_mean, sample_interval


def test_the_hidden_mean_of_a_pareto_tail():
    quantiles = ((np.arange(20_000) + 0.5) / 20_000) ** (-1 / 2.5)
    # E (y - 4)_+ of a Pareto(2.5) above 1 is 4^-1.5 / 1.5.
    assert hidden_mean(quantiles, 4.0) == pytest.approx(4.0**-1.5 / 1.5, rel=0.02)


@pytest.mark.parametrize("y", [np.zeros(50), np.ones(3), np.repeat([0.0, 1.0], 20), np.arange(4.0)])
def test_few_or_equal_payoffs(y):
    mean, interval = sample_interval(y, 0.9)
    assert interval.lower <= mean <= interval.upper
    assert np.isfinite([interval.lower, interval.upper]).all()


def test_a_skewed_sample_gets_a_longer_side_and_a_symmetric_one_does_not():
    rng = np.random.default_rng(0)
    skewed = rng.pareto(1.5, 500)
    mean, interval = sample_interval(skewed, 0.9)
    plain = robust_mean(skewed).interval(0.9)
    assert interval.lower == plain.lower
    assert interval.upper > plain.upper
    light = rng.standard_normal(500)
    assert sample_interval(light, 0.9)[1].width < 1.05 * robust_mean(light).interval(0.9).width
    turned, other = sample_interval(3.0 - 2.0 * skewed, 0.9)
    assert turned == pytest.approx(3.0 - 2.0 * mean)
    assert (other.upper, other.lower) == pytest.approx(
        (3.0 - 2.0 * interval.lower, 3.0 - 2.0 * interval.upper)
    )


@pytest.mark.parametrize("draw", ["standard_normal", "standard_exponential"])
def test_coverage_of_light_laws(draw):
    """300 samples of 100: a 90 % interval covers in 85 to 95 % of them (p < 0.005 otherwise)."""
    rng = np.random.default_rng(1)
    mean = 1.0 if draw == "standard_exponential" else 0.0
    inside = 0
    for _ in range(300):
        _, interval = sample_interval(getattr(rng, draw)(100), 0.9)
        inside += mean in interval
    assert 0.85 <= inside / 300 <= 0.95
