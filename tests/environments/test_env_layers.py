"""Environments know nothing of policies: they import only checks and kernels of the package."""

import ast
import pathlib

import pytest

import tailproof.environments

FOLDER = pathlib.Path(tailproof.environments.__file__).parent
ALLOWED = ("tailproof._checks", "tailproof.kernels", "tailproof.environments")


def imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            if node.module == "tailproof":
                yield from (f"tailproof.{alias.name}" for alias in node.names)
            else:
                yield node.module


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_only_allowed_modules_are_imported(path):
    ours = [name for name in imported(path) if name.split(".")[0] == "tailproof"]
    assert all(name.startswith(ALLOWED) for name in ours)


def test_every_public_name_is_there_and_documented():
    for name in tailproof.environments.__all__:
        assert getattr(tailproof.environments, name).__doc__
