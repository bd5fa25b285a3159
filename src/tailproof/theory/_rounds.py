"""Arrays of round numbers, checked once."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def round_numbers(rounds: ArrayLike, horizon: int | None = None) -> NDArray[np.int64]:
    """Return `rounds` as an int64 array, each entry at least 1 and at most `horizon`."""
    t = np.asarray(rounds)
    if t.dtype.kind not in "iu":
        raise ValueError(f"`rounds` must be integers, but got rounds={rounds!r}.")
    t = t.astype(np.int64)
    if t.size and int(t.min()) < 1:
        raise ValueError(f"`rounds >= 1` must hold, but got rounds={int(t.min())}.")
    if horizon is not None and t.size and int(t.max()) > horizon:
        raise ValueError(
            f"`rounds <= horizon` must hold, but got rounds={int(t.max())} with horizon={horizon}."
        )
    return t


def at_each_round(name: str, value: ArrayLike, rounds: NDArray[np.int64]) -> Array:
    """Return `value`, one number or one a round, as a finite array of the rounds' shape, >= 0."""
    array = np.asarray(value, dtype=np.float64)
    if array.shape not in ((), rounds.shape):
        raise ValueError(
            f"`{name}` must be one number or one a round, but got shape {array.shape} for rounds "
            f"of shape {rounds.shape}."
        )
    array = np.broadcast_to(array, rounds.shape)
    if array.size and not (np.isfinite(array).all() and float(array.min()) >= 0.0):
        raise ValueError(f"`{name} >= 0` must hold and be finite, but got {name}={value!r}.")
    return array
