"""alpha and v: when they are given, and how often v is large enough."""

import math

import numpy as np
import pytest
from scipy.special import gamma as gamma_function
from scipy.stats import binom

from tailproof.tails import diagnose
from tailproof.tails.advice import ArmTail, PooledArms, advise
from tailproof.tails.indices import reduced_hill
from tailproof.tails.moments import TailModel, bounded_moment, choose_alpha, moment_bound
from tailproof.tails.order_statistics import largest


def student_moment(df, q):
    """E|x|^q of Student's t, infinite for q >= df."""
    if q >= df:
        return math.inf
    ratio = gamma_function((q + 1.0) / 2.0) * gamma_function((df - q) / 2.0)
    return df ** (q / 2.0) * ratio / (math.sqrt(math.pi) * gamma_function(df / 2.0))


def gaussian_moment(q):
    return 2.0 ** (q / 2.0) * gamma_function((q + 1.0) / 2.0) / math.sqrt(math.pi)


def advice(x, level=0.9):
    median = float(np.median(x))
    top = largest(np.abs(x - median))
    member = ArmTail("x", x, median, top, reduced_hill(top, level), 1.0, True)
    return advise(PooledArms([member], top, 1.0, False), level)


@pytest.mark.parametrize(
    ("index_lower", "alpha"),
    [
        (math.inf, 1.0),
        (2.01, 1.0),
        (2.0, 0.8),
        (1.5, 0.4),
        (1.0625, 0.05),
        (1.06, None),
        (0.4, None),
    ],
)
def test_alpha_keeps_a_margin_below_the_index(index_lower, alpha):
    assert choose_alpha(index_lower) == alpha


@pytest.mark.parametrize(("gamma", "q"), [(0.5, 1.5), (0.2, 2.0), (0.8, 1.05)])
def test_conditional_moment_of_an_exact_power_law(gamma, q):
    top = largest(np.random.default_rng(0).pareto(1.0 / gamma, 1_000) + 1.0)
    model = TailModel(top, 50, gamma, drift=0.0)
    assert model.ratio(0.05, q) == pytest.approx(1.0 / (1.0 - q * gamma), rel=1e-4)


def test_conditional_moment_is_infinite_beyond_the_index():
    top = largest(np.random.default_rng(1).pareto(1.0, 1_000) + 1.0)
    assert TailModel(top, 50, 0.6, drift=0.1).ratio(0.05, 2.0) == math.inf


def test_conditional_moment_agrees_with_sampling_the_model():
    top = largest(np.random.default_rng(2).pareto(4.0, 1_000) + 1.0)
    gamma, d, rho = 0.25, 0.7, -0.6
    grid = np.linspace(0.0, 60.0, 60_001)
    slopes = np.exp(d * np.exp(rho * grid))
    logs = np.concatenate([[0.0], np.cumsum(0.5 * grid[1] * (slopes[1:] + slopes[:-1]))])
    y = np.random.default_rng(3).exponential(size=400_000)
    sampled = np.exp(1.5 * gamma * np.interp(y, grid, logs)).mean()
    assert TailModel(top, 50, gamma, d).ratio(0.05, 1.5) == pytest.approx(sampled, rel=0.02)


def test_a_lower_threshold_gives_the_same_moment():
    x = np.random.default_rng(4).standard_t(3, 5_000)
    top = largest(np.abs(x), keep=2_000)
    model = TailModel.at_estimate(top, reduced_hill(top, 0.9))
    totals = []
    for share in (model.k / top.n, 0.1, 0.3):
        m = round(share * top.n)
        body = np.sort(np.abs(x))[: top.n - m] ** 1.5
        totals.append(body.sum() / top.n + share * top.z[m] ** 1.5 * model.ratio(share, 1.5))
    assert totals == pytest.approx([totals[0]] * 3, rel=1e-3)


