"""Optional dependencies, loaded where they are used."""

from __future__ import annotations

import importlib
from typing import Any


def need(module: str, extra: str) -> Any:
    """Return a module, or say which of tailproof's extras brings it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise ImportError(
            f"this needs {module.replace('_', '-')}: pip install '.[{extra}]' in a clone of "
            "tailproof."
        ) from None
