"""The literal transcription agrees with hand calculation, with scikit-learn and with itself."""

import itertools
import math
from functools import partial

import numpy as np
import pytest
from scipy import stats
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_ridge import KernelRidge

import literal
from literal import (
    LiteralFeatures,
    LiteralMedianOfMeans,
    LiteralNystrom,
    LiteralRidge,
    direction_rows,
    sample_dictionary_by_rounds,
    ucb_argmax,
)

RIDGE = 0.7
BELOW_ONE = np.nextafter(1.0, 0.0)


def keep_all(*_):
    return math.inf


@pytest.fixture
def rounds():
    """40 heavy-tailed rounds on 12 arms; some arms are played often, arms 10 and 11 never."""
    rng = np.random.default_rng(0)
    played = [int(a) for a in rng.integers(0, 10, 40)]
    return list(zip(played, rng.standard_t(1.5, 40).tolist(), strict=True))


@pytest.fixture
def K():
    """Matern-1/2 kernel matrix of 12 arms times a changing scale: full rank, diagonal not 1."""
    x = np.linspace(0, 1, 12)
    scale = 0.5 + x
    return scale[:, None] * np.exp(-np.abs(x[:, None] - x) / 0.4) * scale


def told(model, rounds, *extra):
    for arm, payoff in rounds:
        model.tell(arm, payoff, *extra)
    return model


def ridge_model(K, truncation=keep_all):
    return LiteralRidge(K=K, ridge=RIDGE, truncation=truncation)


def nystrom_model(K, **changes):
    options = {
        "K": K,
        "ridge": RIDGE,
        "oversampling": 1e9,
        "truncation": keep_all,
        "variance": "ii",
        "once_per_arm": False,
        "leverage": "variance",
        "cutoff": 1e-12,
    }
    return LiteralNystrom(**(options | changes))


def close(actual, desired, tolerance=1e-10):
    np.testing.assert_allclose(actual, desired, rtol=tolerance, atol=tolerance)


# ---- Algorithm 1 --------------------------------------------------------------------------------


def test_ridge_on_one_arm_is_the_hand_calculation():
    model = LiteralRidge(K=[[1.0]], ridge=2.0, truncation=lambda t: [3.0, 1.0, 5.0][t - 1])
    close(model.mean, [0.0])
    close(model.variance, [1.0])
    assert model.log_det == 0.0
    told(model, [(0, 3.0), (0, -2.0), (0, 4.0)])
    # Round 2's payoff is above its threshold 1, and stays zero when the threshold rises to 5.
    close(model.mean, [(3.0 + 4.0) / (3 + 2)])
    close(model.variance, [1 - 3 / (3 + 2)])
    close(model.log_det, math.log(1 + 3 / 2))


def test_ridge_without_truncation_is_the_gp_posterior_of_scikit_learn(rounds):
    x = np.linspace(0, 1, 12)[:, None]
    kernel = RBF(length_scale=0.2, length_scale_bounds="fixed")
    model = told(ridge_model(kernel(x)), rounds)
    peer = GaussianProcessRegressor(kernel=kernel, alpha=RIDGE, optimizer=None)
    mean, std = peer.fit(x[model.played], model.payoffs).predict(x, return_std=True)
    close(model.mean, mean)
    close(model.variance, std**2)


def test_log_det_is_the_sum_of_one_step_gains(K, rounds):
    model = ridge_model(K)
    gain = 0.0
    for arm, payoff in rounds:
        gain += math.log1p(model.variance[arm] / RIDGE)
        model.tell(arm, payoff)
        close(model.log_det, gain)


def test_truncated_ridge_is_plain_ridge_on_the_kept_payoffs(K, rounds):
    def truncation(t):
        return 0.3 * t**0.25

    kept = [(a, y if abs(y) <= truncation(t) else 0.0) for t, (a, y) in enumerate(rounds, 1)]
    assert 0 < sum(y == 0.0 for _, y in kept) < len(kept)
    close(told(ridge_model(K, truncation), rounds).mean, told(ridge_model(K), kept).mean)


# ---- Algorithm 2 --------------------------------------------------------------------------------


