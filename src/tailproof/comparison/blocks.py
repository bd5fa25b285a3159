"""Payoffs in blocks (same input, same machine, same day): means within blocks and differences."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tailproof.comparison.samples import Samples

Array = NDArray[np.float64]


def block_means(samples: Samples, *, single: bool) -> tuple[Array, int]:
    """Return the mean payoff of every alternative in every complete block, and what was left out.

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
