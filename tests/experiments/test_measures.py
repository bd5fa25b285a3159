"""Crossings, deviations and bands follow the records."""

import numpy as np
import pytest

from figure_records import falling, plan_of, truncated
from tailproof.experiments.measures import (
    crossing,
    crossings,
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
