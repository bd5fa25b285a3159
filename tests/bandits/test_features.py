"""Feature maps: how near they come to the kernel, and predictions by the literal formulas."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF

import literal
import tailproof as tp
from policy_setups import ARMS, KERNEL, SPACE, build, rounds
from tailproof.bandits.features import nystrom_embedding
from tailproof.bandits.low_rank import kernel_coordinates, pivoted_cholesky

LINE = np.linspace(0.0, 1.0, 60)[:, None]
BETWEEN = np.array([[0.03], [0.31], [0.555], [0.99], [1.2]])  # no arm among them, one outside


def cube(d, count=40, seed=0):
    """Random points of [0, 1]^d with its corners, so that the range is the whole side."""
    inner = np.random.default_rng(seed).uniform(size=(count, d))
    return np.vstack([np.zeros(d), np.ones(d), inner])


def error(phi, kernel, X):
    return float(np.abs(phi @ phi.T - kernel.matrix(X, X)).max())


def full(embedding):
    """The feature matrix (n, m) with every copy written out."""
    return np.repeat(
        embedding.coordinates @ embedding.directions.T, embedding.copies.astype(int), axis=1
    )


# ---- quadrature Fourier features ----------------------------------------------------------------


@pytest.mark.parametrize("nodes", [5, 6, 9, 12, 16])
@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("scale", [0.5, 0.8, 1.5])
def test_quadrature_error_is_under_its_bound(nodes, d, scale):
    X, kernel = cube(d), tp.SquaredExponential(scale)
    qff = tp.QuadratureFourier(nodes)
    bound = qff.error_bound(kernel, X)
    lemma = d * 2 ** (d - 1) / math.sqrt(2) * (math.e / (4 * nodes * scale**2)) ** nodes
    assert bound == pytest.approx(lemma, rel=1e-9)
    assert error(qff.features(kernel, X), kernel, X) <= bound + 1e-13


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("folded", [True, False])
def test_quadrature_error_falls_with_the_nodes_down_to_rounding(d, folded):
    X, kernel = cube(d), tp.SquaredExponential((0.4, 0.6, 0.5)[:d])
    errors = [
        error(tp.QuadratureFourier(nodes, folded=folded).features(kernel, X), kernel, X)
        for nodes in range(7, 20, 3)
    ]
    assert all(after < before / 5 for before, after in itertools.pairwise(errors))
    assert error(tp.QuadratureFourier(30).features(kernel, X[:9]), kernel, X[:9]) < 1e-13


@pytest.mark.parametrize("nodes", [1, 2, 7, 8])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_folded_and_paper_form_have_the_same_kernel(nodes, d):
    X, kernel = cube(d), tp.SquaredExponential((2.0, 2.5, 3.0)[:d])
    folded = tp.QuadratureFourier(nodes).features(kernel, X)
    paper = tp.QuadratureFourier(nodes, folded=False).features(kernel, X)
    np.testing.assert_allclose(folded @ folded.T, paper @ paper.T, rtol=0, atol=1e-14)
    # Folding halves the frequencies; the frequency 0 of an odd grid then has no sine.
    assert folded.shape[1] == nodes**d
    assert paper.shape[1] == 2 * nodes**d


@pytest.mark.parametrize("nodes", [4, 5])
def test_quadrature_kernel_is_the_weighted_sum_of_cosines(nodes):
    """Section 5 (a) by hand: sum of nu(w) cos(sqrt(2) w . (x - y) / l) over the tensor grid."""
    X, scales = cube(2, 10), np.array([1.1, 1.4])
    roots, weights = np.polynomial.hermite.hermgauss(nodes)
    expected = np.zeros((12, 12))
    for one, a in zip(roots, weights, strict=True):
        for other, b in zip(roots, weights, strict=True):
            angle = math.sqrt(2) * (X / scales) @ [one, other]
            expected += a * b / math.pi * np.cos(angle[:, None] - angle)
    for folded in (True, False):
        phi = tp.QuadratureFourier(nodes, folded).features(tp.SquaredExponential(scales), X)
        np.testing.assert_allclose(phi @ phi.T, expected, atol=1e-13)


def test_quadrature_features_have_unit_length_however_few_the_nodes():
    for nodes in (1, 2, 3, 40):
        phi = tp.QuadratureFourier(nodes).features(tp.SquaredExponential(2.0), LINE)
        np.testing.assert_allclose((phi**2).sum(axis=1), 1.0, rtol=1e-12)


@pytest.mark.parametrize("shift", [0.0, -3.0, 50.0])
def test_quadrature_does_not_mind_where_the_arms_are(shift):
    kernel = tp.SquaredExponential(0.3)
    assert error(tp.QuadratureFourier(30).features(kernel, LINE + shift), kernel, LINE) < 1e-11
    wide = tp.QuadratureFourier(30).error_bound(tp.SquaredExponential(3.0), 10 * LINE + shift)
    assert wide == pytest.approx(tp.QuadratureFourier(30).error_bound(kernel, LINE), rel=1e-6)


def test_the_nodes_of_theorem_3_make_the_error_harmless():
    """Fewer nodes than the theorem's leave an error the guarantee does not cover."""
    for horizon in (10, 1000, 10**6):
        nodes = tp.QuadratureFourier(1).nodes_for_theorem(horizon)
        assert nodes >= 2 * math.log(horizon**3) / math.log(4 / math.e) > nodes - 1
        kernel = tp.SquaredExponential(1.001 / math.sqrt(nodes))
        assert tp.QuadratureFourier(nodes).error_bound(kernel, LINE) < horizon**-3


