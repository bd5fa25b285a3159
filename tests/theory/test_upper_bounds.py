"""Regret bounds: the formulas, their growth, their units, and the lemmas they rest on."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tailproof as tp
from tailproof import theory
from tailproof.bandits.schedules import MomentBound, Setting

SETTING = Setting(MomentBound(0.8, 2.0), 1.5, 3.0, 0.1, 10_000)
properties = settings(max_examples=25, deadline=None, derandomize=True)

BOUNDS = {
    "Theorem 1": theory.theorem1_regret_bound,
    "Theorem 3": lambda s, T, g: theory.theorem3_regret_bound(
        s, T, directions=40, kernel_error=1e-25, gain=g
    ),
    "Theorem 4": lambda s, T, g: theory.theorem4_regret_bound(s, T, g, accuracy=0.3),
    "exact": lambda s, T, g: theory.exact_features_regret_bound(s, T, g, directions=12),
}
every_bound = pytest.mark.parametrize("bound", BOUNDS.values(), ids=BOUNDS)


# -- the formulas, written out


def test_theorem_1_written_out():
    s, T, g, a = SETTING, 5_000, 20.0, 0.8
    level = 2.0 ** (1 / 1.8) * (T - 1) ** (1 / (2 * (1 + a)))
    beta = 1.5 + 3 / math.sqrt(3) * level * math.sqrt(2 * g + 2 * math.log(10))
    expected = 2 * beta * math.sqrt(2 * (1 + 3) * g * T)
    assert float(theory.theorem1_regret_bound(s, T, g)) == pytest.approx(expected, rel=1e-12)


def test_the_bound_of_gp_ucb_written_out():
    schedule, T, g = (
        tp.SubGaussian(0.7, 1.5, 3.0, 0.1),
        np.array([10, 5_000]),
        np.array([3.0, 20.0]),
    )
    beta = 1.5 + 0.7 / math.sqrt(3) * np.sqrt(2 * g + 2 * math.log(10))
    expected = 2 * beta * np.sqrt(2 * (1 + 3) * g * T)
    np.testing.assert_allclose(theory.gp_ucb_regret_bound(schedule, T, g), expected, rtol=1e-12)
    with pytest.raises(ValueError, match="`schedule` must be a SubGaussian"):
        theory.gp_ucb_regret_bound(SETTING, T, g)


def test_gp_ucb_stays_below_its_bound():
    # Ten runs of 300 rounds; the bound holds in each with probability 0.9, in fact always by far.
    X = np.linspace(0, 1, 30)[:, None]
    kernel, schedule = tp.SquaredExponential(0.2), tp.SubGaussian(0.5, 1.0, 1.0, 0.1)
    gain = theory.gain_upper_bound(kernel, X, 1.0, np.array([300]))
    bound = float(theory.gp_ucb_regret_bound(schedule, [300], gain)[0])
    for seed in range(10):
        rng = np.random.default_rng(seed)
        f = kernel.matrix(X, X[:3]) @ rng.normal(size=3)
        f /= 2.0 * np.abs(f).max()
        opt, regret = tp.gp_ucb(tp.Finite(X), kernel, schedule, seed=seed), 0.0
        for _ in range(300):
            arm = opt.ask_index()
            regret += f.max() - f[arm]
            opt.tell_index(arm, float(f[arm] + 0.5 * rng.normal()))
        assert 0.0 < regret < bound


def _beta(bias, m, log, T):
    growth = (T - 1) ** ((1 - 0.8) / (2 * 1.8))
    return bias + 4 * math.sqrt(m / 3) * 2.0 ** (1 / 1.8) * log ** (0.8 / 1.8) * growth


def test_theorem_3_written_out():
    s, T, m, eps = SETTING, 5_000, 40, 1e-12
    beta = _beta(1.5, m, math.log(2 * m * 10_000 / 0.1), T)
    gain = m / 2 * math.log(1 + T / (3 * m))
    missed = sum(
        1.5 * (math.sqrt(eps) * (1 + t / 3) + eps * (math.sqrt(t / 3) + t / 3 + t * t / 9))
        for t in range(T)
    )
    expected = 2 * beta * math.sqrt(8 * gain * T) + 2 * missed
    bound = float(theory.theorem3_regret_bound(s, T, directions=m, kernel_error=eps))
    # sum sqrt(t) is bounded by an integral; nothing else is rounded up.
    assert expected <= bound <= expected * (1 + 1e-6)


def test_theorem_3_takes_the_smaller_information_gain():
    without_gain = theory.theorem3_regret_bound(SETTING, 5_000, directions=40, kernel_error=1e-20)
    for gain, smaller in ((10.0, True), (1e6, False)):
        with_gain = theory.theorem3_regret_bound(
            SETTING, 5_000, directions=40, kernel_error=1e-20, gain=gain
        )
        assert bool(with_gain < without_gain) == smaller
        assert with_gain <= without_gain


def test_theorem_4_written_out():
    s, T, g, eps = SETTING, 5_000, 2.0, 0.5
    rho = 3.0
    q = 6 * rho * math.log(4 * 10_000 / 0.1) / eps**2
    size = min(6 * rho * (1 + 3) * q * g, T, 70)
    assert float(theory.dictionary_size_bound(s, T, g, accuracy=eps, most=70)) == size == 70
    beta = _beta(1.5 * (1 + 1 / math.sqrt(1 - eps)), size, math.log(4 * size * 10_000 / 0.1), T)
    expected = 2 * beta * math.sqrt(rho * 8 * g * T)
    bound = theory.theorem4_regret_bound(s, T, g, accuracy=eps, most_directions=70)
    assert float(bound) == pytest.approx(expected, rel=1e-12)


def test_exact_features_written_out():
    s, T, g, m, c = SETTING, 5_000, 2.0, 7, 1e-5
    beta = _beta(3.0, m, math.log(4 * m * 10_000 / 0.1), T)
    bound = theory.exact_features_regret_bound(s, T, g, directions=m, residual=c)
    assert float(bound) == pytest.approx(2 * beta * math.sqrt((8 * g + c * T) * T), rel=1e-12)


def test_linear_bandits_are_exact_features_with_the_linear_gain():
    T = np.array([10, 10_000])
    direct = theory.exact_features_regret_bound(
        SETTING, T, theory.linear_gain_bound(T, 5, 3.0), directions=5
    )
    np.testing.assert_array_equal(theory.linear_bandit_regret_bound(SETTING, T, 5), direct)


# -- growth


def _slope(bound, setting, gain):
    """Power of T between two far horizons, each told to the policy."""
    ends = (10**15, 10**17)
    logs = [math.log(float(bound(replace(setting, horizon=T), T, gain(T)))) for T in ends]
    return (logs[1] - logs[0]) / math.log(ends[1] / ends[0])


@pytest.mark.parametrize("alpha", [0.3, 0.6, 1.0])
@pytest.mark.parametrize("nu", [None, 1.5, 6.0])
@pytest.mark.parametrize(("name", "theorem"), [("Theorem 1", 1), ("Theorem 4", 4), ("exact", 4)])
def test_bounds_grow_with_the_exponents_of_the_theorems(name, theorem, alpha, nu):
    """Logarithms add about 1 / ln T each, here at most 0.08; finite variance gives 3/4 and 1/2."""
    setting = replace(SETTING, moment=MomentBound(alpha, 2.0))
    kernel = "se" if nu is None else "matern"
    power = float(theory.gain_exponent(kernel, 1, nu))
    slope = _slope(BOUNDS[name], setting, lambda T: 10.0 * T**power)
    if name == "exact":
        power /= 2  # its number of directions is fixed, so gamma enters by its root alone
        expected = 1 / (1 + alpha) + power
    else:
        expected = float(theory.regret_exponent(theorem, alpha, kernel, 1, nu))
    assert -1e-3 <= slope - expected <= 0.08


@pytest.mark.parametrize("alpha", [0.3, 1.0])
def test_theorem_3_grows_with_its_exponent_on_its_own_nodes(alpha):
    """nodes = 2 log_{4/e}(T^3): the features add (ln T)^(3/2) and the error stays O(1)."""
    setting = replace(SETTING, moment=MomentBound(alpha, 2.0))

    def bound(s, T, gain):
        nodes = tp.QuadratureFourier(1).nodes_for_theorem(T)
        error = tp.QuadratureFourier(nodes).error_bound(
            tp.SquaredExponential(0.5), np.array([[0.0], [1.0]])
        )
        assert float(theory.approximation_regret(s, T, error)) < 1.0
        return theory.theorem3_regret_bound(s, T, directions=nodes, kernel_error=error)

    slope = _slope(bound, setting, lambda T: 0.0)
    assert 0.0 <= slope - 1 / (1 + alpha) <= 0.08


@every_bound
def test_bounds_grow_with_rounds_norm_moment_gain_and_confidence(bound):
    rounds = np.array([1, 2, 10, 100, 9_999, 10_000])
    gain = np.log1p(rounds)
    base = bound(SETTING, rounds, gain)
    assert base.shape == rounds.shape
    assert np.all(base > 0.0)
    assert np.all(np.diff(base) > 0.0)
    # The first round knows no payoff yet: only B stands in its width.
    for change, where in (
        ({"norm_bound": 1.6}, slice(None)),
        ({"moment": MomentBound(0.8, 2.1)}, slice(1, None)),
        ({"failure_probability": 0.05}, slice(1, None)),
    ):
        assert np.all(bound(replace(SETTING, **change), rounds, gain)[where] > base[where])
    # Theorem 3 counts its features instead while they tell less.
    less = bound(SETTING, rounds, 0.9 * gain)
    assert np.all(less <= base)
    assert less[-1] < base[-1]


@every_bound
@properties
@given(factor=st.floats(0.01, 100))
def test_bounds_scale_with_the_unit_of_payoff(bound, factor):
    moment = MomentBound(0.8, 2.0 * factor**1.8)
    scaled = replace(SETTING, moment=moment, norm_bound=1.5 * factor)
    expected = factor * bound(SETTING, np.array([5, 5_000]), 6.0)
    np.testing.assert_allclose(bound(scaled, np.array([5, 5_000]), 6.0), expected)


def test_trivial_bound_is_what_norm_and_moment_allow():
    by_norm = theory.trivial_regret_bound(replace(SETTING, norm_bound=0.5), [1, 10])
    np.testing.assert_allclose(by_norm, [1.0, 10.0])
    by_moment = theory.trivial_regret_bound(replace(SETTING, norm_bound=50.0), 10)
    assert float(by_moment) == pytest.approx(20.0 * 2.0 ** (1 / 1.8))


# -- what the bounds rest on


@properties
@given(seed=st.integers(0, 2**32 - 1), nodes=st.integers(3, 9), ridge=st.floats(0.3, 5))
def test_features_miss_posterior_and_gain_by_no_more_than_theorem_3_adds(seed, nodes, ridge):
    """The error's share of the regret at each round, and gamma~ <= gamma + eps T^2 / (2 lambda)."""
    rng = np.random.default_rng(seed)
    kernel, features = tp.SquaredExponential(0.7), tp.QuadratureFourier(nodes)
    X, T = rng.uniform(size=(15, 1)), 12
    played = rng.integers(15, size=T)
    K, phi = kernel.matrix(X, X), features.features(kernel, X)
    approximate = phi @ phi.T
    eps = np.abs(K - approximate).max()
    f = K @ rng.normal(size=15)
    B = math.sqrt(f @ np.linalg.lstsq(K, f, rcond=1e-12)[0])
    setting = Setting(MomentBound(1.0, 1.0), B, ridge, 0.1, T)
    added = np.diff(theory.approximation_regret(setting, np.arange(1, T + 2), eps), prepend=0.0)
    for t in range(1, T + 1):
        rows = played[:t]
        std, alpha = [], []
        for gram in (K, approximate):
            inverse = np.linalg.inv(gram[np.ix_(rows, rows)] + ridge * np.eye(t))
            cross = gram[:, rows]
            quadratic = np.einsum("ij,jk,ik->i", cross, inverse, cross)
            std.append(np.sqrt(np.maximum(np.diag(gram) - quadratic, 0.0)))
            alpha.append(cross @ inverse @ f[rows])
        missed = B * np.abs(std[0] - std[1]) + np.abs(alpha[0] - alpha[1])
        assert 2.0 * missed.max() <= added[t] * (1 + 1e-9) + 1e-9
    block = np.ix_(played, played)
    gains = [
        0.5 * np.linalg.slogdet(np.eye(T) + gram[block] / ridge)[1] for gram in (K, approximate)
    ]
    assert gains[1] <= gains[0] + eps * T * T / (2 * ridge) + 1e-12


