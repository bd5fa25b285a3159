"""b_t and beta_t over rounds are those of the schedules."""

import numpy as np

from tailproof import theory
from tailproof.bandits.schedules import MomentBound, Setting, Theorem1, Theorem3, Theorem4

SETTING = Setting(MomentBound(0.8, 2.0), 1.5, 3.0, 0.1, 10_000)


def test_betas_and_truncations_are_those_of_the_schedules():
    rounds = np.array([[1, 2], [77, 10_000]])
    for schedule, m in (
        (Theorem1(SETTING), 0),
        (Theorem3(SETTING), 9),
        (Theorem4(SETTING, 0.2), 9),
    ):
        betas = theory.largest_betas(schedule, rounds, 4.0, m)
        truncations = theory.truncation_thresholds(schedule, rounds, m)
        for index in np.ndindex(2, 2):
            T = int(rounds[index])
            assert betas[index] == schedule.beta(T - 1, m, 8.0)
            assert truncations[index] == schedule.truncation(T, m)