def test_features_on_one_arm_are_the_hand_calculation_and_truncate_history_anew():
    thresholds = {1: 1.0, 2: 2.0, 3: 1.0}
    model = LiteralFeatures(
        Phi=[[2.0]],
        k_diag=[5.0],
        ridge=1.0,
        truncation=lambda t, m: m * thresholds[t],
        variance="ii",
    )
    close(model.mean, [0.0])
    close(model.variance, [5.0])
    model.tell(0, 2.0)
    # V = 5, u = 2 / sqrt(5) = 0.894; |u y| = 1.79 > 1 is cut.
    close(model.mean, [0.0])
    model.tell(0, 0.5)
    # V = 9, u = 2/3; |u y| = 1.33, 0.33: both below 2, the first is back.
    close(model.mean, [2 * (2 / 3) * 2.5 / 3])
    model.tell(0, 0.1)
    # V = 13, u = 2 / sqrt(13) = 0.555; |u y| = 1.11, 0.28, 0.06: the first is above 1 again.
    close(model.mean, [4 * 0.6 / 13])
    close(model.variance, [5 - 4 + 4 / 13])


def test_a_payoff_on_the_threshold_is_kept():
    ridge = told(LiteralRidge(K=[[1.0]], ridge=1.0, truncation=lambda t: 2.0), [(0, -2.0)])
    close(ridge.mean, [-1.0])
    # V = 4 gives u = 1/2 without rounding.
    features = LiteralFeatures(
        Phi=[[1.0]], k_diag=[1.0], ridge=3.0, truncation=lambda t, m: 1.0, variance="i"
    )
    close(told(features, [(0, -2.0)]).mean, [-0.5])


@pytest.mark.parametrize("form", ["i", "ii"])
def test_exact_features_without_truncation_are_the_ridge_form(K, rounds, form):
    exact = told(ridge_model(K), rounds)
    model = LiteralFeatures(
        Phi=np.linalg.cholesky(K),
        k_diag=np.diag(K),
        ridge=RIDGE,
        truncation=keep_all,
        variance=form,
    )
    told(model, rounds)
    assert model.directions == 12
    close(model.mean, exact.mean)
    close(model.variance, exact.variance)


def test_features_without_truncation_are_kernel_ridge_on_phi(K, rounds):
    Phi = np.random.default_rng(1).normal(size=(12, 3))
    model = LiteralFeatures(
        Phi=Phi, k_diag=np.diag(K), ridge=RIDGE, truncation=keep_all, variance="i"
    )
    told(model, rounds)
    peer = KernelRidge(alpha=RIDGE, kernel="linear").fit(Phi[model.played], model.payoffs)
    close(model.mean, peer.predict(Phi))
    close(model.variance, told(ridge_model(Phi @ Phi.T), rounds).variance)


def test_the_two_variances_differ_by_what_the_features_miss(K, rounds):
    Phi = 0.3 * np.random.default_rng(2).normal(size=(12, 3))
    first, second = (
        told(
            LiteralFeatures(
                Phi=Phi, k_diag=np.diag(K), ridge=RIDGE, truncation=keep_all, variance=form
            ),
            rounds,
        )
        for form in ("i", "ii")
    )
    close(second.variance - first.variance, np.diag(K) - (Phi**2).sum(axis=1))


def test_truncation_acts_on_each_direction_by_itself(K, rounds):
    Phi = np.linalg.cholesky(K)[:, :4]
    model = LiteralFeatures(
        Phi=Phi, k_diag=np.diag(K), ridge=RIDGE, truncation=lambda t, m: 0.05 * m, variance="i"
    )
    told(model, rounds)
    # theta from its definition, one direction and one round at a time.
    Phi_t = Phi[model.played]
    values, vectors = np.linalg.eigh(Phi_t.T @ Phi_t + RIDGE * np.eye(4))
    theta, cut = np.zeros(4), 0
    root = sum(np.outer(q, q) / math.sqrt(w) for w, q in zip(values, vectors.T, strict=True))
    for i in range(4):
        for x, y in rounds:
            term = (root[i] @ Phi[x]) * y
            cut += abs(term) > 0.2
            theta += root[:, i] * term * (abs(term) <= 0.2)
    assert 0 < cut < 4 * len(rounds)
    close(model.mean, Phi @ theta)


@pytest.mark.parametrize("alpha", [0.1, 0.5, 1.0])
def test_rows_obey_the_norm_bound_of_appendix_d(K, rounds, alpha):
    u = direction_rows(np.linalg.cholesky(K)[[a for a, _ in rounds]], RIDGE)
    norms = (np.abs(u) ** (1 + alpha)).sum(axis=1) ** (1 / (1 + alpha))
    assert norms.max() <= len(rounds) ** ((1 - alpha) / (2 * (1 + alpha)))


