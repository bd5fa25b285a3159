"""Posteriors in feature directions: without truncation, and off the arms by literal formulas."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import literal
import tailproof as tp
from policy_setups import (
    ARMS,
    KERNEL,
    SPACE,
    build,
    properties,
    random_arms,
    ridges,
    rounds,
    seeds,
)

RIDGE = 0.4
BETWEEN = np.array([[0.03], [0.31], [0.555], [0.99], [1.2]])  # no arm among them, one outside
SQUARE, WIDE = np.random.default_rng(5).uniform(size=(25, 2)), tp.SquaredExponential(0.3)


def told(opt, rounds=200):
    rng = np.random.default_rng(6)
    arms, payoffs = rng.integers(len(SQUARE), size=rounds), rng.standard_t(1.2, size=rounds)
    opt.tell_index(arms, payoffs)
    return arms, payoffs


def kernel_ridge(gram, diagonal, arms, payoffs):
    inner = np.linalg.inv(gram[np.ix_(arms, arms)] + RIDGE * np.eye(len(arms)))
    mean = gram[:, arms] @ inner @ payoffs
    variance = diagonal - np.einsum("ij,jk,ik->i", gram[:, arms], inner, gram[:, arms])
    return mean, variance


@pytest.mark.parametrize(
    ("features", "variance"),
    [
        (tp.QuadratureFourier(16), "i"),
        (tp.QuadratureFourier(16, folded=False), "i"),
        (tp.QuadratureFourier(16), "ii"),
        (tp.RandomFourier(40), "i"),
        (tp.Exact(1e-14), "ii"),
        (tp.Exact(1e-14), "i"),
        (tp.Nystrom(0.5, oversampling=1e9, cutoff=1e-14), "ii"),
        (tp.Nystrom(0.5, oversampling=1e9, cutoff=1e-14, reduced=True), "ii"),
    ],
    ids=str,
)
@pytest.mark.parametrize("median", [False, True])
def test_no_truncation_is_kernel_ridge_regression(features, variance, median):
    make = tp.moma_gp_ucb if median else tp.ata_gp_ucb
    more = {"blocks": 1} if median else {}
    opt = make(
        tp.Finite(SQUARE),
        WIDE,
        features=features,
        variance=variance,
        schedule=tp.CustomSchedule(2.0),
        ridge=RIDGE,
        seed=3,
        **more,
    )
    arms, payoffs = told(opt)
    if isinstance(features, tp.RandomFourier):
        # The random map has its own kernel; ridge regression is to be done with that one.
        phi = opt.posterior.embedding.coordinates
        gram = phi @ phi.T
    else:
        gram = WIDE.matrix(SQUARE, SQUARE)
    mean, variances = kernel_ridge(gram, np.diag(gram), arms, payoffs)
    got = opt.predict()
    np.testing.assert_allclose(got.mean, mean, atol=1e-6 * np.abs(mean).max())
    np.testing.assert_allclose(got.std**2, variances, atol=1e-6)


@properties
@given(seed=seeds, ridge=ridges, alpha=st.floats(0.01, 1.0))
def test_direction_rows_have_the_norm_the_truncation_bound_uses(seed, ridge, alpha):
    """Appendix D.1: rows u_i of V^(-1/2) Phi^T have |u_i|_p <= t^((2-p)/(2p)), p = 1 + alpha <= 2.

    (The paper states it for every p >= 1; for p > 2 a unit vector contradicts it.)
    """
    rng = np.random.default_rng(seed)
    arms = random_arms(rng)
    opt = tp.ata_gp_ucb(
        tp.Finite(arms),
        tp.SquaredExponential(0.5),
        features=tp.RandomFourier(10),
        schedule=tp.CustomSchedule(1.0),
        ridge=ridge,
        seed=seed,
    )
    t = int(rng.integers(1, 80))
    index = rng.integers(len(arms), size=t)
    opt.tell_index(index, rng.normal(size=t))
    posterior = opt.posterior
    half = (posterior.vectors.T * posterior.roots) @ posterior.vectors
    rows = posterior.embedding.directions @ half @ posterior.embedding.coordinates[index].T
    phi = posterior.embedding.coordinates @ posterior.embedding.directions.T
    np.testing.assert_allclose(rows, literal.direction_rows(phi[index], ridge), atol=1e-9)
    for p in (1 + alpha, 1.0, 2.0):
        norms = (np.abs(rows) ** p).sum(axis=1) ** (1 / p)
        assert norms.max() <= t ** ((2 - p) / (2 * p)) * (1 + 1e-9)


# ---- predictions off the arms, by the literal formulas -------------------------------------------


def quadrature(points, nodes, folded):
    """Section 5 (a) in one dimension at any points: KERNEL's features, written out by hand."""
    roots, weights = np.polynomial.hermite.hermgauss(nodes)
    if folded:
        roots, weights = roots[nodes // 2 :], 2 * weights[nodes // 2 :]  # `nodes` is even
    angle = math.sqrt(2) * points @ roots[None, :] / KERNEL.lengthscale
    root = np.sqrt(weights / math.sqrt(math.pi))
    return np.hstack([root * np.cos(angle), root * np.sin(angle)])


def check_off_arms(opt, Phi, form, sums):
    """Compare with Algorithm 2 on explicit features `Phi` of the arms and then BETWEEN."""
    played, points = opt.history.indices, np.vstack([ARMS, BETWEEN])
    mean = literal.feature_mean(Phi, played, 1.0, sums)
    prior = opt.config.kernel.diagonal(points)
    variance = literal.feature_variance(Phi, prior, played, 1.0, form)
    prediction = opt.predict(points)
    np.testing.assert_allclose(prediction.mean, mean, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(prediction.std**2, variance, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("policy", ["ata_gp_ucb theory", "moma_gp_ucb heuristic"])
@pytest.mark.parametrize("features", ["qff", "qff-paper", "rff", "exact", "reduced", "nystrom"])
@pytest.mark.parametrize("form", ["i", "ii"])
def test_predictions_off_the_arms_are_algorithm_2_on_explicit_features(policy, features, form):
    kernel = tp.Matern(0.5, 0.3) if features in ("exact", "reduced", "nystrom") else KERNEL
    blocks = {"blocks": 8} if policy.startswith("moma") else {}
    opt = build(f"{policy} {features}", SPACE, kernel, variance=form, **blocks)
    opt.tell_index(*rounds(40))
    points = np.vstack([ARMS, BETWEEN])
    if features.startswith("qff"):
        Phi = quadrature(points, 32 if features == "qff" else 31, folded=features == "qff")
    elif features == "rff":
        omega = np.random.default_rng(5).standard_normal((24, 1))
        angle = points @ omega.T / 0.2
        Phi = np.hstack([np.cos(angle), np.sin(angle)]) / math.sqrt(24)
    elif features == "exact":
        values, vectors = np.linalg.eigh(kernel.matrix(ARMS, ARMS))
        Phi = kernel.matrix(points, ARMS) @ vectors / np.sqrt(values)
    else:
        dictionary = ARMS[opt.posterior.dictionary]
        values, vectors = np.linalg.eigh(kernel.matrix(dictionary, dictionary))
        turn = np.eye(len(values)) if features == "reduced" else vectors.T
        Phi = kernel.matrix(points, dictionary) @ vectors / np.sqrt(values) @ turn
    payoffs = opt.history.payoffs
    if policy.startswith("ata"):
        b = opt.schedule.truncation(40, Phi.shape[1])
        check_off_arms(opt, Phi, form, lambda u: literal.truncated_sums(u, payoffs, b))
    else:
        played = opt.history.indices.tolist()

        def medians(u):
            return literal.median_of_means_sums(u, payoffs, 8, played)

        check_off_arms(opt, Phi, form, medians)
