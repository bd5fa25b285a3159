"""The inverse root of a matrix applied to vectors, against its eigendecomposition."""

import numpy as np
import pytest

from tailproof.bandits.inverse_root import InverseRoot


@pytest.mark.parametrize("condition", [1.0, 10.0, 1e4, 1e8])
@pytest.mark.parametrize("m", [1, 2, 3, 17, 60])
def test_inverse_root_agrees_with_the_eigenvectors(m, condition):
    rng = np.random.default_rng(m)
    vectors = np.linalg.qr(rng.standard_normal((m, m)))[0]
    values = np.geomspace(1.0, condition, m)
    matrix, columns = (vectors * values) @ vectors.T, rng.standard_normal((m, 3))
    expected = (vectors / np.sqrt(values)) @ (vectors.T @ columns)
    # An error of rounding in A is one of its condition number times that in A^(-1/2).
    for low in (1.0, 1e-2):
        found = InverseRoot(matrix, low).times(columns)
        np.testing.assert_allclose(found, expected, atol=1e-13 + 1e-15 * condition)


def test_inverse_root_of_clustered_values_and_no_vectors():
    matrix = np.diag([1.0, 1.0, 1.0, 50.0])
    np.testing.assert_allclose(
        InverseRoot(matrix, 1.0).times(np.eye(4)), np.diag([1.0, 1.0, 1.0, 50.0**-0.5]), atol=1e-15
    )
    assert InverseRoot(matrix, 1.0).times(np.empty((4, 0))).shape == (4, 0)
