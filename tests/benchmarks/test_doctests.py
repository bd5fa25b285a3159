"""Examples in the docstrings of the benchmarks."""

import doctest
import importlib

import pytest

RIVALS = ("analysis", "claims", "domains", "methods", "problems", "run", "seeds")
PRACTICAL = ("analysis", "catalog", "domains")
BANDIT = ("problems", "report")
MODULES = (
    *("reporting", "compare_practical", "stopping"),
    *(f"rivals.{name}" for name in RIVALS),
    *(f"practical.{name}" for name in PRACTICAL),
    *(f"bandit.{name}" for name in BANDIT),
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_are_right(name):
    found = doctest.testmod(importlib.import_module(name))
    assert found.attempted > 0
    assert found.failed == 0
