"""The certified upper bound on gamma_t."""

import math

import numpy as np
import pytest

import tailproof as tp
from tailproof import theory


@pytest.mark.parametrize("ridge", [0.2, 1.0, 5.0])
@pytest.mark.parametrize(
    "kernel", [tp.SquaredExponential(0.2), tp.Matern(2.5, 0.2)], ids=["se", "matern"]
)
def test_upper_bound_is_tight_at_long_horizons(kernel, ridge):
    """At t = 20,000 greedy plays come within 2 percent of the certified bound."""
    arms = np.linspace(0.0, 1.0, 60)[:, None]
    lower = theory.greedy_gain(kernel, arms, ridge, 20_000).lower
    rounds = np.array([[10, 100], [1_000, 20_000]])
    upper = theory.gain_upper_bound(kernel, arms, ridge, rounds)
    assert upper.shape == rounds.shape
    assert np.all(upper >= lower[rounds - 1])
    assert upper[1, 1] <= 1.02 * lower[-1]


def test_upper_bound_grows_with_the_rounds_and_falls_with_the_ridge():
    arms, kernel = np.linspace(0.0, 1.0, 30)[:, None], tp.Matern(1.5, 0.3)
    rounds = np.unique(np.geomspace(1, 10**9, 40).astype(np.int64))
    upper = theory.gain_upper_bound(kernel, arms, 1.0, rounds)
    assert np.all(np.diff(upper) >= 0.0)
    assert np.all(theory.gain_upper_bound(kernel, arms, 3.0, rounds) < upper)
    assert upper[0] == pytest.approx(0.5 * math.log(2.0))  # one play: Hadamard is exact


def test_the_optimal_design_puts_equal_weight_on_orthonormal_arms():
    relaxed = theory.relaxed_gain(tp.Linear(), [[1.0, 0.0], [0.0, 1.0], [0.1, 0.1]], 1.0, 1_000)
    np.testing.assert_allclose(relaxed.weights[:2], 500.0, rtol=0.02)
    bound = float(theory.linear_gain_bound(1_000, 2, 1.0))
    assert relaxed.value <= bound
    assert theory.information_gain(
        tp.Linear(), np.repeat(np.eye(2), 500, axis=0), 1.0
    ) == pytest.approx(bound)
