"""Moment bounds of payoffs from those of the noise: true ones, and as small as can be shown."""

import numpy as np
import pytest

import tailproof as tp
from tailproof import theory


@pytest.mark.parametrize("p", [1.01, 1.2, 1.5, 1.8, 2.0])
def test_the_inequality_behind_the_bound_holds(p):
    b = np.concatenate([-np.geomspace(1e-6, 1e6, 4000), np.geomspace(1e-6, 1e6, 4000)])
    left, right = np.abs(1 + b) ** p, 1 + p * b + 2 ** (2 - p) * np.abs(b) ** p
    assert (left <= right * (1 + 1e-12) + 1e-12).all()


@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("mean", [0.0, 0.3, 5.0])
def test_payoffs_of_two_point_noise_are_within_the_bound(alpha, mean):
    p = 1 + alpha
    for size in (0.5, 2.0, 30.0):
        for chance in (0.5, 0.1, 0.001):
            # Mean zero: +size with probability `chance`, else -size chance / (1 - chance).
            values = np.array([size, -size * chance / (1 - chance)])
            chances = np.array([chance, 1 - chance])
            noise = tp.MomentBound(alpha, float(chances @ np.abs(values) ** p))
            payoff = float(chances @ np.abs(mean + values) ** p)
            assert payoff <= theory.payoff_moment(noise, mean).v * (1 + 1e-12)
            if chance == 0.5:
                assert payoff <= theory.payoff_moment(noise, mean, symmetric=True).v * (1 + 1e-12)


def test_finite_variance_adds_the_squared_mean_and_symmetry_helps():
    noise = tp.MomentBound(1.0, 3.0)
    assert theory.payoff_moment(noise, 2.0).v == pytest.approx(7.0)
    heavy = tp.MomentBound(0.5, 3.0)
    assert theory.payoff_moment(heavy, 2.0, symmetric=True).v < theory.payoff_moment(heavy, 2.0).v


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: theory.payoff_moment(3.0, 1.0), "`noise` must be"),
        (lambda: theory.payoff_moment(tp.MomentBound(1.0, 1.0), -1.0), "largest_mean >= 0"),
        (lambda: theory.payoff_moment(tp.MomentBound(1.0, 1.0), 1.0, symmetric=1), "`symmetric`"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()
