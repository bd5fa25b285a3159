"""The state of a policy on arms as a header and arrays, and back: see `tailproof.storage`.

The header holds the policy and its parts, the state of the random generator and the pending arms;
arrays hold the arms, kernel matrices, the history and the posterior's state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tailproof import kernels
from tailproof.bandits import features, policies, schedules
from tailproof.bandits.arms import Finite
from tailproof.storage import Arrays, decode, encode

if TYPE_CHECKING:
    from tailproof.bandits.optimizer import ArmOptimizer

FORMAT = "tailproof-bandits"
_PARTS = {
    kernels: "SquaredExponential Matern Linear Precomputed Sum Product Scaled",
    features: "QuadratureFourier RandomFourier Exact Nystrom",
    schedules: "MomentBound Setting Theorem1 Theorem3 Theorem4 AuthorsTGP AuthorsATA SubGaussian "
    "CustomSchedule",
}
_TYPES: dict[str, type] = {
    name: getattr(module, name) for module, names in _PARTS.items() for name in names.split()
}
_POLICIES = {
    name: getattr(policies, name) for name in ("gp_ucb", "tgp_ucb", "ata_gp_ucb", "moma_gp_ucb")
}
_GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
_POSTERIOR = "posterior."


def to_state(optimizer: ArmOptimizer) -> tuple[dict[str, Any], Arrays]:
    """Return the header and the arrays that describe an optimizer."""
    config = optimizer.config
    arrays: Arrays = {}
    start, present = optimizer.random_states()
    header = {
        "policy": config.policy,
        "kernel": encode("kernel", config.kernel, arrays, _TYPES),
        "options": {
            name: encode(name, value, arrays, _TYPES) for name, value in config.options.items()
        },
        "labeled": config.space.labels is not None,
        "start": _encode_random(start),
        "random": _encode_random(present),
        "pending": optimizer.pending.tolist(),
    }
    labels = config.space.labels
    arrays["arms"] = config.space.inputs if labels is None else np.array(labels)
    history = optimizer.history
    arrays["history.indices"], arrays["history.payoffs"] = history.indices, history.payoffs
    for name, array in optimizer.posterior.state().items():
        arrays[_POSTERIOR + name] = array
    return header, arrays


def from_state(header: Any, arrays: Arrays) -> ArmOptimizer:
    """Return the optimizer that `to_state` described."""
    arms = arrays["arms"]
    space = Finite(arms.tolist() if header["labeled"] else arms)
    if (space.labels is not None) != header["labeled"]:
        raise ValueError("its arms do not agree with its header.")
    optimizer = _POLICIES[header["policy"]](
        space=space,
        kernel=decode(header["kernel"], arrays, _TYPES),
        seed=_generator(header["start"]),
        **{name: decode(value, arrays, _TYPES) for name, value in header["options"].items()},
    )
    saved = {name: array for name, array in arrays.items() if name.startswith(_POSTERIOR)}
    posterior = {name.removeprefix(_POSTERIOR): array for name, array in saved.items()}
    history = (arrays["history.indices"], arrays["history.payoffs"])
    optimizer.restore(*history, posterior, header["pending"], _decode_random(header["random"]))
    return optimizer


def _encode_random(state: Any) -> Any:
    """Turn a bit generator's state into JSON; MT19937 and Philox hold arrays of integers."""
    if isinstance(state, dict):
        return {key: _encode_random(value) for key, value in state.items()}
    if isinstance(state, np.ndarray):
        return {"dtype": str(state.dtype), "values": state.tolist()}
    return state.item() if isinstance(state, np.generic) else state


def _decode_random(state: Any) -> Any:
    if not isinstance(state, dict):
        return state
    if set(state) == {"dtype", "values"}:
        return np.array(state["values"], dtype=state["dtype"])
    return {key: _decode_random(value) for key, value in state.items()}


def _generator(state: Any) -> np.random.Generator:
    name = state["bit_generator"]
    if name not in _GENERATORS:
        raise ValueError(f"`seed` must use one of {list(_GENERATORS)}, but the file has {name!r}.")
    bits = getattr(np.random, name)()
    bits.state = _decode_random(state)
    return np.random.Generator(bits)
