"""Tail diagnosis: how heavy the tails are, and which alpha and v the policies may be given.

`diagnose` takes arrays, `diagnose_file` a CSV or Parquet file; `tailproof diagnose` is the latter
on the command line. The estimators are in `tailproof.tails.indices` and `tailproof.tails.shape`.
"""

from typing import TYPE_CHECKING

from tailproof._util import lazy

if TYPE_CHECKING:
    from tailproof.tails.advice import MomentAdvice
    from tailproof.tails.diagnosis import diagnose, diagnose_file
    from tailproof.tails.indices import IndexEstimate
    from tailproof.tails.results import ArmDiagnosis, Diagnosis, TailSide
    from tailproof.tails.verdict import BOUNDED, GAUSSIAN, HEAVY, NOT_GAUSSIAN, SPARSE

__all__ = [
    "BOUNDED",
    "GAUSSIAN",
    "HEAVY",
    "NOT_GAUSSIAN",
    "SPARSE",
    "ArmDiagnosis",
    "Diagnosis",
    "IndexEstimate",
    "MomentAdvice",
    "TailSide",
    "diagnose",
    "diagnose_file",
]

__getattr__, __dir__ = lazy.attach(
    __name__, ("indices", "verdict", "advice", "results", "diagnosis"), __all__
)
