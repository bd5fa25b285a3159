"""The HTML report of a reproduction: the values that its templates show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tailproof._util.console import duration
from tailproof._util.html import svg_uri
from tailproof.experiments.policies import POLICIES

TITLE = "tailproof: the paper's Figure 1"
PAPER = (
    "Sayak Ray Chowdhury and Aditya Gopalan. Bayesian Optimization under Heavy-tailed Payoffs. "
    "Advances in Neural Information Processing Systems 32 (NeurIPS 2019)."
)
BIBTEX = """@inproceedings{chowdhury2019bayesian,
  title     = {Bayesian Optimization under Heavy-tailed Payoffs},
  author    = {Chowdhury, Sayak Ray and Gopalan, Aditya},
  booktitle = {Advances in Neural Information Processing Systems},
  volume    = {32},
  year      = {2019}
}
@software{tailproof,
  title     = {tailproof},
  author    = {{The tailproof developers}},
  version   = {VERSION}
}"""
NONE = "\N{EM DASH}"

Row = tuple[str, ...]


def report_values(
    manifest: Mapping[str, Any],
    summary: Mapping[str, Any],
    timings: Mapping[str, Any],
    images: Mapping[str, bytes],
    notices: Sequence[str] = (),
) -> dict[str, Any]:
    """Return what the templates experiments/report.html and experiments/content.html show.

    Manifest, summary and timings are those written beside the report. `images` holds SVG by name:
    "figure", "variants" where variants were run, "lower_bound" where panel g was. `notices` are
    what a reader must know first.
    """
    panels, versions = summary["panels"], manifest["versions"]
    speeds = timings["rounds_per_second"]
    return {
        "title": TITLE,
        "sizes": "; ".join(
            f"{letter}: {manifest['panels'][letter]['repetitions']} repetitions of "
            f"{panel['rounds']:,} rounds"
            for letter, panel in panels.items()
        ),
        "seed": manifest["seed"],
        "versions": ", ".join(f"{name} {version}" for name, version in versions.items()),
        "notices": notices,
        "figure": svg_uri(images["figure"]),
        "lower_bound_figure": svg_uri(images.get("lower_bound", b"")),
        "growth_rows": list(_report_rows_of_growth(panels)),
        "statements": summary["statements"],
        "paper_rows": list(_report_rows_of_paper(panels)),
        "crossing_rows": list(_report_rows_of_crossings(panels)),
        "variants": list(summary["variants"].values()),
        "variants_figure": svg_uri(images.get("variants", b"")),
        "variant_rows": list(_report_rows_of_variants(panels)),
        "time": duration(timings["seconds"]),
        "cpu_time": duration(timings["cpu_seconds"]),
        "sessions": len(timings["sessions"]),
        "workers": timings["last_session_on"],
        "speed_header": ("policy", *speeds),
        "speed_rows": [
            (
                policy.title,
                *(f"{panel[key]:,.0f}" if key in panel else NONE for panel in speeds.values()),
            )
            for key, policy in POLICIES.items()
            if any(key in panel for panel in speeds.values())
        ],
        "paper": PAPER,
        "bibtex": BIBTEX.replace("VERSION", str(versions["tailproof"])),
    }


def _report_cell(value: float | None, form: str) -> str:
    """Return a number as a cell of the reproduction's report; a dash for None."""
    return NONE if value is None else format(value, form)


def _report_rows_of_paper(panels: Mapping[str, Any]) -> Iterator[Row]:
    """Yield table rows of the report: last round of every policy, and rounds of paper's values."""
    for letter, panel in panels.items():
        for key, policy in panel["policies"].items():
            if POLICIES[key].is_variant or letter in "fg":
                continue
            *earlier, last = policy["curve"]
            for point in (*(p for p in earlier if p["paper"] is not None), last):
                forms = {"round": ",", "mean": ".4f", "sd": ".4f", "paper": "g"}
                forms["difference"] = "+.4f"
                numbers = (_report_cell(point[name], form) for name, form in forms.items())
                yield letter, policy["title"], *numbers


def _report_rows_of_growth(panels: Mapping[str, Any]) -> Iterator[Row]:
    """Yield rows of panel g: regret at the first and the last horizon, and its growth."""
    for panel in panels.values():
        growth = panel.get("lower_bound")
        if growth is None:
            continue
        for key, policy in panel["policies"].items():
            ends = [policy["curve"][0], policy["curve"][-1]]
            regret = [f"{point['mean'] * point['round']:.3g}" for point in ends]
            yield policy["title"], *regret, f"{growth['slopes'][key]:.3f}"
        for name, values in (("2 T Delta", "largest"), ("T Delta", "proven")):
            yield name, f"{growth[values][0]:.3g}", f"{growth[values][-1]:.3g}", NONE
        yield "Theorem 2, lower rate", NONE, NONE, f"{growth['lower_slope']:.3f}"
        for name, slope in growth["upper_slopes"].items():
            yield f"{name}, upper rate", NONE, NONE, f"{slope:.3f}"


def _report_rows_of_crossings(panels: Mapping[str, Any]) -> Iterator[Row]:
    """Yield from which round on a policy is below TGP-UCB, for the report."""
    for letter, panel in panels.items():
        for key, crossing in panel.get("crossings", {}).items():
            at, paper = crossing["round"], crossing["paper"]
            shown = "not within the run" if at is None else f"{at:,}"
            if at == panel["policies"][key]["curve"][0]["round"]:
                shown = f"from the start ({shown})"
            paper_shown = NONE if paper is None else f"about {paper:,}"
            yield letter, POLICIES[key].title, shown, paper_shown


def _report_rows_of_variants(panels: Mapping[str, Any]) -> Iterator[Row]:
    """Yield regrets of variants beside those of their base policies, for the report."""
    for letter, panel in panels.items():
        for key, variant in panel["variants"].items():
            lower, upper = variant["lower"], variant["upper"]
            yield (
                letter,
                POLICIES[key].title,
                f"{variant['mean']:.4f}",
                POLICIES[variant["base"]].title,
                f"{variant['base_mean']:.4f}",
                f"{variant['difference']:+.4f}",
                NONE if lower is None else f"{lower:+.4f} to {upper:+.4f}",
                str(variant["repetitions"]),
            )
