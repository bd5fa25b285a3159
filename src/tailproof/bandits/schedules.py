"""Truncation thresholds b_t and band factors beta_t: the theorems', the authors' and custom ones.

Notation: t payoffs told so far, m directions (features) in use, T horizon, delta failure
probability, E|y|^(1+alpha) <= v, |f| <= B in the RKHS norm, lambda ridge. A schedule computes

    truncation(t, m)         b_t, applied when payoff number t has been told
    beta(t, m, log_det)      beta_{t+1}: the band after t payoffs is mean +- beta_{t+1} std,
                             log_det = ln |I + K_t / lambda|

beta is a factor of the posterior standard deviation sigma as the paper defines it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Protocol, runtime_checkable

from tailproof._util import checks


@runtime_checkable
class Schedule(Protocol):
    """The thresholds and band factors of a policy, computed once a round."""

    def truncation(self, t: int, m: int) -> float:
        """Return the truncation threshold b_t of a schedule."""

    def beta(self, t: int, m: int, log_det: float) -> float:
        """Return the band factor beta_{t+1} of a schedule."""


def _alpha_or_probability(name: str, value: Any) -> float:
    """Return a number in (0, 1] among a schedule's constants, or raise an error that names it."""
    return checks.in_unit_interval(name, value, closed_above=True)


@dataclass(frozen=True)
class MomentBound:
    """The assumption E|y|^(1+alpha) <= v on RAW payoffs (section 2): it is not shift-invariant.

    Examples
    --------
    >>> MomentBound(alpha=1.0, v=4.0).scale
    2.0
    """

    alpha: float  # in (0, 1]; 1 means finite variance
    v: float  # positive, in units of payoff^(1+alpha)

    def __post_init__(self) -> None:
        """Check alpha and v, which schedules use."""
        checks.fields(self, alpha=_alpha_or_probability, v=checks.positive)

    @cached_property
    def scale(self) -> float:
        """v^(1/(1+alpha)) in schedules, in units of payoff."""
        return float(self.v ** (1.0 / (1.0 + self.alpha)))

    @cached_property
    def growth(self) -> float:
        """(1 - alpha) / (2 (1 + alpha)), the exponent of t in the schedules of Theorems 3 and 4."""
        return (1.0 - self.alpha) / (2.0 * (1.0 + self.alpha))


@dataclass(frozen=True)
class Setting:
    """The constants that the theorems assume to be given."""

    moment: MomentBound
    norm_bound: float
    ridge: float
    failure_probability: float
    horizon: int

    def __post_init__(self) -> None:
        """Check the constants of the theorems that a schedule uses."""
        checks.instance("moment", self.moment, MomentBound, "a MomentBound(alpha, v)")
        checks.positive("norm_bound", self.norm_bound)
        checks.positive("ridge", self.ridge)
        _alpha_or_probability("failure_probability", self.failure_probability)
        checks.integer("horizon", self.horizon, low=1)


def _payoff_truncation(moment: MomentBound, t: int) -> float:
    """Return TGP-UCB's threshold of payoff t: b_t = v^(1/(1+a)) t^(1/(2(1+a)))."""
    return moment.scale * float(t ** (0.5 / (1.0 + moment.alpha)))


def _direction_truncation(moment: MomentBound, t: int, log_term: float) -> float:
    """Return ATA-GP-UCB's threshold b_t = (v / L)^(1/(1+a)) t^((1-a)/(2(1+a)))."""
    return float((moment.v / log_term) ** (1.0 / (1.0 + moment.alpha)) * t**moment.growth)


def _direction_noise(moment: MomentBound, t: int, m: int, log_term: float) -> float:
    """Return sqrt(m) v^(1/(1+a)) L^(a/(1+a)) t^((1-a)/(2(1+a))), 0 before the first payoff."""
    if t == 0:
        return 0.0
    power = log_term ** (moment.alpha / (1.0 + moment.alpha))
    return math.sqrt(m) * moment.scale * power * float(t**moment.growth)


@dataclass(frozen=True)
class Theorem1:
    """Schedule of Theorem 1, for TGP-UCB.

    b_t = v^(1/(1+a)) t^(1/(2(1+a)))
    beta_{t+1} = B + 3/sqrt(lambda) b_t sqrt(ln|I + K_t/lambda| + 2 ln(1/delta))
    """

    setting: Setting

    def truncation(self, t: int, m: int) -> float:
        """Return the truncation threshold b_t."""
        return _payoff_truncation(self.setting.moment, t)

    def beta(self, t: int, m: int, log_det: float) -> float:
        """Return the band factor beta_{t+1}."""
        s = self.setting
        root = math.sqrt(log_det + 2.0 * math.log(1.0 / s.failure_probability))
        return s.norm_bound + 3.0 / math.sqrt(s.ridge) * self.truncation(t, m) * root