# ---- Median of means ----------------------------------------------------------------------------


def test_median_of_means_on_one_arm_is_the_hand_calculation():
    model = LiteralMedianOfMeans(Phi=[[1.0]], k_diag=[2.0], ridge=3.0, most=4, variance="ii")
    close(model.mean, [0.0])
    close(model.variance, [2.0])
    payoffs = np.tile([1.0, 2.0, 3.0, 90.0], 4)
    told(model, [(0, y) for y in [*payoffs, 5.0]])
    # V = 20, u^2 = 1/20; 17 payoffs in 4 blocks of means 9/5, 2, 3, 90, whose median is 5/2.
    close(model.mean, [2.5 * 17 / 20])
    close(model.variance, [2 - 1 + 3 / 20])


def test_a_direction_of_few_payoffs_has_few_blocks():
    model = LiteralMedianOfMeans(Phi=np.eye(2), k_diag=[1, 1], ridge=1.0, most=8, variance="i")
    told(model, [(0, 1.0)] * 64 + [(1, y) for y in (3.0, 4.0, 50.0)])
    close(model.mean, [64 / 65, 57 / 4])  # one block: the plain sum


def test_one_block_is_no_truncation(K, rounds):
    options = {"Phi": np.linalg.cholesky(K), "k_diag": np.diag(K), "ridge": RIDGE, "variance": "i"}
    plain = told(LiteralFeatures(truncation=keep_all, **options), rounds)
    model = told(LiteralMedianOfMeans(most=1, **options), rounds)
    close(model.mean, plain.mean)
    close(model.variance, plain.variance)


# ---- Algorithms 2 and 3: Nystrom ----------------------------------------------------------------


def test_nystrom_with_every_played_arm_is_exact_at_all_arms(K, rounds):
    exact = told(ridge_model(K), rounds)
    model = told(nystrom_model(K), rounds, np.zeros(12))
    assert model.dictionary.tolist() == sorted({a for a, _ in rounds})
    assert model.directions == len(model.dictionary) < 12
    close(model.mean, exact.mean)
    close(model.variance, exact.variance)


def test_nystrom_features_project_on_the_dictionary(K):
    D = [1, 4, 7]
    Phi = literal.nystrom_features(K, np.array(D), cutoff=1e-12)
    close(Phi @ Phi.T, K[:, D] @ np.linalg.inv(K[np.ix_(D, D)]) @ K[D])
    # The symmetric root of the paper, not just any root: on the dictionary Phi is K_D^(1/2).
    close(Phi[D], Phi[D].T)
    assert np.linalg.eigvalsh(Phi[D]).min() > 0


def test_the_pseudo_inverse_drops_the_directions_of_equal_arms():
    K = np.array([[1.0, 1.0, 0.5], [1.0, 1.0, 0.5], [0.5, 0.5, 1.0]])
    model = told(nystrom_model(K), [(0, 1.0), (1, 2.0), (2, -1.0)], np.zeros(3))
    assert model.directions == 3
    close(model.Phi @ model.Phi.T, K)
    close(model.variance, told(ridge_model(K), [(0, 1.0), (1, 2.0), (2, -1.0)]).variance)
    # Eigenvalues 2.37, 0.63, 0: a cutoff of one half leaves the first alone.
    assert np.linalg.matrix_rank(literal.nystrom_features(K, np.arange(3), 0.5)) == 1
    close(literal.pseudo_inverse_of_square_root(np.zeros((2, 2)), 1e-12), np.zeros((2, 2)))


@pytest.mark.parametrize("form", ["i", "ii"])
def test_an_empty_dictionary_leaves_the_prior(K, rounds, form):
    model = told(nystrom_model(K, oversampling=1e-3, variance=form), rounds, np.full(12, BELOW_ONE))
    assert model.t == 40
    assert model.directions == 0
    assert model.dictionary.shape == (0,)
    close(model.mean, np.zeros(12))
    close(model.variance, np.diag(K))


