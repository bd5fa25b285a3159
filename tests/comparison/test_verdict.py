"""Verdicts and their sentences, from given intervals."""

import math

import pytest

from tailproof.comparison.results import Effect
from tailproof.comparison.verdict import judge, more_payoffs, percent, sentence


def effect(lower, upper):
    return Effect(0.5 * (lower + upper), lower, upper, 0.95)


@pytest.mark.parametrize(
    ("difference", "ratio", "lower_is_better", "expected"),
    [
        ((0.1, 0.3), (1.1, 1.3), False, "better"),
        ((0.1, 0.3), (1.1, 1.3), True, "worse"),
        ((-0.3, -0.1), (0.7, 0.9), False, "worse"),
        ((-0.3, -0.1), None, True, "better"),
        ((-0.01, 0.02), (0.99, 1.02), False, "equivalent"),
        ((-0.01, 0.02), None, False, "not decided"),
        ((-0.1, 0.02), (0.9, 1.02), False, "not decided"),
    ],
)
def test_verdicts_follow_from_the_intervals(difference, ratio, lower_is_better, expected):
    found = judge(
        effect(*difference),
        None if ratio is None else effect(*ratio),
        lower_is_better=lower_is_better,
        minimum_effect=0.05,
    )
    assert found == expected


def words(verdict, difference, ratio, **options):
    defaults = {
        "level": 0.95,
        "lower_is_better": False,
        "kind": "payoff",
        "minimum_effect": 0.05,
        "more": None,
        "noun": "payoffs of each",
    }
    ratio = None if ratio is None else effect(*ratio)
    return sentence("blue", "control", verdict, effect(*difference), ratio, **defaults | options)


def test_sentences():
    assert words("better", (1, 2), (1.04, 1.19)) == (
        "blue earns 4 % to 19 % more than control; 95 % confidence"
    )
    assert words("worse", (-2, -1), (0.7, 0.9)) == (
        "blue earns 10 % to 30 % less than control; 95 % confidence"
    )
    assert words("worse", (1, 2), (1.04, 1.19), lower_is_better=True) == (
        "blue costs 4 % to 19 % more than control; 95 % confidence"
    )
    assert words("better", (-2e-3, -1e-3), None, lower_is_better=True, kind="time") == (
        "blue takes 1 ms to 2 ms less time than control; 95 % confidence"
    )
    assert words("not decided", (-1, 2), (0.97, 1.08), more=12000) == (
        "not decided: blue earns between 3 % less and 8 % more than control; 95 % confidence; "
        "about 12,000 more payoffs of each would be needed to see 5 %"
    )
    assert words("not decided", (-1, 3), None, more=300).endswith(
        "about 300 more payoffs of each would be needed to see 1"
    )
    assert "would have shown in 4 of 5" in words("not decided", (-1, 3), (0.9, 1.06), more=0)


def test_more_payoffs_grow_with_the_square():
    few, many = (more_payoffs(1000, 0.2, 0.1, effect) for effect in (0.1, 0.01))
    assert many == pytest.approx(100 * few, rel=0.2)
    assert more_payoffs(10, math.inf, 1.0, 0.1) is None
    assert more_payoffs(10, 0.1, 0.01, 0.0) is None
    assert more_payoffs(10, 0.001, 0.0001, 0.1) == 0


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.0, "0 %"), (1e-9, "0.0000001 %"), (0.5, "50 %"), (12.34, "1,200 %"), (math.inf, "inf %")],
)
def test_percentages(share, text):
    assert percent(share) == text
