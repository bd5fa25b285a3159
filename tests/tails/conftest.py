import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data():
    """Return a function that finds a data file, or skips the test that wants it."""
    beside = Path(__file__).resolve().parents[3] / "shared" / "data"
    folder = Path(os.environ.get("TAILPROOF_DATA", beside))

    def find(name):
        path = folder / name
        if not path.is_file():
            pytest.skip(f"{name} is not in {folder} (set TAILPROOF_DATA)")
        return path

    return find
