"""Crossings, variants and bands follow the records, and the sentences follow the numbers."""

import numpy as np
import pytest

from figure_records import LAST, falling, plan_of, truncated
from tailproof.experiments.comparisons import (
    compare_variants,
    crossing,
    crossings,
    describe_variants,
    regrets,
    sample_std,
    truncation_fit,
)
from tailproof.experiments.plan import Size

ROUNDS = np.array([10, 20, 30, 40])


@pytest.mark.parametrize(
    ("curve", "expected"),
    [
        ([1, 1, 1, 1], 10),
        ([3, 1, 3, 1], 40),
        ([3, 2, 1, 1], 30),
        ([1, 1, 1, 2], None),
    ],
)
def test_a_crossing_is_for_good(curve, expected):
    assert crossing(ROUNDS, np.array(curve), np.full(4, 2)) == expected


def test_crossings_of_the_papers_policies_are_found():
    plan = plan_of("a", ("tgp", "qff", "nystrom"))
    records = falling(plan, common=0.1)
    assert crossings(plan.panels[0], records)["nystrom"] == pytest.approx(10_000, abs=200)


def test_the_standard_deviation_is_the_samples_and_nan_for_one_repetition():
    np.testing.assert_allclose(sample_std(np.array([[1.0, 2.0], [3.0, 2.0]])), [np.sqrt(2.0), 0.0])
    assert np.isnan(sample_std(np.array([[1.0, 2.0]]))).all()


def test_bands_average_over_the_repetitions():
    plan = plan_of("f", ("gp",), Size(repetitions=2))
    records = truncated(plan)
    records["f", "gp", 1]["mean"] = records["f", "gp", 1]["f"]
    fit = truncation_fit(plan.panels[0], records, "gp")
    assert fit.error == pytest.approx(0.3)


def test_a_variant_is_compared_over_the_repetitions_it_shares():
    plan = plan_of("a", ("tgp", "qff", "qff-folded"))
    records = falling(plan)
    for repetition in range(5, 20):  # the variant does not have them
        records["a", "qff", repetition]["regret_per_round"] = [9.0] * 100
    (comparison,) = compare_variants(plan.panels[0], records)
    assert (comparison.base, comparison.repetitions) == ("qff", 5)
    assert comparison.difference == pytest.approx(0.25 - 0.32)
    assert regrets(plan.panels[0], records, "qff").max() == 9.0


def test_sentences_say_lower_higher_or_neither():
    policies = ("tgp", "qff", "nystrom", "qff-folded", "nystrom-theory")
    plan = plan_of("a", policies)
    text = describe_variants(plan, falling(plan))
    assert set(text) == {"qff-folded", "nystrom-theory"}
    assert "lower (better) in a (0.250 against 0.320" in text["qff-folded"]
    assert "0.5 times the base's" in text["qff-folded"]
    assert "flat" not in text["qff-folded"]
    assert "higher (worse) in a (0.500 against 0.300" in text["nystrom-theory"]
    assert "In a the curve is flat" in text["nystrom-theory"]
    same = falling(plan, last=LAST | {"qff-folded": 0.32}, own=0.1)
    assert "not significantly different in a" in describe_variants(plan, same)["qff-folded"]


def test_the_sentence_about_panel_f_gives_both_errors():
    plan = plan_of("f", None)
    text = describe_variants(plan, truncated(plan))["gp-redrawn"]
    assert "off by at most 0.020, against 0.600 for GP-UCB" in text
    assert "its band holds f" in text
