"""The robust mean: its equations, its equivariance, extreme input, and its error on known laws."""

import numpy as np
import pytest

from tailproof.means.robust import fit_mean, robust_mean, truncation_limit, truncation_radius


def samples():
    rng = np.random.default_rng(3)
    return {
        "gaussian": rng.normal(5.0, 2.0, 200),
        "pareto": rng.pareto(1.6, 500),
        "t": rng.standard_t(2.0, 1000),
        "zeros": np.where(rng.random(400) < 0.95, 0.0, rng.pareto(1.8, 400)),
        "outlier": np.append(rng.normal(size=50), 1e6),
    }


@pytest.mark.parametrize("name", samples())
def test_both_equations_hold(name):
    y = samples()[name]
    found = robust_mean(y)
    deviation = y - found.mean
    tau = found.truncation
    assert abs(np.clip(deviation, -tau, tau).mean()) < 1e-8 * tau
    shares = np.minimum(np.abs(deviation) / tau, 1.0) ** 2
    assert shares.sum() == pytest.approx(truncation_limit(y.size), rel=1e-6)
    assert found.truncated <= truncation_limit(y.size)
    assert found.mean - found.hidden_below + found.hidden_above == pytest.approx(found.plain_mean)


@pytest.mark.parametrize("name", samples())
@pytest.mark.parametrize(("a", "b"), [(2.5, 7.0), (-1.0, 0.0), (1e-120, 0.0), (-1e100, 0.0)])
def test_the_estimate_is_equivariant(name, a, b):
    y = samples()[name]
    found, moved = robust_mean(y), robust_mean(a * y + b)
    assert moved.mean == pytest.approx(a * found.mean + b, rel=1e-6, abs=1e-8 * abs(a))
    assert moved.standard_error == pytest.approx(abs(a) * found.standard_error, rel=1e-6)
    assert moved.truncation == pytest.approx(abs(a) * found.truncation, rel=1e-6)
    assert moved.skewness == pytest.approx(np.sign(a) * found.skewness, abs=1e-6)
    below, above = found.hidden_below, found.hidden_above
    expected = (below, above) if a > 0 else (above, below)
    assert (moved.hidden_below, moved.hidden_above) == pytest.approx(
        tuple(abs(a) * x for x in expected), rel=1e-4, abs=1e-9 * abs(a)
    )


def test_gaussian_payoffs_are_not_truncated():
    rng = np.random.default_rng(0)
    found = [robust_mean(rng.normal(size=300)) for _ in range(200)]
    assert sum(f.truncated for f in found) == 0
    assert all(f.mean == pytest.approx(f.plain_mean, abs=1e-12) for f in found)


def test_the_interval_always_contains_the_plain_mean():
    rng = np.random.default_rng(1)
    for n in (5, 30, 300):
        for _ in range(100):
            found = robust_mean(rng.standard_t(1.2, n) ** 3)
            assert found.plain_mean in found.interval(0.5)


def test_one_outlier_hardly_moves_the_mean():
    y = np.random.default_rng(2).normal(1.0, 0.1, 100)
    clean = robust_mean(y)
    for outlier in (1e3, 1e9, 1e150, 1e280):
        found = robust_mean(np.append(y, outlier))
        assert abs(found.mean - clean.mean) < 1.5 * clean.standard_error
        assert found.largest_share == pytest.approx(1.0, abs=0.02)
        assert found.interval(0.9).upper >= outlier / 101 * (1 - 1e-12)


@pytest.mark.parametrize("value", [0.0, 3.5, -1e280])
def test_equal_payoffs_have_no_error(value):
    found = robust_mean(np.full(20, value))
    assert (found.mean, found.standard_error, found.truncated) == (value, 0.0, 0)
    assert found.interval(0.9).width == 0.0


def test_a_single_payoff_says_nothing_about_its_error():
    found = robust_mean([4.0])
    assert found.mean == 4.0
    assert found.standard_error == np.inf
    assert (found.interval(0.9).lower, found.interval(0.9).upper) == (-np.inf, np.inf)


def test_one_payoff_that_differs_is_not_thrown_away():
    y = np.zeros(30)
    y[3] = 6.0
    found = robust_mean(y)
    assert found.mean == pytest.approx(0.2)
    assert found.standard_error > 0.0
    assert found.largest_share > 0.9


def test_the_mean_beats_the_plain_one_in_heavy_tails():
    # 400 samples of t(1.5); the ratio of median errors was 0.62 in another seed.
    rng = np.random.default_rng(8)
    found = [robust_mean(rng.standard_t(1.5, 400)) for _ in range(400)]
    robust, plain = (
        np.median(np.abs([getattr(f, k) for f in found])) for k in ("mean", "plain_mean")
    )
    assert robust < 0.85 * plain


def test_the_influence_function_has_mean_zero_and_gives_the_standard_error():
    y = samples()["pareto"]
    found, psi = fit_mean(y)
    assert abs(psi.mean()) < 1e-8 * found.truncation
    assert found.standard_error == pytest.approx(psi.std(ddof=1) / np.sqrt(y.size), rel=1e-6)


def test_the_radius_solves_its_equation_for_many_samples_at_once():
    size = np.abs(np.random.default_rng(5).standard_cauchy((50, 40)))
    tau = truncation_radius(size, 2.7)
    assert np.allclose((np.minimum(size / tau[:, None], 1.0) ** 2).sum(axis=1), 2.7)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([], "at least one payoff"),
        ([1.0, np.nan], "finite"),
        (["a"], "numbers"),
        ([1e300], "1e.280"),
    ],
)
def test_bad_payoffs_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        robust_mean(y)
