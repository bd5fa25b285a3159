"""Versions that runs are filed under."""

import re
import subprocess

import numpy as np
import pytest

import tailproof
from rivals import versions
from rivals.methods import METHODS, Method


@pytest.fixture(autouse=True)
def _fresh():
    versions.version_of.cache_clear()
    yield
    versions.version_of.cache_clear()


def test_ours_is_the_release_and_the_commit_of_the_package():
    pattern = re.escape(tailproof.__version__) + r"(\+g[0-9a-f]{12}(\.dirty)?)?"
    assert re.fullmatch(pattern, versions.version_of("tailproof"))


def test_a_rival_s_version_is_the_release_of_its_package():
    assert versions.version_of("random") == np.__version__
    optuna = pytest.importorskip("optuna")
    assert versions.version_of("optuna-tpe") == optuna.__version__
    assert set(versions.environment("optuna-tpe")) >= {"python", "numpy", "optuna"}


def test_a_package_that_is_not_installed_has_no_version(monkeypatch):
    unknown = Method("unknown", "unknown", "unknown", None, "no-such-package")
    monkeypatch.setitem(METHODS, "unknown", unknown)
    assert versions.version_of("unknown") is None


def test_the_commit_is_that_of_the_last_change_of_the_package(tmp_path):
    def git(*words):
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(("git", *identity, *words), cwd=tmp_path, check=True, capture_output=True)

    package = tmp_path / "package"
    package.mkdir()
    assert versions.commit_suffix(package) == ""  # no checkout
    git("init")
    (package / "a.py").write_text("1")
    git("add", ".")
    git("commit", "-m", "package")
    first = versions.commit_suffix(package)
    (tmp_path / "readme").write_text("1")
    git("add", ".")
    git("commit", "-m", "beside the package")
    assert versions.commit_suffix(package) == first
    (package / "a.py").write_text("2")
    assert versions.commit_suffix(package) == first + ".dirty"
