"""Maximization of the upper confidence bound in every kind of space, and the initial design."""

import itertools
import math

import numpy as np
import pytest

import literal_process as slow
import tailproof as tp
from searches import LINE, run, single_payoffs
from tailproof import Choice, Configurations, Fixed, Float, Int, Space
from tailproof.search.acquisition import (
    LogImprovement,
    UpperConfidenceBound,
    maximize_acquisition,
    sobol,
)
from tailproof.search.model.correlation import KernelLayout
from tailproof.search.model.fit import fit_model
from tailproof.search.model.parameters import ModelConfig
from tailproof.search.model.posterior import condition

NONE = np.empty((0, 2))


class Hills:
    """A posterior made of bumps, with a deviation that varies, too."""

    def __init__(self, centers, heights, reach=0.15, deviation=0.1):
        self.centers, self.heights = np.array(centers), np.array(heights)
        self.reach, self.deviation = reach, deviation

    def predict(self, C):
        away = C[:, None, :] - self.centers
        bumps = np.exp(-np.square(away).sum(axis=2) / (2.0 * self.reach**2))
        return bumps @ self.heights, self.deviation * (1.0 + C.sum(axis=1) / max(C.shape[1], 1))

    def ucb(self, C, kappa):
        mean, deviation = self.predict(C)
        return mean + kappa * deviation

    def ucb_gradient(self, C, kappa):
        away = C[:, None, :] - self.centers
        bumps = self.heights * np.exp(-np.square(away).sum(axis=2) / (2.0 * self.reach**2))
        slope = -np.einsum("nb,nbp->np", bumps, away) / self.reach**2
        return self.ucb(C, kappa), slope + kappa * self.deviation / max(C.shape[1], 1)


def maximize_ucb(space, posterior, kappa, seen, rng):
    return maximize_acquisition(space, UpperConfidenceBound(posterior, kappa), seen, rng)


def ucb(space, posterior, kappa, U):
    return posterior.ucb(space.encode(U), kappa)


def grid(space, count):
    """A fine grid of the cube, snapped."""
    axes = [np.linspace(0.0, 1.0, count)] * space.dimension
    return np.unique(space.snap(np.array(list(itertools.product(*axes)))), axis=0)


CASES = {
    "one": (Space(x=Float(0, 1)), 2001),
    "two": (Space(x=Float(0, 1), y=Float(1e-4, 1.0, log=True)), 101),
    "mixed": (Space(x=Float(0, 1), n=Int(1, 9), mode=Choice("a", "b", "c")), 61),
    "steps": (Space(x=Float(0, 1, step=0.05), n=Int(1, 9)), 61),
    "many integers": (Space(n=Int(1, 3000), m=Int(1, 5)), 61),
    "fixed": (Space(x=Float(0, 1), k=Fixed(3)), 2001),
}


