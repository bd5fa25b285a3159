"""Pictures of a search, for optimizers, results of `minimize` and `maximize`, and Optuna studies.

Every function takes what was searched and returns a matplotlib figure, which a notebook shows and
`figure.savefig(path)` writes. Payoffs that span decades have a logarithmic axis.

Examples
--------
>>> import tailproof as tp
>>> space = tp.Space(x=tp.Float(0, 1), n=tp.Int(1, 4))
>>> result = tp.maximize(lambda x, n: n - (x - 0.5) ** 2, space, 20, progress=False)
>>> [len(tp.plot.slices(result).axes), len(tp.plot.importance(result).axes)]
[2, 1]
"""

from tailproof.plot.pictures import (
    course,
    failures,
    importance,
    pairs,
    payoffs,
    seconds,
    slices,
)
from tailproof.plot.record import SearchRecord, record_of

__all__ = [
    "SearchRecord",
    "course",
    "failures",
    "importance",
    "pairs",
    "payoffs",
    "record_of",
    "seconds",
    "slices",
]
