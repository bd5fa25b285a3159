import importlib
import pathlib
import sys

import pytest

BENCHMARKS = pathlib.Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def benchmark_module(monkeypatch):
    """Import a benchmark by name; it and those beside it are forgotten afterwards."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    yield importlib.import_module
    for path in BENCHMARKS.glob("*.py"):
        sys.modules.pop(path.stem, None)
