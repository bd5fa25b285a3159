"""Discrete spectra of sums, products and columns: their kernels, error bounds and policies."""

import functools
import operator

import numpy as np
import pytest

import literal
import tailproof as tp
from policy_setups import kernel_error
from tailproof.bandits.spectra import spectrum, spectrum_size

X = np.random.default_rng(0).uniform(size=(60, 3))
SE, MATERN = tp.SquaredExponential, tp.Matern
KERNELS = {
    "additive": 0.5 * tp.Columns(SE(0.4), (0, 1)) + 0.5 * tp.Columns(SE(0.5), 2),
    "additive Matern": 0.3 * tp.Columns(MATERN(2.5, 0.4), 0)
    + 0.7 * tp.Columns(MATERN(1.5, 1.0), 2),
    "product Matern": tp.Columns(MATERN(2.5, 1.0), 0) * tp.Columns(MATERN(2.5, 1.0), 1),
    "mixed product": tp.Columns(MATERN(2.5, 1.0), 1) * tp.Columns(SE(0.8), 2),
    "same column twice": tp.Columns(SE(0.8), 0) * tp.Columns(MATERN(2.5, 1.0), 0),
    "scaled": 0.4 * SE((0.5, 0.6, 0.7)),
}
every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)


@every_kernel
@pytest.mark.parametrize("nodes", [9, 14])
@pytest.mark.parametrize("folded", [True, False])
def test_measured_errors_are_within_the_bound(kernel, nodes, folded):
    features = tp.QuadratureFourier(nodes, folded=folded)
    phi = features.features(kernel, X)
    found = spectrum(kernel, X, nodes)
    assert len(found.weights) == spectrum_size(kernel, 3, nodes)
    assert kernel_error(phi, kernel, X) <= found.error + 1e-12
    assert features.error(kernel, X) <= features.error_bound(kernel, X)
    np.testing.assert_allclose((phi**2).sum(axis=1), kernel.diagonal(X), rtol=1e-12)


@every_kernel
def test_errors_fall_with_the_nodes(kernel):
    errors = [tp.QuadratureFourier(nodes).error(kernel, X) for nodes in (4, 8, 16)]
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.01


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5, 3.3])
@pytest.mark.parametrize("nodes", [15, 16, 63, 64])
def test_equidistant_nodes_of_a_matern_kernel_converge_at_its_smoothness(nu, nodes):
    line, kernel = np.linspace(0, 1, 100)[:, None], MATERN(nu, 0.2)
    few, many = (tp.QuadratureFourier(n).error_bound(kernel, line) for n in (nodes, 4 * nodes))
    assert tp.QuadratureFourier(nodes).error(kernel, line) <= few
    # The mass beyond m nodes falls like m^(-2 nu), with logarithms from the step.
    assert many < few * 4.0 ** (-1.2 * nu)


def test_ten_dimensions_of_an_additive_kernel_have_few_features():
    parts = [0.1 * tp.Columns(SE(0.3), i) for i in range(10)]
    kernel = functools.reduce(operator.add, parts)
    points = np.random.default_rng(1).uniform(size=(40, 10))
    features = tp.QuadratureFourier(20)
    assert features.features(kernel, points).shape == (40, 200)
    assert features.error(kernel, points) < 1e-3  # 20 nodes at l = 0.3
    options = {"moment": tp.MomentBound(1.0, 2.0), "norm_bound": 1.0, "horizon": 20}
    opt = tp.ata_gp_ucb(tp.Finite(points), kernel, features=tp.QuadratureFourier(60), **options)
    assert opt.guarantee.holds
    assert "squared exponential alone" in opt.guarantee.rate_missing[0]


@pytest.mark.parametrize("name", ["additive", "mixed product"])
def test_policies_agree_with_the_literal_algorithm(name, tmp_path):
    kernel, features = KERNELS[name], tp.QuadratureFourier(7)
    options = {"moment": tp.MomentBound(0.8, 2.0), "norm_bound": 1.0, "horizon": 100}
    opt = tp.ata_gp_ucb(tp.Finite(X), kernel, features=features, seed=0, **options)
    reference = literal.LiteralFeatures(
        Phi=features.features(kernel, X),
        k_diag=kernel.diagonal(X),
        ridge=1.0,
        truncation=lambda t, m: literal.theorem3_truncation(
            t, m, alpha=0.8, v=2.0, delta=0.1, T=100
        ),
        variance="i",
    )
    rng = np.random.default_rng(2)
    for _ in range(60):
        beta = literal.theorem3_beta(
            reference.t, reference.directions, B=1.0, ridge=1.0, delta=0.1, alpha=0.8, v=2.0, T=100
        )
        prediction = opt.predict()
        scale = np.abs(reference.mean).max() + 1.0
        np.testing.assert_allclose(prediction.mean, reference.mean, rtol=0, atol=1e-9 * scale)
        np.testing.assert_allclose(prediction.std**2, reference.variance, rtol=0, atol=1e-9)
        assert prediction.beta == pytest.approx(beta, rel=1e-9)
        arm, payoff = opt.ask_index(), float(rng.standard_t(1.5))
        opt.tell_index(arm, payoff)
        reference.tell(arm, payoff)
    opt.save(tmp_path / "run.npz")
    assert np.array_equal(tp.load(tmp_path / "run.npz").predict().mean, opt.predict().mean)


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (MATERN(2.5, 0.3), "`kernel` must be SquaredExponential, Matern on one column"),
        (tp.Linear(), "`kernel` must be SquaredExponential"),
        (tp.Columns(SE(0.2), 3), "`columns` must be below the points' dimension 3"),
    ],
)
def test_other_kernels_are_refused(kernel, words):
    with pytest.raises(ValueError, match=words):
        tp.QuadratureFourier(8).features(kernel, X)


@pytest.mark.parametrize("columns", [(), (0, 0), -1, 0.5])
def test_columns_must_be_distinct_numbers(columns):
    with pytest.raises(ValueError, match="`columns"):
        tp.Columns(SE(0.2), columns)
