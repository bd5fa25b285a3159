"""Comparisons of variants follow the records, and the sentences follow the numbers."""

import pytest

from figure_records import LAST, falling, plan_of, truncated
from tailproof.experiments.measures import regrets
from tailproof.experiments.variants import compare_variants, describe_variants


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
