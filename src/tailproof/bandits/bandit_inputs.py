"""What a `Bandit` is given, checked: payoffs, arm numbers, similarities, files of payoffs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tailproof._util import checks
from tailproof.bandits.arm_set import ArmSet
from tailproof.kernels import Kernel, Precomputed

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

LARGEST_PAYOFF = 1e150  # squares of a million of them have a finite sum


def checked_similarity(similarity: Kernel | None, arms: ArmSet) -> Precomputed | None:
    """Check the similarity of labels that a `Bandit` is given; raise a ValueError if it is none."""
    if similarity is None:
        return None
    if not isinstance(similarity, Precomputed) or arms.labels is None:
        raise ValueError(
            "`similarity` must be a Precomputed kernel over labels, but got "
            f"similarity={similarity!r}."
        )
    if len(similarity.gram) != len(arms):
        raise ValueError(
            f"`similarity` must have one row an arm, but got {len(similarity.gram)} rows for "
            f"{len(arms)} arms."
        )
    return similarity


def checked_payoffs(payoff: Any) -> Array:
    """Check payoffs (k,) told to a `Bandit`: finite, at most LARGEST_PAYOFF in size."""
    payoffs = checks.payoffs("payoff", payoff)
    if payoffs.size and float(np.abs(payoffs).max()) > LARGEST_PAYOFF:
        raise ValueError(
            f"`|payoff| <= {LARGEST_PAYOFF:g}` must hold, but got "
            f"{payoffs[np.abs(payoffs).argmax()]}."
        )
    return payoffs


def checked_numbers(index: int | ArrayLike, arms: int, payoffs: int) -> Indices:
    """Check arm numbers (k,) told to a `Bandit`; one number stands for all `payoffs`."""
    try:
        numbers = np.atleast_1d(np.asarray(index))
    except ValueError as error:
        raise ValueError(f"`index` must hold arm numbers, but got {index!r}.") from error
    if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
        raise ValueError(f"`index` must hold arm numbers, but got {index!r}.")
    outside = (numbers < 0) | (numbers >= arms)
    if outside.any():
        checks.index("index", int(numbers[outside][0]), arms)
    if np.ndim(index) == 0:
        numbers = np.repeat(numbers, payoffs)
    return numbers.astype(np.int64)


def read_payoffs(
    path: Path, by: str | None, value: str | None, arms: ArmSet
) -> tuple[list[Any], list[Array]]:
    """Read a file of payoffs for a `Bandit`: arms, labels of the type of `arms`, and payoffs."""
    from tailproof.tails.files import read_table

    table = read_table(path, by=by, value=value)
    if arms.labels is None:
        raise ValueError("`source` must be a Bandit or its file where arms have coordinates.")
    names: list[Any] = [series.name for series in table.arms]
    if type(arms.labels[0]) is int:
        try:
            names = [int(name) for name in names]
        except ValueError as error:
            raise ValueError(f"`by` must hold integers like the labels, but: {error}") from None
    return names, [checked_payoffs(series.values) for series in table.arms]
