"""Random seeds of the comparison, derived from names and not from the order of runs."""

from __future__ import annotations

import hashlib

import numpy as np


def sequence(*words: str | int) -> np.random.SeedSequence:
    """Return the seed sequence that belongs to some words; other words give another one.

    Examples
    --------
    >>> a, b = sequence("noise", "branin", 3), sequence("noise", "branin", 4)
    >>> a.entropy == sequence("noise", "branin", 3).entropy, a.entropy == b.entropy
    (True, False)
    """
    text = "\0".join(str(word) for word in words)
    return np.random.SeedSequence(int.from_bytes(hashlib.sha256(text.encode()).digest()[:16]))


def generator(*words: str | int) -> np.random.Generator:
    """Return a new generator with the seed sequence of some words."""
    return np.random.default_rng(sequence(*words))
