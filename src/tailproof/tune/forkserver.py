"""The process that workers are forked from: it imports what they need, once and early.

This module imports little, so that the process can start before the command has imported its own.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from multiprocessing import forkserver, resource_tracker
from typing import Any

from tailproof._util.interrupts import blocked
from tailproof.tune.signals import HANDLED

_MODULES = ["tailproof.tune.worker_pool", "tailproof.integrations.optuna", "sqlalchemy.orm"]
# A process with a pool of threads cannot be forked safely.
_ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def context() -> Any:
    """Return what starts worker processes: a forkserver on Linux, a new interpreter elsewhere."""
    return multiprocessing.get_context("forkserver" if sys.platform == "linux" else "spawn")


def ensure_running() -> None:
    """Start the forkserver, if it does not run; workers must get their environment themselves.

    Signals are blocked in it and in its forks: a worker unblocks them when it can handle them.
    """
    resource_tracker.ensure_running()  # it would start with the first worker, and unblock signals
    if sys.platform != "linux":
        return
    forkserver.set_forkserver_preload(_MODULES)
    before = dict(os.environ)
    os.environ.update(_ONE_THREAD)
    try:
        with blocked(HANDLED):
            forkserver.ensure_running()
    finally:
        os.environ.clear()
        os.environ.update(before)
