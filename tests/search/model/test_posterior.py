"""What the search compares: mean, upper ends under either answer, and their gradients."""

import numpy as np
import pytest
from scipy.stats import norm

import literal_process as slow
from tailproof.search.model.fit import refit
from tailproof.search.model.gp import Layout
from tailproof.search.model.parameters import Data, Settings
from tailproof.search.model.posterior import believe

ARD = Layout(np.arange(3), np.zeros(3, dtype=np.int64))
ADDITIVE = Layout(np.arange(3), np.array([0, 1, 1]))


def growing(rng, points):
    """Noise that grows with the mean, heavy on one side."""
    size = np.exp(1.5 * points[:, 0])
    return 3.0 * size + size * (rng.pareto(1.5, len(points)) - 2.0)


def jumping(rng, points):
    """Large payoffs on one hill, two times in five."""
    jumps = (points[:, 1] > 0.6) & (rng.random(len(points)) < 0.4)
    return points[:, 0] + 0.3 * rng.standard_normal(len(points)) + np.where(jumps, 9.0, 0.0)


def two_sided(rng, points):
    """Nothing gross."""
    return points[:, 0] + rng.laplace(size=len(points))


def belief_of(payoffs, layout=ARD, n=60, pending=2, seed=5):
    rng = np.random.default_rng(seed)
    points = rng.random((n, len(layout.owner)))
    data, settings = Data(points, payoffs(rng, points)), Settings(layout)
    waiting = rng.random((pending, len(layout.owner)))
    return believe(data, waiting, refit(data, None, settings), settings), rng


@pytest.mark.parametrize("n", [30, 60, 120])
@pytest.mark.parametrize("payoffs", [growing, jumping, two_sided])
@pytest.mark.parametrize("layout", [ARD, ADDITIVE], ids=["matern", "additive"])
def test_the_gradient_is_that_of_the_upper_end(layout, payoffs, n):
    belief, rng = belief_of(payoffs, layout, n)
    for c in rng.random((6, len(layout.owner))):
        for width in (0.0, 2.0):
            upper, gradient = belief.upper(c, width)
            assert upper == pytest.approx(belief.uppers(c[None], width)[0], abs=1e-9)
            numeric = slow.slope(lambda x, w=width: belief.upper(x, w)[0], c)
            np.testing.assert_allclose(gradient, numeric, atol=1e-5)


def test_the_search_leaves_out_the_doubt_that_all_points_share():
    belief, rng = belief_of(two_sided, n=80, pending=0)
    constant, points = belief.remainder.variance, rng.random((9, 3))
    assert constant > 0.0
    assert belief.remainder.process is None
    mean, deviation = belief.predict(points)
    s = belief.calibration.spread.of(belief.pilot.predict(points)[0])
    np.testing.assert_allclose(belief.uppers(points, 0.0), mean)
    apart = np.sqrt(deviation**2 - (s**2 - (s - 1.0) ** 2) * constant)
    np.testing.assert_allclose(belief.uppers(points, 2.0), mean + 2.0 * apart)


def test_the_cases_have_what_the_gradients_are_tested_on():
    beliefs = [belief_of(one, n=n)[0] for one in (growing, jumping) for n in (30, 60, 120)]
    assert any(one.calibration.spread.rate != 0.0 for one in beliefs)
    assert any(one.remainder.process is not None for one in beliefs)


def test_an_upper_end_is_the_higher_one_of_two_answers():
    belief, rng = belief_of(jumping, n=50, seed=7)
    points, rest = rng.random((200, 3)), belief.remainder
    assert rest.process is not None
    assert 0.1 < rest.weight < 0.9
    mean, variance = belief.pilot.predict(points)
    s = belief.calibration.spread.of(mean)
    variance = variance + (s - 1.0) ** 2 * rest.variance
    mean = mean + s * (belief.calibration.cut.center + rest.mean)
    away, doubt = rest.process.predict(points)
    away, doubt = s * rest.scale * away, (s * rest.scale) ** 2 * doubt
    fewer = norm.isf(norm.sf(1.0) / rest.weight)
    steady = mean + np.sqrt(variance)
    varying = mean + away + max(fewer, 0.0) * np.sqrt(variance + doubt)
    assert 0 < np.sum(varying > steady) < 200
    np.testing.assert_allclose(belief.uppers(points, 1.0), np.maximum(steady, varying))
    np.testing.assert_allclose(belief.uppers(points, 0.0), belief.predict(points)[0])


def test_where_large_payoffs_were_seen_the_mean_is_higher():
    belief, _ = belief_of(jumping, n=120)
    hill, plain = belief.uppers(np.array([[0.5, 0.8, 0.5], [0.5, 0.3, 0.5]]), 0.0)
    assert (hill - plain) * belief.calibration.scale > 1.0


@pytest.mark.parametrize("width", [10.0, 40.0, 1e6])
def test_ends_are_finite_however_wide(width):
    belief, rng = belief_of(jumping, n=120)
    points = rng.random((20, 3))
    uppers = belief.uppers(points, width)
    assert np.isfinite(uppers).all()
    assert np.isfinite(belief.upper(points[0], width)[1]).all()
    assert np.ptp(uppers) > 0.0
