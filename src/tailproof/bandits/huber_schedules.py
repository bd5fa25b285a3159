"""Constants of the two policies by adaptive Huber regression: HEAVY-OFUL and its one-pass variant.

Both assume a central moment, E|y - f(x)|^(1+a) <= nu^(1+a), features |phi(x)| <= 1 and f(x) =
phi(x) . theta with |theta| <= B. Everything here is in units of B: payoffs and nu are divided by B.
Notation: T horizon, delta failure probability, m features, lambda ridge, L = ln(2 T^2 / delta).

- HEAVY-OFUL: Huang, Zhong, Wang and Yang, NeurIPS 2023 (arXiv 2306.06836); constants as in code
  published with its experiments, before they are divided there by factors found by trial.
- One pass: Wang, Zhang, Zhao and Zhou, ICML 2025 (arXiv 2503.00419), with the constants of Tani and
  Futami (UAI 2026) for no corruption: 8 for the paper's alpha, 409 for the noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from tailproof._util import checks


@dataclass(frozen=True)
class HuberSetting:
    """What the policies take as given."""

    alpha: float  # in (0, 1]
    noise_scale: float  # nu, in units of payoff
    norm_bound: float  # B, in units of payoff
    ridge: float
    failure_probability: float
    horizon: int

    def __post_init__(self) -> None:
        checks.in_unit_interval("alpha", self.alpha, closed_above=True)
        checks.positive("noise_scale", self.noise_scale)
        checks.positive("norm_bound", self.norm_bound)

    @cached_property
    def log_term(self) -> float:
        """L = ln(2 T^2 / delta)."""
        return math.log(2.0 * self.horizon**2 / self.failure_probability)

    @cached_property
    def exponent(self) -> float:
        """(1 - a) / (2 (1 + a)), of t in thresholds and widths."""
        return (1.0 - self.alpha) / (2.0 * (1.0 + self.alpha))

    @cached_property
    def smallest_scale(self) -> float:
        """sigma_min = 1 / sqrt(T)."""
        return 1.0 / math.sqrt(self.horizon)

    def kappa(self, m: int, spread: float = 1.0) -> float:
        """Return m ln(1 + T / (spread m lambda sigma_min^2)), a bound on ln |H_T / lambda|."""
        m = max(m, 1)
        return m * math.log1p(self.horizon**2 / (spread * m * self.ridge))

    def threshold(self, kappa: float) -> float:
        """Return tau_0 = sqrt(2 kappa) ln(3T)^((1-a)/(2(1+a))) / L^(1/(1+a))."""
        growth = math.log(3.0 * self.horizon) ** self.exponent
        return math.sqrt(2.0 * kappa) * growth / self.log_term ** (1.0 / (1.0 + self.alpha))


@dataclass(frozen=True)
class HeavyOFUL:
    """Scales sigma_t, thresholds tau_t and width of HEAVY-OFUL.

    sigma_t = max(nu, 1/sqrt(T), s / c_0, s^(1/2) / (2 kappa c_1)^(1/4))
    s = |phi_t| in H_{t-1}^-1
    c_0 = (23 L)^(-1/2),   c_1 = ln(3T)^((1-a)/(1+a)) / (48 L^(2/(1+a)))
    tau_t = tau_0 sqrt(1 + w^2) / w t^((1-a)/(2(1+a))),   w = s / sigma_t
    beta_{t+1} = 3 sqrt(lambda)
                 + 24 t^((1-a)/(2(1+a))) sqrt(2 kappa) ln(3T)^((1-a)/(2(1+a))) L^(a/(1+a))
    """

    spread: ClassVar[float] = 1.0  # payoffs enter H with weight 1 / (spread sigma^2)
    setting: HuberSetting

    def scale(self, t: int, m: int, size: float) -> float:
        """Return sigma_t of payoff t, whose features have the norm `size` in H_{t-1}^-1."""
        s = self.setting
        c0 = 1.0 / math.sqrt(23.0 * s.log_term)
        c1 = math.log(3.0 * s.horizon) ** (2.0 * s.exponent)
        c1 /= 48.0 * s.log_term ** (2.0 / (1.0 + s.alpha))
        by_root = math.sqrt(size) / (2.0 * s.kappa(m) * c1) ** 0.25
        return max(s.noise_scale / s.norm_bound, s.smallest_scale, size / c0, by_root)

    def threshold(self, t: int, m: int, w: float) -> float:
        """Return tau_t, in units of sigma_t."""
        s = self.setting
        level = s.threshold(s.kappa(m)) * float(t**s.exponent)
        return level * math.sqrt(1.0 + w * w) / w

    def width(self, t: int, m: int) -> float:
        """Return beta_{t+1}, a factor of |phi| in H_t^-1, in units of B."""
        s = self.setting
        if t == 0:
            return math.sqrt(s.ridge)
        # sqrt(2 kappa) ln(3T)^(..) L^(a/(1+a)) is tau_0 L.
        noise = 24.0 * float(t**s.exponent) * s.threshold(s.kappa(m)) * s.log_term
        return 3.0 * math.sqrt(s.ridge) + noise

    def truncation(self, t: int, m: int) -> float:
        """Return infinity: no payoff is set to zero."""
        return math.inf

    def beta(self, t: int, m: int, log_det: float) -> float:
        """Return beta_{t+1} as a factor of the standard deviation, in units of payoff."""
        return self.setting.norm_bound * self.width(t, m) / math.sqrt(self.setting.ridge)


@dataclass(frozen=True)
class OnePassHuber:
    """Scales sigma_t, thresholds tau_t and width of the one-pass variant.

    sigma_t = max(nu, 1/sqrt(T), s sqrt(2 beta_t / (tau_0 sqrt(8) t^((1-a)/(2(1+a))))))
    tau_t = tau_0 sqrt(1 + w^2) / w t^((1-a)/(2(1+a))),   w = s / (sqrt(8) sigma_t)
    beta_{t+1} = sqrt(6 lambda) + 409 tau_0 L t^((1-a)/(2(1+a)))

    with s = |phi_t| in V_{t-1}^-1, V_t = lambda + sum phi phi^T / (8 sigma^2).
    """

    spread: ClassVar[float] = 8.0
    setting: HuberSetting

    def _level(self, t: int, m: int) -> float:
        """Return tau_0 t^exponent, a factor of thresholds and widths with m features."""
        s = self.setting
        return s.threshold(s.kappa(m, self.spread)) * float(t**s.exponent)

    def scale(self, t: int, m: int, size: float) -> float:
        """Return sigma_t of payoff t, whose features have the norm `size` in V_{t-1}^-1."""
        s = self.setting
        needed = 2.0 * self.width(t - 1, m) / (math.sqrt(self.spread) * self._level(t, m))
        return max(s.noise_scale / s.norm_bound, s.smallest_scale, size * math.sqrt(needed))

    def threshold(self, t: int, m: int, w: float) -> float:
        """Return tau_t, in units of sigma_t."""
        return self._level(t, m) * math.sqrt(1.0 + w * w) / w

    def width(self, t: int, m: int) -> float:
        """Return beta_{t+1}, a factor of |phi| in V_t^-1, in units of B."""
        bias = math.sqrt(6.0 * self.setting.ridge)
        if t == 0:
            return bias
        return bias + 409.0 * self._level(t, m) * self.setting.log_term

    def truncation(self, t: int, m: int) -> float:
        """Return infinity: no payoff is set to zero."""
        return math.inf

    def beta(self, t: int, m: int, log_det: float) -> float:
        """Return beta_{t+1} as a factor of the standard deviation, in units of payoff."""
        return self.setting.norm_bound * self.width(t, m) / math.sqrt(self.setting.ridge)
