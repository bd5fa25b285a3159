"""Bandit: asking and telling, arms that come and go, answers, and what is refused."""

import numpy as np
import pytest

import tailproof as tp
from tailproof._compiled.arm_statistics import NOISE
from tailproof.bandits.exploration import DESIGN_ARMS, DESIGN_PAYOFFS

LABELS = ["control", "blue", "red", "green"]
MEANS = np.array([1.0, 2.0, 1.5, 0.5])


def play(bandit, rounds, means=MEANS, seed=0, df=1.5):
    """Play rounds with Student-t noise; return the numbers of the arms played."""
    rng = np.random.default_rng(seed)
    played = []
    for _ in range(rounds):
        arm = bandit.ask_index()
        bandit.tell_index(arm, float(means[arm] + rng.standard_t(df)))
        played.append(arm)
    return played


def state(bandit):
    table = bandit.predict() if len(bandit) else None
    numbers = [] if table is None else [table.mean, table.lower, table.probability]
    return (
        len(bandit),
        bandit.pending,
        bandit.counts.tolist(),
        bandit.active.tolist(),
        [x.tolist() for x in numbers],
        bandit.arms if bandit._arms.labels is not None else None,
        bandit._rng.bit_generator.state,
    )


def test_the_best_arm_is_found_and_played_most():
    bandit = tp.Bandit(LABELS, seed=0)
    played = play(bandit, 2_000)
    best = bandit.recommend()
    assert best.arm == "blue"
    assert best.index == 1
    assert best.lower < 2.0 < best.upper
    assert best.probability > 0.9
    assert best.payoffs == played.count(1) > 1_500
    assert "blue: mean" in str(best)
    table = bandit.predict()
    assert (table.mean[1], table.lower[1], table.upper[1]) == (best.mean, best.lower, best.upper)
    assert str(bandit.predict()).splitlines()[1].startswith("blue")


def test_minimize_is_the_mirror_image():
    up, down = tp.Bandit(LABELS, seed=3), tp.Bandit(LABELS, minimize=True, seed=3)
    rng = np.random.default_rng(1)
    for _ in range(300):
        arm = up.ask()
        assert down.ask() == arm
        payoff = float(MEANS[LABELS.index(arm)] + rng.standard_normal())
        up.tell(arm, payoff)
        down.tell(arm, -payoff)
    a, b = up.recommend(), down.recommend()
    assert (a.arm, a.mean) == (b.arm, pytest.approx(-b.mean, rel=1e-12))
    assert up.predict().lower == pytest.approx(-down.predict().upper, rel=1e-12)
    assert np.array_equal(up.payoffs("blue"), -down.payoffs("blue"))


@pytest.mark.parametrize(("a", "c"), [(1000.0, 0.0), (0.5, 3.0), (2.0**-20, 7.0), (1.0, -1e4)])
def test_choices_do_not_depend_on_the_unit_or_the_origin(a, c):
    """y -> a y + c gives the same arms; a difference of rounding would show within 500 rounds."""
    one, other = tp.Bandit(LABELS, seed=5), tp.Bandit(LABELS, seed=5)
    rng = np.random.default_rng(2)
    for _ in range(500):
        arm = one.ask_index()
        assert other.ask_index() == arm
        payoff = float(MEANS[arm] + rng.standard_t(2.0))
        one.tell_index(arm, payoff)
        other.tell_index(arm, a * payoff + c)
    assert other.predict().mean == pytest.approx(a * one.predict().mean + c, rel=1e-6)


@pytest.mark.parametrize(("a", "c"), [(1000.0, 0.0), (0.5, 3.0), (-1.0, 0.0), (-2.0, -1e3)])
def test_choices_under_payoffs_that_are_mostly_tied(a, c):
    """One visitor in ten buys; a < 0 with minimize. The best arm is found in any unit."""
    one, other = tp.Bandit(LABELS, seed=5), tp.Bandit(LABELS, minimize=a < 0.0, seed=5)
    rng = np.random.default_rng(2)
    for _ in range(800):
        arm = one.ask_index()
        assert other.ask_index() == arm
        payoff = float(MEANS[arm] * 10.0 * rng.exponential()) if rng.random() < 0.1 else 0.0
        one.tell_index(arm, payoff)
        other.tell_index(arm, a * payoff + c)
    assert one.recommend().arm == other.recommend().arm == "blue"
    mean, _ = one._statistics.posterior_now()
    assert mean[1] == pytest.approx(2.0, abs=0.8)
    sign = -1.0 if a < 0.0 else 1.0
    assert sign * other._statistics.mean == pytest.approx(a * mean + c, rel=1e-6)


