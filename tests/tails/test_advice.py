"""The advice on alpha and v: which claims are made, and how often v is large enough."""

import math

import numpy as np
import pytest
from scipy.special import gamma as gamma_function
from scipy.stats import binom

from tailproof.tails import diagnose
from tailproof.tails.advice import ArmTail, advise
from tailproof.tails.indices import reduced_hill
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
    return advise([member], top, level)


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
    plain, scaled = advice(x), advice(100.0 * x)
    assert scaled.alpha == plain.alpha
    assert scaled.v == pytest.approx(plain.v * 100.0 ** (1.0 + plain.alpha), rel=1e-6)


def test_an_arm_heavier_than_the_rest_lowers_alpha():
    rng = np.random.default_rng(10)
    calm = {f"calm {i}": rng.standard_normal(4_000) for i in range(30)}
    alone = diagnose(calm).advice
    wild = diagnose(calm | {"wild": rng.standard_t(1.3, 4_000)}).advice
    assert alone.alpha == 1.0
    assert wild.alpha is None or wild.alpha < 0.5
    assert not wild.finite_variance
