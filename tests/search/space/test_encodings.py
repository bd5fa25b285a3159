"""Encodings: shares of [0, 1], coordinates in the model, neighbors."""

import math

import numpy as np
import pytest

from tailproof.search.space.parameters import Choice, Float, Int


@pytest.mark.parametrize("parameter", [Int(3, 9), Int(2, 11, step=3), Float(0, 2, step=0.5)])
def test_each_step_has_an_equal_share_and_an_even_place(parameter):
    u = (np.arange(parameter.count * 100) + 0.5) / (parameter.count * 100)
    places, counts = np.unique(parameter.encoding.encode(u), return_counts=True)
    assert np.allclose(
        places, np.arange(parameter.count) / (parameter.count - 1), rtol=0, atol=1e-15
    )
    assert (counts == 100).all()
    assert np.array_equal(np.unique(parameter.encoding.snap(u)), parameter.encoding.positions())


def test_log_integers_lie_on_the_log_scale():
    parameter = Int(1, 1000, log=True)
    for value in (1, 2, 10, 100, 1000):
        place = parameter.encoding.encode(np.array([parameter.position(value)]))
        assert place == pytest.approx(math.log10(value) / 3.0, abs=1e-15)


def test_options_lie_at_mutual_distance_one_and_share_evenly():
    parameter = Choice("a", "b", "c", "d")
    corners = parameter.encoding.encode(parameter.encoding.positions())
    gaps = np.linalg.norm(corners[:, None] - corners[None], axis=2)
    assert np.allclose(gaps, 1.0 - np.eye(4), rtol=0, atol=1e-15)
    assert parameter.encoding.snap(np.array([0.0, 0.2499, 0.25, 1.0])).tolist() == [
        0.125,
        0.125,
        0.375,
        0.875,
    ]


def test_a_continuum_s_coordinate_is_its_place():
    u = np.random.default_rng(0).random(50)
    for parameter in (Float(-3, 7), Float(1e-3, 1e3, log=True)):
        assert np.array_equal(parameter.encoding.encode(u)[:, 0], u)
        assert np.abs(parameter.encoding.snap(u) - u).max() < 1e-12
        assert parameter.count is None
        assert len(parameter.encoding.neighbors(0.3)) == 0


def test_moves_are_one_step_up_and_down_or_any_other_option():
    def near(parameter, value):
        return [parameter.value(u) for u in parameter.encoding.neighbors(parameter.position(value))]

    assert near(Int(1, 8), 1) == [2]
    assert near(Int(1, 8), 5) == [4, 6]
    assert near(Int(1, 10**9, log=True), 10**9) == [10**9 - 1]
    assert near(Int(0, 10, step=5), 5) == [0, 10]
    assert near(Float(0, 1, step=0.1), 0.3) == [0.2, 0.4]
    assert near(Choice("a", 1, None), 1) == ["a", None]
