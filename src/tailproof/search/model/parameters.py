"""What a refit learns from the payoffs, as plain data.

The model: at x a payoff is m(x) + s(x) e. Pilot m is a process, s a scale that may grow with m, and
e noise whose law is learnt as far as it is needed: a cut that tames it, and the remainder, what the
cut takes off on average, itself a function of x where the payoffs show it. The mean payoff is

    f(x) = m(x) + s(x) (center + remainder(x)),

so the target is the mean, not the median. If the law of e is the same everywhere the remainder is
a constant and says nothing about where the best mean is, whatever the tails.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailproof.search.model.gp import Layout, Shape
from tailproof.search.model.hyperparameters import Prior
from tailproof.search.model.noise import AdaptiveWindow, Cut, RobustLoss

Array = NDArray[np.float64]

# Steps of standardized payoffs in one robust standard deviation.
_GRAINS = 2.0**20
# Robust standard deviations from the median, times the payoffs, beyond which all is equally far.
_FAR = 200.0
# The scale s(x) stays within this factor of 1.
_LARGEST_LOG_SPREAD = math.log(10.0)


@dataclass(frozen=True)
class Data:
    """Payoffs and where they were seen.

    Attributes
    ----------
    points
        Model coordinates, (n, p).
    payoffs
        (n,), in the user's units, larger is better.
    """

    points: Array
    payoffs: Array

    def __len__(self) -> int:
        return len(self.payoffs)

    def first(self, count: int) -> Data:
        """Return the first `count` payoffs."""
        return Data(self.points[:count], self.payoffs[:count])


@dataclass(frozen=True)
class Settings:
    """How a calibration is made: the practical optimizer's own choices, none from a theorem.

    Attributes
    ----------
    layout
        Of the model's coordinates.
    loss
        Which payoffs are tamed.
    prior
        On the pilot's shape.
    level
        About how many excesses may reach the remainder's bound: ln(1 / delta) at delta = 0.1.
    doubt
        Log prior odds against a remainder that varies over the space, where gross outliers lie as
        far below as above; the fewer, the less they cancel (`taming.balance`).
    """

    layout: Layout
    loss: RobustLoss = field(default_factory=AdaptiveWindow)
    prior: Prior = field(default_factory=Prior)
    level: float = math.log(1.0 / 0.1)
    doubt: float = 2.5


@dataclass(frozen=True)
class Spread:
    """How the scale of the noise grows with the pilot: s = exp(rate (m - middle)), within 1/10..10.

    Payoffs of large mean are often noisier (durations, revenue): noise that multiplies. One number
    says it, where a scale free to vary over the space would need far more payoffs.
    """

    rate: float = 0.0
    middle: float = 0.0

    def of(self, pilot: Array) -> Array:
        """Return s where the pilot is `pilot`, (n,)."""
        log = self.rate * (pilot - self.middle)
        return np.exp(np.clip(log, -_LARGEST_LOG_SPREAD, _LARGEST_LOG_SPREAD))

    def slope(self, pilot: float) -> float:
        """Return ds / dm."""
        log = self.rate * (pilot - self.middle)
        return self.rate * math.exp(log) if abs(log) < _LARGEST_LOG_SPREAD else 0.0


@dataclass(frozen=True)
class Remainder:
    """What the cut takes off, in units of the noise: its mean, and how that varies over the space.

    Attributes
    ----------
    bound
        For the mean, single excesses are clipped at -+ bound.
    scale
        Root mean square of the excesses so clipped.
    bias
        How much of their mean the bound may hide: bound x level / n, times how little what lies
        below and above cancels (`taming.one_sided`).
    varying
        How they vary; None if they do not.
    """

    bound: float
    scale: float
    bias: float
    varying: Gross | None


@dataclass(frozen=True)
class Gross:
    """Gross outliers, and how they vary over the space.

    Attributes
    ----------
    low, high
        What lies outside is gross.
    bound
        The most that counts of what the cut takes off one. It grows with the payoffs.
    scale
        Root mean square of what counts.
    shape
        Of the process that describes how that varies, in units of `scale`.
    weight
        Posterior probability that it varies at all.
    """

    low: float
    high: float
    bound: float
    scale: float
    shape: Shape
    weight: float

    def marks(self, residuals: Array, excess: Array) -> Array:
        """Return the excess of gross residuals, at most `bound`, in units of `scale`; else 0, (n,).

        All that the cut takes off a gross one counts, not only what lies beyond `low` or `high`:
        what it does not count would be taken for the same everywhere.
        """
        far = (residuals < self.low) | (residuals > self.high)
        return np.where(far, np.clip(excess, -self.bound, self.bound), 0.0) / self.scale


@dataclass(frozen=True)
class Calibration:
    """All that a refit learns, in standardized units but for location and scale."""

    count: int
    location: float
    scale: float
    shape: Shape
    cut: Cut
    spread: Spread
    remainder: Remainder | None
    anchors: Array | None = None  # basis points where there are many sites, (m, p)

    def standardize(self, payoffs: Array) -> Array:
        """Return (y - location) / scale, rounded to a millionth of the payoffs' robust scale.

        The rounding hides in which digit a y + c differs from y, so that the search, which would
        enlarge any difference, takes the same way for both. Beyond 200 n robust standard deviations
        a payoff counts as that far away: no tail with a mean reaches there.
        """
        far = 0.5 * _FAR * self.count
        # In halves, and clipped before they are divided: nothing may overflow.
        away = np.clip(0.5 * payoffs - 0.5 * self.location, -far * self.scale, far * self.scale)
        z = 2.0 * away / self.scale
        return np.round(z * _GRAINS) / _GRAINS

    def check(self, layout: Layout, payoffs: int) -> None:
        """Refuse what no refit of so many payoffs in this layout could have learnt."""
        far = self.remainder and self.remainder.varying
        shapes = [self.shape, *([far.shape] if far else [])]
        numbers = [(self.scale, self.cut.slope)] + [(one.signal, one.noise) for one in shapes]
        sizes = np.concatenate([*(one.lengthscales for one in shapes), *numbers])
        sound = all(one.lengthscales.shape == (layout.owners,) for one in shapes)
        sound &= bool(np.isfinite(sizes).all() and (sizes > 0.0).all())
        sound &= math.isfinite(self.location) and 1 <= self.count <= payoffs
        if self.anchors is not None:
            sound &= self.anchors.ndim == 2 and self.anchors.shape[1] == len(layout.owner)
        if not sound:
            raise ValueError("its calibration is none that a refit could have learnt.")

    def state(self) -> dict[str, Any]:
        """Return it as JSON-able data, for `calibration_from_state`."""
        rest, cut = self.remainder, self.cut
        return {
            "count": self.count,
            "anchors": None if self.anchors is None else self.anchors.tolist(),
            "location": self.location,
            "scale": self.scale,
            "shape": _shape_state(self.shape),
            "cut": [*_ends_state(cut.low, cut.high), cut.center, cut.slope, cut.softness],
            "spread": [self.spread.rate, self.spread.middle],
            "remainder": rest and _remainder_state(rest),
        }


def _remainder_state(rest: Remainder) -> dict[str, Any]:
    far = rest.varying
    return {
        "numbers": [rest.bound, rest.scale, rest.bias],
        "varying": far
        and {
            "numbers": [*_ends_state(far.low, far.high), far.bound, far.scale],
            "shape": _shape_state(far.shape),
            "weight": far.weight,
        },
    }


def _shape_state(shape: Shape) -> list[Any]:
    return [shape.lengthscales.tolist(), shape.signal, shape.noise]


def _shape_from_state(state: Any) -> Shape:
    return Shape(np.array(state[0], dtype=np.float64), float(state[1]), float(state[2]))


def _ends_state(low: float, high: float) -> list[float | None]:
    """Return a window's ends; JSON has no infinity, so an end that there is not is None."""
    return [None if math.isinf(one) else one for one in (low, high)]


