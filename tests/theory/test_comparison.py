"""All bounds side by side: where they beat the trivial one, and the best nodes."""

import tailproof as tp
from tailproof import theory
from tailproof.bandits.schedules import MomentBound, Setting
from tailproof.theory import comparison


def test_horizons_named_are_the_first_powers_of_ten_that_beat_the_trivial_bound():
    setting = Setting(MomentBound(1.0, 1.0), 1.0, 20.0, 0.1, 100)
    arms = comparison.grid_of_arms(1, 2)
    problem = comparison.Problem(tp.SquaredExponential(1.0), arms, setting)
    reach = comparison.informative_horizons(problem)
    beats = []
    for T in (10**k for k in range(1, 7)):
        extended = Setting(setting.moment, 1.0, 20.0, 0.1, T)
        gain = theory.gain_upper_bound(problem.kernel, arms, 20.0, T)
        upper = theory.exact_features_regret_bound(extended, T, gain, directions=2)
        beats.append(bool(upper < theory.trivial_regret_bound(extended, T)))
    assert reach["exact"] == 10 ** (1 + beats.index(True))
    assert not beats[0]


def test_best_nodes_are_best():
    setting = Setting(MomentBound(0.9, 1.0), 1.0, 1.0, 0.1, 10_000)
    kernel, arms = tp.SquaredExponential(0.3), comparison.grid_of_arms(1, 20)
    problem = comparison.Problem(kernel, arms, setting)
    best = comparison.best_nodes(problem, 20.0)

    def at(nodes):
        error = tp.QuadratureFourier(nodes).error_bound(kernel, arms)
        return float(
            theory.theorem3_regret_bound(
                setting, 10_000, directions=nodes, kernel_error=error, gain=20.0
            )
        )

    assert 12 <= best <= tp.QuadratureFourier(1).nodes_for_theorem(10_000)
    assert all(at(best) <= at(nodes) for nodes in range(12, 144))
