"""Tail index estimators: what they are exactly, and how often their intervals hold the truth."""

import math

import numpy as np
import pytest
from scipy.stats import binom, chi2, levy_stable, norm

from tailproof.tails.indices import (
    Spacings,
    conservative_limit,
    hill,
    moment,
    pickands,
    reduced_hill,
    stable_k,
)
from tailproof.tails.order_statistics import deviations, largest, standard_k

ESTIMATORS = {"hill": reduced_hill, "moment": moment, "pickands": pickands}


def pareto(rng, n, a):
    return 1.0 + rng.pareto(a, n)


def centered(x, side="both"):
    return largest(deviations(x, float(np.median(x)), side))


# A true coverage of 90 % leaves [0.83, 0.97] in 200 replications less than once in a thousand times
# (binomial). Seven points are what 200 replications can tell; the benchmark tail_coverage.py tells
# more.
REPLICATIONS, LEAST, MOST = 200, 0.83, 0.97


@pytest.fixture(scope="module", params=["Pareto(1.5)", "Student-t(2.5)"])
def replicated(request):
    rng = np.random.default_rng(20)
    index = 1.5 if request.param == "Pareto(1.5)" else 2.5
    hits = dict.fromkeys([*ESTIMATORS, "classical"], 0)
    for _ in range(REPLICATIONS):
        x = pareto(rng, 5_000, 1.5) if index == 1.5 else rng.standard_t(2.5, 5_000)
        top = centered(x)
        for name, estimator in ESTIMATORS.items():
            found = estimator(top, 0.9)
            hits[name] += found.gamma_lower <= 1.0 / index <= found.gamma_upper
        k = standard_k(5_000, 0.7)
        plain = hill(top, k)
        hits["classical"] += abs(plain - 1.0 / index) <= norm.ppf(0.95) * plain / math.sqrt(k)
    return {name: count / REPLICATIONS for name, count in hits.items()}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_intervals_reach_nominal_coverage(replicated, name, record_property):
    record_property("coverage", replicated[name])
    assert LEAST <= replicated[name] <= MOST


def test_the_uncorrected_hill_interval_would_not(replicated):
    assert replicated["classical"] < LEAST


def test_payoffs_at_the_center_do_not_disturb_the_tail():
    # Nine in ten payoffs are zero. Fewer than `least` of 40 would be seen once in a thousand times.
    rng = np.random.default_rng(21)
    held = 0
    for _ in range(40):
        x = np.where(rng.random(10_000) < 0.9, 0.0, pareto(rng, 10_000, 1.5))
        found = reduced_hill(centered(x), 0.9)
        held += found.gamma_lower <= 1.0 / 1.5 <= found.gamma_upper
    assert held >= binom.ppf(1e-3, 40, 0.9)


def test_interval_ends_are_where_the_profile_likelihood_says():
    top = centered(np.random.default_rng(0).standard_t(3, 2_000))
    found = reduced_hill(top, 0.8)
    spacings = Spacings.of(top, found.k)
    bottom = spacings.profile_nll(found.gamma)
    for end in (found.gamma_lower, found.gamma_upper):
        assert 2.0 * (spacings.profile_nll(end) - bottom) == pytest.approx(
            chi2.ppf(0.8, 1), rel=1e-5
        )


def test_estimate_and_drift_maximize_the_likelihood():
    spacings = Spacings.of(centered(np.random.default_rng(1).standard_t(3, 2_000)), 100)
    gamma, d = spacings.estimate(), spacings.drift()

    def minus_log_likelihood(g, drift):
        means = g * np.exp(drift * spacings.w)
        return np.log(means).sum() + (spacings.u / means).sum()

    best = minus_log_likelihood(gamma, d)
    for g, drift in [(1.01, 0.0), (0.99, 0.0), (1.0, 0.01), (1.0, -0.01), (1.01, -0.01)]:
        assert minus_log_likelihood(gamma * g, d + drift) > best
    assert spacings.profile_nll(gamma) == pytest.approx(best)


def test_spacings_average_to_the_hill_estimate():
    top = largest(pareto(np.random.default_rng(2), 1_000, 2.0))
    assert Spacings.of(top, 150).u.mean() == pytest.approx(hill(top, 150), rel=1e-12)


def test_hill_is_exact_on_pareto_quantiles():
    n = 20_000
    z = (np.arange(1, n + 1) / (n + 1.0)) ** (-1.0 / 2.0)
    assert 1.0 / hill(largest(z), 500) == pytest.approx(2.0, rel=0.02)
    assert reduced_hill(largest(z), 0.9).index == pytest.approx(2.0, rel=0.05)


@pytest.mark.parametrize("estimator", ESTIMATORS.values())
def test_estimates_do_not_depend_on_the_unit(estimator):
    x = np.random.default_rng(3).standard_t(2, 3_000)
    plain, scaled = estimator(centered(x), 0.9), estimator(centered(1_000.0 * x), 0.9)
    assert scaled.gamma == pytest.approx(plain.gamma, rel=1e-9)
    assert scaled.k == plain.k


