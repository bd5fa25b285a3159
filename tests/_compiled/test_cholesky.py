"""Rank-one changes of a Cholesky factor against numpy."""

import numpy as np
import pytest

from tailproof._compiled import cholesky


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_rank_one_change(sign):
    rng = np.random.default_rng(0)
    half = rng.standard_normal((8, 20))
    A, x = half @ half.T, half[:, 0].copy()
    L = np.linalg.cholesky(A)
    assert cholesky.add_rank_one(L, x.copy(), sign)
    assert pytest.approx(A + sign * np.outer(x, x)) == L @ L.T


def test_a_change_that_leaves_nothing_positive_is_reported():
    L = np.linalg.cholesky(np.eye(3))
    assert not cholesky.add_rank_one(L, np.array([2.0, 0.0, 0.0]), -1.0)


def test_solutions():
    L = np.linalg.cholesky(np.array([[4.0, 2.0], [2.0, 3.0]]))
    for solve, matrix in ((cholesky.solve_lower, L), (cholesky.solve_transposed, L.T)):
        b = np.array([1.0, 2.0])
        solve(L, b)
        assert matrix @ b == pytest.approx([1.0, 2.0])
