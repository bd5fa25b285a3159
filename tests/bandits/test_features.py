"""Feature maps: how well they approximate the kernel."""

import itertools
import math

import numpy as np
import pytest

import literal
import tailproof as tp
from policy_setups import KERNEL, feature_matrix, kernel_error

LINE = np.linspace(0.0, 1.0, 60)[:, None]


def cube(d, count=40, seed=0):
    """Random points of [0, 1]^d with its corners, so that the range is the whole side."""
    inner = np.random.default_rng(seed).uniform(size=(count, d))
    return np.vstack([np.zeros(d), np.ones(d), inner])


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
    assert kernel_error(qff.features(kernel, X), kernel, X) <= bound + 1e-13


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("folded", [True, False])
def test_quadrature_error_falls_with_the_nodes_down_to_rounding(d, folded):
    X, kernel = cube(d), tp.SquaredExponential((0.4, 0.6, 0.5)[:d])
    errors = [
        kernel_error(tp.QuadratureFourier(nodes, folded=folded).features(kernel, X), kernel, X)
        for nodes in range(7, 20, 3)
    ]
    assert all(after < before / 5 for before, after in itertools.pairwise(errors))
    assert kernel_error(tp.QuadratureFourier(30).features(kernel, X[:9]), kernel, X[:9]) < 1e-13


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
    for omega, a in zip(roots, weights, strict=True):
        for omega2, b in zip(roots, weights, strict=True):
            angle = math.sqrt(2) * (X / scales) @ [omega, omega2]
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
    assert (
        kernel_error(tp.QuadratureFourier(30).features(kernel, LINE + shift), kernel, LINE) < 1e-11
    )
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
    assert feature_matrix(embedding).shape == (len(X), embedding.size)
    phi = feature_matrix(embedding)
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
    assert kernel_error(feature_matrix(embedding), kernel, LINE) < 1e-11
    coarse = tp.Exact(1e-3).embed(kernel, LINE, np.random.default_rng(0))
    values = np.linalg.eigvalsh(kernel.matrix(LINE, LINE))
    assert coarse.size == int((values > 1e-3 * values[-1]).sum()) <= embedding.size
    assert (coarse.squared_norms() <= kernel.diagonal(LINE) + 1e-12).all()
    left_out = kernel.matrix(LINE, LINE) - feature_matrix(coarse) @ feature_matrix(coarse).T
    assert np.linalg.eigvalsh(left_out)[-1] <= 1.001e-3 * values[-1]


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


def test_linear_features_agree_with_the_literal_algorithm_and_have_a_guarantee(tmp_path):
    rng = np.random.default_rng(3)
    arms, kernel = rng.uniform(-0.5, 0.5, (12, 3)), tp.Linear(0.8)
    opt = tp.ata_gp_ucb(
        tp.Finite(arms),
        kernel,
        features=tp.LinearFeatures(),
        moment=tp.MomentBound(0.5, 2.0),
        norm_bound=1.0,
        horizon=100,
        seed=0,
    )
    assert opt.guarantee.holds
    assert opt.guarantee.widening == 0.0
    reference = literal.LiteralFeatures(
        Phi=np.sqrt(0.8) * arms,
        k_diag=kernel.diagonal(arms),
        ridge=1.0,
        truncation=lambda t, m: literal.theorem3_truncation(
            t, m, alpha=0.5, v=2.0, delta=0.1, T=100
        ),
        variance="i",
    )
    for arm, payoff in zip(rng.integers(12, size=60), rng.standard_t(1.5, 60), strict=True):
        opt.tell_index(int(arm), float(payoff))
        reference.tell(int(arm), float(payoff))
    prediction = opt.predict()
    np.testing.assert_allclose(prediction.mean, reference.mean, rtol=0, atol=1e-9)
    np.testing.assert_allclose(prediction.std**2, reference.variance, rtol=0, atol=1e-9)
    assert opt.posterior.directions == 3
    opt.save(tmp_path / "state.npz")
    assert (tp.load(tmp_path / "state.npz").predict().mean == prediction.mean).all()


def test_linear_features_ask_for_the_linear_kernel():
    with pytest.raises(ValueError, match="`kernel` must be Linear"):
        tp.LinearFeatures().embed(tp.Matern(2.5, 0.3), np.eye(2), np.random.default_rng(0))
