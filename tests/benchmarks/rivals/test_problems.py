"""Objectives and problems: optimum, unit, and two families that share no function."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import qmc

from rivals import functions
from rivals.domains import Arms, Axis, Box
from rivals.problems import FAMILIES, OBJECTIVES, objective, problem, problem_names
from rivals.trap import TRAPS

LANDSCAPES = ("BRANIN", "HARTMANN6", "ACKLEY4", "ACKLEY5", "CAMEL", "LEVY6", "ROSENBROCK4")


def sobol(box, powers, seed=0):
    cube = qmc.Sobol(box.dimension, rng=np.random.default_rng(seed)).random_base2(powers)
    return box.from_cube(cube)


def climbed(landscape, start):
    """The largest value near a point, integers held where they are."""
    low, high = landscape.box.bounds
    free = [i for i in range(len(low)) if i not in landscape.box.integers]

    def fall(z):
        x = start.copy()
        x[free] = z
        return -float(landscape.function(x[None])[0])

    found = minimize(fall, start[free], bounds=[(low[i], high[i]) for i in free])
    return -float(found.fun)


@pytest.mark.parametrize("name", LANDSCAPES)
def test_no_climb_from_the_best_of_a_dense_cover_gets_above_the_stated_maximum(name):
    landscape = getattr(functions, name)
    points = sobol(landscape.box, 14)
    values = landscape.function(points)
    tops = [climbed(landscape, points[i]) for i in np.argsort(-values)[:5]]
    scale = landscape.best - landscape.typical
    assert max(tops) <= landscape.best + 1e-9 * scale
    assert max(tops) >= landscape.best - 0.15 * scale  # the climbs do come near it
    assert climbed(landscape, np.array(landscape.best_at)) <= landscape.best + 1e-9 * scale
    at = landscape.box.params(landscape.best_at)
    assert np.array_equal(landscape.box.point(at), np.array(landscape.best_at))


@pytest.mark.parametrize("name", LANDSCAPES)
def test_the_stated_low_values_are_the_function_s(name):
    landscape = getattr(functions, name)
    values = landscape.function(sobol(landscape.box, 16, seed=1))
    share = float((values < landscape.typical).mean())
    assert share == pytest.approx(0.05, abs=0.003)
    assert values.min() >= landscape.lowest
    corners = np.array(np.meshgrid(*landscape.box.bounds.T)).reshape(landscape.box.dimension, -1).T
    assert landscape.function(corners).min() >= landscape.lowest


def test_the_standard_functions_have_their_known_maxima():
    assert functions.BRANIN.best == pytest.approx(-0.397887, abs=1e-6)
    assert functions.HARTMANN6.best == pytest.approx(3.32237, abs=1e-5)
    assert functions.ACKLEY4.best == pytest.approx(0.0, abs=1e-12)
    assert functions.CAMEL.best == pytest.approx(1.0316, abs=1e-4)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", OBJECTIVES)
def test_best_and_lowest_hold_over_the_domain(name, family):
    f = objective(name, family, seed=2)
    rng = np.random.default_rng(0)
    values = f.values(f.domain.cover(4096, rng))
    assert f.lowest - 1e-9 <= values.min()
    assert values.max() <= f.best + 1e-9
    assert f.best == pytest.approx(1.2 if name == "trap" else 1.0, abs=0.08)


def test_the_trap_s_best_mean_is_the_best_on_a_fine_grid():
    axis = np.linspace(0.0, 1.0, 401)
    grid = np.array(np.meshgrid(axis, axis)).reshape(2, -1).T
    for family in FAMILIES:
        trap = objective("trap", family)
        assert 0.0 <= trap.best - trap.values(grid).max() < 1e-4


def test_random_functions_differ_by_seed_and_family_and_come_back_the_same():
    for name in ("rkhs", "arms"):
        points = objective(name).domain.cover(64, np.random.default_rng(0))
        values = [
            objective(name, family, seed).values(points) for family in FAMILIES for seed in (0, 1)
        ]
        assert len({v.tobytes() for v in values}) == 4
        assert np.array_equal(values[0], objective(name).values(points))


def test_tuning_and_measuring_share_no_landscape():
    for name in ("branin", "hartmann6", "ackley4"):
        measured, tuned = (objective(name, family).function for family in FAMILIES)
        assert measured.__self__.function is not tuned.__self__.function
    assert TRAPS["measure"] != TRAPS["tune"]


def test_the_trap_s_best_median_is_not_its_best_mean():
    for family, trap in TRAPS.items():
        tops = np.array([trap.risky_at, trap.steady_at])
        mean, median = trap.mean(tops), trap.median(tops)
        assert mean[0] > mean[1] + 0.3
        assert median[1] > median[0] + 0.2
        target = problem("trap", "trap", family)
        assert [target.hill(target.domain.params(top)) for top in tops] == ["mean", "median"]
        assert target.hill({"x0": 0.0, "x1": 1.0}) == "neither"


def test_no_point_of_the_trap_is_on_both_hills():
    trap = TRAPS["measure"]
    points = np.random.default_rng(0).random((2000, 2))
    tops = np.array([trap.risky_at, trap.steady_at])
    on_mean = trap.mean(points) >= trap.mean(tops).mean()
    on_median = trap.median(points) >= trap.median(tops).mean()
    assert on_mean.any()
    assert on_median.any()
    assert not (on_mean & on_median).any()


def test_parameters_and_points_are_each_other_s_inverse():
    for name in OBJECTIVES:
        domain = objective(name).domain
        for point in domain.draw(20, np.random.default_rng(1)):
            params = domain.params(point)
            assert np.array_equal(domain.point(params), point)
            space = domain.space  # and our own space takes them as they are
            assert space.params(space.position(params)) == pytest.approx(params)


def test_integers_are_of_type_int_and_get_equal_shares():
    box = Box((Axis("k", -1, 2, integer=True),))
    cube = (np.arange(4000)[:, None] + 0.5) / 4000
    values, counts = np.unique(box.from_cube(cube), return_counts=True)
    assert values.tolist() == [-1, 0, 1, 2]
    assert set(counts.tolist()) == {1000}
    assert type(box.params([1.2])["k"]) is int


def test_any_point_is_mapped_to_the_nearest_arm():
    arms = Arms(np.array([[0.0, 0.0], [1.0, 1.0]]))
    assert arms.params([0.6, 0.7]) == {"x0": 1.0, "x1": 1.0}


def test_regret_is_zero_at_the_best_and_largest_regret_bounds_it():
    target = problem("hartmann6", "t3")
    best = target.domain.params(functions.HARTMANN6.best_at)
    assert target.regret(best) == pytest.approx(0.0, abs=1e-9)
    points = target.domain.draw(200, np.random.default_rng(0))
    regrets = [target.regret(target.domain.params(point)) for point in points]
    assert min(regrets) >= 0.0
    assert max(regrets) <= target.largest_regret


def test_there_are_five_objectives_under_seven_laws_and_the_trap():
    names = problem_names()
    assert len(names) == 5 * 7 + 1
    assert names[-1] == ("trap", "trap")
    with pytest.raises(ValueError, match="trap"):
        problem("trap", "t3")
    with pytest.raises(ValueError, match="trap"):
        problem("branin", "trap")
