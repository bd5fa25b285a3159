"""Imports point one way only, and optional dependencies load where they are used."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "tailproof"

# From the ground up: a module may import from those before it, never from those after it.
ROOMS = [
    "_checks",
    "_engine",
    "kernels",
    "spaces",
    "spans",
    "history",
    "features",
    "estimators",
    "schedules",
    "posterior",
    "direction_posterior",
    "guarantees",
    "arm_optimizer",
    "assembly",
    "policies",
    "tails",
    "constants",
    "scales",
    "parameters",
    "configurations",
    "search_space",
    "sections",
    "fourier_basis",
    "surrogate",
    "likelihood",
    "taming",
    "calibration",
    "robust_fit",
    "refit",
    "belief",
    "acquisition",
    "options",
    "trials",
    "survey",
    "intervals",
    "optimizer",
    "loop",
    "storage",
    "__init__",
    "environments",
    "theory",
    "experiments",
    "integrations",
    "tune",
    "demo",
    "cli",
    "__main__",
]
# Rooms that stand apart: what is made without policies cannot come to depend on them.
APART = {
    "environments": {"_checks", "kernels", "environments"},
    "tails": {"_checks", "tails"},
}
# `opt.save(path)` is a method because people look for it there; the work is done further up. What
# draws pictures borrows the one place that sets matplotlib up.
EXCEPTIONS = {
    ("arm_optimizer", "storage"),
    ("optimizer", "storage"),
    ("theory", "experiments"),
}


def room(path):
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_rooms(path):
    """Rooms of tailproof that a file imports, at its top or inside a function."""
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tailproof"):
            parts = node.module.split(".")
            names = [parts[1]] if len(parts) > 1 else [alias.name for alias in node.names]
            rooms |= {name if name in ROOMS else "__init__" for name in names}
        elif isinstance(node, ast.Import):
            rooms |= {
                [*alias.name.split("."), "__init__"][1]
                for alias in node.names
                if alias.name.split(".")[0] == "tailproof"
            }
    return rooms


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda p: str(p.name))
def test_imports_point_up_the_list(path):
    own = room(path)
    assert own in ROOMS, f"{own} has no place in the order of rooms"
    for other in imported_rooms(path) - {own}:
        if (own, other) in EXCEPTIONS:
            continue
        assert ROOMS.index(other) < ROOMS.index(own), f"{own} imports {other}"
        assert other in APART.get(own, ROOMS), f"{own} must not know {other}"


def test_importing_the_library_loads_no_optional_dependency():
    code = "import sys, tailproof, tailproof.cli; print([m for m in sys.modules])"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    for optional in ("matplotlib", "plotly", "optuna", "dask", "joblib", "sklearn", "pandas"):
        assert f"'{optional}'" not in loaded