def test_log_determinant_inequality_is_an_inequality():
    """A^-1 . (A - B) <= ln|A|/|B|, printed with "=" in Appendix A: strict for A != B."""
    rng = np.random.default_rng(0)
    B = np.cov(rng.normal(size=(4, 9)))
    x = rng.normal(size=4)
    A = B + np.outer(x, x)
    left = float(np.trace(np.linalg.solve(A, A - B)))
    right = np.linalg.slogdet(A)[1] - np.linalg.slogdet(B)[1]
    assert left < 0.99 * right


def test_dictionary_size_needs_one_plus_lambda_not_one_plus_its_inverse():
    """Independent arms, each played once, at a large ridge: every one of them is drawn.

    sigma^2 stays near 1, so q sigma^2 >= 1 puts all t points into the dictionary, while gamma_t is
    about t / (2 lambda): the size grows as lambda gamma_t, and the paper's bound falls short.
    """
    t, ridge, eps = 20_000, 1e5, 0.5
    setting = Setting(MomentBound(1.0, 1.0), 1.0, ridge, 0.1, t)
    gain = t / 2 * math.log1p(1 / ridge)
    q = theory.theorem4_oversampling(setting, eps)
    assert q * ridge / (1 + ridge) > 1  # sigma^2 of an arm played once
    assert float(theory.dictionary_size_bound(setting, t, gain, accuracy=eps)) >= t
    assert 6 * 3 * (1 + 1 / ridge) * q * gain < t


