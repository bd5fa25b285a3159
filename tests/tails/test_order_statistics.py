"""The largest deviations: kept, tied and scaled."""

import numpy as np

from tailproof.tails.order_statistics import largest, robust_scale


def test_largest_keeps_what_a_full_sort_would():
    z = np.random.default_rng(15).standard_normal(50_000)
    top = largest(z)
    assert np.array_equal(top.z, np.sort(z)[::-1][: top.z.size])
    assert top.positive == np.count_nonzero(z > 0.0)
    assert top.n == z.size


def test_a_threshold_inside_a_pile_moves_to_its_edge():
    top = largest(
        np.concatenate([np.arange(101.0, 111.0), np.full(50, 100.0), np.arange(1.0, 90.0)])
    )
    assert top.usable(30) == 10


def test_scale_is_a_high_quantile_and_never_zero_for_varied_payoffs():
    assert robust_scale(np.arange(101.0)) == 90.0
    assert robust_scale(np.array([0.0] * 99 + [5.0])) > 0.0
