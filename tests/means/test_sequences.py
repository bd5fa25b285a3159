"""Confidence sequences: the supermartingale's inequality, coverage at all looks, extreme input."""

import numpy as np
import pytest

from tailproof.means.robust import robust_mean
from tailproof.means.sequences import (
    asymptotic_sequence,
    catoni_phi,
    catoni_sequence,
    sequence_quantile,
)


@pytest.mark.parametrize("order", [1.05, 1.3, 1.5, 1.8, 2.0])
def test_phi_lies_between_its_two_logarithms(order):
    x = np.concatenate(
        [np.linspace(-20, 20, 4001), np.logspace(-8, 6, 200), -np.logspace(-8, 6, 200)]
    )
    power = np.abs(x) ** order / order
    phi = catoni_phi(x, order)
    assert np.all(np.exp(phi) <= (1.0 + x + power) * (1.0 + 1e-12))
    assert np.all(np.exp(-phi) <= (1.0 - x + power) * (1.0 + 1e-12))


@pytest.mark.parametrize(
    ("order", "bound", "draw"),
    [
        (2.0, 1.0, lambda rng, n: rng.normal(size=n)),
        (2.0, 3.0, lambda rng, n: rng.standard_t(3.0, n)),
        (1.5, 4.0, lambda rng, n: np.sign(rng.random(n) - 0.5) * rng.pareto(1.9, n)),
    ],
)
def test_the_mean_is_inside_at_all_looks(order, bound, draw):
    # Error at most 10 % over all looks by theory; with 60 runs, more than 13 misses have
    # probability below 0.003. The third law has E|y|^1.5 = 3.9.
    rng = np.random.default_rng(4)
    missed = 0
    for _ in range(60):
        y = draw(rng, 400)
        looks = np.unique(np.geomspace(1, y.size, 25).astype(int))
        found = [catoni_sequence(y[:n], bound, order=order, level=0.9) for n in looks]
        missed += any(0.0 not in interval for interval in found)
    assert missed <= 13


def test_the_sequence_solves_its_equation_and_moves_with_the_payoffs():
    y = np.random.default_rng(0).standard_t(2.5, 300)
    found = catoni_sequence(y, 5.0)
    moved = catoni_sequence(10.0 * y + 4.0, 500.0)
    assert (moved.lower, moved.upper) == pytest.approx((10 * found.lower + 4, 10 * found.upper + 4))
    assert found.lower < y.mean() < found.upper


@pytest.mark.parametrize("y", [[3.0], [0.0] * 50, [1e280, -1e280, 1.0], [1e150] * 3])
def test_extreme_payoffs_work(y):
    found = catoni_sequence(y, 2.0)
    assert np.isfinite([found.lower, found.upper]).all()
    assert found.lower <= np.median(y) <= found.upper


def test_the_asymptotic_sequence_holds_at_all_looks_on_gaussian_payoffs():
    # Nominal error 10 %; 200 runs, more than 30 misses have probability below 0.01.
    rng = np.random.default_rng(6)
    missed = 0
    for _ in range(200):
        y = rng.normal(size=500)
        looks = np.unique(np.geomspace(5, y.size, 30).astype(int))
        missed += any(
            0.0 not in asymptotic_sequence(robust_mean(y[:n]).statistic, n, 0.9) for n in looks
        )
    assert missed <= 30


def test_the_multiple_exceeds_the_normal_one_and_depends_little_on_the_count():
    found = [sequence_quantile(n, 0.95) for n in (10, 100, 1000, 10**6)]
    assert min(found) > 2.9
    assert max(found) < 4.3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"moment_bound": 0.0}, "moment_bound > 0"),
        ({"moment_bound": 1.0, "order": 2.5}, "1 < order <= 2"),
        ({"moment_bound": 1.0, "level": 0.0}, "level"),
    ],
)
def test_bad_arguments_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        catoni_sequence([1.0, 2.0], **options)