def test_intervals_of_nearly_unknown_arms_stay_on_the_side_of_the_payoffs():
    """No payoff is below 0, so no mean is; the normal interval would reach below."""
    rng = np.random.default_rng(3)
    payoffs = np.where(rng.random(1_000) < 0.08, 20.0 * rng.pareto(1.8, 1_000), 0.0)
    bandit = tp.Bandit(LABELS, seed=0)
    bandit.tell_index(np.zeros(1_000, dtype=int), payoffs)
    for arm in (1, 2, 3):
        bandit.tell_index([arm] * 100, [0.0] * 100)
    mean, std = bandit._statistics.posterior_now()
    assert (mean - 1.64 * std)[1:].min() < 0.0
    table = bandit.predict()
    assert table.lower.min() >= 0.0
    assert (table.upper[1:] > (mean + 1.64 * std)[1:]).all()  # skewed to the right


def test_the_same_seed_gives_the_same_run():
    runs = [play(tp.Bandit(LABELS, seed=np.random.default_rng(4)), 300) for _ in range(2)]
    assert runs[0] == runs[1]
    assert runs[0] != play(tp.Bandit(LABELS, seed=5), 300)


def test_the_first_rounds_play_a_few_arms_twice():
    bandit = tp.Bandit(list(range(100)), seed=0)
    first = bandit.ask_index(DESIGN_ARMS * DESIGN_PAYOFFS)  # before any payoff
    counts = np.bincount(first, minlength=100)
    assert sorted(counts[counts > 0]) == [DESIGN_PAYOFFS] * DESIGN_ARMS
    assert len(bandit.ask(3)) == 3  # still before any payoff: anything
    assert sum(bandit.pending.values()) == len(first) + 3


def test_payoffs_may_come_late_in_batches_and_in_any_order():
    bandit = tp.Bandit(LABELS, seed=0)
    rng = np.random.default_rng(0)
    for _ in range(40):
        arms = bandit.ask(10)
        rng.shuffle(arms)
        bandit.tell(arms, [MEANS[LABELS.index(a)] + rng.standard_normal() for a in arms])
    assert not bandit.pending
    assert len(bandit) == 400
    assert bandit.recommend().arm == "blue"


def test_one_batch_gives_about_what_single_payoffs_give():
    rng = np.random.default_rng(0)
    arms = rng.integers(4, size=500)
    payoffs = MEANS[arms] + rng.standard_t(1.5, 500)
    batch, single = tp.Bandit(LABELS), tp.Bandit(LABELS)
    batch.tell_index(arms, payoffs)
    for arm, payoff in zip(arms.tolist(), payoffs.tolist(), strict=True):
        single.tell_index(arm, payoff)
    assert batch.counts.tolist() == single.counts.tolist()
    assert batch.predict().mean == pytest.approx(single.predict().mean, abs=0.5)


def test_many_payoffs_at_once_are_judged_by_the_law_of_all():
    """All arms are fitted again with the levels that the first look finds."""
    rng = np.random.default_rng(0)
    payoffs = 100.0 + 10.0 * rng.standard_normal((2, 6_000))
    bulk = tp.Bandit(["a", "b"], seed=0)
    bulk.tell_index(np.repeat([0, 1], 6_000), payoffs.ravel())
    other = tp.Bandit(["a", "b"], seed=0)
    other.merge(bulk)
    for bandit in (bulk, other):
        assert bandit._statistics.mean == pytest.approx(payoffs.mean(axis=1), abs=0.1)
        assert bandit._statistics.stats[:, NOISE] == pytest.approx([100.0, 100.0], rel=0.2)


def test_several_payoffs_of_one_arm():
    bandit = tp.Bandit(LABELS)
    bandit.tell("red", [1.0, 2.0, 3.0])
    bandit.tell_index(2, [4.0])
    assert bandit.payoffs("red").tolist() == [1.0, 2.0, 3.0, 4.0]


