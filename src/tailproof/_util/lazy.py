"""Packages whose public names load their modules when they are first used."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any


def attach(
    package: str, modules: Sequence[str], names: Sequence[str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` for the `__init__` of `package` with the public `names`.

    A name is looked up in the package's `modules`, loaded in this order until one has it.

    Examples
    --------
    >>> load, _ = attach("json", ["scanner", "decoder"], ["JSONDecoder"])
    >>> load("JSONDecoder").__module__
    'json.decoder'
    """

    def load(name: str) -> Any:
        if name in names:
            for module in modules:
                loaded = importlib.import_module(f"{package}.{module}")
                if hasattr(loaded, name):
                    return getattr(loaded, name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return load, lambda: sorted(names)