@dataclass(frozen=True)
class AuthorsTGP:
    """Schedule of the authors' runs of TGP-UCB: "order-wise similar to theory", no guarantee.

    b_t = v^(1/(1+a)) t^(1/(2(1+a)))
    beta_t = B sqrt(lambda) + b_t sqrt(ln t), as a factor of sigma/sqrt(lambda)
    """

    setting: Setting

    def truncation(self, t: int, m: int) -> float:
        """Return the truncation threshold b_t."""
        return _payoff_truncation(self.setting.moment, t)

    def beta(self, t: int, m: int, log_det: float) -> float:
        """Return the band factor beta_{t+1}, from the formula at t + 1."""
        s = self.setting
        noise = self.truncation(t + 1, m) * math.sqrt(math.log(t + 1))
        return s.norm_bound + noise / math.sqrt(s.ridge)


@dataclass(frozen=True)
class Theorem3:
    """Schedule of Theorem 3 (Lemma 1), for ATA-GP-UCB with quadrature Fourier features.

    b_t = (v / ln(2mT/delta))^(1/(1+a)) t^((1-a)/(2(1+a)))
    beta_{t+1} = B + 4 sqrt(m/lambda) v^(1/(1+a)) ln(2mT/delta)^(a/(1+a)) t^((1-a)/(2(1+a)))

    m is the number of directions truncated in. The paper's text puts nodes^d there although its
    map has 2 nodes^d features; the union bound of appendix D.1 runs over all of them.
    """

    setting: Setting

    def _log_term(self, m: int) -> float:
        """Return ln(2 m T / delta) of Theorem 3 for m features."""
        s = self.setting
        return math.log(2.0 * max(m, 1) * s.horizon / s.failure_probability)

    def truncation(self, t: int, m: int) -> float:
        """Return the truncation threshold b_t."""
        return _direction_truncation(self.setting.moment, t, self._log_term(m))

    def beta(self, t: int, m: int, log_det: float) -> float:
        """Return the band factor beta_{t+1}."""
        noise = _direction_noise(self.setting.moment, t, m, self._log_term(m))
        return self.setting.norm_bound + 4.0 / math.sqrt(self.setting.ridge) * noise


@dataclass(frozen=True)
class Theorem4:
    """Schedule of Theorem 4, for ATA-GP-UCB with Nystrom features.

    Exact features use it with accuracy 0, and with their rank as m.

    b_t = (v / ln(4mT/delta))^(1/(1+a)) t^((1-a)/(2(1+a)))
    beta_{t+1} = B (1 + 1/sqrt(1-eps))
                 + 4 sqrt(m/lambda) v^(1/(1+a)) ln(4mT/delta)^(a/(1+a)) t^((1-a)/(2(1+a)))
    """

    setting: Setting
    accuracy: float

    def _log_term(self, m: int) -> float:
        """Return ln(4 m T / delta) of Theorem 4 for m features."""
        s = self.setting
        return math.log(4.0 * max(m, 1) * s.horizon / s.failure_probability)

    def truncation(self, t: int, m: int) -> float:
        """Return the truncation threshold b_t."""
        return _direction_truncation(self.setting.moment, t, self._log_term(m))

    def beta(self, t: int, m: int, log_det: float) -> float:
        """Return the band factor beta_{t+1}."""
        bias = self.setting.norm_bound * (1.0 + 1.0 / math.sqrt(1.0 - self.accuracy))
        noise = _direction_noise(self.setting.moment, t, m, self._log_term(m))
        return bias + 4.0 / math.sqrt(self.setting.ridge) * noise


@lru_cache(maxsize=1024)
def _log_of_rounds(count: int) -> float:
    """Return ln of a number of rounds for the authors' schedule, positive for one round."""
    # It is a divisor, and would be zero for one feature and a horizon of one round.
    return max(math.log(count), 1e-12)


@dataclass(frozen=True)
class AuthorsATA:
    """Schedule of the authors' runs of ATA-GP-UCB: "order-wise similar to theory", no guarantee.

    b_t = t^((1-a)/(2(1+a))) (v / L)^(1/(1+a))
    beta = B sqrt(lambda) + sqrt(m) v^(1/(1+a)) L^(a/(1+a)) t^((1-a)/(2(1+a))),
    as a factor of sigma/sqrt(lambda), with L = ln(mT) for fixed features and beta_{t+1} taken at
    t + 1; L = ln((m_t + 1) T) for the Nystrom dictionary of round t (`dictionary`) and beta_{t+1}
    taken at t.
    """

    setting: Setting
    dictionary: bool

    def _log_term(self, m: int) -> float:
        """Return ln(m T) for m features, one more with a dictionary, as the authors have it."""
        return _log_of_rounds((m + self.dictionary) * self.setting.horizon)

    def truncation(self, t: int, m: int) -> float:
        """Return the truncation threshold b_t."""
        return _direction_truncation(self.setting.moment, t, self._log_term(m))

    def beta(self, t: int, m: int, log_det: float) -> float:
        """Return the band factor beta_{t+1}."""
        step = t if self.dictionary else t + 1
        noise = _direction_noise(self.setting.moment, step, m, self._log_term(m))
        return self.setting.norm_bound + noise / math.sqrt(self.setting.ridge)


