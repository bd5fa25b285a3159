"""Robust means of heavy-tailed payoffs: estimate, practical intervals, confidence sequences.

`robust_mean` needs no constants; its intervals are practical, measured in docs/compare.md.
`sequences` holds intervals that may be looked at after every payoff.
"""

from typing import TYPE_CHECKING

from tailproof._util import lazy

if TYPE_CHECKING:
    from tailproof.means.intervals import Interval, Statistic
    from tailproof.means.robust import MeanEstimate, robust_mean
    from tailproof.means.sequences import asymptotic_sequence, catoni_sequence

__all__ = [
    "Interval",
    "MeanEstimate",
    "Statistic",
    "asymptotic_sequence",
    "catoni_sequence",
    "robust_mean",
]

__getattr__, __dir__ = lazy.attach(__name__, ("intervals", "robust", "sequences"), __all__)