# -- errors


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: theory.theorem1_regret_bound(
                replace(SETTING, failure_probability=0.4), 10, 1.0
            ),
            r"`failure_probability <= 1/e` must hold .* failure_probability=0.4",
        ),
        (
            lambda: BOUNDS["Theorem 4"](replace(SETTING, ridge=0.9), 10, 1.0),
            r"`ridge >= 1` must hold .* ridge=0.9",
        ),
        (lambda: BOUNDS["Theorem 3"](SETTING, 10_001, 1.0), r"`rounds <= horizon` must hold"),
        (lambda: BOUNDS["exact"](SETTING, [1, 2], [1.0, 2.0, 3.0]), r"`gain` must be one number"),
        (lambda: BOUNDS["exact"](SETTING, 1, -1.0), r"`gain >= 0` must hold"),
        (lambda: BOUNDS["exact"](SETTING, 1, math.nan), r"`gain >= 0` must hold and be finite"),
        (
            lambda: theory.exact_features_regret_bound(
                SETTING, 1, 1.0, directions=3, residual=1e-3
            ),
            r"`0 <= residual \* horizon <= ridge` must hold",
        ),
        (
            lambda: theory.approximation_regret(SETTING, 1, 1.0),
            r"`0 <= kernel_error < 1` must hold",
        ),
        (
            lambda: theory.theorem4_regret_bound(SETTING, 1, 1.0, accuracy=1.0),
            r"`0 < accuracy < 1` must hold",
        ),
    ],
)
def test_wrong_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
