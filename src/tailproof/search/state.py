"""The state of a practical optimizer as a header and arrays, and back: see `tailproof.storage`.

The options, the seed and the trials determine everything; the fitted parameters are stored to save
the time of fitting them again.
"""

from __future__ import annotations

import dataclasses
import math
import types
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np

from tailproof.search.model import noise
from tailproof.search.model.correlation import KernelLayout, KernelParameters
from tailproof.search.model.parameters import (
    ModelParameters,
    NoiseScale,
    OutlierModel,
    TailCorrection,
)
from tailproof.search.optimizer import Optimizer
from tailproof.search.options import Options
from tailproof.search.space.space import space_from_state
from tailproof.search.space.values import typed, untyped
from tailproof.search.trials import Trial
from tailproof.storage import Arrays, decode, encode

FORMAT = "tailproof-search"
_TYPES: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        Options,
        noise.AdaptiveWindow,
        noise.Gaussian,
        noise.Winsorize,
        noise.StudentT,
        noise.WindowPsi,
        noise.StudentTPsi,
        KernelParameters,
        ModelParameters,
        NoiseScale,
        OutlierModel,
        TailCorrection,
    )
}


def to_state(optimizer: Optimizer) -> tuple[dict[str, Any], Arrays]:
    """Return the header and the arrays that describe an optimizer."""
    trials = optimizer._trials.values()
    completed = optimizer.trials
    arrays: Arrays = {
        "positions": optimizer._stack([u for _, u in trials]),
        "completed.numbers": np.array([done.trial.number for done in completed], dtype=np.int64),
        "completed.values": np.array([done.value for done in completed], dtype=np.float64),
    }
    header = {
        "options": encode("options", optimizer.options, arrays, _TYPES),
        "space": optimizer.space.state(),
        "seed": optimizer.seed,
        "minimize": optimizer.minimize,
        "params": [
            [[name, *typed(value)] for name, value in trial.params.items()] for trial, _ in trials
        ],
        "pending": list(optimizer._pending),
        "model": encode("model", optimizer._model, arrays, _TYPES),
    }
    return header, arrays


def from_state(header: Any, arrays: Arrays) -> Optimizer:
    """Return the optimizer that `to_state` described."""
    options = decode(header["options"], arrays, _TYPES)
    if not isinstance(options, Options):
        raise ValueError("its options are none.")
    space = space_from_state(header["space"])
    result = Optimizer(space, seed=header["seed"], minimize=header["minimize"], options=options)
    for number, (listed, u) in enumerate(zip(header["params"], arrays["positions"], strict=True)):
        trial = Trial(number, {name: untyped(kind, value) for name, kind, value in listed})
        if not np.allclose(result._position(trial.params), u, rtol=0.0, atol=1e-9):
            raise ValueError(f"trial {number} does not lie where its parameters do.")
        result._trials[number] = (trial, u)
    completed = zip(arrays["completed.numbers"], arrays["completed.values"], strict=True)
    for number, value in completed:
        result.tell(number, float(value))
    result._pending = dict.fromkeys(result._number(number) for number in header["pending"])
    model = decode(header["model"], arrays, _TYPES)
    if model is not None:
        _check(model, result._config.layout, len(result))
        result._model = model
    return result


def _check(model: Any, layout: KernelLayout, payoffs: int) -> None:
    """Refuse parameters that no fit to at most so many payoffs in this layout could give."""
    sound = _has_type(model, ModelParameters)
    if sound:
        tail, inducing = model.tail_correction, model.inducing_points
        kernels = [model.kernel, *([tail.outliers.kernel] if tail and tail.outliers else [])]
        numbers = [model.scale, model.psi.slope]
        for kernel in kernels:
            sound &= kernel.lengthscales.shape == (layout.n_lengthscales,)
            numbers += [*kernel.lengthscales.ravel(), kernel.signal_var, kernel.noise_var]
        sound &= bool(np.isfinite(numbers).all() and np.min(numbers) > 0.0)
        sound &= math.isfinite(model.location) and 1 <= model.count <= payoffs
        if inducing is not None:
            sound &= inducing.ndim == 2 and inducing.shape[1] == len(layout.parameter_of_column)
    if not sound:
        raise ValueError("its model is none that could have been fitted.")


def _has_type(value: Any, hint: Any) -> bool:
    """Tell whether a value is of a type, and if that is a dataclass, its fields of theirs."""
    if hint is noise.PsiFunction:
        hint = noise.WindowPsi | noise.StudentTPsi
    if isinstance(hint, types.UnionType):
        return any(_has_type(value, option) for option in get_args(hint))
    if dataclasses.is_dataclass(hint):
        hints = get_type_hints(hint)
        return type(value) is hint and all(
            _has_type(getattr(value, field.name), hints[field.name])
            for field in dataclasses.fields(hint)
        )
    if get_origin(hint) is np.ndarray:
        return isinstance(value, np.ndarray) and value.dtype == np.float64
    return type(value) is hint
