"""Save and load optimizers as one npz file: plain arrays and one JSON text, never code.

The text holds the config (policy and its parts by name), the state of the random generator and
the pending arms; arrays hold the arms, kernel matrices, the history and the posterior's state.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import secrets
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailproof import kernels
from tailproof.bandits import features, policies, schedules
from tailproof.bandits.arms import Finite
from tailproof.bandits.optimizer import ArmOptimizer
from tailproof.search.model import noise as taming
from tailproof.search.optimizer import Optimizer, optimizer_from_state
from tailproof.search.options import Options

ARMS, SEARCH = "tailproof-arms", "tailproof-search"
VERSION = 1

_PARTS: dict[str, type] = {
    part.__name__: part
    for part in (
        kernels.SquaredExponential,
        kernels.Matern,
        kernels.Linear,
        kernels.Precomputed,
        kernels.Sum,
        kernels.Product,
        kernels.Scaled,
        features.QuadratureFourier,
        features.RandomFourier,
        features.Exact,
        features.Nystrom,
        schedules.MomentBound,
        schedules.Setting,
        schedules.Theorem1,
        schedules.Theorem3,
        schedules.Theorem4,
        schedules.AuthorsTGP,
        schedules.AuthorsATA,
        schedules.SubGaussian,
        schedules.CustomSchedule,
        Options,
        taming.Window,
        taming.Untamed,
        taming.Clip,
        taming.StudentT,
    )
}
_POLICIES = {
    policy.__name__: policy
    for policy in (
        policies.gp_ucb,
        policies.tgp_ucb,
        policies.ata_gp_ucb,
        policies.moma_gp_ucb,
    )
}
_GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")


def save(optimizer: ArmOptimizer | Optimizer, path: str | os.PathLike[str]) -> None:
    """Write `optimizer` to `path`, all or nothing: an existing file is replaced at the end."""
    if not isinstance(path, str | os.PathLike) or not str(path):
        raise ValueError(f"`path` must name a file, but got {path!r}.")
    describe = _describe_search if isinstance(optimizer, Optimizer) else _describe_arms
    arrays: dict[str, NDArray[Any]] = {}
    text = describe(optimizer, arrays)
    arrays["text"] = np.array(json.dumps({**text, "version": VERSION}, allow_nan=False))
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        with temporary.open("xb") as stream:
            np.savez_compressed(stream, allow_pickle=False, **arrays)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _describe_search(optimizer: Any, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """Return the text for a practical optimizer: its trials say everything."""
    options = _encode("options", optimizer.options, arrays)
    return {"format": SEARCH, "options": options, "state": optimizer.state()}


def _describe_arms(optimizer: Any, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """Return the text for a policy on arms, and put what is large into `arrays`."""
    config = optimizer.config
    text = {
        "format": ARMS,
        "policy": config.policy,
        "kernel": _encode("kernel", config.kernel, arrays),
        "options": {name: _encode(name, value, arrays) for name, value in config.options.items()},
        "labeled": config.space.labels is not None,
        "start": _encode_random(optimizer._start),
        "random": _encode_random(optimizer._rng.bit_generator.state),
        "pending": optimizer.pending.tolist(),
    }
    labels = config.space.labels
    arrays["arms"] = config.space.inputs if labels is None else np.array(labels)
    history = optimizer.history
    arrays["history.indices"], arrays["history.payoffs"] = history.indices, history.payoffs
    for name, array in optimizer._posterior.state().items():
        arrays[f"posterior.{name}"] = array
    return text


def load(path: str | os.PathLike[str]) -> Any:
    """Read an `ArmOptimizer` or `Optimizer` that `save` wrote; it continues bit for bit.

    Examples
    --------
    >>> import tempfile, pathlib, tailproof as tp
    >>> opt = tp.gp_ucb(tp.Finite([[0.0], [1.0]]), tp.Linear(), tp.CustomSchedule(2.0), seed=0)
    >>> opt.tell([1.0], 3.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     opt.save(pathlib.Path(folder, "run.npz"))
    ...     again = tp.load(pathlib.Path(folder, "run.npz"))
    >>> bool(again.ask() == opt.ask())
    True
    """
    try:
        with Path(path).open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        return _rebuild(json.loads(str(arrays.pop("text"))), arrays)
    except FileNotFoundError:
        raise
    except _UNREADABLE as error:
        raise ValueError(
            f"`path` must be a sound file written by save, but {path} is not: {error}"
        ) from error


# What reading a damaged or foreign file may raise, in numpy, zipfile, zlib, json or here.
_UNREADABLE = (
    AttributeError,
    EOFError,
    IndexError,
    KeyError,
    OSError,
    OverflowError,
    RuntimeError,  # zipfile on methods and flags it does not know
    TypeError,
    ValueError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)


def _rebuild(text: Any, arrays: dict[str, NDArray[Any]]) -> ArmOptimizer | Optimizer:
    if text["format"] not in (ARMS, SEARCH) or text["version"] != VERSION:
        raise ValueError(
            f"it is of format {text['format']} version {text['version']}, "
            f"not {ARMS} or {SEARCH} version {VERSION}."
        )
    if text["format"] == SEARCH:
        options = _decode(text["options"], arrays)
        if not isinstance(options, Options):
            raise ValueError("its options are none.")
        return optimizer_from_state(text["state"], options)
    return _rebuild_arms(text, arrays)


def _rebuild_arms(text: Any, arrays: dict[str, NDArray[Any]]) -> ArmOptimizer:
    arms = arrays["arms"]
    space = Finite(arms.tolist() if text["labeled"] else arms)
    if (space.labels is not None) != text["labeled"]:
        raise ValueError("its arms are not what its text says.")
    optimizer = _POLICIES[text["policy"]](
        space=space,
        kernel=_decode(text["kernel"], arrays),
        seed=_generator(text["start"]),
        **{name: _decode(value, arrays) for name, value in text["options"].items()},
    )
    optimizer._restore(
        arrays["history.indices"],
        arrays["history.payoffs"],
        {
            name.removeprefix("posterior."): array
            for name, array in arrays.items()
            if name.startswith("posterior.")
        },
        text["pending"],
        _decode_random(text["random"]),
    )
    return optimizer


def _encode(name: str, value: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    """Turn a part into JSON; arrays inside go to `arrays` under the part's name."""
    if isinstance(value, np.ndarray):
        arrays[f"part.{name}"] = value
        return {"array": f"part.{name}"}
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and math.isinf(value):  # JSON has no infinity
        return {"float": repr(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple | list):
        return [_encode(f"{name}.{i}", one, arrays) for i, one in enumerate(value)]
    if dataclasses.is_dataclass(value) and type(value).__name__ in _PARTS:
        fields = {
            field.name: _encode(f"{name}.{field.name}", getattr(value, field.name), arrays)
            for field in dataclasses.fields(value)
        }
        return {"part": type(value).__name__, "fields": fields}
    raise ValueError(
        f"`{name}` must be made of tailproof's own parts and numbers to be saved, but got "
        f"{value!r}."
    )


def _decode(value: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    if isinstance(value, list):
        return tuple(_decode(one, arrays) for one in value)
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return arrays[value["array"]]
    if "float" in value:
        return float(value["float"])
    fields = {key: _decode(one, arrays) for key, one in value["fields"].items()}
    return _PARTS[value["part"]](**fields)


def _encode_random(state: Any) -> Any:
    """Turn a bit generator's state into JSON; MT19937 and Philox hold arrays of integers."""
    if isinstance(state, dict):
        return {key: _encode_random(value) for key, value in state.items()}
    if isinstance(state, np.ndarray):
        return {"dtype": str(state.dtype), "values": state.tolist()}
    if isinstance(state, np.generic):
        return state.item()
    return state


def _decode_random(state: Any) -> Any:
    if isinstance(state, dict):
        if set(state) == {"dtype", "values"}:
            return np.array(state["values"], dtype=state["dtype"])
        return {key: _decode_random(value) for key, value in state.items()}
    return state


def _generator(state: Any) -> np.random.Generator:
    name = state["bit_generator"]
    if name not in _GENERATORS:
        raise ValueError(f"`seed` must use one of {list(_GENERATORS)}, but the file has {name!r}.")
    bits = getattr(np.random, name)()
    bits.state = _decode_random(state)
    return np.random.Generator(bits)
