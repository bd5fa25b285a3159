"""Where everything random in the arena comes from: names, never the order of work."""

from __future__ import annotations

import hashlib

import numpy as np


def sequence(*words: str | int) -> np.random.SeedSequence:
    """Return the seeds that belong to some words; other words, other seeds.

    Examples
    --------
    >>> a, b = sequence("noise", "branin", 3), sequence("noise", "branin", 4)
    >>> a.entropy == sequence("noise", "branin", 3).entropy, a.entropy == b.entropy
    (True, False)
    """
    text = "\0".join(str(word) for word in words)
    return np.random.SeedSequence(int.from_bytes(hashlib.sha256(text.encode()).digest()[:16]))


def generator(*words: str | int) -> np.random.Generator:
    """Return a new generator with the seeds of some words."""
    return np.random.default_rng(sequence(*words))
