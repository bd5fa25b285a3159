"""What is collected, and how it is distributed.

Doctests of optional parts are collected only where what they need is installed.
"""

import gc
import importlib.util

import pytest

collect_ignore_glob = []
if importlib.util.find_spec("optuna") is None:
    collect_ignore_glob += ["src/tailproof/integrations/*", "src/tailproof/tune/*"]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Run neighbors in one process, which shares what their module or session prepares."""
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log) if config.option.dist == "load" else None


def pytest_collection_finish(session):
    """Leave the tests themselves out of later garbage collections, of which each takes a second."""
    gc.collect()
    gc.freeze()
