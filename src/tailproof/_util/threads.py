"""Thread limits of the linear algebra libraries."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_lock = threading.Lock()
_inside = 0
_limits: Any = None


@contextmanager
def single_thread() -> Iterator[None]:
    """Limit the threads of BLAS and OpenMP in this process to one.

    The matrices here are small, and several worker processes share the cores. Several threads may
    be inside at the same time, as in a Dask worker: the limit holds until the last one leaves.
    Without threadpoolctl (an optional dependency) nothing is limited.
    """
    global _inside, _limits
    try:
        from threadpoolctl import threadpool_limits
    except ModuleNotFoundError:
        yield
        return
    with _lock:
        if _inside == 0:
            _limits = threadpool_limits(1)
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _limits.__exit__(None, None, None)
