"""The search over a box finds maxima inside, on edges and in corners."""

import numpy as np
import pytest

import tailproof as tp
from tailproof.bandits.box_search import candidates, maximize


@pytest.mark.parametrize("d", [1, 2, 3, 5, 12])
@pytest.mark.parametrize("peak", [0.3, 1.0, 1.7])
def test_the_maximum_of_a_smooth_function_is_found(d, peak):
    box = tp.Box(np.zeros(d), np.ones(d))
    found = maximize(lambda x: -((x - peak) ** 2).sum(axis=1), box, candidates(box))
    np.testing.assert_allclose(found.point, min(peak, 1.0), atol=2e-3)
    assert found.score >= found.best_candidate


@pytest.mark.parametrize("d", [1, 2, 4])
def test_every_point_is_within_reach_of_a_candidate(d):
    box = tp.Box(-np.ones(d), np.arange(1.0, d + 1))
    grid = candidates(box)
    points = np.random.default_rng(0).uniform(box.lower, box.upper, size=(50, d))
    apart = np.abs(points[:, None] - grid.points)  # (50, k, d)
    assert (apart <= grid.reach * (1 + 1e-9)).all(axis=2).any(axis=1).all()


def test_a_constant_function_gives_the_center():
    box = tp.Box([0.0, 2.0], [1.0, 4.0])
    found = maximize(lambda x: np.full(len(x), 3.0), box, candidates(box))
    assert found.point.tolist() == [0.5, 3.0]
