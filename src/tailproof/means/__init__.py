"""Robust means of heavy-tailed payoffs: estimate, practical intervals, confidence sequences.

`robust_mean` needs no constants; its intervals are practical, measured in docs/compare.md.
`sample_interval` is that of one sample; `sequences` holds intervals that may be looked at after
every payoff.
"""

from typing import TYPE_CHECKING

from tailproof._util import lazy

if TYPE_CHECKING:
    from tailproof.means.intervals import Interval, Statistic
    from tailproof.means.one_sample import sample_interval
    from tailproof.means.robust import MeanEstimate, robust_mean
    from tailproof.means.sequences import asymptotic_sequence, catoni_sequence

__all__ = [
    "Interval",
    "MeanEstimate",
    "Statistic",
    "asymptotic_sequence",
    "catoni_sequence",
    "robust_mean",
    "sample_interval",
]

__getattr__, __dir__ = lazy.attach(
    __name__, ("intervals", "one_sample", "robust", "sequences"), __all__
)