# -- arms that come and go


def test_a_retired_arm_is_never_played_but_may_be_told():
    bandit = tp.Bandit(LABELS, seed=0)
    play(bandit, 200)
    bandit.retire("blue")
    assert 1 not in play(bandit, 300)
    bandit.tell("blue", 5.0)  # a payoff on its way
    assert bandit.recommend().arm != "blue"
    assert bandit.probabilities()[1] == 0.0
    bandit.restore("blue")
    assert 1 in play(bandit, 200)


def test_all_arms_retired():
    bandit = tp.Bandit(["a", "b"])
    bandit.tell("a", 1.0)
    for arm in ("a", "b"):
        bandit.retire(arm)
    with pytest.raises(ValueError, match="all are"):
        bandit.ask()
    with pytest.raises(ValueError, match="not retired"):
        bandit.recommend()


def test_an_added_arm_starts_from_the_shared_prior_and_is_found():
    bandit = tp.Bandit(LABELS, seed=0)
    play(bandit, 400)
    table = bandit.predict()
    bandit.add_arms("gold")
    added = bandit.predict()
    assert added.mean[4] == pytest.approx(bandit._statistics.prior_mean)
    assert np.array_equal(added.mean[:4], table.mean)
    played = play(bandit, 1_500, means=np.append(MEANS, 5.0))
    assert played.count(4) > 1_000
    assert bandit.recommend().arm == "gold"


def test_arms_with_coordinates_can_be_added():
    bandit = tp.Bandit([[0.0], [0.5]], seed=0)
    play(bandit, 50, means=np.array([0.0, 1.0]))
    bandit.add_arms([[1.0]])
    assert len(bandit.arms) == 3
    play(bandit, 50, means=np.array([0.0, 1.0, 4.0]))
    assert bandit.counts[2] > 0


def test_payoffs_of_a_file_are_added_with_their_arms(tmp_path):
    path = tmp_path / "payoffs.csv"
    path.write_text("variant,revenue\nblue,2.5\nred,1.0\ngold,7.0\nblue,3.5\n")
    bandit = tp.Bandit(["red", "blue"], seed=0)
    asked = bandit.ask()
    assert bandit.add(path, by="variant", value="revenue") == 4
    assert bandit.arms == ["red", "blue", "gold"]
    assert bandit.payoffs("blue").tolist() == [2.5, 3.5]
    assert list(bandit.pending.values()) == [1], asked


def test_a_file_with_integer_arms(tmp_path):
    path = tmp_path / "payoffs.csv"
    path.write_text("age,amount\n20,2.5\n30,1.0\n")
    bandit = tp.Bandit([20, 30])
    bandit.add(path, by="age", value="amount")
    assert bandit.counts.tolist() == [1, 1]
    with pytest.raises(ValueError, match="coordinates"):
        tp.Bandit([[1.0]]).add(path, by="age", value="amount")


# -- drift


def test_with_a_half_life_a_change_is_followed():
    bandit, forever = tp.Bandit(["a", "b"], half_life=200, seed=0), tp.Bandit(["a", "b"], seed=0)
    late = []
    for one in (bandit, forever):
        play(one, 1_500, means=np.array([0.0, 3.0]), df=3.0)
        late.append(play(one, 1_500, means=np.array([0.0, -3.0]), df=3.0, seed=1).count(0))
    assert late[0] > 1_200
    assert late[0] > late[1]
    assert bandit.recommend().arm == "a"
    assert bandit.recommend().mean == pytest.approx(0.0, abs=0.5)
    with pytest.raises(ValueError, match="half_life"):
        bandit.confidence_sequence("a", 10.0)


# -- a space of parameters, and similarity