# ---- every explicit map -------------------------------------------------------------------------

EXPLICIT = [tp.QuadratureFourier(20), tp.QuadratureFourier(21, folded=False), tp.Exact()]
EXPLICIT += [tp.RandomFourier(3), tp.RandomFourier(50)]


@pytest.mark.parametrize("features", EXPLICIT, ids=repr)
@pytest.mark.parametrize("d", [1, 2])
def test_an_embedding_is_coordinates_times_orthonormal_directions(features, d):
    X, kernel = cube(d, 15), tp.SquaredExponential((0.5, 0.7)[:d])
    embedding = features.embed(kernel, X, np.random.default_rng(0))
    weighted = embedding.directions * embedding.copies[:, None]
    r = embedding.coordinates.shape[1]
    np.testing.assert_allclose(embedding.directions.T @ weighted, np.eye(r), atol=1e-12)
    assert full(embedding).shape == (len(X), embedding.size)
    phi = full(embedding)
    np.testing.assert_allclose(
        phi @ phi.T, embedding.coordinates @ embedding.coordinates.T, atol=1e-12
    )
    np.testing.assert_allclose(embedding.squared_norms(), (phi**2).sum(axis=1), rtol=1e-12)
    if isinstance(features, tp.QuadratureFourier):
        np.testing.assert_allclose(phi, features.features(kernel, X), atol=1e-13)


@pytest.mark.parametrize("features", EXPLICIT, ids=repr)
def test_a_query_at_the_arms_gives_the_arms_coordinates(features):
    embedding = features.embed(tp.SquaredExponential(0.5), LINE, np.random.default_rng(0))
    inside, outside = embedding.query(LINE)
    np.testing.assert_allclose(inside, embedding.coordinates, atol=1e-9)
    assert outside is None or np.abs(outside).max() < 1e-9


@pytest.mark.parametrize("kernel", [tp.SquaredExponential(0.2), tp.Matern(0.7, 0.3), tp.Linear(2)])
def test_exact_features_reproduce_the_kernel(kernel):
    embedding = tp.Exact(1e-14).embed(kernel, LINE, np.random.default_rng(0))
    assert error(full(embedding), kernel, LINE) < 1e-11
    coarse = tp.Exact(1e-3).embed(kernel, LINE, np.random.default_rng(0))
    values = np.linalg.eigvalsh(kernel.matrix(LINE, LINE))
    assert coarse.size == int((values > 1e-3 * values[-1]).sum()) <= embedding.size
    assert (coarse.squared_norms() <= kernel.diagonal(LINE) + 1e-12).all()
    left_out = kernel.matrix(LINE, LINE) - full(coarse) @ full(coarse).T
    assert np.linalg.eigvalsh(left_out)[-1] <= 1.001e-3 * values[-1]


def test_coordinates_of_more_points_than_a_dense_matrix():
    kernel, X = tp.SquaredExponential(0.2), np.linspace(0, 1, 1200)[:, None]
    psi = kernel_coordinates(kernel, X)
    assert psi.shape[1] < 60
    assert error(psi, kernel, X) < 1e-12
    factor = pivoted_cholesky(kernel, X[:200], 1e-6)
    assert 0.0 <= (1.0 - (factor**2).sum(axis=1)).max() <= 1e-6


# ---- random Fourier features --------------------------------------------------------------------


def error_moments(kernel, h, m):
    """k(h), E e^2 and E e^4 for the error e of a mean of m cosines; E cos(j w h) is k(j h)."""
    k1, k2, k3, k4 = (kernel.matrix(j * h, np.zeros_like(h[:1]))[:, 0] for j in (1, 2, 3, 4))
    e2, e3, e4 = (1 + k2) / 2, (3 * k1 + k3) / 4, (3 + 4 * k2 + k4) / 8
    second = e2 - k1**2
    fourth = e4 - 4 * k1 * e3 + 6 * k1**2 * e2 - 3 * k1**4
    return k1, second / m, (fourth + 3 * (m - 1) * second**2) / m**3


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("nu", [None, 0.7, 2.5])
@pytest.mark.parametrize("m", [4, 64])
def test_random_features_are_unbiased_and_their_squared_error_falls_like_1_over_m(m, nu, d):
    """Mean and mean squared error of 1,500 maps are within 6 standard errors of the exact ones.

    The standard errors are exact, from the fourth moment: under Matern a few large frequencies
    make up most of the error at small distances, and a fixed share would not do. In 400 runs of
    the plain definition (cosines of drawn frequencies) nothing was beyond 4.2 of them.
    """
    kernel = tp.SquaredExponential(0.8) if nu is None else tp.Matern(nu, 0.8)
    h = np.linspace(0.1, 1.5, 6)[:, None] * np.ones(d) / math.sqrt(d)
    X, rng = np.vstack([np.zeros((1, d)), h]), np.random.default_rng(3)
    maps = [tp.RandomFourier(m).embed(kernel, X, rng).coordinates for _ in range(1500)]
    drawn = np.array([phi[1:] @ phi[0] for phi in maps])
    k, second, fourth = error_moments(kernel, h, m)
    assert (np.abs(drawn.mean(axis=0) - k) < 6 * np.sqrt(second / 1500)).all()
    squared = ((drawn - k) ** 2).mean(axis=0)
    assert (np.abs(squared - second) < 6 * np.sqrt((fourth - second**2) / 1500)).all()


