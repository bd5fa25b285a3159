"""The lower bound's instance: norms, separation, two-point payoffs."""

import itertools
import math

import numpy as np
import pytest
from scipy import integrate

from tailproof.environments import HardInstance, bump
from tailproof.environments.hard_instance import log_spectral_density
from tailproof.kernels import Linear, Matern, SquaredExponential

KERNELS = [SquaredExponential(0.1), Matern(2.5, 0.2), Matern(0.8, 0.5)]


def example(kernel=KERNELS[0], dim=1, gap=None, alpha=1.0, v=1.0):
    gap = gap or (0.004 if isinstance(kernel, Matern) else 0.01)
    return HardInstance(kernel, dim, 1.0, alpha, v, gap)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dim", [1, 2, 3])
def test_spectral_density_transforms_back_to_the_kernel(kernel, dim):
    sphere = 2.0 * math.pi ** (dim / 2.0) / math.gamma(dim / 2.0)
    lags = np.array([0.0, 0.05, 0.2, 0.7])
    expected = kernel.matrix(np.zeros((1, 1)), lags[:, None])[0]
    # In the logarithm of the frequency, from 1e-6 up; Matern tails decay as a power.
    t = np.linspace(math.log(1e-6), math.log(3e3), 60_001)
    u = np.exp(t)
    density = np.exp(log_spectral_density(kernel, dim, u)) * sphere * u**dim
    for lag, k in zip(lags, expected, strict=True):
        oscillation = bump.sphere_average(dim, 2.0 * math.pi * lag * u)
        got = integrate.trapezoid(density * oscillation, t)
        assert got == pytest.approx(k, abs=1e-5)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dim", [1, 2])
def test_norm_of_g_is_at_most_b(kernel, dim):
    instance = HardInstance.for_horizon(kernel, dim, 1.0, 0.7, 2.0, horizon=1_000_000)
    assert 0.0 < instance.norm <= 1.0


@pytest.mark.parametrize("kernel", KERNELS[1:])
def test_norm_agrees_with_minimum_norm_interpolation(kernel):
    """g' K^-1 g over ever denser points rises to the squared norm and never passes it."""
    instance = example(kernel, gap=0.01 if kernel.nu > 1.0 else 1e-3)
    reach = 8.0 * instance.width
    norms = []
    for n in (41, 161, 641):
        x = np.linspace(-reach, reach, n)[:, None]
        values = instance.g(x)
        gram = kernel.matrix(x, x) + 1e-13 * np.eye(n)
        norms.append(math.sqrt(values @ np.linalg.solve(gram, values)))
    assert norms[0] <= norms[1] * (1.0 + 1e-6)
    assert norms[2] <= instance.norm * (1.0 + 1e-3)
    assert norms[2] == pytest.approx(instance.norm, rel=0.02)


