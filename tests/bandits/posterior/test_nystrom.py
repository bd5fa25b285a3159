"""Nystrom embeddings, and the paper's lemmas on dictionaries as properties of random instances."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency

import literal
import tailproof as tp
from policy_setups import (
    feature_matrix,
    kernel_error,
    properties,
    random_arms,
    ridges,
    seeds,
)
from tailproof.bandits.estimators import TruncateDirections
from tailproof.bandits.low_rank import kernel_coordinates
from tailproof.bandits.posterior import dictionary_features
from tailproof.bandits.posterior.base import PosteriorInputs
from tailproof.bandits.posterior.dictionary_features import (
    TriangularEmbedding,
    nystrom_embedding,
    singular_value_embedding,
)
from tailproof.bandits.posterior.features import FeaturePosterior
from tailproof.bandits.posterior.nystrom import Sampling

LINE = np.linspace(0.0, 1.0, 60)[:, None]


# ---- embeddings ----------------------------------------------------------------------------------


def nystrom(kernel, X, dictionary, **options):
    psi = kernel_coordinates(kernel, X)
    return nystrom_embedding(
        tp.Nystrom(**options), psi, np.array(dictionary, dtype=np.int64), kernel, X
    )


@pytest.mark.parametrize("reduced", [False, True])
@pytest.mark.parametrize("kernel", [tp.SquaredExponential(0.2), tp.Matern(0.5, 0.3), tp.Linear()])
def test_nystrom_is_exact_when_the_dictionary_is_everything(kernel, reduced):
    embedding = nystrom(kernel, LINE, range(60), reduced=reduced, cutoff=1e-14)
    assert kernel_error(feature_matrix(embedding), kernel, LINE) < 1e-9
    assert embedding.size == (embedding.coordinates.shape[1] if reduced else 60)


@settings(derandomize=True, max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 59), min_size=1, max_size=12, unique=True), st.booleans())
def test_nystrom_is_the_pseudo_inverse_formula(dictionary, reduced):
    kernel = tp.Matern(1.5, 0.1)
    K = kernel.matrix(LINE, LINE)
    embedding = nystrom(kernel, LINE, sorted(dictionary), reduced=reduced)
    phi = feature_matrix(embedding)
    expected = literal.nystrom_features(K, sorted(dictionary), 1e-10)
    np.testing.assert_allclose(phi @ phi.T, expected @ expected.T, atol=1e-8)
    if not reduced:
        np.testing.assert_allclose(phi, expected, atol=1e-8)
    assert np.linalg.eigvalsh(K - phi @ phi.T)[0] > -1e-8
    np.testing.assert_allclose(embedding.query(LINE)[0], embedding.coordinates, atol=1e-8)


@pytest.mark.parametrize("gap", [0.0, 1e-300, 1e-15, 1e-12, 1e-9, 1e-7, 1e-5])
@pytest.mark.parametrize("reduced", [False, True])
def test_redundant_dictionaries_are_stable(gap, reduced):
    """Arms that (nearly) coincide make K_D singular; the features stay those of one of them."""
    X = np.vstack([LINE, LINE[:10] + gap])
    kernel = tp.SquaredExponential(0.2)
    single = nystrom(kernel, X, range(0, 10, 3), reduced=reduced)
    double = nystrom(kernel, X, [*range(0, 10, 3), *range(60, 70, 3)], reduced=reduced)
    for embedding in (single, double):
        assert np.isfinite(feature_matrix(embedding)).all()
        assert (embedding.squared_norms() <= 1.0 + 1e-9).all()
    if gap <= 1e-9:
        phi, same = feature_matrix(single), feature_matrix(double)
        np.testing.assert_allclose(same @ same.T, phi @ phi.T, atol=1e-5)


def test_an_empty_dictionary_has_no_features():
    embedding = nystrom(tp.SquaredExponential(0.2), LINE, [])
    assert embedding.size == 0
    assert feature_matrix(embedding).shape == (60, 0)
    assert (embedding.squared_norms() == 0.0).all()


def test_features_by_the_triangular_factor_are_those_by_the_singular_values():
    """Both give K_D^(-1/2) k_D(x); `directions` are found only when they are asked for."""
    kernel, dictionary = tp.Matern(1.5, 0.1), np.array([0, 3, 4, 11, 30, 31, 58])
    psi, options = kernel_coordinates(kernel, LINE), tp.Nystrom()
    triangular = nystrom_embedding(options, psi, dictionary, kernel, LINE)
    assert isinstance(triangular, TriangularEmbedding)
    assert "directions" not in vars(triangular)
    by_values = singular_value_embedding(options, psi, dictionary, kernel, LINE)
    np.testing.assert_allclose(feature_matrix(triangular), feature_matrix(by_values), atol=1e-11)
    np.testing.assert_allclose(
        triangular.directions.T @ triangular.directions, np.eye(7), atol=1e-11
    )


@pytest.mark.parametrize("outlier", [1.0, 40.0])
def test_changing_dictionaries_need_no_eigenvectors(monkeypatch, outlier):
    """Means, variances and choices are those of the path by singular values, truncated or not."""

    def run():
        moment = tp.MomentBound(1.0, 2.0)
        opt = tp.ata_gp_ucb(
            tp.Finite(LINE[::3]),
            tp.Matern(1.5, 0.2),
            features=tp.Nystrom(0.5, oversampling=8.0),
            moment=moment,
            norm_bound=1.0,
            horizon=400,
            schedule="authors",
            seed=3,
        )
        rng, factored = np.random.default_rng(5), 0
        for t in range(150):
            arm = opt.ask_index()
            opt.tell_index(arm, float(rng.standard_normal() + outlier * (t % 10 == 0)))
            factored += opt.posterior._factor is not None
        return opt, factored

    quick, factored = run()
    assert factored > 50
    monkeypatch.setattr(dictionary_features, "_triangular_embedding", lambda *arguments: None)
    slow, factored = run()
    assert factored == 0
    assert (quick.history.indices == slow.history.indices).all()
    np.testing.assert_allclose(quick.predict().mean, slow.predict().mean, atol=1e-11)
    np.testing.assert_allclose(quick.predict().std, slow.predict().std, atol=1e-11)
    np.testing.assert_allclose(quick.predict(LINE).mean, slow.predict(LINE).mean, atol=1e-10)
    assert abs(quick.posterior.log_det - slow.posterior.log_det) < 1e-10


# ---- lemmas --------------------------------------------------------------------------------------


def nystrom_posterior(arms, kernel, ridge, dictionary, played):
    inputs = PosteriorInputs(kernel, arms, ridge, lambda t, m: math.inf, with_residual=True)
    psi = kernel_coordinates(kernel, arms)
    embedding = nystrom_embedding(tp.Nystrom(cutoff=1e-12), psi, dictionary, kernel, arms)
    posterior = FeaturePosterior(inputs, embedding, TruncateDirections(len(arms)))
    for arm in played:
        posterior.add(int(arm), 0.0)
    return posterior


@properties
@given(seed=seeds, ridge=ridges)
def test_nystrom_variance_is_that_of_the_projected_features(seed, ridge):
    """Variance under projection: sigma~^2(x) = lambda |phi(x)|^2 in the norm of V_hat^-1."""
    rng = np.random.default_rng(seed)
    arms, kernel = random_arms(rng), tp.Matern(0.5, 0.4)
    played = rng.integers(len(arms), size=40)
    dictionary = np.unique(rng.choice(played, size=int(rng.integers(1, 12))))
    variance = nystrom_posterior(arms, kernel, ridge, dictionary, played).variance()
    psi = np.linalg.cholesky(kernel.matrix(arms, arms))
    basis = psi[dictionary]
    projection = np.linalg.pinv(basis) @ basis
    phi_hat = psi[played] @ projection
    v_hat = phi_hat.T @ phi_hat + ridge * np.eye(len(arms))
    expected = ridge * np.einsum("ij,jk,ik->i", psi, np.linalg.inv(v_hat), psi)
    np.testing.assert_allclose(variance, expected, rtol=1e-8, atol=1e-10)


@properties
@given(seed=seeds, ridge=ridges)
def test_an_accurate_dictionary_sandwiches_the_variance(seed, ridge):
    """(1-eps)/(1+eps) sigma^2 <= sigma~^2 <= (1+eps)/(1-eps) sigma^2 for accurate dictionaries."""
    rng = np.random.default_rng(seed)
    arms, kernel = random_arms(rng), tp.Matern(1.5, 0.5)
    played = rng.integers(len(arms), size=40)
    gram = kernel.matrix(arms[played], arms[played])
    p = rng.uniform(0.6, 1.0, size=40)
    drawn = rng.random(40) < p
    values, vectors = np.linalg.eigh(gram)
    values = np.maximum(values, 0.0)
    root = (vectors * np.sqrt(values / (values + ridge))) @ vectors.T  # K^(1/2) (K + lambda)^(-1/2)
    # Definition 3: the accuracy of this very dictionary, with S^2 = 1/p on what was drawn.
    eps = np.linalg.norm(root @ (np.eye(40) - np.diag(drawn / p)) @ root, 2)
    if eps >= 1.0 or not drawn.any():
        return
    dictionary = np.unique(played[drawn])
    variance = nystrom_posterior(arms, kernel, ridge, dictionary, played).variance()
    exact = tp.gp_ucb(tp.Finite(arms), kernel, tp.CustomSchedule(1.0), ridge=ridge)
    exact.tell_index(played, np.zeros(40))
    ratio = variance / exact.predict().std ** 2
    assert ratio.min() >= (1 - eps) / (1 + eps) - 1e-9
    assert ratio.max() <= (1 + eps) / (1 - eps) + 1e-9


def theory_nystrom(seed, ridge, accuracy, horizon, oversampling=None):
    arms = np.linspace(0, 1, 40)[:, None]
    opt = tp.ata_gp_ucb(
        tp.Finite(arms),
        tp.SquaredExponential(0.1),
        features=tp.Nystrom(accuracy, oversampling=oversampling),
        moment=tp.MomentBound(1.0, 2.0),
        norm_bound=1.0,
        horizon=horizon,
        ridge=ridge,
        seed=seed,
    )
    return arms, opt


@pytest.mark.parametrize("ridge", [1.0, 3.0])
def test_theorem_4_dictionaries_are_accurate_and_small_enough(ridge):
    """Properties of the dictionary, in 20 runs: size bound every round, sandwich at the end.

    Each run may fail with probability delta = 0.1; with the theorem's q none is expected to, since
    q is ten times what these runs need. The paper prints 1 + 1/lambda in the size bound, right for
    draws with q sigma^2/lambda; Algorithm 3 draws with q sigma^2, for which it is 1 + lambda.
    """
    accuracy, horizon = 0.6, 150
    rho = (1 + accuracy) / (1 - accuracy)
    q = literal.theorem4_oversampling(delta=0.1, T=horizon, eps=accuracy)
    for seed in range(20):
        arms, opt = theory_nystrom(seed, ridge, accuracy, horizon)
        exact = tp.gp_ucb(
            tp.Finite(arms), tp.SquaredExponential(0.1), tp.CustomSchedule(1.0), ridge=ridge
        )
        rng = np.random.default_rng(seed)
        for _ in range(horizon):
            arm = int(rng.integers(40))
            opt.tell_index(arm, 0.0)
            exact.tell_index(arm, 0.0)
            gain = exact.posterior.log_det / 2  # at most gamma_t, so the bound is the stricter
            assert opt.posterior.directions <= 6 * rho * (1 + ridge) * q * gain
        ratio = opt.predict().std ** 2 / exact.predict().std ** 2
        assert 1 / rho <= ratio.min()
        assert ratio.max() <= rho


def test_dictionaries_are_drawn_with_the_probabilities_of_algorithm_3():
    """Chi-square of 400 draws by arm against the verbatim loop over rounds; error rate 1e-3."""
    _, opt = theory_nystrom(0, 1.0, 0.5, 500, oversampling=3.0)
    rng = np.random.default_rng(1)
    played = np.concatenate([np.repeat([3, 17], 25), rng.integers(40, size=30)])
    opt.tell_index(played, np.zeros(len(played)))
    variance, counts = opt.posterior.variance(), np.bincount(played, minlength=40).astype(float)
    sampling = Sampling(oversampling=3.0, each_round=True, by_leverage=False)
    ours, loop = np.zeros(40), np.zeros(40)
    for _ in range(400):
        ours[sampling.draw(variance, counts, 1.0, rng)] += 1
        loop[literal.sample_dictionary_by_rounds(variance, played, 3.0, rng)] += 1
    uncertain = (ours + loop > 20) & (ours + loop < 780)
    assert uncertain.sum() >= 5
    for a, b in zip(ours[uncertain], loop[uncertain], strict=True):
        table = [[a, 400 - a], [b, 400 - b]]
        assert chi2_contingency(table).pvalue > 1e-3 / uncertain.sum()
    assert set(np.flatnonzero(ours)) <= set(played.tolist())
