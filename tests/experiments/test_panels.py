"""The panels are the authors' runs: their constants, their seeds, their payoffs."""

import dataclasses
import pathlib
import pickle
import shutil

import numpy as np
import pytest

import tailproof
from tailproof.environments import DataArms, ParetoPayoff, Spike, StudentT, SyntheticArms
from tailproof.experiments.columns import COLUMNS, build, fourth_root
from tailproof.experiments.panels import light_panel, stocks_panel, synthetic_panels
from tailproof.experiments.plan import Size, make_plan, source_digest
from tailproof.experiments.problems import ARMS, Spiked
from tailproof.experiments.trial import CommonPayoffs, play, run_trial
from tailproof.kernels import Matern, SquaredExponential

PANELS = synthetic_panels()


def tasks(letter, *, trials=2, seed=0, rounds=50):
    panels = {letter: PANELS[letter]}
    return list(make_plan(panels, {letter: Size(rounds, trials)}, seed=seed).tasks())


def task(letter, column, trial=0, **options):
    return next(one for one in tasks(letter, **options) if one.name == (letter, column, trial))


def recorded(coordinates=None):
    values = np.array([[1.0, 2.0, 9.0, 4.0], [5.0, 5.5, 7.0, 6.5], [2.0, 1.0, 1.5, 3.5]])
    gram = np.corrcoef(values)
    counts = np.full(3, 4)
    return DataArms("made up", ("p", "q", "r"), values.ravel(), counts, gram, coordinates)


def test_the_synthetic_panels_have_the_authors_constants():
    a, b, c = (PANELS[letter].source for letter in "abc")
    assert (a.kernel, a.law, a.coefficients) == (SquaredExponential(0.2), StudentT(3.0), (-1, 1))
    assert (b.kernel, b.law, b.coefficients) == (SquaredExponential(0.2), ParetoPayoff(2.0), (0, 1))
    assert (c.kernel, c.law, c.coefficients) == (Matern(2.5, 0.2), StudentT(3.0), (-1, 1))
    assert (a.moment.alpha, a.moment.v) == (1.0, 4.0)  # v = 3 + B^2
    assert b.moment.alpha == 0.9
    assert b.moment.v == pytest.approx(1.0 / (2**0.9 * 0.1))
    np.testing.assert_allclose(ARMS[:, 0], np.arange(1, 101) / 100)
    assert [(PANELS[x].rounds, PANELS[x].trials) for x in "abcf"] == [(20_000, 20)] * 3 + [
        (10_000, 50)
    ]
    assert fourth_root(16) == 2.0


@pytest.mark.parametrize("letter", ["a", "b", "c"])
def test_functions_are_scaled_to_one_and_differ_between_trials(letter):
    f = [
        PANELS[letter].source.problem(one.generator).environment.means
        for one in tasks(letter)
        if one.column == "tgp"
    ]
    assert np.abs(f).max(axis=1) == pytest.approx([1.0, 1.0])
    assert np.abs(f[0] - f[1]).max() > 0.01


def test_data_panels_keep_payoffs_raw_and_measure_regret_on_f_over_its_maximum():
    arms = recorded(np.array([[0.0, 0.0], [1.0, 0.5], [0.2, 1.0]]))
    problem = light_panel(arms).source.problem(lambda purpose: None)
    assert problem.moment.alpha == 1.0
    assert problem.moment.v == pytest.approx(np.mean(arms.values**2))
    assert problem.norm_bound == pytest.approx(6.0)
    np.testing.assert_allclose(problem.gap, 1.0 - np.array([4.0, 6.0, 2.0]) / 6.0)
    space, kernel = problem.fourier
    assert kernel.lengthscale**2 == pytest.approx(0.1)
    np.testing.assert_array_equal(space.inputs, arms.coordinates)
    assert stocks_panel(arms).source.problem(lambda purpose: None).fourier is None


def test_a_stand_in_is_named_so_and_has_no_paper_values():
    panel = stocks_panel(recorded(), stand_in=True)
    assert "stand-in" in panel.title
    assert not panel.paper.values
    assert stocks_panel(recorded()).paper.values["tgp"][10_000] == 0.386


@pytest.mark.parametrize("letter", ["a", "c", "f"])
def test_every_column_of_a_panel_can_be_built_and_shipped_to_a_worker(letter):
    for one in tasks(letter, trials=1):
        shipped = pickle.loads(pickle.dumps(one))
        problem = shipped.source.problem(shipped.generator)
        optimizer = build(
            COLUMNS[one.column],
            problem,
            nodes=one.nodes,
            horizon=one.rounds,
            seed=shipped.sequence("policy"),
        )
        assert len(optimizer.space) == 100


