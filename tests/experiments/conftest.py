import os
import pathlib

import pytest

from tailproof.cli import main
from tailproof.experiments.panels import synthetic_panels
from tailproof.experiments.plan import Size, make_plan

BESIDE = pathlib.Path(__file__).resolve().parents[3] / "shared" / "data"

POLICIES = ("tgp", "qff", "nystrom", "qff-folded", "gp", "gp-truncated")


@pytest.fixture(scope="session")
def data():
    """The folder of the data files."""
    folder = pathlib.Path(os.environ.get("TAILPROOF_DATA", BESIDE))
    if not (folder / "stocks.csv").exists():
        pytest.skip("the data files are not in TAILPROOF_DATA nor in ../shared/data")
    return folder


@pytest.fixture(scope="session")
def small_plan():
    """Panels a and f, a few policies, a few rounds."""
    panels = {key: panel for key, panel in synthetic_panels().items() if key in "af"}
    return make_plan(panels, {key: Size(40, 2) for key in panels}, seed=3, policies=POLICIES)


@pytest.fixture(scope="session")
def command():
    """A small run of panels a, c and f."""
    size = ["--rounds", "40", "--repetitions", "2"]
    return ["reproduce", "a", "c", "f", *size, "--policies", *POLICIES]


@pytest.fixture(scope="session")
def uninterrupted(tmp_path_factory, command):
    """The folder that this command leaves, run by one worker."""
    out = tmp_path_factory.mktemp("uninterrupted") / "out"
    assert main([*command, "--workers", "1", "--out", str(out)]) == 0
    return out
