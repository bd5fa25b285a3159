"""Modules of the rivals, imported where a run needs them."""

from __future__ import annotations

import importlib
from typing import Any

INSTALL = "pip install -r benchmarks/requirements.txt"


def load(module: str) -> Any:
    """Return a rival's module, or raise an ImportError that says how to install it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        root = module.split(".")[0]
        raise ImportError(f"the rivals need {root}: {INSTALL}") from error