def test_random_features_come_from_the_seed():
    def draw(seed):
        return tp.RandomFourier(5).embed(KERNEL, LINE, np.random.default_rng(seed)).coordinates

    assert np.array_equal(draw(1), draw(1))
    assert not np.allclose(draw(1) @ draw(1).T, draw(2) @ draw(2).T)


# ---- Nystrom embeddings -------------------------------------------------------------------------


def nystrom(kernel, X, dictionary, **options):
    psi = kernel_coordinates(kernel, X)
    return nystrom_embedding(
        tp.Nystrom(**options), psi, np.array(dictionary, dtype=np.int64), kernel, X
    )


@pytest.mark.parametrize("reduced", [False, True])
@pytest.mark.parametrize("kernel", [tp.SquaredExponential(0.2), tp.Matern(0.5, 0.3), tp.Linear()])
def test_nystrom_is_exact_when_the_dictionary_is_everything(kernel, reduced):
    embedding = nystrom(kernel, LINE, range(60), reduced=reduced, cutoff=1e-14)
    assert error(full(embedding), kernel, LINE) < 1e-9
    assert embedding.size == (embedding.coordinates.shape[1] if reduced else 60)


@settings(derandomize=True, max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 59), min_size=1, max_size=12, unique=True), st.booleans())
def test_nystrom_is_the_pseudo_inverse_formula(dictionary, reduced):
    kernel = tp.Matern(1.5, 0.1)
    K = kernel.matrix(LINE, LINE)
    embedding = nystrom(kernel, LINE, sorted(dictionary), reduced=reduced)
    phi = full(embedding)
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
        assert np.isfinite(full(embedding)).all()
        assert (embedding.squared_norms() <= 1.0 + 1e-9).all()
    if gap <= 1e-9:
        phi, same = full(single), full(double)
        np.testing.assert_allclose(same @ same.T, phi @ phi.T, atol=1e-5)


def test_an_empty_dictionary_has_no_features():
    embedding = nystrom(KERNEL, LINE, [])
    assert embedding.size == 0
    assert full(embedding).shape == (60, 0)
    assert (embedding.squared_norms() == 0.0).all()


# ---- predictions off the arms, by the literal formulas ------------------------------------------


@pytest.mark.parametrize("ridge", [0.3, 1.0, 4.0])
def test_gp_ucb_off_the_arms_is_scikit_learns_gaussian_process(ridge):
    opt = build("gp_ucb theory", ridge=ridge)
    arms, payoffs = rounds(40)
    opt.tell_index(arms, payoffs)
    gp = GaussianProcessRegressor(RBF(0.2), alpha=ridge, optimizer=None).fit(ARMS[arms], payoffs)
    mean, std = gp.predict(BETWEEN, return_std=True)
    np.testing.assert_allclose(opt.predict(BETWEEN).mean, mean, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(opt.predict(BETWEEN).std, std, rtol=1e-9)


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
    groups = {"groups": 8} if policy.startswith("moma") else {}
    opt = build(f"{policy} {features}", SPACE, kernel, variance=form, **groups)
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
        dictionary = ARMS[opt._posterior.dictionary]
        values, vectors = np.linalg.eigh(kernel.matrix(dictionary, dictionary))
        turn = np.eye(len(values)) if features == "reduced" else vectors.T
        Phi = kernel.matrix(points, dictionary) @ vectors / np.sqrt(values) @ turn
    payoffs = opt.history.payoffs
    if policy.startswith("ata"):
        b = opt._schedule.truncation(40, Phi.shape[1])
        check_off_arms(opt, Phi, form, lambda u: literal.truncated_sums(u, payoffs, b))
    else:
        played = opt.history.indices.tolist()
        gram = Phi[played].T @ Phi[played]
        d = np.trace(np.linalg.solve(gram + opt.config.options["ridge"] * np.eye(len(gram)), gram))
        k = literal.group_rule(40, d, 8)

        def medians(u):
            return literal.median_of_means_sums(u, payoffs, k, played)

        check_off_arms(opt, Phi, form, medians)