def test_a_space_is_taken_as_a_grid():
    space = tp.Space(x=tp.Float(0, 1), mode=tp.Choice("slow", "fast"), seed=tp.Fixed(3))
    bandit = tp.Bandit(space, grid=5, seed=0)
    assert len(bandit.arms) == 10
    rng = np.random.default_rng(0)
    for _ in range(300):
        arm = bandit.ask()
        assert set(arm) == {"x", "mode", "seed"}
        mean = -((arm["x"] - 0.75) ** 2) * 20 + (arm["mode"] == "fast")
        bandit.tell(arm, float(mean + rng.standard_normal()))
    assert bandit.recommend().arm == {"x": 0.75, "mode": "fast", "seed": 3}
    for wrong in (None, 3, 0.5, "a"):
        with pytest.raises(ValueError, match="configurations of the grid"):
            bandit.tell(wrong, 1.0)
    with pytest.raises(ValueError, match="configuration of the grid"):
        bandit.tell({"x": 0.1, "mode": "fast", "seed": 3}, 1.0)
    with pytest.raises(ValueError, match="grid"):
        bandit.add_arms([{"x": 0.1}])


def test_a_grid_that_is_too_large_is_refused():
    with pytest.raises(ValueError, match="100000 configurations"):
        tp.Bandit(tp.Space(**{f"x{i}": tp.Float(0, 1) for i in range(6)}))


def test_similar_arms_share_what_is_known():
    n = 6
    gram = 0.05 * np.eye(n)
    gram[:3, :3] += 0.95
    gram[3:, 3:] += 0.95
    bandit = tp.Bandit([f"a{i}" for i in range(n)], similarity=tp.Precomputed(gram), seed=0)
    rng = np.random.default_rng(0)
    for arm in (0, 1, 3, 4):
        bandit.tell_index([arm] * 30, (arm < 3) * 3.0 + rng.standard_normal(30))
    mean = bandit.predict().mean  # arms 2 and 5 were never played
    assert mean[2] == pytest.approx(3.0, abs=0.7)
    assert mean[5] == pytest.approx(0.0, abs=0.7)
    with pytest.raises(ValueError, match="similarity"):
        bandit.add_arms("new")


# -- extremes


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: 0.0,
        lambda rng: 3.0,
        lambda rng: float(rng.random() < 0.01),
        lambda rng: float((rng.random() < 0.05) * rng.pareto(1.1)),
        lambda rng: 1e150 * rng.standard_normal(),
        lambda rng: float(rng.choice([1e150, -1e150, 1.0])),
        lambda rng: 1e-150 * rng.standard_normal(),
        lambda rng: 1e12 + rng.standard_normal(),
    ],
)
@pytest.mark.parametrize("arms", [["a"], LABELS, [[0.0], [1.0], [2.0], [3.0]]])
def test_extreme_payoffs_are_taken(draw, arms):
    bandit = tp.Bandit(arms, seed=0)
    rng = np.random.default_rng(0)
    for _ in range(120):
        bandit.tell_index(bandit.ask_index(), min(max(draw(rng), -1e150), 1e150))
    table, best = bandit.predict(), bandit.recommend()
    for numbers in (table.mean, table.lower, table.upper, table.probability):
        assert np.isfinite(numbers).all()
    assert best.lower <= best.mean <= best.upper
    assert table.probability.sum() == pytest.approx(1.0)


def test_one_huge_payoff_does_not_decide():
    bandit = tp.Bandit(LABELS, seed=0)
    play(bandit, 1_000)
    bandit.tell("green", 1e100)
    assert bandit.recommend().arm == "blue"
    assert play(bandit, 300, seed=1).count(1) > 200


def test_arms_of_different_constants():
    bandit = tp.Bandit(LABELS, seed=0)
    for _ in range(100):
        arm = bandit.ask_index()
        bandit.tell_index(arm, float(MEANS[arm]))
    assert bandit.recommend().arm == "blue"
    assert bandit.counts[1] > 80


def test_explore_zero_plays_the_best_estimate():
    bandit = tp.Bandit(LABELS, explore=0.0, seed=0)
    play(bandit, 100)
    assert bandit.ask_index() == bandit.predict().mean.argmax()
    counts = [
        len(set(play(tp.Bandit(list(range(50)), explore=e, seed=0), 300, np.zeros(50))))
        for e in (0.0, 3.0)
    ]
    assert counts[0] < counts[1]


