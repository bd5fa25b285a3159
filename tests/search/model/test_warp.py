"""Warps of payoffs: their inverses and slopes, and which of them is chosen."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import literal_process as slow
from tailproof.search.model.constants import WARP
from tailproof.search.model.correlation import KernelLayout
from tailproof.search.model.warp import (
    IDENTITY,
    LOG,
    Warp,
    candidate_warps,
    choose_warp,
    location_and_spread,
    standardized_warp,
)

KINDS = (IDENTITY, LOG)
warps = st.builds(
    Warp,
    st.sampled_from(KINDS),
    edge=st.floats(-10.0, 10.0),
    unit=st.floats(1e-3, 10.0),
    location=st.floats(-5.0, 5.0),
    scale=st.floats(1e-2, 10.0),
)
payoffs = st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=20).map(np.array)


@given(warps, payoffs)
@settings(derandomize=True, deadline=None)
def test_the_inverse_undoes_the_warp(warp, t):
    np.testing.assert_allclose(warp.inverse(warp.forward(t)), t, rtol=1e-8, atol=1e-8)


@given(warps, payoffs)
@settings(derandomize=True, deadline=None)
def test_a_warp_is_monotone(warp, t):
    t = np.sort(t)
    assert (np.diff(warp.forward(t)) >= 0.0).all()


@given(warps, st.floats(-100.0, 100.0))
@settings(derandomize=True, deadline=None)
def test_log_slope_is_that_of_differences(warp, t):
    step = 1e-6 * max(warp.unit, 1e-2)
    if warp.kind != IDENTITY and abs(t - warp.edge) < 10.0 * step:
        return  # the second derivative jumps there
    ends = warp.forward(np.array([t - step, t + step]))
    slope = float(np.exp(warp.log_slope(np.array([t])))[0])
    rounding = 1e-13 * (1.0 + float(np.abs(ends).max()) + abs(warp.location) / warp.scale) / step
    rounding += slope * 1e-13 * abs(t) / step
    assert (ends[1] - ends[0]) / (2.0 * step) == pytest.approx(slope, rel=1e-3, abs=rounding)


@given(warps, st.floats(-3.0, 3.0))
@settings(derandomize=True, deadline=None)
def test_shift_is_the_inverse_of_relative_residual(warp, residual):
    r = np.array([residual])
    relative = warp.relative_residual(r)
    ratio = 1.0 + (-1.0 if warp.kind == LOG else 1.0) * warp.scale * float(relative[0])
    if warp.kind != IDENTITY and ratio <= 2.0 * WARP.least_ratio:
        return  # a mean is not stated below that share of its location
    assert float(warp.shift(relative)[0]) == pytest.approx(residual, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_a_relative_residual_is_in_units_of_the_local_slope(kind):
    # (t - k(g)) / k'(g), and a shift multiplies the distance from the location: both where the
    # warp is a logarithm.
    warp = Warp(kind, edge=0.5, unit=0.3, location=0.2, scale=1.7)
    sign = -1.0 if kind == LOG else 1.0
    g = warp.forward(np.array([0.5 + sign * 4.0]))
    z = warp.forward(np.array([0.5 + sign * 9.0]))
    location, slope = warp.inverse(g), np.exp(-warp.log_slope(warp.inverse(g)))
    expected = (0.5 + sign * 9.0 - location) / slope
    np.testing.assert_allclose(warp.relative_residual(z - g), expected)
    correction = sign * np.array([0.7])
    found = warp.inverse(g + warp.shift(correction))
    np.testing.assert_allclose(found, location + slope * correction)


@given(warps, st.floats(-2.0, 2.0))
@settings(derandomize=True, deadline=None)
def test_slopes_of_shift(warp, correction):
    ratio = 1.0 + (-1.0 if warp.kind == LOG else 1.0) * warp.scale * correction
    if warp.kind != IDENTITY and abs(ratio - WARP.least_ratio) < 0.05:
        return  # near the kink the differences are poor
    c = np.array([correction])
    numeric = slow.slope(warp.shift, c)[0]
    np.testing.assert_allclose(warp.shift_slope(c), numeric, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_a_warp_is_finite_everywhere(kind):
    warp = Warp(kind, unit=1e-3)
    extreme = np.array([-1e150, -1.0, 0.0, 1.0, 1e150])
    for values in (warp.forward(extreme), warp.inverse(np.clip(extreme, -1e4, 1e4))):
        assert np.isfinite(values).all()
    assert np.isfinite(warp.relative_residual(np.clip(extreme, -1e4, 1e4))).all()
    assert np.isfinite(warp.shift(extreme)).all()
    assert np.isfinite(warp.shift_slope(extreme)).all()


def test_location_and_spread_are_median_and_standard_deviation():
    z = np.random.default_rng(0).normal(2.0, 3.0, 20_000)
    assert location_and_spread(z) == pytest.approx((2.0, 3.0), rel=0.05)
    assert location_and_spread(np.full(5, 4.0)) == (4.0, 1.0)
    assert location_and_spread(np.array([0.0] * 9 + [5.0])) == (0.0, 0.5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_standardized_warp_has_median_0_and_spread_1(kind):
    t = np.random.default_rng(0).standard_normal(200)
    warp = standardized_warp(Warp(kind, edge=float(t.max() if kind == LOG else t.min())), t)
    assert location_and_spread(warp.forward(t)) == pytest.approx((0.0, 1.0), abs=1e-12)


@pytest.mark.parametrize(
    "t", [np.zeros(30), np.arange(3.0), np.array([0.0] * 60 + [*range(1, 40)])]
)
def test_few_distinct_payoffs_and_ties_keep_the_identity(t):
    assert [warp.kind for warp in candidate_warps(t)] == [IDENTITY]


def test_no_single_payoff_sets_an_edge():
    t = np.random.default_rng(0).standard_normal(100)
    hit = t.copy()
    hit[7] = 1e6
    for usual, found in zip(candidate_warps(t), candidate_warps(hit), strict=True):
        assert usual.kind == found.kind
        assert abs(usual.edge - found.edge) < 1.0


# ---- which warp is chosen -----------------------------------------------------------------------

LAYOUT = KernelLayout(np.arange(2), np.zeros(2, dtype=np.int64))


def chosen(payoffs, points):
    location, scale = location_and_spread(payoffs)
    inverse = LAYOUT.inverse_lengthscales(np.array([0.4, 0.4]))
    return choose_warp((payoffs - location) / scale, LAYOUT.correlations(points, points, inverse))


def surface(points):
    return np.sin(4.0 * points[:, 0]) + points[:, 1]


@pytest.mark.parametrize("noise", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("n", [40, 150])
def test_costs_that_span_decades_get_a_logarithm(n, noise):
    for seed in range(3):
        rng = np.random.default_rng([seed, n])
        points = rng.random((n, 2))
        cost = 10.0 ** (2.0 * surface(points)) * np.exp(noise * rng.standard_normal(n))
        assert chosen(-cost, points).kind == LOG  # payoffs are maximized


@pytest.mark.parametrize("noise", [0.1, 0.5])
@pytest.mark.parametrize("n", [40, 150])
def test_additive_gaussian_payoffs_keep_the_identity(n, noise):
    # A logarithm in a large unit is nearly the identity: at most one seed of six may have one.
    kinds = []
    for seed in range(6):
        rng = np.random.default_rng([seed, n])
        points = rng.random((n, 2))
        kinds.append(chosen(surface(points) + noise * rng.standard_normal(n), points).kind)
    assert kinds.count(IDENTITY) >= 5


def test_the_same_warp_is_chosen_in_all_units():
    rng = np.random.default_rng(1)
    points = rng.random((80, 2))
    cost = 10.0 ** (2.0 * surface(points)) * np.exp(0.3 * rng.standard_normal(80))
    warp = chosen(-cost, points)
    for a, c in ((1e-6, 0.0), (2.5, 1e4)):
        moved = chosen(-(a * cost + c), points)
        assert moved.kind == warp.kind
        assert moved.unit == warp.unit
        assert moved.edge == pytest.approx(warp.edge, rel=1e-6, abs=1e-6)


def test_the_scores_constant_is_that_of_a_density():
    from tailproof.search.model.warp import _student_t_log_density

    x = np.linspace(-200.0, 200.0, 200_001)
    mass = float(np.exp(_student_t_log_density(x)).sum() * (x[1] - x[0]))
    assert mass == pytest.approx(1.0, abs=1e-4)
    assert math.isfinite(float(_student_t_log_density(np.array([1e150]))[0]))
