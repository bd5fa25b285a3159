"""Noise laws: mean f exactly, moments as stated, the trap's payoffs as described."""

import numpy as np
import pytest
from scipy.integrate import quad

from rivals.laws import LAWS, ContaminatedNormal, SymmetricLomax
from rivals.problems import OBJECTIVES, problem
from rivals.trap import TRAPS

DRAWS = 200_000
FINITE_VARIANCE = [name for name, law in LAWS.items() if law.alpha == 1.0]


@pytest.mark.parametrize("name", FINITE_VARIANCE)
def test_payoffs_have_mean_f(name):
    """Within 4.5 standard errors: wrong once in 150,000 for a right law (finite variance)."""
    law = LAWS[name].law
    draws = law.sample(np.full(DRAWS, 0.8), np.random.default_rng(0))
    error = np.sqrt((law.moment_bound(1.0, 0.8) - 0.8**2) / DRAWS)
    assert abs(draws.mean() - 0.8) < 4.5 * error


@pytest.mark.parametrize("name", ["t1.5", "pareto"])
def test_symmetric_laws_of_infinite_variance_are_symmetric_about_f(name):
    """A law that is symmetric and has a mean has it there; sign test, 4.5 standard errors."""
    draws = LAWS[name].law.sample(np.full(DRAWS, 0.8), np.random.default_rng(1))
    for level in (0.0, 0.5, 3.0):
        above, below = (draws - 0.8 > level).sum(), (0.8 - draws > level).sum()
        assert abs(above - below) < 4.5 * np.sqrt(above + below)


def test_the_one_sided_pareto_is_centered():
    """P(X > x) = (1 + x)^-1.5 has mean 2, and f + X - 2 is never below f - 2."""
    assert quad(lambda x: (1.0 + x) ** -1.5, 0.0, np.inf)[0] == pytest.approx(2.0)
    draws = LAWS["pareto-right"].law.sample(np.full(DRAWS, 0.8), np.random.default_rng(2)) - 0.8
    assert draws.min() >= -2.0
    for level in (0.5, 2.0, 8.0):  # the tail's law, 4.5 standard errors
        share, wanted = (draws + 2.0 > level).mean(), (1.0 + level) ** -1.5
        assert abs(share - wanted) < 4.5 * np.sqrt(wanted * (1.0 - wanted) / DRAWS)


def test_a_twentieth_of_contaminated_payoffs_is_fifty_times_as_wide():
    law = ContaminatedNormal(0.3, 0.05, 50.0)
    draws = law.sample(np.zeros(DRAWS), np.random.default_rng(3))
    # Beyond 4.5 standard deviations of the narrow part lies the wide part's share alone.
    wanted = 0.05 * 0.9282  # P(|Z| > 4.5 / 50)
    assert (np.abs(draws) > 1.35).mean() == pytest.approx(wanted, abs=0.003)
    assert float(law.moment_bound(1.0, 0.5)) == pytest.approx(0.25 + 0.95 * 0.3**2 + 0.05 * 15.0**2)


@pytest.mark.parametrize("alpha", [0.2, 0.4])
def test_the_lomax_moment_is_the_integral(alpha):
    p = 1.0 + alpha
    wanted, _ = quad(lambda x: p * x ** (p - 1.0) * (1.0 + x) ** -1.5, 0.0, np.inf, limit=500)
    assert float(SymmetricLomax(1.5).moment_bound(alpha, 0.0)) == pytest.approx(wanted, rel=1e-5)
    with pytest.raises(ValueError, match="shape"):
        SymmetricLomax(1.5).moment_bound(0.6, 0.0)


@pytest.mark.parametrize("name", [name for name in OBJECTIVES if name != "trap"])
def test_means_under_multiplicative_noise_are_at_least_one_half_everywhere(name):
    target = problem(name, "lognormal", seed=1)
    means = target.means(target.domain.cover(4096, np.random.default_rng(0)))
    assert means.min() >= 0.5 - 1e-9
    params = target.domain.params(target.domain.draw(1, np.random.default_rng(0))[0])
    assert target.payoff(params, np.random.default_rng(0)) > 0.0


def test_noise_is_of_the_functions_size():
    """Interquartile ranges between a quarter and twice the range of f, which is 1."""
    for name, law in LAWS.items():
        f = 1.0 if law.positive else 0.0
        draws = law.law.sample(np.full(20_000, f), np.random.default_rng(4))
        low, high = np.quantile(draws, [0.25, 0.75])
        assert 0.25 < high - low < 2.0, name


@pytest.mark.parametrize("family", sorted(TRAPS))
def test_the_trap_s_payoffs_have_the_stated_mean_median_and_moment(family):
    """Monte Carlo within 4.5 standard errors at five points."""
    trap, rng = TRAPS[family], np.random.default_rng(5)
    points = np.array([trap.steady_at, trap.risky_at, (0.5, 0.5), (0.0, 0.0), (0.9, 0.6)])
    for point in points:
        draws = np.array([trap.payoff(point, 0.0, rng) for _ in range(20_000)])
        wanted = trap.mean(point[None])[0]
        assert abs(draws.mean() - wanted) < 4.5 * draws.std() / np.sqrt(len(draws))
        below = (draws < trap.median(point[None])[0]).mean()
        assert abs(below - 0.5) < 4.5 * 0.5 / np.sqrt(len(draws))
        squares = draws**2
        moment = trap.moment(point[None], np.zeros(1))
        assert abs(squares.mean() - moment) < 4.5 * squares.std() / np.sqrt(len(draws))


def test_the_trap_pays_half_at_the_best_median_and_more_than_twice_that_at_the_best_mean():
    trap = TRAPS["measure"]
    means = trap.mean(np.array([trap.steady_at, trap.risky_at]))
    assert means == pytest.approx([0.5, 1.2], abs=0.11)  # each hill reaches a little into the other
