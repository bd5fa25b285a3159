"""Information gain: identities, and its maximum computed in three ways."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tailproof as tp
from tailproof import theory
from tailproof.bandits.posterior.ridge import RidgePosterior

seeds = st.integers(0, 2**32 - 1)
properties = settings(max_examples=25, deadline=None, derandomize=True)


def small_problem(seed):
    """A few arms, a kernel and a ridge: small enough to try every multiset."""
    rng = np.random.default_rng(seed)
    arms = rng.uniform(size=(int(rng.integers(2, 6)), int(rng.integers(1, 3))))
    kernel = [
        tp.SquaredExponential(0.3),
        tp.Matern(1.5, 0.5),
        0.5 * tp.Linear() + 0.2 * tp.Matern(0.5, 0.2),
    ][seed % 3]
    return kernel, arms, float(10 ** rng.uniform(-1, 1)), int(rng.integers(1, 7))


@properties
@given(seed=seeds)
def test_gain_of_repeated_points_is_half_the_log_determinant(seed):
    kernel, arms, ridge, _ = small_problem(seed)
    points = arms[np.random.default_rng(seed).integers(len(arms), size=9)]
    direct = 0.5 * np.linalg.slogdet(np.eye(9) + kernel.matrix(points, points) / ridge)[1]
    assert theory.information_gain(kernel, points, ridge) == pytest.approx(direct, rel=1e-10)


def test_gain_adds_up_over_independent_points():
    gram = np.zeros((5, 5))
    gram[:2, :2] = [[1.0, 0.6], [0.6, 0.8]]
    gram[2:, 2:] = np.eye(3) * 0.5 + 0.2
    kernel = tp.Precomputed(gram)

    def gain(*arms):
        return theory.information_gain(kernel, np.array(arms)[:, None], 0.7)

    assert gain(0, 1, 1, 2, 4, 4) == pytest.approx(gain(0, 1, 1) + gain(2, 4, 4), rel=1e-12)
    assert gain(0, 1) < gain(0) + gain(1)  # and less where they have something in common


@properties
@given(seed=seeds)
def test_greedy_exact_and_relaxed_maximum_stand_in_order(seed):
    kernel, arms, ridge, count = small_problem(seed)
    exact = theory.exact_maximum_gain(kernel, arms, ridge, count)
    greedy = theory.greedy_gain(kernel, arms, ridge, count)
    slack = 1e-9 * (1.0 + exact.gain)
    assert (1 - math.exp(-1)) * exact.gain - slack <= greedy.lower[-1] <= exact.gain + slack
    assert greedy.upper[-1] >= exact.gain - slack
    for tolerance in (10.0, 0.5, 0.01, 1e-4):  # the certificate holds after any number of steps
        upper = theory.gain_upper_bound(kernel, arms, ridge, count, tolerance=tolerance)
        assert float(upper) >= exact.gain - slack
    assert exact.counts.sum() == count
    played = np.repeat(arms, exact.counts, axis=0)
    assert theory.information_gain(kernel, played, ridge) == pytest.approx(exact.gain, abs=slack)
    assert theory.information_gain(kernel, arms[greedy.arms], ridge) == pytest.approx(
        greedy.lower[-1], abs=slack
    )


def test_independent_arms_have_the_closed_form():
    """K = I, t = 12 plays of 4 arms: three each, gamma = 4/2 ln(1 + 3/lambda)."""
    kernel, arms, ridge = tp.Precomputed(np.eye(4)), np.arange(4.0)[:, None], 0.5
    expected = 2.0 * math.log1p(3.0 / ridge)
    exact = theory.exact_maximum_gain(kernel, arms, ridge, 12)
    np.testing.assert_array_equal(exact.counts, [3, 3, 3, 3])
    assert exact.gain == pytest.approx(expected)
    assert theory.greedy_gain(kernel, arms, ridge, 12).lower[-1] == pytest.approx(expected)
    assert float(theory.gain_upper_bound(kernel, arms, ridge, 12)) == pytest.approx(expected)


def test_greedy_agrees_with_the_posterior_of_the_policies():
    """The gain is half the log determinant the policies' width uses, along any sequence."""
    arms, kernel = np.linspace(0.0, 1.0, 25)[:, None], tp.SquaredExponential(0.2)
    greedy = theory.greedy_gain(kernel, arms, 2.0, 700)  # past a refresh of the posterior
    posterior = RidgePosterior(kernel, arms, 2.0, lambda t: math.inf)
    for arm in greedy.arms:
        assert posterior.variance()[arm] >= posterior.variance().max() * (1 - 1e-6)
        posterior.add(int(arm), 0.0)
    direct = theory.information_gain(kernel, arms[greedy.arms], 2.0)
    assert greedy.lower[-1] == pytest.approx(direct, rel=1e-9)
    assert np.all(np.diff(greedy.lower) > 0.0)
    assert np.all(np.diff(greedy.lower, 2) <= 1e-9)  # diminishing returns: submodular


def test_a_kernel_that_is_zero_has_nothing_to_tell():
    kernel, arms = tp.Precomputed(np.zeros((3, 3))), np.arange(3.0)[:, None]
    assert theory.information_gain(kernel, arms, 1.0) == 0.0
    assert float(theory.gain_upper_bound(kernel, arms, 1.0, 10)) == 0.0
    assert theory.greedy_gain(kernel, arms, 1.0, 10).lower[-1] == 0.0


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


def test_upper_bound_is_that_of_linear_features_on_orthonormal_arms():
    arms = [[1.0, 0.0], [0.0, 1.0], [0.1, 0.1]]
    bound = float(theory.linear_gain_bound(1_000, 2, 1.0))
    played = np.repeat(np.eye(2), 500, axis=0)
    assert theory.information_gain(tp.Linear(), played, 1.0) == pytest.approx(bound)
    upper = float(theory.gain_upper_bound(tp.Linear(), arms, 1.0, 1_000))
    assert bound * (1 - 1e-12) <= upper <= 1.01 * bound


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda k, X: theory.exact_maximum_gain(k, X, 1.0, 100),
            r"`C\(arms \+ count - 1, count\) <= 200000` must hold .* but got .* 30 arms and",
        ),
        (lambda k, X: theory.exact_maximum_gain(k, X, 1.0, 0), r"`count >= 1` must hold"),
        (lambda k, X: theory.information_gain(k, X, 0.0), r"`ridge > 0` must hold"),
        (lambda k, X: theory.information_gain(k, X[:0], 1.0), r"`arms` must hold at least one"),
        (lambda k, X: theory.information_gain("se", X, 1.0), r"`kernel` must be a kernel"),
        (lambda k, X: theory.greedy_gain(k, X * np.nan, 1.0, 3), r"`arms` must be finite"),
        (lambda k, X: theory.gain_upper_bound(k, X, 1.0, [0, 3]), r"`rounds >= 1` must hold"),
        (lambda k, X: theory.gain_upper_bound(k, X, 1.0, [1.5]), r"`rounds` must be integers"),
    ],
)
def test_wrong_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call(tp.SquaredExponential(0.2), np.linspace(0.0, 1.0, 30)[:, None])