def test_all_policies_of_a_trial_face_the_same_function_and_noise():
    columns = [one for one in tasks("a") if one.trial == 1]
    assert len(columns) == 8
    problems = [one.source.problem(one.generator) for one in columns]
    payoffs = [
        CommonPayoffs(problem.environment, 50, one.sequence("noise")).of(7)
        for one, problem in zip(columns, problems, strict=True)
    ]
    assert all(one == payoffs[0] for one in payoffs)
    other = task("a", "tgp", 0)
    f = other.source.problem(other.generator).environment
    assert CommonPayoffs(f, 50, other.sequence("noise")).of(7) != payoffs[0]


def test_policies_and_panels_and_seeds_have_random_numbers_of_their_own():
    def draw(one, purpose):
        return one.generator(purpose).integers(2**62)

    a, b = task("a", "tgp"), task("b", "tgp")
    drawn = [draw(a, purpose) for purpose in ("function", "noise", "policy")]
    drawn += [
        draw(b, "noise"),
        draw(task("a", "qff"), "policy"),
        draw(task("a", "tgp", 1), "noise"),
    ]
    drawn += [draw(task("a", "tgp", seed=1), "noise")]
    assert len(set(drawn)) == len(drawn)


def test_the_payoff_of_a_round_is_the_same_draw_for_every_arm():
    problem = SyntheticArms([0.0, 1.0, 5.0], StudentT(3.0))
    payoffs = CommonPayoffs(problem, 30, np.random.SeedSequence(5))
    np.testing.assert_allclose(np.array(payoffs.of(2)) - payoffs.of(0), 5.0)
    rng = np.random.default_rng(np.random.SeedSequence(5))
    one_by_one = [float(problem.sample([1], rng)[0]) for _ in range(30)]
    np.testing.assert_allclose(payoffs.of(1), one_by_one)


def test_the_same_day_is_drawn_for_every_stock():
    payoffs = CommonPayoffs(recorded(), 40, np.random.SeedSequence(1))
    days = [recorded().values_of(arm).tolist() for arm in range(3)]
    rows = [[days[arm].index(y) for y in payoffs.of(arm)] for arm in range(3)]
    assert rows[0] == rows[1] == rows[2]


def test_regret_per_round_is_the_mean_gap_of_the_arms_played():
    one = task("a", "qff", rounds=150)
    record = run_trial(one)
    problem = one.source.problem(one.generator)
    optimizer = build(COLUMNS["qff"], problem, nodes=32, horizon=150, seed=one.sequence("policy"))
    payoffs = CommonPayoffs(problem.environment, 150, one.sequence("noise"))
    played = play(optimizer, payoffs, 150)
    assert one.marks[-1] == 150
    expected = [problem.gap[played[:mark]].mean() for mark in one.marks]
    np.testing.assert_allclose(record["regret_per_round"], expected)
    assert record["width"] == pytest.approx(optimizer.beta)
    np.testing.assert_array_equal(optimizer.history.indices, played)


def test_a_trial_repeats_itself_but_for_the_time_it_takes():
    one = task("a", "nystrom")
    first, second = (
        {key: value for key, value in run_trial(one).items() if "seconds" not in key}
        for _ in range(2)
    )
    assert first == second
    assert set(first) == {"regret_per_round", "width"}


def test_panel_f_has_one_function_and_noise_at_one_arm_with_one_sign_a_trial():
    spiked = [one for one in tasks("f", trials=30) if one.column == "gp"]
    problems = [one.source.problem(one.generator) for one in spiked]
    f = problems[0].environment.means
    assert (f.min(), f.max()) == (pytest.approx(0.0), pytest.approx(1.0))
    shifts, arms = set(), set()
    for problem in problems:
        np.testing.assert_array_equal(problem.environment.means, f)
        payoffs = problem.environment.sample(np.arange(100), None)
        assert (payoffs != f).sum() == 1
        arms.add(int(np.flatnonzero(payoffs != f)[0]))
        shifts.add(round(float((payoffs - f).sum()), 9))
    assert shifts == {-10.0, 10.0}
    assert len(arms) > 15


