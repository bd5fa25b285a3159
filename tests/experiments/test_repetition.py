"""One run: common random numbers for all policies, regret of the arms played, same each time."""

import pickle

import numpy as np
import pytest

from figure_panels import data_arms, problem_of, task, tasks
from tailproof.environments import StudentT, SyntheticArms
from tailproof.experiments import runner
from tailproof.experiments.policies import POLICIES, build, fourth_root
from tailproof.experiments.repetition import CommonPayoffs, play, run_repetition


def optimizer_of(task):
    return build(
        POLICIES[task.policy],
        problem_of(task),
        nodes=task.panel.nodes,
        horizon=task.panel.rounds,
        seed=task.sequence("policy"),
    )


def test_panel_f_truncates_at_the_fourth_root():
    assert fourth_root(16) == 2.0


@pytest.mark.parametrize("letter", ["a", "c", "f"])
def test_every_policy_of_a_panel_can_be_built_from_a_pickled_task(letter):
    for original in tasks(letter, repetitions=1):
        assert len(optimizer_of(pickle.loads(pickle.dumps(original))).space) == 100


def test_all_policies_of_a_repetition_face_the_same_function_and_noise():
    def payoffs(task):
        return CommonPayoffs(problem_of(task).environment, 50, task.sequence("noise")).of(7)

    second = [payoffs(t) for t in tasks("a") if t.repetition == 1]
    assert len(second) == 8
    assert all(drawn == second[0] for drawn in second)
    assert payoffs(task("a", "tgp", 0)) != second[0]


def test_the_payoff_of_a_round_is_the_same_draw_for_every_arm():
    problem = SyntheticArms([0.0, 1.0, 5.0], StudentT(3.0))
    payoffs = CommonPayoffs(problem, 30, np.random.SeedSequence(5))
    np.testing.assert_allclose(np.array(payoffs.of(2)) - payoffs.of(0), 5.0)
    rng = np.random.default_rng(np.random.SeedSequence(5))
    one_by_one = [float(problem.sample([1], rng)[0]) for _ in range(30)]
    np.testing.assert_allclose(payoffs.of(1), one_by_one)


def test_the_same_day_is_drawn_for_every_stock():
    arms = data_arms()
    payoffs = CommonPayoffs(arms, 40, np.random.SeedSequence(1))
    days = arms.values.reshape(3, 4).tolist()
    rows = [[days[arm].index(y) for y in payoffs.of(arm)] for arm in range(3)]
    assert rows[0] == rows[1] == rows[2]


def test_regret_per_round_is_the_mean_gap_of_the_arms_played():
    qff = task("a", "qff", rounds=150)
    record = run_repetition(qff)
    problem, optimizer = problem_of(qff), optimizer_of(qff)
    payoffs = CommonPayoffs(problem.environment, 150, qff.sequence("noise"))
    played = play(optimizer, payoffs, 150)
    rounds = qff.panel.recorded_rounds
    assert rounds[-1] == 150
    expected = [problem.gap[played[:t]].mean() for t in rounds]
    np.testing.assert_allclose(record["regret_per_round"], expected)
    assert record["beta"] == pytest.approx(optimizer.beta)
    np.testing.assert_array_equal(optimizer.history.indices, played)


def test_a_run_gives_the_same_record_again_but_for_the_time():
    nystrom = task("a", "nystrom")
    first, second = (
        {key: value for key, value in run_repetition(nystrom).items() if "seconds" not in key}
        for _ in range(2)
    )
    assert first == second
    assert set(first) == {"regret_per_round", "beta"}


def test_before_workers_start_every_kind_of_task_is_compiled_once(monkeypatch):
    """Otherwise each worker would compile the same loops, and no run end before."""
    played = []
    monkeypatch.setattr(runner, "run_repetition", played.append)
    many = [*tasks("a", repetitions=3), *tasks("f", repetitions=3)]
    runner.compile_first(many)

    def kind(task):
        return task.panel.letter, POLICIES[task.policy].family

    assert sorted(map(kind, played)) == sorted(set(map(kind, many)))
    assert {task.panel.rounds for task in played} == {3}
