"""What a comparison is shown as: text, Markdown, HTML for notebooks, plots and the page."""

import re

import numpy as np
import pytest

import tailproof as tp
from tailproof.comparison.analysis import compare_samples
from tailproof.comparison.samples import TIME, Samples
from tailproof.comparison.settings import Settings
from tailproof.tails.series import Series

NASTY = "<script>alert('|')</script>\x1b[31m"


@pytest.fixture
def result():
    rng = np.random.default_rng(0)
    return tp.compare({"control": rng.lognormal(0, 2, 200), NASTY: rng.lognormal(1, 2, 200)})


def many(count):
    rng = np.random.default_rng(1)
    return tp.compare({f"v{i}": i + rng.exponential(1.0, 30) for i in range(count)}, baseline="v5")


def times(scale):
    rng = np.random.default_rng(2)
    series = [Series(name, scale * rng.lognormal(0, 0.3, 50)) for name in ("old", "new")]
    return compare_samples([Samples("bench", series, None, TIME)], Settings())[0]


def test_text_is_harmless_on_a_terminal(result):
    assert str(result) == result.table()
    assert "\x1b" not in result.table()


def test_notebooks_get_escaped_html(result):
    html = result._repr_html_()
    assert "<script>" not in html
    assert html.count("<tr>") == 3
    assert "<script>" not in result.markdown()


def test_the_page_escapes_names(result):
    pytest.importorskip("jinja2", reason="pages need jinja2")
    pytest.importorskip("matplotlib", reason="pages need matplotlib")
    page = result.html()
    assert "<script>" not in page
    assert page.count("<img") == 3


def test_axes_are_logarithmic_where_payoffs_span_decades(result):
    pytest.importorskip("matplotlib", reason="plots need matplotlib")
    distributions, _, course = result.plot().axes
    assert distributions.get_xscale() == "log"
    assert course.get_yscale() == "log"
    rng = np.random.default_rng(3)
    near = tp.compare({k: rng.normal(10.0, 1.0, 50) for k in "ab"})
    assert near.plot().axes[0].get_xscale() == "linear"
    zeros = tp.compare(
        {k: np.where(rng.random(200) < 0.5, 0.0, rng.pareto(0.8, 200)) for k in "ab"}
    )
    assert zeros.plot().axes[0].get_xscale() == "symlog"


def test_differences_are_drawn_in_units_where_there_is_no_ratio():
    pytest.importorskip("matplotlib", reason="plots need matplotlib")
    rng = np.random.default_rng(4)
    without = tp.compare({k: rng.normal(size=50) for k in "ab"})
    assert without.plot().axes[1].get_xlabel() == "mean less that of a, payoff"


def test_many_alternatives_show_the_baseline_and_the_best():
    pytest.importorskip("matplotlib", reason="plots need matplotlib")
    result = many(60)
    labels = [t.get_text() for t in result.plot().axes[0].get_yticklabels()]
    assert labels[0] == "v5"
    assert len(labels) == 24
    assert "v59" in labels
    assert "v10" not in labels
    assert "47 more alternatives: " in result.table()
    assert result.table().count("earns") == 12
    assert result["v59"].verdict == "better"
    assert result["v0"].verdict == "worse"


def test_plots_are_the_same_bytes_each_time():
    pytest.importorskip("matplotlib", reason="plots need matplotlib")
    from tailproof.comparison.plots import images

    assert images(times(1.0)) == images(times(1.0))


@pytest.mark.parametrize(("scale", "unit"), [(3.0, "s"), (3e-3, "ms"), (3e-6, "µs"), (3e-12, "ns")])
def test_times_have_their_unit(scale, unit):
    result = times(scale)
    assert result.unit.name == unit
    assert f"times in {unit}; lower is better" in result.table()
    assert re.search(r"new takes .* than old", result["new"].sentence)


def test_markdown_tables_have_equal_rows(result):
    rows = [line for line in result.markdown().splitlines() if line.startswith("|")]
    counts = [len(re.findall(r"(?<!\\)\|", row)) for row in rows]
    assert counts[:4] == [12] * 4
    assert counts[4:] == [7] * 4


def test_settings_are_in_the_record(result):
    record = result.to_dict()
    assert record["baseline"] == "control"
    assert [a["name"] for a in record["alternatives"]] == ["control", NASTY]
    assert set(record["alternatives"][1]["difference"]) == {"estimate", "lower", "upper", "level"}