def test_widths_are_those_of_the_paper():
    length, d, B, gap = 0.1, 2, 1.0, 0.001
    instance = example(SquaredExponential(length), d, gap)
    h0, zeta = bump.peak(d), instance.zeta
    se = zeta * math.pi * length
    se /= math.sqrt(math.log(B * (2 * math.pi * length**2) ** (d / 4) * h0 / (2 * gap)))
    assert instance.width == pytest.approx(se, rel=1e-12)
    nu, length = 1.5, 0.3
    instance = example(Matern(nu, length), d, gap)
    a = 2**d * math.pi ** (d / 2) * math.gamma(nu + d / 2) * (2 * nu) ** nu
    a /= math.gamma(nu) * length ** (2 * nu)
    c = 1.0 / a
    inside = 2 * gap * (8 * math.pi**2) ** ((nu + d / 2) / 2) / (B * c**-0.5 * h0)
    assert instance.width == pytest.approx(instance.zeta * inside ** (1 / nu), rel=1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dim", [1, 2])
def test_g_peaks_at_zero_and_falls_below_gap_outside_w(kernel, dim):
    instance = HardInstance.for_horizon(kernel, dim, 1.0, 1.0, 1.0, horizon=100_000)
    assert instance.g(np.zeros((1, dim)))[0] == pytest.approx(2.0 * instance.gap, rel=1e-12)
    rng = np.random.default_rng(0)
    x = rng.uniform(-3.0 * instance.width, 3.0 * instance.width, (3000, dim))
    values, size = instance.g(x), np.abs(x).max(axis=1)
    assert np.abs(values).max() <= 2.0 * instance.gap
    assert values[size > instance.width].max() < instance.gap
    on_axis = np.zeros((2, dim))
    on_axis[:, 0] = instance.width / 2.0 * np.array([0.99, 1.01])
    inner, outer = instance.g(on_axis)
    assert inner > instance.gap > outer


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dim", [1, 2])
def test_no_point_is_gap_optimal_for_two_functions(kernel, dim):
    instance = HardInstance.for_horizon(kernel, dim, 1.0, 1.0, 1.0, horizon=10_000)
    n = 2001 if dim == 1 else 61
    axes = np.meshgrid(*[np.linspace(0.0, 1.0, n)] * dim, indexing="ij")
    points = np.stack([axis.ravel() for axis in axes], axis=1)
    # Half-way between neighbors is where two functions come closest to sharing a point.
    centers = instance.centers
    halves = [(a + b) / 2.0 for a, b in itertools.combinations(centers[:12], 2)]
    points = np.concatenate([points, centers, np.array(halves)])
    optimal = np.stack([instance.means(j, points) >= instance.gap for j in range(instance.count)])
    assert optimal.sum(axis=0).max() == 1
    assert optimal.any(axis=1).all()


def test_there_are_floor_of_one_over_w_cells_a_side():
    instance = example(SquaredExponential(0.1), 2, 0.001)
    assert instance.count == math.floor(1.0 / instance.width) ** 2 == len(instance.centers)
    for j, center in enumerate(instance.centers):
        assert instance.means(j, center[None])[0] == pytest.approx(2.0 * instance.gap)
    assert np.unique(instance.centers, axis=0).shape == instance.centers.shape


@pytest.mark.parametrize("alpha", [0.3, 1.0])
def test_payoffs_have_mean_f_and_moment_at_most_v(alpha):
    """Exactly, from the two-point law, and by z-tests at 5 standard errors (below 1e-6 each)."""
    instance = example(alpha=alpha, v=0.5, gap=0.02)
    points = np.random.default_rng(1).random((50, 1))
    f, law = instance.means(1, points), instance.law
    np.testing.assert_allclose(np.sign(f) * law.jump * law.probability(f), f, atol=1e-15)
    assert np.all(law.jump ** (1.0 + alpha) * law.probability(f) <= 0.5 * (1.0 + 1e-12))
    assert float(law.moment_bound(alpha, 2.0 * instance.gap)) == pytest.approx(0.5)
    n, peak = 200_000, instance.centers[1][None]
    y = instance.sample(1, np.repeat(peak, n, axis=0), np.random.default_rng(2))
    assert abs(y.mean() - 2.0 * instance.gap) < 5.0 * y.std() / math.sqrt(n)
    power = np.abs(y) ** (1.0 + alpha)
    assert abs(power.mean() - 0.5) < 5.0 * power.std() / math.sqrt(n)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("constant", [0.5, 1.0, 3.0])
def test_the_papers_choice_of_delta_is_the_largest_that_its_condition_allows(kernel, constant):
    T, alpha, v = 5_000, 0.8, 1.5
    instance = HardInstance.for_horizon(kernel, 1, 1.0, alpha, v, horizon=T, constant=constant)

    def ceiling(count):
        share = min(0.5, count / (4.0 * constant**2 * T))
        return 0.5 * share ** (alpha / (1.0 + alpha)) * v ** (1.0 / (1.0 + alpha))

    assert instance.gap <= ceiling(instance.count)
    slightly_larger = instance.gap * (1.0 + 1e-9)
    try:
        neighbor = HardInstance(kernel, 1, 1.0, alpha, v, slightly_larger)
    except ValueError:
        return
    assert neighbor.gap > ceiling(neighbor.count)


def test_delta_falls_with_the_horizon():
    gaps = [
        HardInstance.for_horizon(SquaredExponential(0.1), 1, 1.0, 1.0, 1.0, horizon=T).gap
        for T in (100, 10_000, 1_000_000)
    ]
    assert gaps == sorted(gaps, reverse=True)


RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: example(gap=0.6), r"`gap <= v\^\(1/\(1\+alpha\)\) / 2` must hold"),
        (lambda: example(gap=0.4), "`gap` must be small enough against `norm_bound` for w <= 1/2"),
        (lambda: example(Matern(2.5, 0.05), gap=0.45), r"for \|g\| <= B, but got \|g\|="),
        (lambda: example(Linear()), "`kernel` must be SquaredExponential or Matern"),
        (lambda: example(SquaredExponential((0.1, 0.2))), "with one lengthscale"),
        (lambda: example(dim=0), "`dim >= 1` must hold"),
        (lambda: example().means(99, [[0.5]]), "`0 <= j < 5` must hold, but got j=99"),
        (lambda: example().means(0, [[1.5]]), "`0 <= points <= 1` must hold"),
        (lambda: example().means(0, [[0.5, 0.5]]), r"`points` must have 1 column"),
        (lambda: example().sample(0, [[0.5]], 1), "`rng` must be a numpy.random.Generator"),
        (
            lambda: HardInstance.for_horizon(KERNELS[0], 1, 1.0, 1.0, 1.0, horizon=0),
            "`horizon >= 1` must hold",
        ),
    ],
)
def test_wrong_arguments_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dim", [1, 2])
def test_exact_norm_makes_the_norm_b_and_the_instance_no_easier(kernel, dim):
    options = {"horizon": 100_000, "exact_norm": True}
    exact = HardInstance.for_horizon(kernel, dim, 2.0, 0.7, 1.5, **options)
    printed = HardInstance.for_horizon(kernel, dim, 2.0, 0.7, 1.5, horizon=100_000)
    assert exact.norm == pytest.approx(2.0, rel=1e-9)
    assert exact.norm <= 2.0 * (1 + 1e-12)
    assert exact.count >= printed.count
    assert exact.gap >= printed.gap
    # The same gap with the printed width has fewer functions of a smaller norm.
    same = HardInstance(kernel, dim, 2.0, 0.7, 1.5, printed.gap, exact_norm=True)
    assert same.width < printed.width
    f = exact.means(0, exact.centers)
    assert f[0] == pytest.approx(2 * exact.gap)
    assert (f[1:] < exact.gap).all()


def test_exact_norm_must_be_a_flag():
    with pytest.raises(ValueError, match="`exact_norm` must be True or False"):
        HardInstance(KERNELS[0], 1, 1.0, 1.0, 1.0, 0.01, exact_norm=1)
