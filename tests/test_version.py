"""The version is the build's; a tree without a build falls back, and asking for it is quick."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import tailproof

ROOT = Path(__file__).resolve().parents[1]


def run(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()


def test_the_version_is_one():
    assert re.fullmatch(r"\d+\.\d+(\.\d+)?(\.dev\d+)?|0\+unknown", tailproof.__version__)


def test_the_version_of_a_build_is_read_without_slow_imports():
    build = "import sys, types; m = types.ModuleType('v'); m.__version__ = '9.8.7'; "
    code = build + "sys.modules['tailproof._version'] = m; import tailproof; "
    shown = run(code + "print(tailproof.__version__, *sys.modules)")
    assert shown[0] == "9.8.7"
    assert not {"importlib.metadata", "numpy", "email"} & set(shown[1:])


def test_a_tree_that_was_never_built_has_a_version_too():
    code = "import sys; sys.modules['tailproof._version'] = None; import tailproof; "
    (shown,) = run(code + "print(tailproof.__version__)")
    assert shown


def test_an_archive_without_git_gets_the_version_after_the_latest_release():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["version"]
    fallback = settings["fallback-version"]
    assert re.fullmatch(r"\d+\.\d+\.\d+\.dev0", fallback)
    released = re.findall(r"^## (\d+\.\d+\.\d+)$", (ROOT / "CHANGELOG.md").read_text(), re.M)
    number = [int(part) for part in fallback.split(".")[:3]]
    assert number > [int(part) for part in released[0].split(".")]


def test_citation_and_license_agree():
    yaml = pytest.importorskip("yaml", reason="CITATION.cff is YAML")
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert citation["title"] == project["name"]
    assert citation["license"] == project["license"]


@pytest.mark.parametrize("path", sorted((ROOT / ".github").rglob("*.yml")), ids=lambda p: p.name)
def test_workflows_are_yaml_and_their_targets_exist(path):
    yaml = pytest.importorskip("yaml", reason="workflows are YAML")
    text = path.read_text()
    assert yaml.safe_load(text)
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"make ([a-z-]+)", text)) <= targets
