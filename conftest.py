"""What is collected, and how it is distributed.

Doctests of optional parts are collected only where what they need is installed.
"""

import gc
import importlib.util

import pytest

# Parts of the suite that need nothing compiled.
UNCOMPILED = tuple(
    f"tests/{part}/"
    for part in ("comparison", "integrations", "means", "plot", "search", "tails", "tune")
)

collect_ignore_glob = []
if importlib.util.find_spec("optuna") is None:
    collect_ignore_glob += ["src/tailproof/integrations/*", "src/tailproof/tune/*"]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Run neighbors in one process, which shares what their module or session prepares."""
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log) if config.option.dist == "load" else None


def pytest_collection_modifyitems(items):
    """Put first what needs nothing compiled.

    Of two processes with an empty cache one begins with it, while the other compiles the loops;
    they would compile the same ones at the same time.
    """
    items.sort(key=lambda item: not item.nodeid.startswith(UNCOMPILED))


def pytest_collection_finish(session):
    """Leave the tests themselves out of later garbage collections, of which each takes a second."""
    gc.collect()
    gc.freeze()
