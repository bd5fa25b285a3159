"""Payoff laws: mean f, exact moments, the paper's constants."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tailproof.environments import (
    MultiplicativeLogNormal,
    ParetoPayoff,
    StudentT,
    TwoPoint,
)


@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("bound", [0.5, 1.0, 3.0])
def test_the_papers_constants(alpha, bound):
    pareto = bound ** (1.0 + alpha) / (2.0**alpha * (1.0 - alpha))
    assert ParetoPayoff(2.0).moment_bound(alpha, bound) == pytest.approx(pareto, rel=1e-12)
    assert StudentT(3.0).moment_bound(1.0, bound) == pytest.approx(3.0 + bound**2, rel=1e-12)


@pytest.mark.parametrize("shape", [1.5, 2.0, 4.0])
def test_pareto_payoffs_follow_their_law_with_mean_f(shape):
    """A Kolmogorov-Smirnov test; a fresh seed fails with probability 1e-6."""
    f = 1.7
    law = stats.pareto(shape, scale=f * (shape - 1.0) / shape)
    assert law.mean() == pytest.approx(f)
    y = ParetoPayoff(shape).sample(np.full(20_000, f), np.random.default_rng(1))
    assert stats.kstest(y, law.cdf).pvalue > 1e-6


def test_pareto_payoffs_need_positive_means():
    with pytest.raises(ValueError, match=r"`f > 0` must hold for Pareto payoffs, but got f=0\.0"):
        ParetoPayoff().sample([1.0, 0.0], np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"`1 \+ alpha < shape` must hold"):
        ParetoPayoff().moment_bound(1.0, 1.0)


@pytest.mark.parametrize("f", [-2.0, 0.5])
def test_multiplicative_log_normal_has_mean_f_and_exact_moments(f):
    """The mean by a z-test at 5 standard errors, failing with probability below 1e-6."""
    law, n = MultiplicativeLogNormal(0.8), 200_000
    size = stats.lognorm(0.8, scale=abs(f) * math.exp(-0.32))
    assert size.mean() == pytest.approx(abs(f))
    for alpha in (0.3, 1.0):
        truth = size.expect(lambda y, p=1.0 + alpha: y**p)
        assert law.moment_bound(alpha, f) == pytest.approx(truth, rel=1e-6)
    y = law.sample(np.full(n, f), np.random.default_rng(2))
    assert abs(y.mean() - f) < 5.0 * size.std() / math.sqrt(n)


@settings(derandomize=True, max_examples=200, deadline=None)
@given(
    alpha=st.floats(0.05, 1.0),
    v=st.floats(0.01, 100.0),
    share=st.floats(1e-3, 1.0),
    place=st.floats(-1.0, 1.0),
)
def test_two_point_payoffs_have_mean_f_and_moment_at_most_v(alpha, v, share, place):
    gap = share * v ** (1.0 / (1.0 + alpha)) / 2.0
    law, f = TwoPoint(alpha, v, gap), 2.0 * gap * place
    probability = float(law.probability(f))
    assert 0.0 <= probability <= 1.0
    assert math.copysign(law.jump, f) * probability == pytest.approx(f, rel=1e-9)
    moment = law.jump ** (1.0 + alpha) * probability
    assert float(law.moment_bound(alpha, f)) == pytest.approx(moment)
    assert moment == pytest.approx(v * abs(f) / (2.0 * gap), rel=1e-9)
    assert moment <= v * (1.0 + 1e-9)


@pytest.mark.parametrize("f", [-1.0, 0.3, 1.0])
def test_two_point_draws_have_mean_f(f):
    """A z-test at 5 standard errors, failing with probability below 1e-6."""
    law, n = TwoPoint(0.5, 2.0, 0.5), 200_000
    y = law.sample(np.full(n, f), np.random.default_rng(3))
    assert set(np.unique(y)) <= {0.0, math.copysign(law.jump, f)}
    assert abs(y.mean() - f) < 5.0 * y.std() / math.sqrt(n)
    assert law.moment_bound(1.0, f) == pytest.approx(law.jump * abs(f))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TwoPoint(1.0, 1.0, 0.51), r"`gap <= v\^\(1/\(1\+alpha\)\) / 2` must hold"),
        (lambda: TwoPoint(1.0, 1.0, 0.25).probability(0.6), r"`\|f\| <= 2 gap` must hold"),
        (lambda: TwoPoint(0.0, 1.0, 0.25), "`0 < alpha <= 1` must hold"),
        (lambda: ParetoPayoff(1.0), "`shape > 1` must hold"),
        (lambda: MultiplicativeLogNormal(0.0), "`sigma > 0` must hold"),
    ],
)
def test_wrong_arguments_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
