"""The open substitute for the stock data."""

import importlib.util
import subprocess
import sys

import numpy as np
import pytest

from tailproof.environments import load_stand_in_stocks


def test_the_stand_in_is_six_weekly_series_and_says_so():
    if importlib.util.find_spec("plotly") is None:
        pytest.skip("the extra stand-in is not installed")
    arms = load_stand_in_stocks()
    assert "stand-in" in arms.name
    assert arms.labels == ("GOOG", "AAPL", "AMZN", "FB", "NFLX", "MSFT")
    assert set(arms.counts) == {105}
    # Each series is divided by its first price.
    assert np.all(arms.values.reshape(6, 105)[:, 0] == 1.0)
    np.testing.assert_allclose(np.diagonal(arms.gram), 1.0)


def test_without_plotly_the_stand_in_names_its_extra(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'tailproof\[stand-in\]'"):
        load_stand_in_stocks()


def test_the_stand_in_reads_without_importing_plotly():
    if importlib.util.find_spec("plotly") is None:
        pytest.skip("the extra stand-in is not installed")
    program = (
        "import sys; from tailproof.environments import load_stand_in_stocks; "
        "load_stand_in_stocks(); sys.exit('plotly' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
