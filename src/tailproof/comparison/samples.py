"""The input of a comparison: alternatives with their payoffs, and the blocks these are in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailproof._util import checks
from tailproof.tails.series import Series, listed, split

Array = NDArray[np.float64]
Labels = NDArray[np.int64]

PAYOFF, TIME = "payoff", "time"


@dataclass(frozen=True)
class Samples:
    """Alternatives that are compared with each other.

    Attributes
    ----------
    title : str
        What is compared, such as the name of a benchmark; empty if there is nothing to say.
    series : list of Series
        The alternatives, payoffs in the order they came.
    blocks : list of arrays of int, or None
        For each alternative the block of each payoff; equal numbers are the same block.
    kind : str
        "payoff", or "time" for measured seconds.
    notes : list of str
        How the alternatives were made from the input.
    """

    title: str
    series: list[Series]
    blocks: list[Labels] | None = None
    kind: str = PAYOFF
    notes: list[str] = field(default_factory=list)


def checked(samples: Samples) -> Samples:
    """Return the samples if they can be compared; raise a ValueError that says why not."""
    if len(samples.series) < 2:
        found = f"only {samples.series[0].name!r}" if samples.series else "none"
        raise ValueError(f"`data` must hold at least two alternatives, but got {found}.")
    names = [series.name for series in samples.series]
    twice = sorted({name for name in names if names.count(name) > 1}) if _repeats(names) else []
    if twice:
        raise ValueError(f"alternatives must have distinct names, but got {listed(twice)} twice.")
    for series in samples.series:
        if series.values.size < 2:
            raise ValueError(
                "every alternative must have at least two payoffs, but "
                f"{series.name!r} has {series.values.size}."
            )
        if samples.blocks is None:
            check_varied(f"the {series.values.size:,} payoffs of {series.name!r}", series.values)
    return samples


def _repeats(names: Sequence[str]) -> bool:
    """Whether two samples have the same name."""
    return len(set(names)) < len(names)


def check_varied(what: str, values: Array) -> None:
    """Raise if `values` of samples are all equal: without spread there is no interval."""
    if float(values.min()) == float(values.max()):
        raise ValueError(f"payoffs must vary, but {what} all equal {values[0]:g}.")


def samples_of(
    data: Any, *, by: str | None = None, value: str | None = None, block: Any = None
) -> Samples:
    """Return the samples of alternatives in `data`; `compare` documents the forms it takes."""
    if hasattr(data, "columns") and hasattr(data, "__getitem__") and not isinstance(data, Mapping):
        return _samples_of_frame(data, by, value, block)
    if by is not None or value is not None:
        raise ValueError("`by` and `value` name columns of a data frame, but `data` is none.")
    if not isinstance(data, Mapping):
        data = _mapping_of_arrays(data)
    series = [Series(str(k), checks.payoffs(f"data[{k!r}]", v)) for k, v in data.items()]
    if block is None or block is False:
        return Samples("", series)
    return Samples("", series, _blocks_of_arrays(block, list(data), series))


def _mapping_of_arrays(data: Any) -> dict[str, Any]:
    """Return a sequence of arrays as samples named by their numbers."""
    if isinstance(data, str | bytes) or not hasattr(data, "__len__"):
        raise ValueError(
            "`data` must be a mapping from names to payoffs, a sequence of arrays or a data frame, "
            f"but got {type(data).__name__}."
        )
    if len(data) and all(np.ndim(entry) == 0 for entry in data):
        raise ValueError("`data` must hold one array an alternative, but got a flat one.")
    return {str(i): entry for i, entry in enumerate(data)}


def _blocks_of_arrays(block: Any, keys: list[Any], series: list[Series]) -> list[Labels]:
    """Return the blocks of samples: by position (True), one sequence for all, or one a sample."""
    if block is True:
        sizes = {s.values.size for s in series}
        if len(sizes) > 1:
            raise ValueError(
                "payoffs are paired by position only if there are equally many of each "
                f"alternative, but got {sorted(sizes)}."
            )
        return [np.arange(s.values.size) for s in series]
    labels = [block[key] for key in keys] if isinstance(block, Mapping) else [block] * len(keys)
    arrays = [np.asarray(entry).astype(str) for entry in labels]
    for s, array in zip(series, arrays, strict=True):
        if array.shape != s.values.shape:
            raise ValueError(
                f"there must be one block label a payoff, but {s.name!r} has {s.values.size} "
                f"payoffs and labels of shape {array.shape}."
            )
    _, codes = np.unique(np.concatenate(arrays), return_inverse=True)
    return np.split(codes.astype(np.int64), np.cumsum([a.size for a in arrays])[:-1])


def _samples_of_frame(frame: Any, by: str | None, value: str | None, block: Any) -> Samples:
    """Return the samples of alternatives in a data frame, in long or in wide form."""
    columns = [str(name) for name in frame.columns]
    for role, name in (("`by`", by), ("`value`", value), ("the block", block)):
        if name is not None and name not in columns:
            raise ValueError(
                f"{role} must be a column of the data frame, but got {name!r}; "
                f"there are {listed(columns)}."
            )
    if (by is None) != (value is None):
        raise ValueError("`by` and `value` must be given together, but got one of them.")
    if by is None:
        wide = [name for name in columns if name != block]
        series = [Series(n, checks.payoffs(f"data[{n!r}]", frame[n].to_numpy())) for n in wide]
        labels = None if block is None else [coded(frame[block].to_numpy())[1]] * len(series)
        return Samples("", series, labels)
    names, codes = coded(frame[by].to_numpy())
    values = checks.payoffs(f"data[{value!r}]", frame[value].to_numpy())
    blocks = None if block is None else coded(frame[block].to_numpy())[1]
    return long_samples(names, codes, values, blocks)


def long_samples(
    names: Sequence[str], codes: Labels, values: Array, blocks: Labels | None
) -> Samples:
    """Split a long table into samples: `codes` (n,) tell whose payoff each of `values` (n,) is."""
    series = split(names, codes, values)
    if blocks is None:
        return Samples("", series)
    split_blocks = split(names, codes, blocks.astype(np.float64))
    return Samples("", series, [piece.values.astype(np.int64) for piece in split_blocks])


def coded(labels: NDArray[Any]) -> tuple[list[str], Labels]:
    """Return the distinct labels of samples as text, by their first rows, and each row's number."""
    numbers: dict[str, int] = {}
    found = (numbers.setdefault(str(label), len(numbers)) for label in labels.tolist())
    codes = np.fromiter(found, np.int64, labels.size)
    return list(numbers), codes


