"""The estimated mean beyond a bound."""

import numpy as np
import pytest

from tailproof.means.pareto_tail import mean_beyond


@pytest.mark.parametrize("index", [1.3, 1.7, 2.5])
def test_the_mean_beyond_a_bound_of_a_pareto_law(index):
    quantiles = np.sort(((np.arange(10_000) + 0.5) / 10_000) ** (-1.0 / index))
    bound = float(quantiles[-100])
    expected = bound ** (1.0 - index) / (index - 1.0)
    estimate = mean_beyond(quantiles[-1001:], 0.1, bound, least_index=1.1)
    assert estimate == pytest.approx(expected, rel=0.05)


def test_no_value_moves_the_estimate_without_limit():
    values = np.arange(1.0, 11.0)
    for huge in (1e6, 1e100, 1e300):
        beyond = mean_beyond(np.append(values, huge), 0.1, 10.0, least_index=1.25)
        assert beyond <= 0.1 * 10.0 / 0.25


def test_prior_values_draw_the_index_towards_theirs():
    tail = np.array([1.0, 1.1, 1.2])
    alone = mean_beyond(tail, 0.1, 2.0, least_index=1.1)
    with_prior = mean_beyond(tail, 0.1, 2.0, least_index=1.1, prior_values=5.0, prior_index=1.5)
    many = mean_beyond(tail, 0.1, 2.0, least_index=1.1, prior_values=1e9, prior_index=1.5)
    assert alone < with_prior < many
    assert many == pytest.approx(0.1 * 2.0**-1.5 * 2.0 / 0.5)


def test_values_without_a_tail_hide_nothing():
    assert mean_beyond(np.ones(10), 0.1, 2.0, least_index=1.2) == 0.0
    assert mean_beyond(np.array([3.0]), 0.1, 4.0, least_index=1.2) == 0.0
