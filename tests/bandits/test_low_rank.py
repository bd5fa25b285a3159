"""Kernel coordinates: the features of finitely many points in as many dimensions as their rank."""

import numpy as np

import tailproof as tp
from policy_setups import kernel_error
from tailproof._util.linalg import pivoted_cholesky
from tailproof.bandits.low_rank import kernel_coordinates


def test_coordinates_of_more_points_than_a_dense_matrix():
    kernel, X = tp.SquaredExponential(0.2), np.linspace(0, 1, 1200)[:, None]
    psi = kernel_coordinates(kernel, X)
    assert psi.shape[1] < 60
    assert kernel_error(psi, kernel, X) < 1e-12


def test_the_pivoted_cholesky_factor_is_within_its_tolerance():
    kernel, X = tp.SquaredExponential(0.2), np.linspace(0, 1, 200)[:, None]
    K = kernel.matrix(X, X)
    factor, pivots = pivoted_cholesky(kernel.diagonal(X), lambda i: K[:, i], 1e-6)
    assert factor.shape == (200, len(pivots))
    assert 0.0 <= (1.0 - (factor**2).sum(axis=1)).max() <= 1e-6
