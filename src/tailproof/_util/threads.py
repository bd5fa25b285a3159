"""Thread limits of the linear algebra libraries."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any


def single_thread() -> AbstractContextManager[Any]:
    """Return a context in which BLAS and OpenMP use one thread; entered or not, it takes effect.

    The matrices here are small, and several worker processes share the cores. Without
    threadpoolctl (an optional dependency) nothing is limited.
    """
    try:
        from threadpoolctl import threadpool_limits
    except ModuleNotFoundError:
        return nullcontext()
    limits: AbstractContextManager[Any] = threadpool_limits(1)
    return limits