@pytest.mark.parametrize("once_per_arm", [True, False])
@pytest.mark.parametrize("leverage", ["variance", "variance/ridge"])
def test_an_arm_enters_just_below_its_chance(K, once_per_arm, leverage):
    before = [(2, 1.0), (5, 0.0), (2, -1.0), (2, 0.5)]
    q = 0.2
    for side, enters in ((-1e-9, True), (1e-9, False)):
        model = nystrom_model(K, oversampling=q, once_per_arm=once_per_arm, leverage=leverage)
        told(model, before, np.zeros(12))  # everything enters: sigma_{t-1}^2 is the exact one
        variance = told(ridge_model(K), before).variance  # without the round of arm 9
        counts = np.bincount([2, 5, 2, 2, 9], minlength=12)
        p = q * variance / (RIDGE if leverage == "variance/ridge" else 1.0)
        assert p.max() < 1
        chance = p if once_per_arm else 1 - (1 - p) ** counts
        model.tell(9, 0.3, chance + side)
        assert model.dictionary.tolist() == ([2, 5, 9] if enters else [])


def test_a_chance_above_one_counts_as_one(K):
    model = told(nystrom_model(K, oversampling=50.0), [(3, 1.0)] * 2, np.full(12, BELOW_ONE))
    assert model.dictionary.tolist() == [3]


def test_nystrom_is_algorithm_2_on_the_features_of_its_dictionary(K, rounds):
    rng = np.random.default_rng(3)
    model = nystrom_model(K, oversampling=0.5, truncation=lambda t, m: 0.02 * t**0.5 * m)
    sizes = set()
    for arm, payoff in rounds:
        model.tell(arm, payoff, rng.random(12))
        sizes.add(model.directions)
        if model.directions:
            peer = LiteralFeatures(
                Phi=model.Phi,
                k_diag=np.diag(K),
                ridge=RIDGE,
                truncation=model.truncation,
                variance="ii",
            )
            told(peer, zip(model.played, model.payoffs, strict=True))
            close(model.mean, peer.mean)
            close(model.variance, peer.variance)
    assert len(sizes) > 2


def test_one_uniform_an_arm_has_the_law_of_a_draw_each_round():
    """Chi-square on all 8 dictionaries of 3 arms: a right sampler fails at 1e-6 of seeds."""
    variance = np.array([0.2, 0.9, 0.5])
    played = [0, 1, 0, 2, 0, 2]
    q, repeats = 0.4, 20_000
    rng = np.random.default_rng(4)
    draws = [sample_dictionary_by_rounds(variance, played, q, rng) for _ in range(repeats)]
    assert all(d.tolist() == sorted(set(d.tolist())) for d in draws)
    # The chance LiteralNystrom gives an arm, tested to 1e-9 above.
    chance = 1 - (1 - q * variance) ** np.bincount(played)
    subsets = list(itertools.product([False, True], repeat=3))
    expected = [repeats * np.prod(np.where(s, chance, 1 - chance)) for s in subsets]
    members = [tuple(bool(j in d) for j in range(3)) for d in draws]
    observed = [members.count(s) for s in subsets]
    assert stats.chisquare(observed, expected).pvalue > 1e-6


# ---- Schedules: hand-picked numbers, where every power is a whole number -------------------------

HALF = {"alpha": 0.5, "v": 8.0}  # v^(2/3) = 4; t = 64 gives t^(1/6) = 2, t^(1/3) = 4
LOG_8 = math.exp(8)  # ln = 8: 8^(1/3) = 2, (v/8)^(2/3) = 1


def test_theorem_1_schedule():
    close(literal.theorem1_truncation(64, **HALF), 4 * 4)
    delta = math.exp(-1.5)
    beta = partial(literal.theorem1_beta, **HALF, B=5.0, ridge=9.0, delta=delta)
    close(beta(64, 6.0), 5 + 3 / 3 * 16 * 3)  # sqrt(6 + 2 * 1.5) = 3
    assert beta(0, 0.0) == 5.0


def test_theorem_3_schedule():
    common = {"T": 100, "delta": 2 * 4 * 100 / LOG_8}  # m = 4: ln(2 m T / delta) = 8
    close(literal.theorem3_truncation(64, 4, **HALF, **common), 1 * 2)
    beta = partial(literal.theorem3_beta, B=5.0, ridge=0.25, **common)
    close(beta(64, 4, **HALF), 5 + 4 * 4 * (4 * 2 * 2))
    assert beta(0, 4, **HALF) == beta(0, 4, alpha=1.0, v=8.0) == 5.0


