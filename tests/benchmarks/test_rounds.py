"""The benchmark of rounds writes what it should; what it measures is not asserted."""

import contextlib
import io
import json
import math
import statistics
import subprocess
import sys
from types import SimpleNamespace

import pytest

import rounds
import rounds_scale


def first_in_a_process():
    """Return a `subprocess.run` whose first call starts a process; the others run `main` here."""
    started = []

    def run(command, **options):
        if not started:
            started.append(command)
            return subprocess.run(command, **options)
        printed = io.StringIO()
        with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
            patch.setattr(sys, "argv", command[1:])
            rounds_scale.main()
        return SimpleNamespace(returncode=0, stdout=printed.getvalue())

    return run


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bench")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rounds_scale, "subprocess", SimpleNamespace(run=first_in_a_process()))
        patch.setattr(sys, "argv", ["rounds.py", "--quick", "--out", str(folder)])
        rounds.main()
    return json.loads((folder / "rounds.json").read_text()), (folder / "rounds.md").read_text()


def numbers(value):
    """Every number in a nest of lists and dictionaries."""
    if isinstance(value, dict):
        return [number for part in value.values() for number in numbers(part)]
    if isinstance(value, list):
        return [number for part in value for number in numbers(part)]
    return [value] if isinstance(value, int | float) and not isinstance(value, bool) else []


def test_every_policy_is_measured_at_every_size(quick):
    result, _ = quick
    cases = [row["case"] for row in result["growth"]]
    assert len(set(cases)) == len(cases) == 15
    assert {row["policy"] for row in result["growth"]} == {
        "gp_ucb",
        "tgp_ucb",
        "ata_gp_ucb",
        "moma_gp_ucb",
    }
    for row in result["growth"]:
        assert [at["t"] for at in row["sizes"]] == result["plan"]["sizes"]
    assert [row["case"] for row in result["literal"]] == cases
    assert [row["case"].split(",")[0] for row in result["scale"]] == [
        "tgp_ucb",
        "ata_gp_ucb",
        "ata_gp_ucb",
        "ata_gp_ucb",
    ]


def test_every_time_and_ratio_is_finite_and_positive(quick):
    result, _ = quick
    for row in result["growth"]:
        timed = [{k: v for k, v in at.items() if k != "sizes"} for at in row["sizes"]]
        figures = [*numbers(timed), row["growth"]]
        assert all(math.isfinite(number) and number > 0.0 for number in figures), row["case"]
    for row in result["literal"]:
        figures = [row["literal_us"], row["ours_us"], row["ratio"]]
        assert all(math.isfinite(number) and number > 0.0 for number in figures), row["case"]
    for row in result["scale"]:
        assert all(math.isfinite(number) and number > 0.0 for number in numbers(row)), row["case"]


def test_ratios_lie_among_those_of_the_blocks(quick):
    result, _ = quick
    for row in result["growth"]:
        first, last = (row["sizes"][i]["blocks"]["ours_us"] for i in (0, -1))
        ratios = [above / below for above, below in zip(last, first, strict=True)]
        assert len(ratios) == result["plan"]["blocks"]
        assert row["growth"] == pytest.approx(statistics.median(ratios))
        for at in row["sizes"]:
            blocks = zip(at["blocks"]["ours_us"], at["blocks"]["floor_us"], strict=True)
            ratios = [ours / floor for ours, floor in blocks]
            assert at["over_floor"] == pytest.approx(statistics.median(ratios))


def test_the_literal_round_computes_what_ours_does(quick):
    result, _ = quick
    for row in result["literal"]:
        # Nystrom features divide by roots of eigenvalues, down to 1e-13 of the largest.
        nearly = "Nystrom" in row["case"]
        assert row["largest_difference"] < (1e-6 if nearly else 1e-8), row


def test_the_table_names_every_case_and_the_machine(quick):
    result, text = quick
    for section in ("growth", "literal", "scale"):
        assert all(f"| {row['case']} |" in text for row in result[section])
    assert result["machine"]["numpy"] in text
    # A stray bar inside a cell would shift the columns after it.
    for block in text.split("\n\n"):
        widths = {line.count("|") for line in block.splitlines() if line.startswith("|")}
        assert len(widths) <= 1