def block_means(samples: Samples, *, single: bool) -> tuple[Array, int]:
    """Return the means of samples in every complete block, and how many blocks are left out.

    Parameters
    ----------
    samples
        Alternatives with blocks.
    single
        Whether a block may have one payoff of an alternative only (pairs).

    Returns
    -------
    means : array (alternatives, complete blocks)
        Blocks in the order of their labels. A block is complete if every alternative has a payoff.
    left_out : int
        Number of incomplete blocks.
    """
    assert samples.blocks is not None
    count = 1 + max(int(codes.max()) for codes in samples.blocks)
    sums: list[Array] = []
    counts = []
    for series, codes in zip(samples.series, samples.blocks, strict=True):
        found = np.bincount(codes, minlength=count)
        if single and int(found.max()) > 1:
            raise ValueError(
                "a pair must have one payoff of each alternative, but "
                f"{series.name!r} has {int(found.max())} in one; use blocks instead."
            )
        counts.append(found)
        # Divided first: sums of payoffs near the largest number would overflow.
        sums.append(np.bincount(codes, series.values / found[codes], count).astype(np.float64))
    complete = np.all(np.array(counts) > 0, axis=0)
    present = np.any(np.array(counts) > 0, axis=0)
    means = np.array(sums)[:, complete]
    if means.shape[1] < 2:
        raise ValueError(
            "at least two blocks must have payoffs of every alternative, but "
            f"{means.shape[1]} of {int(present.sum())} have."
        )
    return means, int(np.count_nonzero(present & ~complete))