def test_theorem_4_schedule():
    common = {"T": 100, "delta": 4 * 4 * 100 / LOG_8}  # m = 4: ln(4 m T / delta) = 8
    close(literal.theorem4_truncation(64, 4, **HALF, **common), 1 * 2)
    beta = partial(literal.theorem4_beta, B=5.0, ridge=0.25, eps=0.75, **common)
    close(beta(64, 4, **HALF), 5 * 3 + 4 * 4 * (4 * 2 * 2))
    assert beta(0, 4, **HALF) == beta(0, 4, alpha=1.0, v=8.0) == 15.0
    # An empty dictionary: one arm inside the logarithm, none under the root.
    assert beta(64, 0, **HALF) == 15.0
    truncation = partial(literal.theorem4_truncation, **HALF, **common)
    assert truncation(64, 0) == truncation(64, 1)
    q = literal.theorem4_oversampling(T=100, delta=4 * 100 / LOG_8, eps=0.5)
    close(q, 6 * 3 * 8 / 0.25)


def test_authors_schedules():
    tgp_beta = partial(literal.authors_tgp_beta, B=5.0, ridge=9.0)
    close(literal.authors_tgp_truncation(64, **HALF), 4 * 4)
    close(tgp_beta(64, **HALF), 5 * 3 + 16 * math.sqrt(math.log(64)))
    close(tgp_beta(1, **HALF), 15.0)  # ln 1 = 0
    # ln(m T) = 8 for QFF with 4 features, ln((m + 1) T) = 8 for a dictionary of 4.
    qff, nystrom = {"T": LOG_8 / 4}, {"T": LOG_8 / 5}
    close(literal.authors_qff_truncation(64, 4, **HALF, **qff), 2)
    close(literal.authors_qff_beta(64, 4, **HALF, B=5.0, ridge=9.0, **qff), 15 + 2 * 16)
    close(literal.authors_nystrom_truncation(64, 4, **HALF, **nystrom), 2)
    close(literal.authors_nystrom_beta(64, 4, **HALF, B=5.0, ridge=9.0, **nystrom), 15 + 2 * 16)
    close(literal.authors_oversampling(T=LOG_8, eps=0.5), 32)


def test_schedules_plug_into_the_models(K, rounds):
    schedule = partial(literal.theorem1_truncation, alpha=0.5, v=0.05)
    model = told(ridge_model(K, schedule), rounds)
    assert 0 < sum(y == 0.0 for y in model.kept) < 40
    truncation = partial(literal.theorem4_truncation, alpha=0.5, v=0.5, delta=0.1, T=40)
    options = {"Phi": np.linalg.cholesky(K), "k_diag": np.diag(K), "ridge": RIDGE, "variance": "i"}
    cut = told(LiteralFeatures(truncation=truncation, **options), rounds)
    plain = told(LiteralFeatures(truncation=keep_all, **options), rounds)
    assert np.abs(cut.mean - plain.mean).max() > 0.01


# ---- Choosing an arm ----------------------------------------------------------------------------


def test_argmax_adds_beta_times_the_deviation():
    mean, variance = np.array([1.0, 0.0, 0.5]), np.array([0.0, 0.25, 0.04])
    assert ucb_argmax(mean, variance, 1.0) == 0
    assert ucb_argmax(mean, variance, 4.0) == 1


def test_argmax_takes_the_smallest_arm_among_scores_equal_up_to_rounding():
    zero = np.zeros(3)
    assert ucb_argmax(zero, zero, 1.0) == 0
    assert ucb_argmax(np.array([0.0, 1.0 - 1e-12, 1.0]), zero, 1.0) == 1
    assert ucb_argmax(np.array([0.0, 1.0 - 1e-6, 1.0]), zero, 1.0) == 2
    assert ucb_argmax(np.array([0.0, 1.0 - 1e-6, 1.0]), zero, 1.0, tolerance=1e-5) == 1
    # The scale is max|mean| + beta max sigma = 1000 + 1, not the best score.
    assert ucb_argmax(np.array([-1000.0, 1.0 - 9e-7, 1.0]), zero, 1.0) == 1
    assert ucb_argmax(np.array([0.0, 1.0 - 9e-7, 1.0]), np.array([1e-2, 0, 0]), 1.0) == 2


def test_argmax_counts_a_variance_below_zero_as_zero():
    assert ucb_argmax(np.array([0.0, 1.0]), np.array([-1.0, -1e-16]), 5.0) == 1


@pytest.mark.parametrize("change", [{"variance": "iii"}, {"leverage": "ridge"}])
def test_an_unknown_option_is_refused(K, change):
    with pytest.raises(ValueError, match="must be one of"):
        nystrom_model(K, **change)
