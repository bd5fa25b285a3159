"""When to stop: how much further trials may still gain, and the rules that use it.

The gain that is left is the simple regret of the recommended configuration x under the posterior,

    G = max_{x'} f(x') - f(x),

from joint draws of the mean payoff f at x, at configurations measured and at others all over the
space. A rule `until` holds when G is below a limit with probability `level`, and when the model
explains at least half of the variation of f over the space,

    R^2 = Var_x E f(x) / (Var_x E f(x) + E_x Var f(x)).

Where it explains less, it has not found out yet where payoffs are good, and a narrow peak that no
trial has met would be in no draw.

A rule is looked at many times, and the first look at which it holds is selected by its error. So a
look grants half of the error, 1 - (1 - level) / 2 instead of `level`, and a rule ends the search
when it holds at two looks in a row. This is practical: it rests on the model, and the share of
broken promises was measured, not proved.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tailproof._util import checks
from tailproof.search.acquisition import sobol
from tailproof.search.results import BaselineComparison
from tailproof.search.space.encodings import EncodedSpace

if TYPE_CHECKING:
    from tailproof.search.optimizer import Optimizer

Array = NDArray[np.float64]

DRAWS = 512
FEWEST_PAYOFFS = 20  # before a rule may hold
_FEWEST_EXPLAINED = 0.5  # share of the variation over the space
_INTERVAL = 20  # a rule is looked at when the payoffs have grown by one in so many
_BEYOND_REACH = 1e3  # times the limit: a million times as many payoffs
_MOST_SEEN, _ANYWHERE, _NEARBY = 192, 256, 64
_RADII = (0.02, 0.1)  # of points around the recommended one, as a share of the cube's side


@dataclass(frozen=True)
class RemainingGain:
    """What further trials may still gain over the recommended configuration.

    Attributes
    ----------
    expected
        Expected gain of knowing the best configuration, in units of the payoff.
    upper
        The gain is below this with probability at least `level`: the quantile, or `expected` where
        rare large gains make that larger.
    level
    payoffs
        Number of payoffs when this was computed.
    explained
        Share R^2 of the variation of the mean over the space that the model explains.
    unit
        Payoff of which a relative limit is a share: that of the baseline, if there is one, else
        the recommended configuration's, without its sign.
    """

    expected: float
    upper: float
    level: float
    payoffs: int
    unit: float
    explained: float = 1.0

    @property
    def known(self) -> bool:
        """Whether the payoffs are enough, and the model explains enough, to rely on it."""
        return self.payoffs >= FEWEST_PAYOFFS and self.explained >= _FEWEST_EXPLAINED


@dataclass(frozen=True)
class Until:
    """A limit on the remaining gain: an amount in units of the payoff, or a share of the payoff.

    Examples
    --------
    >>> Until.parse("2%"), Until.parse(0.5)
    (Until(limit=0.02, relative=True), Until(limit=0.5, relative=False))
    """

    limit: float
    relative: bool

    @classmethod
    def parse(cls, value: Any) -> Until:
        """Return the limit given as a number, or as text such as "2%" or "0.5"."""
        if isinstance(value, Until):
            return value
        text = value.strip() if isinstance(value, str) else value
        relative = isinstance(text, str) and text.endswith("%")
        if isinstance(text, str):
            try:
                text = float(text.removesuffix("%"))
            except ValueError:
                raise ValueError(
                    f'`until` must be a number or a share such as "2%", but got until={value!r}.'
                ) from None
        limit = checks.positive("until", text)
        return cls(limit / 100.0 if relative else limit, relative)

    def __str__(self) -> str:
        """Return the limit of the rule `until` as text."""
        return f"{100.0 * self.limit:g}%" if self.relative else f"{self.limit:g}"

    def amount(self, gain: RemainingGain) -> float:
        """Return the limit of the rule `until` in units of the payoff."""
        return self.limit * gain.unit if self.relative else self.limit

    def holds(self, gain: RemainingGain) -> bool:
        """Tell whether so little is left to gain that the rule `until` holds."""
        return gain.known and gain.upper <= self.amount(gain)

    def expected_payoffs(self, gain: RemainingGain) -> int | None:
        """Return after how many payoffs in all the rule may hold; None if that is beyond reach.

        The gain is assumed to fall as one over the square root of the number of payoffs.

        Examples
        --------
        >>> Until.parse(0.5).expected_payoffs(RemainingGain(0.4, 1.0, 0.9, 50, 10.0))
        200
        """
        ratio = gain.upper / max(self.amount(gain), 1e-300)
        if not ratio <= _BEYOND_REACH:
            return None
        return max(math.ceil(gain.payoffs * max(ratio, 1.0) ** 2), FEWEST_PAYOFFS)


@dataclass(frozen=True)
class Look:
    """What a look at the stopping rules found.

    Attributes
    ----------
    stop
        "until" or "until_better" if that rule holds, else "".
    text
        What may still be gained, and when the search may end, in words.
    gain
    """

    stop: str
    text: str
    gain: RemainingGain


class StoppingRule:
    """The rules of one search: `until` and `until_better`, each of which may be off.

    Looks are spaced out: the more payoffs, the more trials between two of them. A rule ends the
    search when it holds at two looks in a row.
    """

    def __init__(self, until: Until | None, until_better: bool, level: float) -> None:
        self.until, self.until_better, self.level = until, until_better, level
        self._last = 0  # payoffs at the last look
        self._held: set[str] = set()  # the rules that held at the last look

    @property
    def level_of_a_look(self) -> float:
        """Level at which a single look judges: half of the error of `level`."""
        return 0.5 + 0.5 * self.level

    @classmethod
    def parse(
        cls, until: Any, until_better: Any, level: Any, *, has_baseline: bool
    ) -> StoppingRule:
        """Return the stopping rules of checked arguments."""
        parsed = None if until is None else Until.parse(until)
        better = checks.flag("until_better", until_better)
        if better and not has_baseline:
            raise ValueError("`until_better` needs a `baseline`, but got none.")
        return cls(parsed, better, checks.in_unit_interval("level", level, closed_above=False))

    @property
    def active(self) -> bool:
        """Whether any stopping rule is on."""
        return self.until is not None or self.until_better

    def look(self, optimizer: Optimizer) -> Look | None:
        """Look whether a rule holds; None if no rule is on, or the last look was a moment ago."""
        if not self.active or not look_due(len(optimizer), self._last):
            return None
        self._last = len(optimizer)
        compared = optimizer.recommend(level=self.level).baseline
        gain = optimizer.remaining_gain(level=self.level_of_a_look)
        held = self._rules_that_hold(gain, compared)
        stop = next((rule for rule in held if rule in self._held), "")
        self._held = set(held)
        return Look(stop, self._in_words(gain, compared), gain)

    def _rules_that_hold(
        self, gain: RemainingGain, compared: BaselineComparison | None
    ) -> list[str]:
        """Return the names of the stopping rules that hold at a look."""
        held = []
        better = 0.0 if compared is None else compared.probability
        if self.until_better and better >= self.level_of_a_look:
            held.append("until_better")
        if self.until is not None and self.until.holds(gain):
            held.append("until")
        return held

    def _in_words(self, gain: RemainingGain, compared: BaselineComparison | None) -> str:
        """Say what may still be gained, and when the search may stop."""
        parts = [f"expected remaining gain {gain.expected:.3g}"]
        if self.until is not None:
            expected = self.until.expected_payoffs(gain)
            if not gain.known:
                share = f"{100 * gain.explained:.0f} % of the variation"
                parts.append(f"of which little is known yet (the model explains {share})")
            when = "beyond reach" if expected is None else f"after about {expected:,} payoffs"
            parts.append(f"below {self.until} {when}")
        if self.until_better and compared is not None:
            parts.append(f"better than the baseline with probability {compared.probability:.2f}")
        return ", ".join(parts)


def look_due(payoffs: int, last: int) -> bool:
    """Tell whether a stopping rule is to be looked at again, `last` payoffs known the last time.

    Examples
    --------
    >>> look_due(20, 0), look_due(41, 40), look_due(105, 100)
    (True, False, True)
    """
    return payoffs >= FEWEST_PAYOFFS and payoffs - last >= max(payoffs // _INTERVAL, 2)


def gain_pool(
    space: EncodedSpace, u: Array, seen: Array, rng: np.random.Generator
) -> tuple[Array, slice]:
    """Return the places (k, d) of the remaining gain: where the best mean may lie, u (d,) first.

    And which of them are spread evenly over the space. All places of a small space; else those seen
    (n, d), at most the latest 192 distinct ones, Sobol points, and points around the recommended
    one.
    """
    limit = _MOST_SEEN + _ANYWHERE
    if space.count is not None and space.count <= limit:
        return np.vstack([u, space.enumerate(limit)]), slice(1, None)
    distinct = np.unique(space.snap(seen[-_MOST_SEEN:]), axis=0)
    anywhere = sobol(space.dimension, _ANYWHERE, rng)
    radii = np.repeat(_RADII, _NEARBY // len(_RADII))[:, None]
    nearby = np.clip(u + radii * rng.standard_normal((len(radii), len(u))), 0.0, 1.0)
    pool = np.vstack([u, space.snap(anywhere), distinct, space.snap(nearby)])
    return pool, slice(1, 1 + _ANYWHERE)


def explained_share(draws: Array) -> float:
    """Return R^2 from joint draws (s, k) over the space: whether the remaining gain is known.

    What all places share of a draw is left out: it does not tell them apart.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> noise = rng.standard_normal((500, 50))
    >>> round(explained_share(noise), 1), round(explained_share(noise + 3.0 * np.arange(50)), 1)
    (0.0, 1.0)
    """
    centered = draws - draws.mean(axis=1, keepdims=True)
    scale = float(np.abs(centered).max(initial=0.0))
    if scale == 0.0:
        return 1.0
    centered /= scale  # squares of huge payoffs would not be finite
    known, unknown = float(centered.mean(axis=0).var()), float(centered.var(axis=0).mean())
    return known / (known + unknown)


def gain_of_draws(
    draws: Array, spread: slice, level: float, payoffs: int, unit: float
) -> RemainingGain:
    """Return the remaining gain from joint draws (s, k), the recommended configuration first.

    `spread` are the places that are spread evenly over the space.
    """
    gains = draws.max(axis=1) - draws[:, 0]
    expected = float(gains.mean())
    return RemainingGain(
        expected=expected,
        upper=max(float(np.quantile(gains, level)), expected),
        level=level,
        payoffs=payoffs,
        unit=abs(unit),
        explained=explained_share(draws[:, spread]),
    )
