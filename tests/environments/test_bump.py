"""The bump function and its Fourier transform."""

import math

import numpy as np
import pytest
from scipy import integrate

from tailproof.environments import bump


def test_transform_in_one_dimension_agrees_with_adaptive_quadrature():
    radii = np.array([0.0, 0.3, 1.0, 4.0, 17.5])
    expected = [
        2.0
        * integrate.quad(
            lambda s: math.exp(-1.0 / (1.0 - s * s)) if s < 1.0 else 0.0,
            0.0,
            1.0,
            weight="cos",
            wvar=2.0 * math.pi * r,
            epsabs=1e-13,
        )[0]
        for r in radii
    ]
    np.testing.assert_allclose(bump.bump_transform(1, radii), expected, atol=1e-11)


@pytest.mark.parametrize("dim", [2, 3])
def test_radial_transform_agrees_with_the_integral_over_the_cube(dim):
    """A trapezoid rule on the cube: spectrally accurate, H being smooth and zero at its edge."""
    n = 65
    u = np.linspace(-1.0, 1.0, n)
    axes = np.meshgrid(*[u] * dim, indexing="ij")
    radius = np.sqrt(sum(axis**2 for axis in axes))
    height = bump.bump(radius) * (2.0 / (n - 1)) ** dim
    for direction in (np.eye(dim)[0], np.ones(dim) / math.sqrt(dim)):
        for r in (0.0, 0.4, 1.3):
            phase = sum(a * e for a, e in zip(axes, direction, strict=True))
            expected = float((height * np.cos(2.0 * math.pi * r * phase)).sum())
            got = bump.bump_transform(dim, np.array([r]))[0]
            assert got == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("dim", [1, 2, 3, 4, 6])
def test_transform_does_not_depend_on_the_number_of_nodes(dim):
    radii = np.linspace(0.0, 12.0, 50)
    alone = np.array([bump.bump_transform(dim, np.array([r]))[0] for r in radii])
    many = bump.bump_transform(dim, np.append(radii, 300.0))[:-1]
    np.testing.assert_allclose(alone, many, atol=1e-13)


def test_sphere_average_is_smooth_through_zero_in_higher_dimensions():
    z = np.array([0.0, 0.99e-4, 1.01e-4, 0.1])
    np.testing.assert_allclose(bump.sphere_average(5, z), 1.0 - z**2 / 10.0, atol=1e-6)


@pytest.mark.parametrize("dim", [1, 2, 3, 4, 6])
def test_zeta_is_the_last_point_at_half_height(dim):
    zeta = bump.half_height_radius(dim)
    assert bump.bump_transform(dim, np.array([zeta]))[0] == pytest.approx(bump.peak(dim) / 2.0)
    beyond = bump.bump_transform(dim, np.linspace(zeta * (1.0 + 1e-9), 30.0, 4000))
    assert beyond.max() < bump.peak(dim) / 2.0
    assert np.abs(beyond).max() <= bump.peak(dim)
