"""The input of a diagnosis, checked and split into arms.

Payoffs come as one series, as a series with labels (long), as a table with an arm a column (wide),
or as a mapping from names to series. Arms that are too short or constant are left out and named in
the notes; if no arm remains, that is an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tailproof._util import checks

MIN_PAYOFFS = 20
MAX_MAGNITUDE = 1e70  # fourth powers stay finite
TRANSFORMS = ("none", "log-returns", "differences")


@dataclass(frozen=True)
class Series:
    """The name of one arm and its payoffs in the order they came."""

    name: str
    values: NDArray[np.float64]


@dataclass(frozen=True)
class Table:
    """Arms to diagnose, and `notes` on how they were made from the input.

    `aligned` tells whether the i-th payoffs of all arms were observed together (the rows of a wide
    table).
    """

    arms: list[Series]
    aligned: bool = False
    notes: list[str] = field(default_factory=list)


def listed(names: Sequence[str], most: int = 5) -> str:
    """Return names of series as text, such as "'a', 'b' and 1 more", at most `most` of them."""
    head = ", ".join(repr(name) for name in names[:most])
    return head + (f" and {len(names) - most} more" if len(names) > most else "")


def check_magnitude(name: str, values: NDArray[np.float64]) -> None:
    """Raise if a payoff of a series is so large that its fourth power would not be finite."""
    if values.size and max(float(values.max()), -float(values.min())) > MAX_MAGNITUDE:
        raise ValueError(
            f"`|{name}| <= {MAX_MAGNITUDE:g}` must hold, but got {np.abs(values).max():g}."
        )


def _checked_series(name: str, label: str, values: ArrayLike) -> Series:
    """Return payoffs as one series of the diagnosis, or raise an error."""
    array = checks.finite_array(label, values, ndim=1)
    check_magnitude(label, array)
    return Series(name, array)


def split(
    names: Sequence[str], codes: NDArray[np.int64], values: NDArray[np.float64]
) -> list[Series]:
    """Split `values` into one series a name, `codes` telling which; each keeps its order."""
    ends = np.cumsum(np.bincount(codes, minlength=len(names)))
    pieces = np.split(values[np.argsort(codes, kind="stable")], ends[:-1])
    return [Series(name, piece) for name, piece in zip(names, pieces, strict=True)]


def _series_by_label(labels: ArrayLike, values: NDArray[np.float64]) -> list[Series]:
    """Split `values` by their labels, arms in the order of their first payoff."""
    keys = np.asarray(labels)
    if keys.ndim != 1 or keys.size != values.size:
        raise ValueError(
            f"`by` must hold {values.size} labels, one a payoff, but got shape {keys.shape}."
        )
    names, first, codes = np.unique(keys, return_index=True, return_inverse=True)
    arms = split([str(name) for name in names], codes.astype(np.int64), values)
    return [arms[i] for i in np.argsort(first)]


def table(payoffs: Any, by: ArrayLike | None = None) -> Table:
    """Return the arms in `payoffs` as series, checked; `diagnose` documents their forms."""
    if isinstance(payoffs, Mapping):
        if by is not None:
            raise ValueError("`by` must be left out if `payoffs` is a mapping, but got both.")
        return Table([_checked_series(str(k), f"payoffs[{k!r}]", v) for k, v in payoffs.items()])
    if isinstance(payoffs, (str, bytes)):
        raise ValueError(f"`payoffs` must be an array of numbers, but got {payoffs!r}.")
    if np.ndim(payoffs) == 2:
        if by is not None:
            raise ValueError("`by` must be left out if `payoffs` has columns, but got both.")
        block = checks.finite_array("payoffs", payoffs, ndim=2)
        columns = [_checked_series(f"arm {j}", "payoffs", c) for j, c in enumerate(block.T)]
        return Table(columns, aligned=len(columns) > 1)
    series = _checked_series("payoffs", "payoffs", payoffs)
    return Table([series] if by is None else _series_by_label(by, series.values))


def transformed(source: Table, transform: str) -> Table:
    """Return the series of the arms with `transform` applied to each in its own order."""
    checks.choice("transform", transform, TRANSFORMS)
    if transform == "none":
        return source
    arms = []
    for arm in source.arms:
        values = arm.values
        if transform == "log-returns":
            if values.size and float(values.min()) <= 0.0:
                raise ValueError(
                    "`payoffs > 0` must hold for log-returns, "
                    f"but arm {arm.name!r} holds {float(values.min()):g}."
                )
            values = np.log(values)
        arms.append(Series(arm.name, np.diff(values)))
    changes = "log-returns ln(x_t / x_{t-1})" if transform == "log-returns" else "differences"
    note = f"diagnosed are the {changes} of the values in the order they came"
    return Table(arms, source.aligned, [*source.notes, note])


def diagnosable(source: Table) -> Table:
    """Return the series long and varied enough for a diagnosis; raise if there is none."""
    if not source.arms or not any(arm.values.size for arm in source.arms):
        raise ValueError("`payoffs` must hold payoffs, but got none.")
    short, constant, arms = [], [], []
    for arm in source.arms:
        if arm.values.size < MIN_PAYOFFS:
            short.append(arm.name)
        elif float(arm.values.min()) == float(arm.values.max()):
            constant.append(arm.name)
        else:
            arms.append(arm)
    if not arms and constant:
        raise ValueError(
            "`payoffs` must vary, but got a constant series "
            f"(every payoff of {listed(constant)} is the same)."
        )
    if not arms:
        raise ValueError(
            f"`len(payoffs) >= {MIN_PAYOFFS}` must hold for at least one arm, but the longest of "
            f"{len(short)} has {max(a.values.size for a in source.arms)}."
        )
    notes = list(source.notes)
    if short:
        notes.append(f"left out, fewer than {MIN_PAYOFFS} payoffs: {listed(short)}")
    if constant:
        notes.append(f"left out, constant: {listed(constant)}")
    return Table(arms, source.aligned and len(arms) > 1, notes)
