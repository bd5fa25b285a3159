"""Whether payoffs show that their variance is finite."""

import numpy as np
import pytest

from tailproof.comparison.cautions import finite_variance

REPETITIONS = 1000
INFINITE = {
    "t(2)": lambda rng, n: rng.standard_t(2.0, n),
    "t(1.5)": lambda rng, n: rng.standard_t(1.5, n),
    "Pareto(2)": lambda rng, n: rng.pareto(2.0, n),
    "Pareto(1.5)": lambda rng, n: -rng.pareto(1.5, n),
}


@pytest.mark.parametrize("n", [20, 30, 100, 1000])
@pytest.mark.parametrize("law", INFINITE)
def test_a_largest_deviation_seldom_excludes_an_infinite_variance_wrongly(law, n):
    rng = np.random.default_rng((n, *law.encode()))
    wrong = [finite_variance(INFINITE[law](rng, n), None) for _ in range(REPETITIONS)]
    # Nominal 5 % under t(2); three standard errors of 1,000 repetitions are 2.1 points.
    assert np.mean(wrong) <= 0.071


def test_light_tails_are_told_from_few_payoffs():
    rng = np.random.default_rng(0)
    gaussian = [finite_variance(rng.normal(size=100), None) for _ in range(100)]
    assert sum(gaussian) >= 95
    assert sum(finite_variance(rng.normal(size=30), None) for _ in range(200)) >= 80


def test_scale_and_location_do_not_matter_and_ties_show_nothing():
    y = np.random.default_rng(1).random(40)
    for scaled in (y, 1e-200 * y, 1e200 * y, y - 5.0):
        assert finite_variance(scaled, None)
    assert not finite_variance(np.where(np.arange(40) < 5, y, 0.0), None)
    assert not finite_variance(np.ones(40), None)
