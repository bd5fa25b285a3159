"""The table of the repeated tune tells drift of the machine from a wrong interval."""

import numpy as np

import real_program


def test_an_interval_is_also_checked_in_units_of_the_tune():
    result = {
        "recommendation": {"params": dict(real_program.BASELINE), "payoffs": 3},
        "baseline": {
            "mean": 100.0,
            "improvement": 80.0,
            "improvement_lower": 70.0,
            "improvement_upper": 90.0,
        },
    }
    # The machine is twice as fast as in the tune: 50 ms and 10 ms instead of 100 and 20.
    row = real_program.row_of(0, result, np.full(3, 10.0), np.full(3, 50.0))
    cells = dict(zip(real_program.HEADER, row, strict=True))
    assert (cells["run again"], cells["held"]) == ("40", "no")
    assert (cells["in units of the tune"], cells["held so"]) == ("80", "yes")
    assert real_program.summary([row], 1).endswith(
        "Better than the baseline in 1 of 1; the interval held the difference in 0, in units of "
        "the tune in 1."
    )
