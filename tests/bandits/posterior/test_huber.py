"""HEAVY-OFUL and one-pass Huber regression against their pseudo-code, written out by rounds."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq

import literal
import tailproof as tp

ARMS = np.random.default_rng(4).uniform(size=(9, 2))
KERNEL = tp.Matern(1.5, 0.6)
# Exact features in another basis: the policies depend on inner products only.
PHI = np.linalg.cholesky(KERNEL.matrix(ARMS, ARMS))
ALPHA, NU, BOUND, T, DELTA, RIDGE = 0.6, 0.3, 1.5, 200, 0.1, 0.7
POLICIES = {"heavy": tp.heavy_oful, "one pass": tp.one_pass_huber}


def policy(name, **changes):
    options = {"features": tp.Exact(), "alpha": ALPHA, "noise_scale": NU, "norm_bound": BOUND}
    options |= {"horizon": T, "failure_probability": DELTA, "ridge": RIDGE, "seed": 1} | changes
    return POLICIES[name](tp.Finite(ARMS), KERNEL, **options)


def clip(x, tau):
    return -tau if x < -tau else tau if x > tau else x


class LiteralHuber:
    """Quantities shared by both papers; payoffs and nu in units of B, so that |theta| <= 1."""

    def __init__(self, c):
        self.c, self.d = c, len(PHI)
        self.H = RIDGE * np.eye(self.d)
        self.log = math.log(2 * T**2 / DELTA)
        sigma_min = 1 / math.sqrt(T)
        self.kappa = self.d * math.log(1 + T / (c * self.d * RIDGE * sigma_min**2))
        self.growth = math.log(3 * T) ** ((1 - ALPHA) / (2 * (1 + ALPHA)))
        self.tau0 = math.sqrt(2 * self.kappa) * self.growth / self.log ** (1 / (1 + ALPHA))
        self.least = max(NU / BOUND, sigma_min)
        self.theta, self.rows, self.t = np.zeros(self.d), [], 0

    def power(self, t):
        return t ** ((1 - ALPHA) / (2 * (1 + ALPHA)))

    def next_row(self, arm, payoff):
        x = PHI[arm]
        s = math.sqrt(x @ np.linalg.solve(self.H, x))
        self.t += 1
        sigma = self.sigma(s)
        w = s / sigma / math.sqrt(self.c)
        tau = self.tau0 * math.sqrt(1 + w**2) / w * self.power(self.t)
        self.H = self.H + np.outer(x, x) / (self.c * sigma**2)
        return x, payoff / BOUND, sigma, tau

    def band(self):
        """Mean and half width of the band of every arm, in units of payoff."""
        inverse = np.linalg.inv(self.H)
        sizes = np.sqrt([x @ inverse @ x for x in PHI])
        return BOUND * PHI @ self.theta, BOUND * self.beta() * sizes


class LiteralHeavy(LiteralHuber):
    """Huang et al., with L = B = b = 1."""

    def __init__(self):
        super().__init__(1)

    def sigma(self, s):
        c0 = 1 / math.sqrt(23 * self.log)
        c1 = math.log(3 * T) ** ((1 - ALPHA) / (1 + ALPHA)) / (48 * self.log ** (2 / (1 + ALPHA)))
        return max(self.least, s / c0, math.sqrt(s) / (2 * c1 * self.kappa) ** 0.25)

    def beta(self):
        if self.t == 0:
            return math.sqrt(RIDGE)
        noise = self.power(self.t) * math.sqrt(2 * self.kappa) * self.growth
        return 3 * math.sqrt(RIDGE) + 24 * noise * self.log ** (ALPHA / (1 + ALPHA))

    def tell(self, arm, payoff, theta):
        """Take `theta` for the minimum if the conditions of Karush, Kuhn and Tucker hold."""
        self.rows.append(self.next_row(arm, payoff))
        gradient = RIDGE * theta
        for x, y, sigma, tau in self.rows:
            gradient = gradient - x / sigma * clip((y - x @ theta) / sigma, tau)
        multiplier = max(0.0, -float(gradient @ theta)) if theta @ theta > 1 - 1e-10 else 0.0
        assert theta @ theta <= 1 + 1e-10
        # The loss is RIDGE-strongly convex: so near is the minimum.
        assert np.linalg.norm(gradient + multiplier * theta) <= 1e-9 * RIDGE
        self.theta = theta


class LiteralOnePass(LiteralHuber):
    """Wang et al., with alpha = 8 and the width of Tani and Futami."""

    def __init__(self):
        super().__init__(8)

    def sigma(self, s):
        beta = self.beta(self.t - 1)
        return max(self.least, s * math.sqrt(2 * beta / (self.tau0 * 8**0.5 * self.power(self.t))))

    def beta(self, t=None):
        t = self.t if t is None else t
        return math.sqrt(RIDGE * (2 + 4)) + (t > 0) * 409 * self.log * self.tau0 * self.power(t)

    def tell(self, arm, payoff, theta):
        x, y, sigma, tau = self.next_row(arm, payoff)
        gradient = -x / sigma * clip((y - x @ self.theta) / sigma, tau)
        moved = self.theta - np.linalg.solve(self.H, gradient)

        def at(mu):
            return np.linalg.solve(self.H + mu * np.eye(self.d), self.H @ moved)

        if moved @ moved > 1:
            largest = np.linalg.norm(self.H @ moved)
            moved = at(brentq(lambda mu: at(mu) @ at(mu) - 1, 0, largest, xtol=1e-15, rtol=1e-14))
        self.theta = moved


LITERAL = {"heavy": LiteralHeavy, "one pass": LiteralOnePass}


@pytest.mark.parametrize("scale", [0.2, 3.0, 100.0])
@pytest.mark.parametrize("name", POLICIES)
def test_rounds_agree_with_the_pseudo_code(name, scale):
    """Payoffs of 100 B are clipped and leave the ball; small ones do neither."""
    # A multiplier small enough that the choice depends on the payoffs.
    opt, written = policy(name, beta_multiplier=1e-3), LITERAL[name]()
    rng = np.random.default_rng(2)
    basis = np.linalg.solve(PHI, opt.posterior.embedding.coordinates)  # (d, d), orthogonal
    for _ in range(60):
        mean, width = written.band()
        prediction = opt.predict()
        np.testing.assert_allclose(prediction.mean, mean, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(prediction.upper - mean, 1e-3 * width, rtol=1e-8)
        arm = opt.ask_index()
        assert arm == literal.ucb_argmax(mean, (1e-3 * width) ** 2, 1.0)
        payoff = float(scale * rng.standard_t(1.5) + np.sin(5 * ARMS[arm, 0]))
        opt.tell_index(arm, payoff)
        theta = basis @ opt.posterior._current_theta()
        written.tell(arm, payoff, theta)


@pytest.mark.parametrize("name", POLICIES)
def test_state_is_restored_bit_for_bit(name, tmp_path):
    opt, rng = policy(name), np.random.default_rng(3)
    opt.tell_index(rng.integers(9, size=70), rng.standard_t(1.2, size=70))
    opt.predict()
    opt.save(tmp_path / "state.npz")
    same = tp.load(tmp_path / "state.npz")
    for one in (opt, same):
        one.tell_index(4, 1e200)
    assert (opt.predict().mean == same.predict().mean).all()
    assert (opt.predict().std == same.predict().std).all()
    assert opt.ask_index() == same.ask_index()


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("outlier", [1e150, -1e280])
def test_a_huge_payoff_stays_within_the_norm_bound(name, outlier):
    opt = policy(name)
    opt.tell_index([0, 1, 2, 0], [1.0, 0.5, 0.2, outlier])
    assert np.abs(opt.predict().mean).max() <= BOUND * (1 + 1e-9)
    assert np.isfinite(opt.predict().upper).all()


@pytest.mark.parametrize(("count", "expected"), [(15, 2.0), (400, 2.0), (3000, 1.42)])
def test_an_outlier_pulls_as_far_as_its_threshold_and_the_norm_bound_allow(count, expected):
    """One feature: the scales and thresholds of the published code, the minimum in closed form."""
    alpha, bound, horizon, delta, ridge = 0.5, 2.0, 10_000, 0.1, 1.0
    opt = tp.heavy_oful(
        tp.Finite([[1.0]]),
        tp.Linear(),
        features=tp.LinearFeatures(),
        alpha=alpha,
        noise_scale=1.0,
        norm_bound=bound,
        horizon=horizon,
    )
    opt.tell([1.0], [1.0] * count + [1e6])
    log, power = math.log(2 * horizon**2 / delta), (1 - alpha) / (2 * (1 + alpha))
    c0, growth = (23 * log) ** -0.5, math.log(3 * horizon) ** power
    c1 = growth**2 / (48 * log ** (2 / (1 + alpha)))
    kappa = math.log(1 + horizon**2 / ridge)
    tau0 = math.sqrt(2 * kappa) * growth / log ** (1 / (1 + alpha))
    H, target = ridge, 0.0
    for t in range(1, count + 2):
        size = H**-0.5
        sigma = max(1.0 / bound, size / c0, math.sqrt(size) / (2 * c1 * kappa) ** 0.25)
        w = size / sigma
        if t <= count:
            H, target = H + sigma**-2, target + 1.0 / bound / sigma**2
        else:
            target += tau0 * math.sqrt(1 + w * w) / w * t**power / sigma
    mean = float(opt.predict().mean[0])
    assert mean == pytest.approx(bound * min(target / H, 1.0), rel=1e-9)
    assert mean == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize("name", POLICIES)
def test_a_linear_bandit_on_points_off_the_arms(name):
    space = tp.Finite([[0.6, 0.8], [1.0, 0.0], [0.0, 0.0]])
    opt = POLICIES[name](
        space, tp.Linear(), features=tp.LinearFeatures(), alpha=1.0, noise_scale=0.1, norm_bound=1.0
    )
    opt.tell([0.6, 0.8], [0.5] * 50)
    opt.tell([1.0, 0.0], [0.3] * 50)
    opt.tell([0.0, 0.0], 7.0)  # its features are zero: nothing is learnt
    found = opt.predict([[0.6, 0.8], [0.3, 0.4], [0.0, 0.0]])
    np.testing.assert_allclose(found.mean[1:], [found.mean[0] / 2, 0.0], atol=1e-12)
    np.testing.assert_allclose(found.std[1:], [found.std[0] / 2, 0.0], atol=1e-12)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"features": tp.Nystrom()}, "`features` must be fixed for"),
        ({"alpha": 1.5}, "alpha"),
        ({"noise_scale": 0.0}, "noise_scale"),
        ({"norm_bound": -1.0}, "norm_bound"),
        ({"schedule": tp.CustomSchedule(1.0, 5.0)}, "must not truncate"),
        ({"schedule": "authors"}, "schedule"),
    ],
)
def test_bad_arguments_are_named(changes, message):
    with pytest.raises(ValueError, match=message):
        policy("heavy", **changes)
    with pytest.raises(ValueError, match="Finite"):
        tp.one_pass_huber(
            tp.Box(0.0, 1.0),
            KERNEL,
            features=tp.Exact(),
            alpha=1.0,
            noise_scale=1.0,
            norm_bound=1.0,
        )


@pytest.mark.parametrize("name", POLICIES)
def test_no_band_is_claimed(name):
    assert "its proof is not checked here" in str(policy(name).guarantee)
    assert "custom" in str(policy(name, schedule=tp.CustomSchedule(2.0)).guarantee)