# -- refusals


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"arms": []}, "arms"),
        ({"arms": ["a", "a"]}, "twice"),
        ({"arms": [[1.0], [1.0]]}, "twice"),
        ({"arms": ["a", 1]}, "arms"),
        ({"arms": ["a"], "minimize": 1}, "minimize"),
        ({"arms": ["a"], "half_life": 0}, "half_life"),
        ({"arms": ["a"], "explore": -1}, "explore"),
        ({"arms": ["a"], "explore": np.nan}, "explore"),
        ({"arms": ["a"], "grid": 1}, "grid"),
        ({"arms": ["a"], "seed": "x"}, "seed"),
        ({"arms": ["a"], "similarity": tp.Linear()}, "similarity"),
        ({"arms": ["a"], "similarity": tp.Precomputed(np.eye(2))}, "similarity"),
        ({"arms": [[1.0]], "similarity": tp.Precomputed(np.eye(1))}, "similarity"),
    ],
)
def test_bad_arguments_are_named(arguments, named):
    with pytest.raises(ValueError, match=named):
        tp.Bandit(arguments.pop("arms"), **arguments)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda b: b.tell("purple", 1.0), "purple"),
        (lambda b: b.tell("blue", np.nan), "payoff"),
        (lambda b: b.tell("blue", float("inf")), "payoff"),
        (lambda b: b.tell("blue", 1e200), "payoff"),
        (lambda b: b.tell("blue", "1"), "payoff"),
        (lambda b: b.tell("blue", None), "payoff"),
        (lambda b: b.tell(["blue", "red"], [1.0]), "payoff"),
        (lambda b: b.tell(["blue", "purple"], [1.0, 2.0]), "purple"),
        (lambda b: b.tell(["blue", "red"], [1.0, np.nan]), "payoff"),
        (lambda b: b.tell_index(4, 1.0), "index"),
        (lambda b: b.tell_index(-1, 1.0), "index"),
        (lambda b: b.tell_index([0, 7], [1.0, 2.0]), "index"),
        (lambda b: b.tell_index(1.5, 1.0), "index"),
        (lambda b: b.ask(0), "count"),
        (lambda b: b.ask(1.5), "count"),
        (lambda b: b.retire("purple"), "purple"),
        (lambda b: b.add_arms(["blue"]), "twice"),
        (lambda b: b.add_arms([[1.0]]), "labels"),
        (lambda b: b.add("missing.csv"), "missing.csv"),
        (lambda b: b.merge("other"), "other"),
        (lambda b: b.merge(tp.Bandit(LABELS, minimize=True)), "minimize"),
        (lambda b: b.predict(level=1.0), "level"),
        (lambda b: b.recommend(level=0.0), "level"),
        (lambda b: b.probabilities(draws=0), "draws"),
        (lambda b: b.confidence_sequence("blue", 0.0), "moment_bound"),
        (lambda b: b.payoffs("purple"), "purple"),
        (lambda b: b.save(""), "path"),
    ],
)
def test_what_is_refused_changes_nothing(call, named):
    bandit = tp.Bandit(LABELS, seed=0)
    play(bandit, 40)
    bandit.ask()
    before = state(bandit)
    with pytest.raises((ValueError, FileNotFoundError), match=named):
        call(bandit)
    assert state(bandit) == before


def test_answers_need_payoffs():
    bandit = tp.Bandit(LABELS)
    assert bandit.probabilities().tolist() == [0.25] * 4
    for answer in (bandit.predict, bandit.recommend):
        with pytest.raises(ValueError, match="payoff"):
            answer()


@pytest.mark.parametrize("half_life", [None, 20])
def test_answers_change_nothing(half_life):
    bandit = tp.Bandit(LABELS, half_life=half_life, seed=0)
    play(bandit, 60)
    before = state(bandit)
    bandit.predict(), bandit.recommend(), bandit.probabilities(), repr(bandit)
    assert state(bandit) == before


# -- intervals


def test_the_confidence_sequence_is_that_of_the_arms_payoffs():
    bandit = tp.Bandit(LABELS, seed=0)
    play(bandit, 300, df=5.0)
    found = bandit.confidence_sequence("blue", 5.0 / 3.0, level=0.9)
    recommended = bandit.recommend(level=0.9)
    assert found.lower < recommended.lower < recommended.upper < found.upper
    assert found.level == 0.9
