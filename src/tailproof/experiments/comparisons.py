"""What the curves come to: means, crossings, what each further column changes, panel f's bands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from tailproof.experiments.columns import COLUMNS
from tailproof.experiments.plan import PanelPlan

Array = NDArray[np.float64]
Records = Mapping[tuple[str, str, int], Mapping[str, Any]]

CONFIDENCE = 0.95
FLAT = 0.02  # share by which a flat curve moves, at most, over its last nine tenths


def regrets(one: PanelPlan, records: Records, column: str, trials: int | None = None) -> Array:
    """Return R_t / t, (trials, marks), of all or of the first trials of a column."""
    count = one.trials_of(column) if trials is None else trials
    kept = [records[one.panel.letter, column, trial] for trial in range(count)]
    return np.array([record["regret_per_round"] for record in kept])


def spread(values: Array) -> Array:
    """Return the standard deviation over the first axis, ddof 1; NaN with a single entry."""
    if len(values) < 2:
        return np.full(values.shape[1:], np.nan)
    return np.std(values, axis=0, ddof=1)


def crossing(marks: NDArray[np.int64], ours: Array, other: Array) -> int | None:
    """Return the first mark from which curve `ours` stays below `other`; None if it never does.

    Examples
    --------
    >>> crossing(np.array([10, 20, 30]), np.array([0.5, 0.3, 0.2]), np.array([0.4, 0.3, 0.3]))
    30
    """
    not_below = np.flatnonzero(ours >= other)
    start = 0 if not_below.size == 0 else int(not_below[-1]) + 1
    return int(marks[start]) if start < len(marks) else None


def crossings(one: PanelPlan, records: Records) -> dict[str, int | None]:
    """Return, for the paper's ATA columns, the round from which they lead TGP-UCB for good."""
    if "tgp" not in one.columns:
        return {}
    tgp = regrets(one, records, "tgp").mean(axis=0)
    return {
        key: crossing(one.marks, regrets(one, records, key).mean(axis=0), tgp)
        for key in ("qff", "nystrom")
        if key in one.columns
    }


@dataclass(frozen=True)
class Change:
    """A further column against its base, on the trials they share, at the last round.

    Attributes
    ----------
    mean, base_mean
        R_T / T.
    low, high
        95 % interval of the mean difference, from paired trials; None with one trial.
    early
        R_t / t of the further column at a tenth of the rounds.
    width, base_width
        Median width beta of the last round.
    """

    column: str
    base: str
    trials: int
    mean: float
    base_mean: float
    low: float | None
    high: float | None
    early: float
    width: float
    base_width: float

    @property
    def difference(self) -> float:
        """Mean of the further column minus that of its base."""
        return self.mean - self.base_mean

    @property
    def flat(self) -> bool:
        """Whether the curve moves by less than a fiftieth over its last nine tenths."""
        return abs(self.mean - self.early) < FLAT * self.early

    @property
    def verdict(self) -> str:
        """Say "lower", "higher" or, where the interval holds zero, "no different"."""
        if self.low is None or self.high is None or self.low <= 0.0 <= self.high:
            return "no different"
        return "lower" if self.high < 0.0 else "higher"


def changes(one: PanelPlan, records: Records) -> Iterator[Change]:
    """Yield what each further column changes, where its base was run as well."""
    for key in one.columns:
        base = COLUMNS[key].base
        if base is None or base not in one.columns:
            continue
        trials = min(one.trials_of(key), one.trials_of(base))
        ours, theirs = (regrets(one, records, name, trials) for name in (key, base))
        low, high = _interval(ours[:, -1] - theirs[:, -1])
        tenth = int(np.searchsorted(one.marks, one.rounds / 10.0))
        yield Change(
            key,
            base,
            trials,
            float(ours[:, -1].mean()),
            float(theirs[:, -1].mean()),
            low,
            high,
            float(ours[:, tenth].mean()),
            _width(one, records, key, trials),
            _width(one, records, base, trials),
        )


def _interval(paired: Array) -> tuple[float | None, float | None]:
    n = len(paired)
    if n < 2:
        return None, None
    half = float(student.ppf(0.5 + CONFIDENCE / 2.0, n - 1) * np.std(paired, ddof=1) / np.sqrt(n))
    middle = float(paired.mean())
    return middle - half, middle + half


def _width(one: PanelPlan, records: Records, column: str, trials: int) -> float:
    return float(np.median([records[one.panel.letter, column, i]["width"] for i in range(trials)]))


@dataclass(frozen=True)
class TruncationFit:
    """Panel f: the mean band of a column over all randomizations of the noise, against f.

    Attributes
    ----------
    mean, std, f : (arms,)
        Averages over the trials of the final posterior mean and standard deviation, and f.
    """

    mean: Array
    std: Array
    f: Array

    @property
    def error(self) -> float:
        """Largest |mean - f| over the arms."""
        return float(np.abs(self.mean - self.f).max())

    @property
    def worst_arm(self) -> int:
        """The arm of that error."""
        return int(np.abs(self.mean - self.f).argmax())

    @property
    def holds_f(self) -> bool:
        """Whether f lies inside mean +- std at every arm."""
        return bool((np.abs(self.mean - self.f) <= self.std).all())


def truncation_fit(one: PanelPlan, records: Records, column: str) -> TruncationFit:
    """Return the average band of a column of panel f."""
    kept = [records["f", column, trial] for trial in range(one.trials_of(column))]
    mean, std, f = (
        np.mean([record[key] for record in kept], axis=0) for key in ("mean", "std", "f")
    )
    return TruncationFit(mean, std, f)