# v is promised to fail in at most one sample of ten: of 60 samples, more failures than allowed here
# would be seen less than once in a thousand times.
@pytest.mark.parametrize("law", ["student-t(2.5)", "gaussian", "student-t(4)"])
def test_v_holds_as_often_as_promised(law):
    rng = np.random.default_rng(5)
    failures = 0
    for _ in range(60):
        if law == "gaussian":
            found = advice(rng.standard_normal(2_000))
            truth = gaussian_moment(1.0 + found.alpha)
        else:
            df = 2.5 if law == "student-t(2.5)" else 4.0
            found = advice(rng.standard_t(df, 2_000))
            truth = student_moment(df, 1.0 + found.alpha) if found.alpha is not None else 0.0
        failures += found.v is not None and found.v < truth
    assert failures <= binom.isf(1e-3, 60, 0.1)


def test_v_is_not_far_above_the_truth_where_tails_are_light():
    found = advice(np.random.default_rng(6).standard_normal(20_000))
    assert found.alpha == 1.0
    assert 1.0 < found.v < 1.15
    assert found.v_estimate == pytest.approx(1.0, rel=0.05)


def test_claims_about_variance_and_mean_follow_the_index():
    rng = np.random.default_rng(7)
    light = advice(rng.standard_normal(5_000))
    heavy = advice(rng.standard_t(1.6, 20_000))
    heaviest = advice(rng.standard_t(0.7, 5_000))
    assert (light.finite_mean, light.finite_variance) == (True, True)
    assert (heavy.finite_mean, heavy.finite_variance) == (True, False)
    assert (heaviest.finite_mean, heaviest.finite_variance) == (False, False)
    assert heaviest.alpha is None
    assert heaviest.v is None
    assert "no finite variance" in heavy.statement
    assert "not even a finite mean" in heaviest.statement


def test_v_covers_arms_away_from_the_common_center():
    rng = np.random.default_rng(8)
    arms = {"low": rng.standard_normal(2_000), "mid": 5.0 + rng.standard_normal(2_000)}
    arms["high"] = 10.0 + rng.standard_normal(2_000)
    found = diagnose(arms).advice
    assert found.center == pytest.approx(5.0, abs=0.1)
    assert found.alpha == 1.0
    assert 26.0 < found.v < 30.0  # 5^2 + 1 about the center
    assert found.worst_arm in ("low", "high")


def test_v_scales_with_the_payoffs():
    x = np.random.default_rng(9).standard_t(2.5, 3_000)
    one, hundred = advice(x), advice(100.0 * x)
    assert one.alpha == hundred.alpha
    assert hundred.v == pytest.approx(one.v * 100.0 ** (1.0 + one.alpha), rel=1e-6)


def test_an_arm_heavier_than_the_rest_lowers_alpha():
    rng = np.random.default_rng(10)
    calm = {f"calm {i}": rng.standard_normal(4_000) for i in range(30)}
    alone = diagnose(calm).advice
    wild = diagnose(calm | {"wild": rng.standard_t(1.3, 4_000)}).advice
    assert alone.alpha == 1.0
    assert wild.alpha is None or wild.alpha < 0.5
    assert not wild.finite_variance


def test_bounded_moment_is_a_confidence_limit_of_a_mean():
    rng = np.random.default_rng(11)
    failures = sum(
        bounded_moment((rng.random(400) < 0.3).astype(float), 0.0, 2.0, 0.9).upper < 0.3
        for _ in range(300)
    )
    assert failures <= binom.isf(1e-3, 300, 0.11)  # normal approximation: a point of slack


def test_moment_bound_is_wider_under_dependence():
    x = np.random.default_rng(12).standard_t(4, 2_000)
    top = largest(np.abs(x))
    hill = reduced_hill(top, 0.9)
    models = (TailModel.at_estimate(top, hill), TailModel.at_upper_limit(top, hill))
    plain = moment_bound(x, 0.0, 0.0, 1.5, models, 0.9)
    wide = moment_bound(x, 0.0, 0.0, 1.5, models, 0.9, design_effect=5.0)
    assert wide.estimate == plain.estimate
    assert wide.upper > plain.upper
