"""The paper's lemmas, as properties of the engine on random instances."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency

import literal
import tailproof as tp
from tailproof.bandits.estimators import TruncateDirections
from tailproof.bandits.features import nystrom_embedding
from tailproof.bandits.low_rank import kernel_coordinates
from tailproof.bandits.posterior.features import DirectionPosterior, PosteriorInputs

seeds = st.integers(0, 2**32 - 1)
ridges = st.floats(0.1, 10)
properties = settings(max_examples=30, deadline=None, derandomize=True)


def random_arms(rng):
    return rng.uniform(size=(int(rng.integers(2, 25)), int(rng.integers(1, 4))))


@properties
@given(seed=seeds, ridge=ridges)
def test_sum_of_predictive_variances_is_bounded_by_the_information_gain(seed, ridge):
    """Predictive variances: sum_s sigma_{s-1}^2(x_s) <= (1 + lambda) ln|I + K_t / lambda|."""
    rng = np.random.default_rng(seed)
    arms = random_arms(rng)
    opt = tp.gp_ucb(
        tp.Finite(arms), tp.SquaredExponential(0.3), tp.CustomSchedule(3.0), ridge=ridge
    )
    total = 0.0
    for _ in range(60):
        arm = opt.ask_index() if rng.random() < 0.5 else int(rng.integers(len(arms)))
        total += opt.predict().std[arm] ** 2
        opt.tell_index(arm, float(rng.normal()))
        log_det = opt._posterior.log_det
        assert total <= (1 + ridge) * log_det * (1 + 1e-9)
    played = opt.history.points
    gram = tp.SquaredExponential(0.3).matrix(played, played)
    assert log_det == pytest.approx(np.linalg.slogdet(np.eye(60) + gram / ridge)[1], rel=1e-9)


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
    posterior = opt._posterior
    half = (posterior.vectors.T * posterior.roots) @ posterior.vectors
    rows = posterior.embedding.directions @ half @ posterior.embedding.coordinates[index].T
    phi = posterior.embedding.coordinates @ posterior.embedding.directions.T
    np.testing.assert_allclose(rows, literal.direction_rows(phi[index], ridge), atol=1e-9)
    for p in (1 + alpha, 1.0, 2.0):
        norms = (np.abs(rows) ** p).sum(axis=1) ** (1 / p)
        assert norms.max() <= t ** ((2 - p) / (2 * p)) * (1 + 1e-9)


def nystrom_posterior(arms, kernel, ridge, dictionary, played):
    ground = PosteriorInputs(kernel, arms, ridge, lambda t, m: math.inf, with_residual=True)
    psi = kernel_coordinates(kernel, arms)
    embedding = nystrom_embedding(tp.Nystrom(cutoff=1e-12), psi, dictionary, kernel, arms)
    posterior = DirectionPosterior(ground, embedding, TruncateDirections(len(arms)))
    for arm in played:
        posterior.add([int(arm)], [0.0])
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
            gain = exact._posterior.log_det / 2  # at most gamma_t, so the bound is the stricter
            assert opt._posterior.directions <= 6 * rho * (1 + ridge) * q * gain
        ratio = opt.predict().std ** 2 / exact.predict().std ** 2
        assert 1 / rho <= ratio.min()
        assert ratio.max() <= rho


def test_dictionaries_are_drawn_with_the_probabilities_of_algorithm_3():
    """Chi-square of 400 draws by arm against the verbatim loop over rounds; error rate 1e-3."""
    _, opt = theory_nystrom(0, 1.0, 0.5, 500, oversampling=3.0)
    rng = np.random.default_rng(1)
    played = np.concatenate([np.repeat([3, 17], 25), rng.integers(40, size=30)])
    opt.tell_index(played, np.zeros(len(played)))
    posterior, variance = opt._posterior, opt._posterior.variance()
    ours, loop = np.zeros(40), np.zeros(40)
    for _ in range(400):
        ours[posterior._draw(variance)] += 1
        loop[literal.sample_dictionary_by_rounds(variance, played, 3.0, rng)] += 1
    uncertain = (ours + loop > 20) & (ours + loop < 780)
    assert uncertain.sum() >= 5
    for a, b in zip(ours[uncertain], loop[uncertain], strict=True):
        table = [[a, 400 - a], [b, 400 - b]]
        assert chi2_contingency(table).pvalue > 1e-3 / uncertain.sum()
    assert set(np.flatnonzero(ours)) <= set(played.tolist())
