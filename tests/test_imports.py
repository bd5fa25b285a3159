"""Imports go one way, the public names are listed, and heavy packages load where they are used."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import tailproof

SOURCE = Path(__file__).resolve().parents[1] / "src" / "tailproof"

# What each part of the package may import besides itself.
BASE = {"_util", "_compiled", "kernels", "means"}
ALLOWED = {
    "__init__": {"plot"},
    "_version": set(),  # written by the build
    "_util": set(),
    "_compiled": {"_util"},
    "kernels": {"_util"},
    "means": {"_util"},
    "storage": BASE,
    "tails": {"_util", "means"},
    "bandits": BASE | {"storage", "tails"},
    "search": BASE | {"storage", "tails"},
    "environments": {"_util", "kernels"},
    "theory": BASE | {"bandits"},
    "integrations": BASE | {"search"},
    "plot": BASE | {"search", "integrations"},
    "experiments": BASE | {"__init__", "bandits", "environments", "tails", "theory"},
    "tune": BASE | {"__init__", "search", "tails", "integrations", "plot"},
    "comparison": {"__init__", "_util", "means", "tails"},
    "demo": {"_util", "experiments", "tune"},
    "cli": {
        "__init__",
        "_util",
        "bandits",
        "comparison",
        "demo",
        "experiments",
        "tails",
        "theory",
        "tune",
    },
    "__main__": {"cli"},
}


def part(path):
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def runtime_nodes(tree):
    """Every node but those below `if TYPE_CHECKING`."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            continue
        yield node
        yield from runtime_nodes(node)


def imported_parts(path):
    """Parts of tailproof that a file imports, at its top or inside a function."""
    for node in runtime_nodes(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "tailproof":
            base = node.module
            names = [f"{base}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [a.name for a in node.names if a.name.split(".")[0] == "tailproof"]
        for name in names:
            first = [*name.split("."), "__init__"][1]
            yield first if first in ALLOWED else "__init__"


def test_every_part_has_a_place_in_the_import_rule():
    assert {part(path) for path in SOURCE.rglob("*.py")} <= set(ALLOWED)


@pytest.mark.parametrize("own", ALLOWED)
def test_imports_go_one_way(own):
    for path in SOURCE.rglob("*.py"):
        if part(path) == own:
            for other in set(imported_parts(path)) - {own}:
                assert other in ALLOWED[own], f"{path} must not import {other}"


def test_dir_shows_the_public_names_only():
    code = "import tailproof; tailproof.Space; tailproof.gp_ucb; print(*dir(tailproof))"
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert set(shown) == {*tailproof.__all__, "__version__"}


def test_every_public_name_can_be_loaded():
    for name in tailproof.__all__:
        assert getattr(tailproof, name) is not None
    with pytest.raises(AttributeError, match="nonsense"):
        _ = tailproof.nonsense


def loaded_after(code):
    shown = subprocess.run(
        [sys.executable, "-c", f"{code}; import sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return set(shown.split())


OPTIONAL = {"matplotlib", "plotly", "optuna", "dask", "joblib", "sklearn", "pandas", "pyarrow"}


def test_importing_the_library_and_its_commands_loads_nothing_heavy():
    loaded = loaded_after("import tailproof, tailproof.cli; tailproof.cli.parser()")
    assert not loaded & (OPTIONAL | {"numba", "scipy.stats"})


def test_ctrl_c_is_handled_before_anything_slow_is_imported():
    # Until `tailproof.__main__` is imported, Ctrl-C gives the interpreter's traceback.
    code = (
        "import os, sys; before = set(sys.modules); import tailproof.__main__;"
        "print(*set(sys.modules) - before)"
    )
    loaded = subprocess.run(
        [sys.executable, "-S", "-c", code],
        env={**os.environ, "PYTHONPATH": str(SOURCE.parent)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert sorted(loaded) == ["tailproof", "tailproof.__main__"]


def test_the_practical_optimizer_needs_no_compiler():
    code = (
        "import tailproof as tp; o = tp.Optimizer(tp.Space(x=tp.Float(0, 1)));"
        "[o.tell(o.ask(), float(i % 3)) for i in range(12)]; o.recommend()"
    )
    assert "numba" not in loaded_after(code)