def _ends_from_state(low: Any, high: Any) -> tuple[float, float]:
    return -math.inf if low is None else float(low), math.inf if high is None else float(high)


def _cut_from_state(state: Any) -> Cut:
    low, high, *numbers = state
    return Cut(*_ends_from_state(low, high), *(float(one) for one in numbers))


def _remainder_from_state(state: Any) -> Remainder:
    bound, scale, bias = (float(one) for one in state["numbers"])
    far = state["varying"]
    return Remainder(bound, scale, bias, None if far is None else _gross_from_state(far))


def _gross_from_state(state: Any) -> Gross:
    low, high, bound, scale = state["numbers"]
    shape, weight = _shape_from_state(state["shape"]), float(state["weight"])
    return Gross(*_ends_from_state(low, high), float(bound), float(scale), shape, weight)


def calibration_from_state(state: Any) -> Calibration:
    """Return the calibration whose `state()` this is."""
    rest, anchors = state["remainder"], state["anchors"]
    return Calibration(
        int(state["count"]),
        float(state["location"]),
        float(state["scale"]),
        _shape_from_state(state["shape"]),
        _cut_from_state(state["cut"]),
        Spread(*(float(one) for one in state["spread"])),
        None if rest is None else _remainder_from_state(rest),
        anchors=None if anchors is None else np.array(anchors, dtype=np.float64),
    )
