"""The state of a policy on arms as a header and arrays, and back: see `tailproof.storage`.

The header holds the policy and its parts, the state of the random generator, the pending arms and
what of the posterior the history does not determine; arrays hold the arms, kernel matrices and the
history. The posterior itself is computed again: a file cannot contradict itself there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tailproof import kernels
from tailproof.bandits import features, huber_policies, policies, schedules
from tailproof.bandits.arms import Box, Finite
from tailproof.storage import Arrays, decode, encode, take

if TYPE_CHECKING:
    from tailproof.bandits.arm_optimizer import ArmOptimizer
    from tailproof.bandits.box_optimizer import BoxOptimizer

FORMAT = "tailproof-bandits"
_PARTS = {
    kernels: "SquaredExponential Matern Linear Precomputed Sum Product Scaled Columns",
    features: "QuadratureFourier RandomFourier LinearFeatures Exact Nystrom",
    schedules: "MomentBound Setting Theorem1 Theorem3 Theorem4 AuthorsTGP AuthorsATA SubGaussian "
    "CustomSchedule",
}
_TYPES: dict[str, type] = {
    name: getattr(module, name) for module, names in _PARTS.items() for name in names.split()
}
_POLICIES = {
    name: getattr(policies, name)
    for name in ("gp_ucb", "tgp_ucb", "ata_gp_ucb", "moma_gp_ucb", "rcgp_ucb")
} | {name: getattr(huber_policies, name) for name in ("heavy_oful", "one_pass_huber")}
# Random generators, and the largest position in the numbers that one has drawn ahead.
_GENERATORS = {"PCG64": 0, "PCG64DXSM": 0, "MT19937": 624, "Philox": 4, "SFC64": 0}


def to_state(optimizer: ArmOptimizer | BoxOptimizer) -> tuple[dict[str, Any], Arrays]:
    """Return the header and the arrays that describe the optimizer of a policy."""
    config, history, arrays = optimizer.config, optimizer.history, Arrays()
    start, present = optimizer.random_states()
    header = {
        "policy": config.policy,
        "kernel": encode("kernel", config.kernel, arrays, _TYPES),
        "options": {
            name: encode(name, value, arrays, _TYPES) for name, value in config.options.items()
        },
        "payoffs": len(history),
        "posterior": optimizer.posterior.state(),
        "start": _encode_bit_generator(start),
        "random": _encode_bit_generator(present),
        "pending": optimizer.pending.tolist(),
    }
    arrays["history.payoffs"] = history.payoffs
    if isinstance(config.space, Box):
        header["box"] = [config.space.lower.tolist(), config.space.upper.tolist()]
        arrays["history.points"] = history.points
        return header, arrays
    labels = config.space.labels
    header["arms"] = config.space.inputs.shape
    header["labels"] = None if labels is None else list(labels)
    if labels is None:
        arrays["arms"] = config.space.inputs
    arrays["history.indices"] = history.indices
    return header, arrays


def from_state(header: Any, arrays: Arrays) -> ArmOptimizer | BoxOptimizer:
    """Return a policy's optimizer that `to_state` described; the arrays it uses are removed."""
    count = header["payoffs"]
    payoffs = take(arrays, "history.payoffs", (count,))
    space: Finite | Box
    if "box" in header:
        space = Box(*header["box"])
        told = take(arrays, "history.points", (count, space.dimension))
    else:
        space = _arms_in_state(header, arrays)
        told = take(arrays, "history.indices", (count,), np.int64)
    optimizer = _POLICIES[header["policy"]](
        space=space,
        kernel=decode(header["kernel"], arrays, _TYPES),
        seed=_generator_in_state(header["start"]),
        **{name: decode(value, arrays, _TYPES) for name, value in header["options"].items()},
    )
    random = _generator_in_state(header["random"]).bit_generator.state
    optimizer.restore(told, payoffs, header["posterior"], header["pending"], random)
    result: ArmOptimizer | BoxOptimizer = optimizer
    return result


def _arms_in_state(header: Any, arrays: Arrays) -> Finite:
    """Return the set of arms that a state file of a policy describes."""
    labels, shape = header["labels"], tuple(header["arms"])
    space = Finite(take(arrays, "arms", shape) if labels is None else labels)
    if (space.labels is None) != (labels is None) or space.inputs.shape != shape:
        raise ValueError("its arms do not agree with its header.")
    return space


def _encode_bit_generator(state: Any) -> Any:
    """Turn the random state of a policy into JSON; MT19937 and Philox hold arrays of integers."""
    if isinstance(state, dict):
        return {key: _encode_bit_generator(value) for key, value in state.items()}
    if isinstance(state, np.ndarray):
        return {"dtype": str(state.dtype), "values": state.tolist()}
    return state.item() if isinstance(state, np.generic) else state


def _decode_bit_generator(state: Any) -> Any:
    """Return the random state of a policy with its arrays, from JSON."""
    if not isinstance(state, dict):
        return state
    if set(state) == {"dtype", "values"}:
        return np.array(state["values"], dtype={"uint32": np.uint32}.get(state["dtype"], np.uint64))
    return {key: _decode_bit_generator(value) for key, value in state.items()}


def _generator_in_state(state: Any) -> np.random.Generator:
    """Return the generator of a policy in its saved state, which must be one that it can have."""
    name = state["bit_generator"]
    if name not in _GENERATORS:
        raise ValueError(f"`seed` must use one of {list(_GENERATORS)}, but the file has {name!r}.")
    position = state.get("buffer_pos", state["state"].get("pos", 0))
    # numpy does not check positions, and reads memory there.
    if type(position) is not int or not 0 <= position <= _GENERATORS[name]:
        raise ValueError(f"its random generator cannot be at position {position!r}.")
    bits = getattr(np.random, name)()
    bits.state = _decode_bit_generator(state)
    if _encode_bit_generator(bits.state) != state:
        raise ValueError("its random generator has a state that it cannot have.")
    return np.random.Generator(bits)
