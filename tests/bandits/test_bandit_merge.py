"""Merging bandits: order and repetition do not matter, and nothing is counted twice."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tailproof as tp

LABELS = ["a", "b", "c"]
told = st.lists(
    st.tuples(st.integers(0, 2), st.floats(-1e6, 1e6, allow_nan=False)), min_size=0, max_size=30
)


def worker(payoffs, labels=LABELS):
    bandit = tp.Bandit(labels, seed=0)
    for arm, payoff in payoffs:
        bandit.tell_index(arm, payoff)
    return bandit


def contents(bandit):
    return {arm: sorted(bandit.payoffs(arm).tolist()) for arm in bandit.arms}


@settings(max_examples=40, deadline=None)
@given(told, told, told)
def test_the_order_of_merging_does_not_matter(first, second, third):
    merged = []
    for order in itertools.permutations((first, second, third)):
        bandits = [worker(payoffs) for payoffs in order]
        target = tp.Bandit(LABELS, seed=0)
        for bandit in bandits:
            target.merge(bandit)
        merged.append(target)
    for bandit in merged:
        assert contents(bandit) == contents(merged[0])
        if len(bandit):
            scale = np.abs(bandit._statistics.log.payoffs).max() + 1e-9
            assert bandit.predict().mean == pytest.approx(
                merged[0].predict().mean, abs=1e-6 * scale
            )


@settings(max_examples=40, deadline=None)
@given(told, told)
def test_merging_again_adds_nothing(first, second):
    one, other = worker(first), worker(second)
    assert one.merge(other) == len(second)
    assert one.merge(other) == 0
    assert one.merge(one) == 0
    assert other.merge(one) == len(first)  # its own payoffs come back and are recognized
    assert contents(one) == contents(other)


def test_workers_of_one_state_merge_without_counting_its_payoffs_twice(tmp_path):
    start = worker([(0, 1.0), (1, 2.0)])
    start.save(tmp_path / "start.npz")
    workers = [tp.load(tmp_path / "start.npz") for _ in range(3)]
    for i, bandit in enumerate(workers):
        bandit.tell("c", float(i))
    start.tell("a", 9.0)
    for bandit in workers:
        assert start.merge(bandit) == 1
    assert contents(start) == {"a": [1.0, 9.0], "b": [2.0], "c": [0.0, 1.0, 2.0]}
    workers[0].merge(start)
    workers[0].save(tmp_path / "end.npz")
    assert start.add(tmp_path / "end.npz") == 0
    assert tp.load(tmp_path / "end.npz").merge(workers[2]) == 0


def test_arms_that_are_not_here_are_added():
    one, other = worker([(0, 1.0)]), worker([(1, 5.0)], labels=["c", "new"])
    one.merge(other)
    assert one.arms == ["a", "b", "c", "new"]
    assert one.payoffs("new").tolist() == [5.0]
    points = tp.Bandit([[0.0], [1.0]])
    more = tp.Bandit([[1.0], [2.0]])
    more.tell([2.0], 3.0)
    points.merge(more)
    assert [p.tolist() for p in points.arms] == [[0.0], [1.0], [2.0]]
    assert points.payoffs([2.0]).tolist() == [3.0]


def test_payoffs_keep_their_age():
    old, new = tp.Bandit(["a"], half_life=10), tp.Bandit(["a"], half_life=10)
    old.tell("a", [1.0] * 5)
    old.tell("a", [100.0] * 200)
    new.tell("a", [0.0] * 3)
    new.merge(old)
    # The ones are 20 half-lives old; the others are as old in both.
    assert new.predict().mean[0] > 50.0
    log = new._statistics.log
    assert (np.diff(log.stamps) >= 0).all()
