"""Compiled inner loops: plain functions on float64 arrays, no checks, nothing kept between calls.

numba compiles each once and caches the result beside the source (or in NUMBA_CACHE_DIR).
numba does not notice a change in a function of another module, so functions that call each other
stay in one module.
"""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import Any


def announce_compilation(*loops: Any) -> None:
    """Write one line to stderr if one of the loops must be compiled first, which takes seconds."""
    if not all(_is_cached(loop) for loop in loops):
        _announce_loop_compilation()


@functools.cache  # once for each process
def _announce_loop_compilation() -> None:
    """Say on stderr that numba compiles the loops now, once for this installation."""
    if sys.stderr is not None:  # it is None in a process without a console
        text = "tailproof: compiling the inner loops, once for this installation (some seconds) ..."
        print(text, file=sys.stderr, flush=True)


def _is_cached(loop: Any) -> bool:
    """Whether numba has compiled a loop since its source was written, in this process or another.

    numba reads a function's index file, `<module>.<function>-<line>.<python>.nbi`, and ignores one
    that is older than the source. Where compilation is switched off, there is nothing to wait for.
    """
    if not hasattr(loop, "signatures") or loop.signatures:
        return True
    try:
        source = Path(loop.py_func.__code__.co_filename)
        indices = Path(loop.stats.cache_path).glob(f"{source.stem}.{loop.__name__}-*.nbi")
        return any(index.stat().st_mtime >= source.stat().st_mtime for index in indices)
    except (OSError, TypeError):  # no folder that can be read, or no cache at all
        return False