def test_pickands_does_not_depend_on_location():
    z = pareto(np.random.default_rng(4), 3_000, 1.0)
    assert pickands(largest(z), 0.9).gamma == pytest.approx(pickands(largest(z + 7.0), 0.9).gamma)


@pytest.mark.parametrize("estimator", ESTIMATORS.values())
def test_a_higher_level_gives_a_longer_interval(estimator):
    top = centered(np.random.default_rng(5).standard_t(2, 3_000))
    narrow, wide = estimator(top, 0.5), estimator(top, 0.99)
    assert (
        wide.gamma_lower < narrow.gamma_lower < narrow.gamma < narrow.gamma_upper < wide.gamma_upper
    )


# One sample each at level 0.999: an interval misses by chance once in a thousand seeds.
@pytest.mark.parametrize("estimator", ESTIMATORS.values())
def test_stable_law_of_index_one_and_a_half(estimator):
    x = levy_stable.rvs(1.5, 0.0, size=20_000, random_state=np.random.default_rng(6))
    found = estimator(centered(np.asarray(x)), 0.999)
    assert found.gamma_lower < 1.0 / 1.5 < found.gamma_upper


@pytest.mark.parametrize("estimator", [moment, pickands])
@pytest.mark.parametrize("law", ["exponential", "gaussian"])
def test_gamma_of_light_tails_is_not_far_above_zero(estimator, law):
    rng = np.random.default_rng(7)
    x = rng.exponential(size=20_000) if law == "exponential" else rng.standard_normal(20_000)
    found = estimator(centered(x), 0.9)
    assert found.gamma_lower < 0.05
    assert found.gamma < 0.25


@pytest.mark.parametrize("law", ["exponential", "gaussian", "uniform"])
def test_a_light_tail_leaves_no_doubt_about_its_variance(law):
    rng = np.random.default_rng(8)
    x = {
        "exponential": rng.exponential(size=5_000),
        "gaussian": rng.standard_normal(5_000),
        "uniform": rng.random(5_000),
    }[law]
    assert reduced_hill(centered(x), 0.9).index_lower > 2.0


def test_moment_and_pickands_see_a_bound():
    top = largest(np.random.default_rng(9).random(20_000))
    assert moment(top, 0.9).gamma == pytest.approx(-1.0, abs=0.5)
    assert pickands(top, 0.9).gamma == pytest.approx(-1.0, abs=0.5)
    assert moment(top, 0.9).index == math.inf


def test_right_and_left_tail_are_told_apart():
    rng = np.random.default_rng(10)
    x = np.where(rng.random(20_000) < 0.5, pareto(rng, 20_000, 1.0), -pareto(rng, 20_000, 4.0))
    right, left = (reduced_hill(centered(x, side), 0.9) for side in ("right", "left"))
    assert right.index_upper < 2.0 < left.index_lower


def test_dependence_widens_the_interval_and_moves_nothing_else():
    top = centered(np.random.default_rng(11).standard_t(2, 3_000))
    plain, wide = reduced_hill(top, 0.9), reduced_hill(top, 0.9, design_effect=4.0)
    assert wide.gamma == plain.gamma
    assert wide.k == plain.k
    assert wide.gamma_upper - wide.gamma_lower > 1.8 * (plain.gamma_upper - plain.gamma_lower)


@pytest.mark.parametrize("estimator", ESTIMATORS.values())
@pytest.mark.parametrize("z", [np.ones(500), np.repeat([1.0, 2.0, 3.0], 100), np.arange(1.0, 15.0)])
def test_ties_and_short_series_have_no_index(estimator, z):
    assert estimator(largest(z), 0.9) is None


def test_k_stays_where_estimates_agree():
    assert stable_k(400, lambda k: 1.0, lambda k, _: 1.0 / k) == 400


def test_k_is_halved_where_the_estimate_drifts_but_not_below_a_quarter():
    assert stable_k(400, lambda k: float(k), lambda k, _: 1.0 / k) == 100
    assert stable_k(400, lambda k: 1.0 if k <= 200 else 9.0, lambda k, _: 1.0 / k) == 200


def test_impossible_estimates_contradict_nothing():
    def estimate(k):
        return 1.0 if k == 400 else math.nan

    assert stable_k(400, estimate, lambda k, _: 1.0 / k) == 400


def test_a_tail_that_changes_is_taken_at_its_heaviest():
    # Pareto with index 1 cut off at twenty: at high thresholds the index seems to grow without end.
    z = np.minimum(pareto(np.random.default_rng(12), 20_000, 1.0), 60.0)
    z *= np.random.default_rng(13).uniform(0.97, 1.0, z.size)
    top = largest(z)
    found = reduced_hill(top, 0.9)
    assert not found.stable
    assert 1.0 / conservative_limit(top, found, 0.9) < found.index_lower


def test_a_stable_estimate_keeps_its_own_limit():
    top = largest(pareto(np.random.default_rng(14), 5_000, 2.0))
    found = reduced_hill(top, 0.9)
    assert found.stable
    assert conservative_limit(top, found, 0.9) == found.gamma_upper
