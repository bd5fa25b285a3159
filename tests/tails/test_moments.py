"""The alpha that an index allows, and bounds on moments."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from tailproof.tails.indices import reduced_hill
from tailproof.tails.moments import (
    TailModel,
    bounded_moment,
    choose_alpha,
    moment_bound,
    tail_models,
)
from tailproof.tails.order_statistics import largest


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
    hill = reduced_hill(top, 0.9)
    model, _ = tail_models(top, hill, hill.gamma_upper)
    totals = []
    for share in (model.k / top.n, 0.1, 0.3):
        m = round(share * top.n)
        body = np.sort(np.abs(x))[: top.n - m] ** 1.5
        totals.append(body.sum() / top.n + share * top.z[m] ** 1.5 * model.ratio(share, 1.5))
    assert totals == pytest.approx([totals[0]] * 3, rel=1e-3)


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
    models = tail_models(top, hill, hill.gamma_upper)
    plain = moment_bound(x, 0.0, 0.0, 1.5, models, 0.9)
    wide = moment_bound(x, 0.0, 0.0, 1.5, models, 0.9, design_effect=5.0)
    assert wide.estimate == plain.estimate
    assert wide.upper > plain.upper
