"""How often payoffs differ from a tied value and how much, combined to the mean payoff.

With the tied value a, the probability p of another payoff and the mean m of those,

    f = a + p (m - a).

If all other payoffs lie on one side s = +-1 of a, their logarithms are modelled, and the parts add
up:

    s ln |f - a| = s ln p + v,    v = s ln |m - a|.

So amounts of different places are shrunk towards each other by their ratios, and means and
intervals stay on that side of a. Otherwise v = m, and the value is p (v - a), in payoffs' units.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit

from tailproof.search.model.constants import TWO_PART

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Link:
    """How logit p and the amount v make the mean payoff, on the scale where uncertainties add up.

    The value is s ln p + v for side s = +-1, and p (v - tie) for side 0.
    """

    tie: float
    side: float  # of the tie on which all other payoffs lie; 0 for both

    def amounts(self, payoffs: Array) -> Array:
        """Return what the amounts' model is told of payoffs that differ from the tie, (n,).

        Payoffs on the wrong side, which came after the fit, count as the smallest amount.
        """
        if self.side == 0.0:
            return payoffs
        sizes = self.side * (payoffs - self.tie)
        right = sizes[sizes > 0.0]
        least = float(right.min()) if len(right) else 1.0
        return self.side * np.log(np.maximum(sizes, least))

    def value(self, eta: Array, v: Array) -> Array:
        """Return the value of logits eta and amounts v."""
        if self.side:
            return self.side * log_expit(eta) + v
        return np.asarray(expit(eta) * (v - self.tie))

    def slopes(self, eta: Array, v: Array) -> tuple[Array, Array]:
        """Return the derivatives of `value` by eta and by v."""
        p = expit(eta)
        if self.side:
            return self.side * (1.0 - p), np.ones_like(v)
        return p * (1.0 - p) * (v - self.tie), p

    def curvatures(self, eta: Array, v: Array) -> tuple[Array, Array]:
        """Return the derivatives of `value` by eta twice, and by eta and v; by v twice it is 0."""
        p = expit(eta)
        if self.side:
            return -self.side * p * (1.0 - p), np.zeros_like(p)
        return p * (1.0 - p) * (1.0 - 2.0 * p) * (v - self.tie), p * (1.0 - p)

    def payoff(self, value: Array) -> Array:
        """Return the mean payoff f of a value."""
        if self.side == 0.0:
            return self.tie + value
        limit = TWO_PART.largest_exponent
        return self.tie + self.side * np.exp(np.clip(self.side * value, -limit, limit))

    def step(self, told: Array, sem: Array, value: Array) -> tuple[Array, Array]:
        """Return how far means told lie from values (n,), and with which deviation, to first order.

        Relative to the larger one of told and expected size, so that neither a mean of nearly the
        tie nor one that is many times larger than expected goes astray.
        """
        if self.side == 0.0:
            return told - self.tie - value, sem
        size = self.side * (self.payoff(value) - self.tie)
        ratio = self.side * (told - self.tie) / size
        change = np.where(ratio > 1.0, np.log(np.maximum(ratio, 1.0)), ratio - 1.0)
        return self.side * change, sem / (size * np.maximum(ratio, 1.0))
