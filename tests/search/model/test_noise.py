"""The two-piece Student-t law of the noise: density, weights, and the fit."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

import literal_process as slow
from tailproof.search.model.constants import NOISE
from tailproof.search.model.noise import NoiseLaw, _negative_log_posterior, fit_noise_law

GAUSSIAN = NoiseLaw(2.0, 2.0)
SKEWED = NoiseLaw(0.5, 2.0, 8.0, 2.5)


def log_density(x, law):
    """The logarithm of the unnormalized density written out."""
    scale, dof = (law.scale_lower, law.dof_lower) if x < 0.0 else (law.scale_upper, law.dof_upper)
    u = x / scale
    if math.isinf(dof):
        return -0.5 * u * u
    return -0.5 * (dof + 1.0) * math.log1p(u * u / dof)


def density(x, law):
    return math.exp(log_density(x, law))


def sample(law, n, seed=0):
    """Draws from a two-piece law: a side by its mass, then a half Student-t."""
    rng = np.random.default_rng(seed)
    masses = []
    for scale, dof in ((law.scale_lower, law.dof_lower), (law.scale_upper, law.dof_upper)):
        peak = stats.norm.pdf(0.0) if math.isinf(dof) else stats.t.pdf(0.0, dof)
        masses.append(scale / peak)
    lower = rng.random(n) < masses[0] / sum(masses)

    def half(scale, dof):
        x = rng.standard_normal(n) if math.isinf(dof) else rng.standard_t(dof, n)
        return scale * np.abs(x)

    return np.where(
        lower, -half(law.scale_lower, law.dof_lower), half(law.scale_upper, law.dof_upper)
    )


def negative_log_posterior_literal(theta, x, weights):
    law = NoiseLaw(*np.exp(theta))
    mass = integrate.quad(density, -np.inf, 0.0, args=(law,))[0]
    mass += integrate.quad(density, 0.0, np.inf, args=(law,))[0]
    value = sum(w * (math.log(mass) - log_density(e, law)) for e, w in zip(x, weights, strict=True))
    for k, (mean, deviation) in enumerate((NOISE.scale, NOISE.scale, NOISE.dof, NOISE.dof)):
        value += 0.5 * ((theta[k] - mean) / deviation) ** 2
    return value + 0.5 * ((theta[1] - theta[0]) / NOISE.asymmetry) ** 2


def case(seed=0, n=30):
    rng = np.random.default_rng(seed)
    x, weights = rng.standard_t(3, n), rng.uniform(0.2, 1.0, n)
    squares = (x[x < 0.0] ** 2, x[x >= 0.0] ** 2)
    return x, weights, squares, (weights[x < 0.0], weights[x >= 0.0])


@pytest.mark.parametrize("theta", [[0.0, 0.0, 1.0, 1.0], [-0.7, 0.9, 0.3, 2.5]])
def test_negative_log_posterior_is_the_density_written_out(theta):
    x, weights, squares, counts = case()
    theta = np.array(theta)
    found = [_negative_log_posterior(at, squares, counts)[0] for at in (theta, theta + 0.2)]
    expected = [negative_log_posterior_literal(at, x, weights) for at in (theta, theta + 0.2)]
    assert found == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_gradient_of_negative_log_posterior(seed):
    _, _, squares, counts = case(seed)
    theta = np.random.default_rng(seed).normal(0.5, 0.7, 4)
    gradient = _negative_log_posterior(theta, squares, counts)[1]
    numeric = slow.slope(lambda at: _negative_log_posterior(at, squares, counts)[0], theta)
    np.testing.assert_allclose(gradient, numeric, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("law", [GAUSSIAN, SKEWED, NoiseLaw(1.0, 3.0, math.inf, 4.0)])
def test_weights_are_the_score_over_the_residual(law):
    # For a known location E[u | x] = -(ln p)'(x) / x.
    for x in (-40.0, -1.3, -0.2, 0.2, 1.3, 40.0):
        score = -slow.slope(lambda at: log_density(float(at[0]), law), np.array([x]), 1e-5)
        found = law.weights(np.array([x]), np.zeros(1))
        assert float(found[0]) == pytest.approx(float(score[0]) / x, rel=1e-5)


def test_an_uncertain_location_lowers_the_weight_of_heavy_tails_alone():
    x, none, much = np.array([-1.0, 1.0]), np.zeros(2), np.full(2, 9.0)
    assert (SKEWED.weights(x, much) < SKEWED.weights(x, none)).all()
    np.testing.assert_array_equal(GAUSSIAN.weights(x, much), np.full(2, 0.25))


def test_sides():
    scale, dof = SKEWED.sides(np.array([-1.0, 0.0, 1.0]))
    assert scale.tolist() == [0.5, 2.0, 2.0]
    assert dof.tolist() == [8.0, 2.5, 2.5]
    assert SKEWED.mean_square_scale == pytest.approx(0.5 * (0.25 + 4.0))


def test_an_asymmetric_law_is_recovered():
    # Standard errors of the logarithms of the scales are about 0.06 at 2,000 draws, of the degrees
    # of freedom 0.15 on the heavy side; the seed is fixed.
    law = fit_noise_law(sample(SKEWED, 2000), np.ones(2000))
    assert math.log(law.scale_lower / 0.5) == pytest.approx(0.0, abs=0.2)
    assert math.log(law.scale_upper / 2.0) == pytest.approx(0.0, abs=0.2)
    assert math.log(law.dof_upper / 2.5) == pytest.approx(0.0, abs=0.45)
    assert law.dof_lower > law.dof_upper


def test_a_gaussian_law_is_recovered():
    law = fit_noise_law(sample(GAUSSIAN, 2000), np.ones(2000))
    assert math.log(law.scale_lower / 2.0) == pytest.approx(0.0, abs=0.15)
    assert math.log(law.scale_upper / 2.0) == pytest.approx(0.0, abs=0.15)
    assert min(law.dof_lower, law.dof_upper) > 8.0


def test_a_weight_counts_as_repetition():
    x = sample(SKEWED, 60)
    counts = np.random.default_rng(0).integers(1, 4, 60)
    weighted = fit_noise_law(x, counts.astype(float))
    repeated = fit_noise_law(np.repeat(x, counts), np.ones(counts.sum()))
    for name in ("scale_lower", "scale_upper", "dof_lower", "dof_upper"):
        assert getattr(weighted, name) == pytest.approx(getattr(repeated, name), rel=0.05)


@pytest.mark.parametrize("unit", [1e-3, 1e3])
def test_the_fit_scales_with_its_residuals(unit):
    x, weights = sample(SKEWED, 100), np.ones(100)
    law, moved = fit_noise_law(x, weights), fit_noise_law(unit * x, weights)
    assert moved.scale_lower == pytest.approx(unit * law.scale_lower, rel=1e-6)
    assert moved.dof_upper == pytest.approx(law.dof_upper, rel=1e-6)


def test_mirrored_residuals_give_the_mirrored_law():
    x, weights = sample(SKEWED, 200), np.ones(200)
    law, mirrored = fit_noise_law(x, weights), fit_noise_law(-x, weights)
    assert mirrored.scale_lower == pytest.approx(law.scale_upper, rel=1e-3)
    assert mirrored.dof_lower == pytest.approx(law.dof_upper, rel=1e-3)


def test_one_scale_without_a_split():
    law = fit_noise_law(sample(SKEWED, 200), np.ones(200), split=False)
    assert law.scale_lower == law.scale_upper
    assert law.dof_lower == law.dof_upper == 4.0


@pytest.mark.parametrize(
    ("residuals", "weights"),
    [
        (np.zeros(9), np.ones(9)),
        (np.arange(1.0, 5.0), np.zeros(4)),
        (np.array([3.0]), np.ones(1)),
        (np.array([0.0] * 9 + [1.0]), np.ones(10)),
        (np.array([1e100, 1.0, -1.0]), np.ones(3)),
        (np.array([1e-100, -1e-100]), np.ones(2)),
    ],
    ids=["zeros", "no weight", "one", "mostly zeros", "huge", "tiny"],
)
@pytest.mark.parametrize("split", [True, False])
def test_extreme_residuals_give_a_finite_law(residuals, weights, split):
    law = fit_noise_law(residuals, weights, split=split)
    assert math.isfinite(law.scale_lower + law.scale_upper)
    assert min(law.scale_lower, law.scale_upper) > 0.0
    assert min(law.dof_lower, law.dof_upper) > 1.0


def test_one_huge_residual_changes_little():
    x, weights = sample(GAUSSIAN, 100), np.ones(100)
    law = fit_noise_law(np.append(x, 1e3), np.ones(101))
    wilder = fit_noise_law(np.append(x, 1e12), np.ones(101))
    assert abs(math.log(wilder.scale_lower / law.scale_lower)) < 0.3
    assert abs(math.log(wilder.scale_upper / law.scale_upper)) < 0.7
    assert fit_noise_law(x, weights).dof_upper > wilder.dof_upper > 1.0
