"""The report is one file that opens from disk, shows its figures, and needs no network."""

import html
import re
import shutil
import subprocess

import numpy as np
import pytest

from tailproof._util.html import render
from tailproof.experiments.report import report_values

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# In colors of the curves: nothing else on the page is drawn in them.
CURVES = {"TGP-UCB": (0, 114, 178), "ATA-GP-UCB-QFF": (230, 159, 0), "Nystrom": (176, 48, 96)}


@pytest.fixture(scope="module")
def page(uninterrupted):
    return html.unescape((uninterrupted / "report.html").read_text(encoding="utf-8"))


def test_nothing_is_loaded_from_anywhere(page):
    sources = re.findall(r"(?:src|href)\s*=\s*[\"']([^\"']{0,40})", page)
    assert len(sources) == 2
    assert all(source.startswith("data:image/svg+xml;base64,") for source in sources)
    assert "url(" not in page
    assert "@import" not in page
    assert "<script" not in page


def test_every_part_is_there(page):
    titles = re.findall(r"<h2>(.*?)</h2>", page)
    assert titles == [
        "Statements about the paper",
        "Comparison with the paper's values",
        "Crossings of the curves",
        "Variants: theory schedule, folded and exact features",
        "Time",
        "How to cite",
        "Files beside this report",
    ]
    assert "Not at the paper's size: a, c, f." in page
    assert "NeurIPS 2019" in page
    assert "@software{tailproof" in page
    assert "QFF, folded: half the Fourier features for the same kernel." in page


def test_the_table_has_our_mean_and_the_papers_value():
    point = {"round": 20_000, "mean": 0.3612, "sd": None, "paper": 0.35, "difference": 0.0112}
    early = point | {"round": 200, "paper": None, "difference": None}
    summary = {
        "panels": {
            "a": {
                "rounds": 20_000,
                "policies": {
                    "tgp": {"title": "TGP-UCB", "curve": [point]},
                    "qff": {"title": "QFF", "curve": [early, point]},
                    "nystrom": {"title": "Nyström", "curve": [early, point]},
                },
                "crossings": {
                    "qff": {"round": 200, "paper": None},
                    "nystrom": {"round": 9_800, "paper": 10_000},
                },
                "variants": {},
            }
        },
        "statements": [{"panel": "a", "text": "1 < 2", "holds": False, "numbers": "3"}],
        "variants": {},
    }
    manifest = {"versions": {"tailproof": "9"}, "seed": 0, "panels": {"a": {"repetitions": 1}}}
    times = {
        "sessions": [{}],
        "rounds_per_second": {"a": {"tgp": 12_345.6}},
        "seconds": 61.0,
        "cpu_seconds": 90.0,
        "last_session_on": "2 worker processes",
    }
    values = report_values(manifest, summary, times, {"figure": b"<svg/>"}, ["a < b"])
    page = render("experiments/report.html", heading=1, **values)
    cells = re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", page)
    for cell in (
        "0.3612",
        "0.35",
        "+0.0112",
        "20,000",
        "9,800",
        "about 10,000",
        "12,346",
        "from the start (200)",
    ):
        assert cell in cells
    assert "0 of 1 statements hold" in page
    assert "1 &lt; 2" in page
    assert "a &lt; b" in page
    assert "1 min 1 s (2 worker processes)" in page
    assert "Variants" not in page
    inside = render("experiments/content.html", heading=2, **values)
    assert "<html" not in inside
    assert inside.count("<h2>") == 1
    assert "<h1>" not in inside


def test_it_shows_in_a_real_browser(uninterrupted, tmp_path):
    browser = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if browser is None:
        pytest.skip(f"no browser installed (looked for {', '.join(BROWSERS)})")
    from matplotlib.image import imread

    shot = tmp_path / "shot.png"
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"]
    command += ["--no-first-run", "--disable-background-networking", "--disable-sync"]
    command += ["--disable-component-update", "--host-resolver-rules=MAP * ~NOTFOUND"]
    command += [f"--user-data-dir={tmp_path / 'profile'}", "--window-size=1100,1400"]
    command += [f"--screenshot={shot}", (uninterrupted / "report.html").resolve().as_uri()]
    subprocess.run(command, check=True, capture_output=True, timeout=600)
    pixels = np.round(imread(shot)[:, :, :3] * 255).astype(int)
    assert pixels.shape[:2] == (1400, 1100)
    for name, color in CURVES.items():
        drawn = (np.abs(pixels - color).max(axis=2) <= 6).sum()
        assert drawn > 100, f"the curve of {name} does not show"
    dark = (pixels.max(axis=2) < 90).any(axis=1)
    assert dark[700:].any()  # text below the figure
