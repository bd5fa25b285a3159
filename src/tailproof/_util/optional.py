"""Optional dependencies: loaded where they are used, with one hint that names the extra."""

from __future__ import annotations

import importlib
from typing import Any


def require(module: str, extra: str) -> Any:
    """Import `module`, or raise an ImportError that names the extra of tailproof that brings it.

    Examples
    --------
    >>> require("json", "tune").__name__
    'json'
    >>> require("no_such_module", "plot")
    Traceback (most recent call last):
    ImportError: this needs no-such-module: pip install 'tailproof[plot]'
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.split(".")[0]:
            raise
        name = module.split(".")[0].replace("_", "-")
        raise ImportError(f"this needs {name}: pip install 'tailproof[{extra}]'") from None
