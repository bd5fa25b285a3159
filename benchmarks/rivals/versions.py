"""Versions of the methods: a finished run is filed under them."""

from __future__ import annotations

import functools
import importlib.metadata
import platform
import subprocess
from collections.abc import Sequence
from pathlib import Path

import tailproof
from rivals.methods import METHODS

_LIBRARIES = ("numpy", "scipy", "numba")


@functools.cache
def version_of(method: str) -> str | None:
    """Return the version of a method as it is installed; None if its package is not."""
    return package_version(METHODS[method].package)


def package_version(package: str) -> str | None:
    """Return the version of a package as it is installed; None if it is not.

    For rivals it is the release, for this library `tailproof.__version__` and, in a git checkout,
    the last commit that changed the package, such as "0.2.0+g25941279639a". Uncommitted changes of
    the package add ".dirty".
    """
    if package == "tailproof":
        return tailproof.__version__ + commit_suffix(Path(tailproof.__file__).parent)
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def commit_suffix(package: Path) -> str:
    """Return "+g" and the last commit that changed a package, or nothing outside a checkout."""
    commit = _git(package, "log", "-1", "--format=%h", "--abbrev=12", "--", ".")
    if not commit:
        return ""
    return f"+g{commit}" + (".dirty" if _git(package, "status", "--porcelain", "--", ".") else "")


def _git(folder: Path, *arguments: str) -> str:
    """Return what git prints; nothing where there is no git or no checkout."""
    try:
        done = subprocess.run(("git", *arguments), cwd=folder, capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


@functools.cache
def environment(method: str) -> dict[str, str]:
    """Return the releases of Python and of all libraries that a run of a method uses."""
    return libraries_used(METHODS[method].needs)


def libraries_used(needs: Sequence[str]) -> dict[str, str]:
    """Return the releases of Python and of all libraries of a run that needs some modules."""
    libraries = (*_LIBRARIES, *needs, *(("torch", "gpytorch") if "botorch" in needs else ()))
    return {"tailproof": tailproof.__version__, "python": platform.python_version()} | {
        name: importlib.metadata.version(name) for name in libraries
    }