def test_the_redrawn_column_draws_the_sign_in_every_round():
    one = task("f", "gp-redrawn")
    source = dataclasses.replace(one.source, redrawn=True)
    environment = source.problem(one.generator).environment
    assert isinstance(environment.law, Spike)
    steady = Spiked(source.kernel).problem(one.generator).environment
    assert environment.law.arm == steady.arm


def test_marks_rise_to_the_last_round_and_hold_the_papers():
    plan = make_plan(PANELS, {}, seed=0)
    for one in plan.panels:
        assert one.at_paper_size
        assert len(one.marks) == 100
        assert (np.diff(one.marks) > 0).all()
        assert one.marks[-1] == one.rounds
    data = make_plan({"e": light_panel(recorded(np.zeros((3, 2))))}, {}, seed=0).panels[0]
    assert {1_000, 10_000} <= set(data.marks.tolist())
    few = make_plan(PANELS, {key: Size(7, 1) for key in PANELS}, seed=0).panels[0]
    assert few.marks.tolist() == [1, 2, 3, 4, 5, 6, 7]


def test_the_papers_values_apply_only_at_the_papers_horizon():
    full = make_plan(PANELS, {"a": Size(trials=2)}, seed=0).panels[0]
    assert full.paper_value("tgp", 20_000) == 0.35
    assert full.paper_value("tgp", 10_000) is None
    assert not full.at_paper_size
    short = make_plan(PANELS, {"a": Size(rounds=40_000)}, seed=0).panels[0]
    assert short.paper_value("tgp", 20_000) is None


def test_the_manifest_names_every_constant():
    panels = PANELS | {"e": light_panel(recorded(np.zeros((3, 2))))}
    manifest = make_plan(panels, {}, seed=11).manifest()
    assert manifest["seed"] == 11
    assert set(manifest["versions"]) == {"tailproof", "python", "numpy", "scipy", "numba"}
    b = manifest["panels"]["b"]
    assert (b["rounds"], b["trials"], b["further_trials"]) == (20_000, 20, 5)
    problem = b["problem"]
    assert (problem["alpha"], problem["B"], problem["terms"]) == (0.9, 1.0, 100)
    assert problem["law"] == "ParetoPayoff(shape=2.0)"
    assert b["policies"]["qff"]["features"] == "QuadratureFourier(nodes=32, folded=False)"
    assert b["policies"]["nystrom"]["ridge"] == 1.0
    assert "accuracy=0.1" in b["policies"]["nystrom"]["features"]
    assert b["policies"]["tgp-theory"]["failure_probability"] == 0.1
    e = manifest["panels"]["e"]
    assert "nodes=16, folded=False" in e["policies"]["qff"]["features"]
    assert e["problem"]["v"] == pytest.approx(np.mean(recorded().values ** 2))
    assert len(e["problem"]["data_sha256"]) == 64


def test_other_code_is_another_manifest_and_another_report_is_not(tmp_path):
    package = pathlib.Path(tailproof.__file__).parent
    assert make_plan(PANELS, {}, seed=0).manifest()["source_sha256"] == source_digest(package)
    copy = tmp_path / "tailproof"
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
    assert source_digest(copy) == source_digest(package)
    (copy / "experiments" / "report.py").write_text("# another\n")
    assert source_digest(copy) == source_digest(package)
    deciding = [copy / "_engine" / "eigen.py", copy / "policies.py"]
    deciding += [copy / "environments" / "noise.py", copy / "experiments" / "trial.py"]
    seen = {source_digest(copy)}
    for path in deciding:
        path.write_text(path.read_text() + "# another\n")
        seen.add(source_digest(copy))
    assert len(seen) == 1 + len(deciding)


def test_other_data_is_another_manifest():
    changed = recorded()
    values = changed.values.copy()
    values[0] += 1.0
    other = dataclasses.replace(changed, values=values)
    one, two = (stocks_panel(arms).source.describe() for arms in (changed, other))
    assert one["data_sha256"] != two["data_sha256"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": -1}, "`seed >= 0` must hold"),
        ({"seed": 0, "policies": ("ucb",)}, "`policies` must be one of"),
        ({"seed": 0, "policies": ("gp",)}, "`policies` must name a policy of the panels"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        make_plan({"a": PANELS["a"]}, {}, **options)


@pytest.mark.parametrize("size", [{"rounds": 0}, {"trials": 0}, {"trials": 1.5}])
def test_sizes_are_positive_integers(size):
    with pytest.raises(ValueError, match="must"):
        Size(**size)
