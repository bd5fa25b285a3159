"""The peers' modules, loaded where a match needs them."""

from __future__ import annotations

import importlib
from typing import Any

INSTALL = "pip install optuna greenlet botorch torch==2.13.0"


def load(module: str) -> Any:
    """Return a peer's module, or say how to get it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        root = module.split(".")[0]
        raise ImportError(f"The arena's peers need {root}: {INSTALL}.") from error
