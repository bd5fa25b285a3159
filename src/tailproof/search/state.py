"""The state of a practical optimizer as a header and arrays, and back: see `tailproof.storage`."""

from __future__ import annotations

from typing import Any

from tailproof.search.model import noise
from tailproof.search.optimizer import Optimizer, optimizer_from_state
from tailproof.search.options import Options
from tailproof.storage import Arrays, decode, encode

FORMAT = "tailproof-search"
_TYPES: dict[str, type] = {
    kind.__name__: kind
    for kind in (Options, noise.AdaptiveWindow, noise.Gaussian, noise.Winsorize, noise.StudentT)
}


def to_state(optimizer: Optimizer) -> tuple[dict[str, Any], Arrays]:
    """Return the header and the arrays that describe an optimizer: its trials say everything."""
    arrays: Arrays = {}
    options = encode("options", optimizer.options, arrays, _TYPES)
    return {"options": options, "state": optimizer.state()}, arrays


def from_state(header: Any, arrays: Arrays) -> Optimizer:
    """Return the optimizer that `to_state` described."""
    options = decode(header["options"], arrays, _TYPES)
    if not isinstance(options, Options):
        raise ValueError("its options are none.")
    return optimizer_from_state(header["state"], options)
