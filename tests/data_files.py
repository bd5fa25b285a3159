"""The data files of the paper, which are not part of this repository."""

import os
from pathlib import Path

import pytest

BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"
FOLDER = Path(os.environ.get("TAILPROOF_DATA", BESIDE))


def data_file(name):
    """Return the path of a data file, or skip the test that needs it."""
    path = FOLDER / name
    if not path.is_file():
        pytest.skip(f"{name} is not in {FOLDER} (set TAILPROOF_DATA)")
    return path
