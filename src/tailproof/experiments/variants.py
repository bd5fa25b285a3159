"""Variants of the figure's policies against their base policies, in numbers and in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from tailproof.experiments.measures import Records, regrets, truncation_fit
from tailproof.experiments.panels import Panel
from tailproof.experiments.plan import Plan
from tailproof.experiments.policies import POLICIES

Array = NDArray[np.float64]

CONFIDENCE = 0.95
FLAT = 0.02  # largest relative change of a flat curve over its last nine tenths

_VERDICTS = {
    "lower": "lower (better)",
    "higher": "higher (worse)",
    "no different": "not significantly different",
}


@dataclass(frozen=True)
class VariantComparison:
    """A variant against its base in the last round, over the repetitions that both have."""

    policy: str
    base: str
    repetitions: int
    mean: float  # R_T / T
    base_mean: float
    lower: float | None  # 95 % interval of the mean paired difference; None with one repetition
    upper: float | None
    early: float  # R_t / t of the variant at a tenth of the rounds
    beta: float  # median of beta in the last round
    base_beta: float

    @property
    def difference(self) -> float:
        """Mean regret of a variant of the reproduction minus that of its base policy."""
        return self.mean - self.base_mean

    @property
    def flat(self) -> bool:
        """Whether a variant's regret changes by less than `FLAT` over its last nine tenths."""
        return abs(self.mean - self.early) < FLAT * self.early

    @property
    def verdict(self) -> str:
        """Return "lower", "higher" or, where the interval holds zero, "no different" regret."""
        if self.lower is None or self.upper is None or self.lower <= 0.0 <= self.upper:
            return "no different"
        return "lower" if self.upper < 0.0 else "higher"


def compare_variants(panel: Panel, records: Records) -> Iterator[VariantComparison]:
    """Yield the comparison of each variant whose base was run as well."""
    for key in panel.policies:
        base = POLICIES[key].base
        if base is None or base not in panel.policies:
            continue
        count = min(panel.repetitions_of(key), panel.repetitions_of(base))
        curves, base_curves = (regrets(panel, records, name, count) for name in (key, base))
        lower, upper = _variant_interval(curves[:, -1] - base_curves[:, -1])
        tenth = int(np.searchsorted(panel.recorded_rounds, panel.rounds / 10.0))
        betas = [[records[panel.letter, p, i]["beta"] for i in range(count)] for p in (key, base)]
        yield VariantComparison(
            policy=key,
            base=base,
            repetitions=count,
            mean=float(curves[:, -1].mean()),
            base_mean=float(base_curves[:, -1].mean()),
            lower=lower,
            upper=upper,
            early=float(curves[:, tenth].mean()),
            beta=float(np.median(betas[0])),
            base_beta=float(np.median(betas[1])),
        )


def _variant_interval(paired: Array) -> tuple[float | None, float | None]:
    """Return the t-interval of the mean of paired differences to the base policy."""
    n = len(paired)
    if n < 2:
        return None, None
    half = float(student.ppf(0.5 + CONFIDENCE / 2.0, n - 1) * np.std(paired, ddof=1) / np.sqrt(n))
    middle = float(paired.mean())
    return middle - half, middle + half


def describe_variants(plan: Plan, records: Records) -> dict[str, str]:
    """Compare each variant with its base in a few sentences, over all panels that have it."""
    cases: dict[str, list[tuple[Panel, VariantComparison]]] = {}
    for panel in plan.panels:
        for comparison in compare_variants(panel, records):
            cases.setdefault(comparison.policy, []).append((panel, comparison))
    return {
        key: f"{POLICIES[key].title}: {POLICIES[key].change}. "
        + (
            _variant_band_sentence(*found[0], records)
            if found[0][0].letter == "f"
            else _variant_regret_sentences(found)
        )
        for key, found in cases.items()
    }


def _variant_regret_sentences(cases: Sequence[tuple[Panel, VariantComparison]]) -> str:
    """Say how the regret of a variant compares with the paper's policy, panel by panel."""
    base = POLICIES[cases[0][1].base].title
    verdicts = "; ".join(
        f"{words} in " + listed([_variant_numbers(*case) for case in chosen])
        for verdict, words in _VERDICTS.items()
        if (chosen := [case for case in cases if case[1].verdict == verdict])
    )
    ratios = [comparison.beta / comparison.base_beta for _, comparison in cases]
    span = " to ".join(dict.fromkeys(f"{ratio:.2g}" for ratio in (min(ratios), max(ratios))))
    text = f"Against {base}, R_T/T at the last round is {verdicts}. "
    text += f"The last round's beta is {span} times the base's."
    flat = listed([panel.letter for panel, comparison in cases if comparison.flat])
    more = f" In {flat} the curve is flat from a tenth of the rounds on: nothing more is learnt."
    return text + more if flat else text


def _variant_numbers(panel: Panel, comparison: VariantComparison) -> str:
    """Return the regrets of a variant and its base in one panel, as text."""
    text = f"{panel.letter} ({comparison.mean:.3f} against {comparison.base_mean:.3f}"
    if comparison.lower is None or comparison.upper is None:
        return text + ", one repetition)"
    return text + f"; difference {comparison.lower:+.3f} to {comparison.upper:+.3f})"


def _variant_band_sentence(panel: Panel, comparison: VariantComparison, records: Records) -> str:
    """Say how the band of a variant compares with the base's in panel f."""
    key, base = comparison.policy, comparison.base
    fit, base_fit = (truncation_fit(panel, records, name) for name in (key, base))
    inside = "holds" if fit.band_holds_f else "does not hold"
    return (
        f"The mean over {panel.repetitions_of(key)} repetitions is off by at most "
        f"{fit.error:.3f}, against {base_fit.error:.3f} for {POLICIES[base].title} over "
        f"{panel.repetitions_of(base)}, and its band {inside} f everywhere."
    )


def listed(items: Sequence[str]) -> str:
    """Join items of a sentence on variants as in "a, b and c"."""
    return " and ".join(filter(None, [", ".join(items[:-1]), *items[-1:]]))