@pytest.mark.parametrize(("space", "fine"), CASES.values(), ids=CASES)
@pytest.mark.parametrize("kappa", [0.0, 2.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_it_finds_the_maximum_of_a_fine_grid(space, fine, kappa, seed):
    rng = np.random.default_rng(seed)
    seen = space.snap(rng.random((30, space.dimension)))
    centers = space.encode(seen[:3])
    posterior = Hills(centers, [1.0, 0.7, 0.5])
    u = maximize_ucb(space, posterior, kappa, seen, np.random.default_rng(seed))
    best = ucb(space, posterior, kappa, grid(space, fine)).max()
    assert ucb(space, posterior, kappa, u[None])[0] >= best - 1e-3


@pytest.mark.parametrize("dimension", [1, 2])
@pytest.mark.parametrize("kappa", [0.0, 2.0])
def test_it_finds_the_maximum_of_a_fitted_posterior(dimension, kappa):
    rng = np.random.default_rng(dimension)
    space = Space({f"x{k}": Float(0, 1) for k in range(dimension)})
    U = space.snap(rng.random((40, dimension)))
    payoffs = np.cos(7.0 * U).sum(axis=1) + 0.3 * rng.standard_t(1.5, 40)
    observations = single_payoffs(U, payoffs)
    config = ModelConfig(KernelLayout(np.arange(dimension), np.zeros(dimension, dtype=np.int64)))
    model = fit_model(observations, None, config)
    posterior = condition(observations, U[:0], model, config)
    u = maximize_ucb(space, posterior, kappa, U, np.random.default_rng(0))
    best = ucb(space, posterior, kappa, grid(space, 2001 if dimension == 1 else 71)).max()
    assert ucb(space, posterior, kappa, u[None])[0] >= best - 1e-4


@pytest.mark.parametrize(("space", "fine"), CASES.values(), ids=CASES)
def test_every_position_is_canonical(space, fine):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        seen = space.snap(rng.random((5, space.dimension)))
        posterior = Hills(rng.random((2, space.encoded_dimension)), [1.0, 0.9])
        u = maximize_ucb(space, posterior, 1.0, seen, rng)
        assert u.shape == (space.dimension,)
        np.testing.assert_array_equal(space.snap(u[None])[0], u)
        again = space.position(space.params(u))
        np.testing.assert_array_equal(again, u)


def test_small_spaces_are_searched_in_full():
    rows = [{"a": k % 50, "b": ["x", "y"][k // 50]} for k in range(100)]
    for space in (Configurations(rows), Space(a=Int(0, 49), b=Choice("x", "y"))):
        everything = space.enumerate(1000)
        for k in (0, 37, 99):
            center = space.encode(everything[k : k + 1])
            u = maximize_ucb(space, Hills(center, [1.0], 0.01), 0.0, everything[:0], rng())
            assert space.params(u) == space.params(everything[k])


def rng():
    return np.random.default_rng(0)


def test_a_narrow_peak_at_a_site_is_not_missed_for_lack_of_candidates():
    # Sites themselves are candidates: also the early ones of the cube's lower end.
    space = Space(x=Float(0, 1), y=Float(0, 1))
    seen = space.snap(np.random.default_rng(1).random((700, 2)))
    lowest = seen[450:][np.argmin(seen[450:, 0])]
    posterior = Hills(space.encode(lowest[None]), [1.0], reach=1e-4)
    u = maximize_ucb(space, posterior, 0.0, seen, rng())
    np.testing.assert_allclose(u, lowest, atol=1e-6)


def test_nothing_seen_is_no_obstacle():
    space = Space(x=Float(0, 1), y=Float(0, 1))
    posterior = Hills([[0.3, 0.8]], [1.0], 0.3)
    u = maximize_ucb(space, posterior, 0.0, NONE, rng())
    np.testing.assert_allclose(u, [0.3, 0.8], atol=1e-3)


def test_a_maximum_on_the_boundary_is_reached():
    space = Space(x=Float(0, 1), y=Float(0, 1))
    u = maximize_ucb(space, Hills([[1.4, -0.2]], [1.0], 0.5), 0.0, NONE, rng())
    assert u.tolist() == [1.0, 0.0]


def test_all_constant_spaces_have_one_position():
    u = maximize_ucb(
        Space(k=Fixed(1)), Hills(np.empty((1, 0)), [1.0]), 2.0, np.empty((0, 0)), rng()
    )
    assert u.shape == (0,)


def test_a_list_longer_than_what_is_searched_in_full():
    rows = [{"a": float(k), "b": float((k * 37) % 10_000)} for k in range(10_000)]
    space = Configurations(rows)
    seen = space.snap(np.random.default_rng(0).random((20, 1)))
    posterior = Hills([[0.41, 0.27]], [1.0], 0.2)
    u = maximize_ucb(space, posterior, 0.0, seen, rng())
    everything = space.enumerate(10_000)
    assert (
        ucb(space, posterior, 0.0, u[None])[0]
        >= ucb(space, posterior, 0.0, everything).max() - 0.01
    )


@pytest.mark.parametrize("dimension", [1, 2, 7, 30])
def test_shifted_sobol_points_are_even(dimension):
    points = sobol(dimension, 256, np.random.default_rng(0))
    assert points.shape == (256, dimension)
    assert ((points >= 0.0) & (points < 1.0)).all()
    for column in points.T:  # a shift moves at most one point a cell over its edge
        counts = np.histogram(column, bins=16, range=(0, 1))[0]
        assert counts.min() >= 14
        assert counts.max() <= 18
    other = sobol(dimension, 256, np.random.default_rng(1))
    assert not np.array_equal(points, other)


def test_the_same_generator_gives_the_same_place():
    space, posterior = CASES["mixed"][0], Hills(np.full((1, 5), 0.4), [1.0])
    seen = space.snap(np.random.default_rng(2).random((10, 3)))
    places = [maximize_ucb(space, posterior, 1.0, seen, np.random.default_rng(5)) for _ in range(2)]
    np.testing.assert_array_equal(*places)
    assert math.isfinite(places[0].sum())


def test_the_initial_design_is_spread_and_not_repeated():
    opt = tp.Optimizer(LINE, options=tp.Options(n_initial=16))
    places = np.sort([params["x"] for params in run(opt, 16, lambda params, i: 0.0)])
    assert np.diff(places).max() < 0.15
    assert len(set(places)) == 16


def test_designs_of_the_smallest_spaces():
    for space in (tp.Configurations([{"a": 1}]), tp.Space(a=tp.Fixed(1), b=tp.Choice("u", "v"))):
        opt = tp.Optimizer(space, options=tp.Options(n_initial=1))
        run(opt, 20, lambda p, i: float(i % 3))
        assert opt.recommend().total_payoffs == 20


def test_a_trial_with_a_huge_number_is_proposed_without_a_huge_design():
    assert 0.0 <= tp.Optimizer(LINE).propose(2**40)["x"] <= 1.0


# ---- the expected improvement by the posterior mean -------------------------------------------


@pytest.mark.parametrize("noise", [0.0, 1e-4, 4.0])
@pytest.mark.parametrize("best", [-1.0, 0.9, 1.4])
def test_the_improvement_is_that_of_the_mean_after_one_payoff(noise, best):
    # By quadrature over the payoff, not by simulation.
    posterior, x = Hills([[0.4, 0.5]], [1.0]), np.array([[0.3, 0.6]])
    mean, deviation = (value[0] for value in posterior.predict(x))
    z, weights = np.polynomial.hermite_e.hermegauss(180)
    gain = deviation**2 / math.sqrt(deviation**2 + noise)
    expected = np.maximum(mean + gain * z - best, 0.0) @ weights / math.sqrt(2.0 * math.pi)
    found = math.exp(LogImprovement(posterior, best, noise).value(x)[0])
    assert found == pytest.approx(expected, rel=0.02, abs=1e-4 * gain)


@pytest.mark.parametrize("best", [0.5, 1.05, 1.5, 8.0])
@pytest.mark.parametrize("noise", [0.0, 0.01, 1.0])
def test_the_log_improvement_has_its_gradient_also_far_below_the_best(best, noise):
    acquisition = LogImprovement(Hills([[0.4, 0.5]], [1.0]), best, noise)
    for x in np.random.default_rng(0).random((5, 2)):
        value, gradient = (each[0] for each in acquisition.value_and_gradient(x[None]))
        assert value == pytest.approx(acquisition.value(x[None])[0])
        numeric = slow.slope(lambda at: acquisition.value(at[None])[0], x)
        np.testing.assert_allclose(gradient, numeric, rtol=1e-4, atol=1e-4)


def test_a_mean_that_is_known_promises_less_than_an_uncertain_one():
    known = LogImprovement(Hills([[0.5]], [1.0], deviation=1e-3), 1.0, 0.01)
    unknown = LogImprovement(Hills([[0.5]], [0.9], deviation=0.1), 1.0, 0.01)
    assert known.value(np.array([[0.5]]))[0] < unknown.value(np.array([[0.5]]))[0]