def theorem4_oversampling(setting: Setting, accuracy: float) -> float:
    """Return q = 6 rho ln(4T/delta) / eps^2, rho = (1 + eps) / (1 - eps) (Theorem 4)."""
    rho = (1.0 + accuracy) / (1.0 - accuracy)
    log_term = math.log(4.0 * setting.horizon / setting.failure_probability)
    return 6.0 * rho * log_term / accuracy**2


def authors_oversampling(setting: Setting, accuracy: float) -> float:
    """Return the authors' q = ln(T) / eps^2."""
    return math.log(setting.horizon) / accuracy**2


@dataclass(frozen=True)
class SubGaussian:
    """Schedule of GP-UCB under R-sub-Gaussian noise (appendix B, before truncation enters).

    beta_{t+1} = B + R/sqrt(lambda) sqrt(ln|I + K_t/lambda| + 2 ln(1/delta))

    Examples
    --------
    >>> schedule = SubGaussian(noise_bound=1.0, norm_bound=2.0, ridge=1.0, failure_probability=1.0)
    >>> schedule.beta(t=9, m=0, log_det=4.0)
    4.0
    """

    noise_bound: float
    norm_bound: float
    ridge: float
    failure_probability: float

    def __post_init__(self) -> None:
        for name in ("noise_bound", "norm_bound", "ridge"):
            checks.positive(name, getattr(self, name))
        _alpha_or_probability("failure_probability", self.failure_probability)

    def truncation(self, t: int, m: int) -> float:
        """Return infinity: GP-UCB truncates nothing."""
        return math.inf

    def beta(self, t: int, m: int, log_det: float) -> float:
        """Return the band factor beta_{t+1}."""
        root = math.sqrt(log_det + 2.0 * math.log(1.0 / self.failure_probability))
        return self.norm_bound + self.noise_bound / math.sqrt(self.ridge) * root


@dataclass(frozen=True, init=False, repr=False)
class CustomSchedule:
    """A custom beta and truncation, each a number or a function of the round: no guarantee.

    An optimizer whose schedule holds functions cannot be saved: state files are data, never code.

    Parameters
    ----------
    beta
        beta_t, the factor of the standard deviation with which round t = 1, 2, .. chooses.
    truncation
        b_t, the threshold after t payoffs; infinity (default) truncates nothing.

    Examples
    --------
    Panel (f) of the paper's figure: beta_t = ln t, payoffs above t^(1/4) set to zero.

    >>> import math
    >>> panel_f = CustomSchedule(beta=math.log, truncation=lambda t: t**0.25)
    >>> panel_f.truncation(16, m=0), CustomSchedule(2.0).beta(7, m=0, log_det=0.0)
    (2.0, 2.0)
    """

    # `beta` and `truncation` are the methods.
    _beta: float | Callable[[int], float]
    _truncation: float | Callable[[int], float]

    def __init__(
        self,
        beta: float | Callable[[int], float],
        truncation: float | Callable[[int], float] = math.inf,
    ) -> None:
        if not callable(beta):
            checks.non_negative("beta", beta)
        if not callable(truncation) and truncation != math.inf:
            checks.non_negative("truncation", truncation)
        object.__setattr__(self, "_beta", beta)
        object.__setattr__(self, "_truncation", truncation)

    def __repr__(self) -> str:
        return f"CustomSchedule(beta={self._beta!r}, truncation={self._truncation!r})"

    def truncation(self, t: int, m: int) -> float:
        """Return the truncation threshold b_t."""
        threshold = self._truncation(t) if callable(self._truncation) else self._truncation
        if threshold == math.inf:
            return threshold
        return checks.non_negative(f"truncation({t})", threshold)

    def beta(self, t: int, m: int, log_det: float) -> float:
        """Return the band factor beta_{t+1}."""
        beta = self._beta(t + 1) if callable(self._beta) else self._beta
        return checks.non_negative(f"beta({t + 1})", beta)


def check_schedule(value: Any, names: tuple[str, ...]) -> str | Schedule:
    """Return one of the schedules' names, or a schedule."""
    if isinstance(value, str) and names:
        return checks.choice("schedule", value, names)
    other = f"one of {list(names)}," if names else "SubGaussian(...)"
    checks.instance("schedule", value, Schedule, f"{other} or CustomSchedule(...)")
    schedule: Schedule = value
    return schedule
