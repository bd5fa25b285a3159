"""The results of a diagnosis: one record for each arm, one for all arms, and the advice."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from tailproof._util.files import json_safe
from tailproof.tails import report
from tailproof.tails.advice import MomentAdvice
from tailproof.tails.curves import Curves
from tailproof.tails.dependence import Dependence
from tailproof.tails.indices import IndexEstimate
from tailproof.tails.normality import Normality
from tailproof.tails.shape import ShapeFit
from tailproof.tails.verdict import HEAVY


@dataclass(frozen=True)
class TailSide:
    """The tail index of one side by three estimators; None if payoffs are too few or tied.

    `side` is "both" (absolute deviations), "right" or "left". `hill` is the bias-reduced estimate,
    the one the advice rests on.
    """

    side: str
    hill: IndexEstimate | None
    moment: IndexEstimate | None
    pickands: IndexEstimate | None


@dataclass(frozen=True)
class ArmMean:
    """The robust mean of an arm and its interval, in units of the payoff."""

    mean: float
    lower: float
    upper: float
    level: float


@dataclass(frozen=True)
class ArmDiagnosis:
    """The diagnosis of one arm, or of all arms pooled.

    Intervals of tail indices assume independent payoffs; that of the shape is widened by the design
    effect.

    Attributes
    ----------
    name, n
        The arm, and its number of payoffs.
    center, scale : float
        Median, and 0.9-quantile of the absolute deviations from it. Pooled payoffs are the arms'
        deviations divided by the arms' scales, so these are 0 and 1.
    both, right, left : TailSide
    shape : ShapeFit or None
        Generalized Pareto fit to the largest absolute deviations.
    normality : Normality or None
        None for pooled payoffs: arms that are Gaussian each need not be so together.
    rejected : bool
        Whether the Gaussian is rejected; pooled: in more arms than chance explains.
    alpha : float or None
        The alpha that the tail index of this arm alone allows; None if none.
    mean : ArmMean or None
        Robust mean with its interval (`tailproof.means.one_sample`); None for pooled payoffs.
    """

    name: str
    n: int
    center: float
    scale: float
    both: TailSide
    right: TailSide
    left: TailSide
    shape: ShapeFit | None
    normality: Normality | None
    rejected: bool
    dependence: Dependence
    verdict: str
    reason: str
    alpha: float | None
    curves: Curves
    mean: ArmMean | None = None

    @property
    def heavy(self) -> bool:
        """Whether the verdict of an arm's diagnosis is "heavy-tailed"."""
        return self.verdict == HEAVY


@dataclass(frozen=True)
class Diagnosis:
    """How heavy the tails are, and which alpha and v the policies may be given.

    `pooled` are all arms together, each centered and scaled (for a single arm, that arm); `level`
    is the confidence of the intervals; the notes say which arms and columns were left out, and what
    limits the conclusions.
    """

    arms: tuple[ArmDiagnosis, ...]
    pooled: ArmDiagnosis
    advice: MomentAdvice
    level: float
    seed: int
    notes: tuple[str, ...]

    @property
    def verdict(self) -> str:
        """The verdict of the diagnosis on all arms together."""
        return self.pooled.verdict

    @property
    def heavy(self) -> bool:
        """Whether the payoffs of the diagnosis are heavy-tailed."""
        return self.pooled.heavy

    @property
    def sentence(self) -> str:
        """Verdict and advice of the diagnosis in words."""
        return report.sentence(self)

    def table(self) -> str:
        """Return the diagnosis as text: one line an arm, and one for all of them."""
        return report.table(self)

    def to_dict(self) -> dict[str, Any]:
        """Return a diagnosis as plain lists, numbers and text; infinities and NaN become text."""
        fields: dict[str, Any] = json_safe(asdict(self))
        return {"verdict": self.verdict, "sentence": self.sentence} | fields
