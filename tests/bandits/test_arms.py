"""The finite space: arms by coordinates or by label, found again and handed out safely."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import tailproof as tp
from policy_setups import ANY_KERNEL, LABELS, build

coordinates = arrays(
    np.float64,
    st.tuples(st.integers(1, 8), st.integers(1, 3)),
    elements=st.floats(-1e308, 1e308, allow_subnormal=True),
)


# ---- coordinates --------------------------------------------------------------------------------


@settings(derandomize=True, max_examples=60, deadline=None)
@given(coordinates)
def test_every_arm_is_found_by_its_coordinates(arms):
    space = tp.Finite(arms)
    assert (len(space), space.dimension) == arms.shape
    for i, arm in enumerate(arms):
        found = space.index(arm)
        assert np.array_equal(arms[found], arm)
        assert found <= i  # of arms that coincide the first stands for all
        assert np.array_equal(space.point(i), arm)
    assert space.indices(arms).tolist() == [space.index(arm) for arm in arms]


def test_of_arms_that_coincide_the_first_stands_for_all():
    space = tp.Finite([[1.0, 2.0], [0.0, 0.0], [1.0, 2.0], [-0.0, 0.0]])
    assert len(space) == 4
    assert space.indices([[1.0, 2.0], [0.0, -0.0]]).tolist() == [0, 1]


def test_minus_zero_is_zero():
    assert tp.Finite([[-0.0]]).index([0.0]) == tp.Finite([[0.0]]).index([-0.0]) == 0


@pytest.mark.parametrize("kind", [list, tuple, np.array, lambda x: np.array(x, dtype=np.float32)])
def test_arms_may_be_given_as_any_array_of_numbers(kind):
    space = tp.Finite(kind([[0.5, 1.0], [2.0, 3.0]]))
    assert space.inputs.dtype == np.float64
    assert space.index(kind([2.0, 3.0])) == 1
    assert space.index([2, 3]) == 1


def test_arms_in_any_memory_order_are_the_same_arms():
    arms = np.arange(12.0).reshape(4, 3)
    for view in (np.asfortranarray(arms), arms[::-1][::-1], np.repeat(arms, 2, axis=0)[::2]):
        space = tp.Finite(view)
        assert np.array_equal(space.inputs, arms)
        assert space.inputs.flags.c_contiguous
        assert [space.index(arm) for arm in view] == [0, 1, 2, 3]


def test_the_space_is_its_own_and_cannot_be_changed():
    arms = np.array([[0.0], [1.0]])
    space = tp.Finite(arms)
    arms[...] = 7.0
    space.point(0)[...] = 7.0
    assert space.inputs.tolist() == [[0.0], [1.0]]
    assert space.index([1.0]) == 1
    with pytest.raises(ValueError, match="read-only"):
        space.inputs[0] = 7.0


def test_one_coordinate_may_be_given_as_a_number():
    space = tp.Finite([[0.0], [0.5]])
    assert space.index(0.5) == 1
    assert space.is_single(0.5)
    assert space.is_single([0.5])
    assert not space.is_single([[0.5]])


def test_an_unknown_arm_is_told_its_nearest():
    space = tp.Finite([[0.0, 0.0], [1.0, 1.0]])
    with pytest.raises(ValueError, match=r"`x` must be one of .* nearest is arm 1 at \[1.0, 1.0\]"):
        space.index([0.9, 1.2])
    with pytest.raises(ValueError, match=r"`x` must have 2 coordinate\(s\), but got 1"):
        space.index([0.9])


def test_the_next_number_is_another_arm():
    space = tp.Finite([[0.1 + 0.2]])
    with pytest.raises(ValueError, match="`x` must be one of the space's arms"):
        space.index([0.3])


def test_points_to_predict_at_need_not_be_arms():
    space = tp.Finite([[0.0, 0.0], [1.0, 1.0]])
    assert space.query_inputs([[0.2, 0.3]]).tolist() == [[0.2, 0.3]]
    assert space.query_inputs([0.2, 0.3]).shape == (1, 2)
    assert space.query_inputs(np.empty((0, 2))).shape == (0, 2)


@pytest.mark.parametrize("arms", [[[0.0], [1.0]], LABELS])
def test_a_space_shows_its_size(arms):
    space = tp.Finite(arms)
    assert str(len(arms)) in repr(space)
    assert "dimension 1" in repr(space)
    assert ("labeled" in repr(space)) == (arms is LABELS)


# ---- labels -------------------------------------------------------------------------------------


@settings(derandomize=True, max_examples=40, deadline=None)
@given(
    st.one_of(
        st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=8, unique=True),
        st.lists(
            st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=9),
            min_size=1,
            max_size=8,
            unique=True,
        ),
    )
)
def test_every_label_is_found_and_handed_back_as_it_was(labels):
    space = tp.Finite(labels)
    assert space.labels == tuple(labels)
    for i, label in enumerate(labels):
        assert space.index(label) == i
        assert space.point(i) == label
        assert type(space.point(i)) is type(label)
    assert space.inputs.tolist() == [[float(i)] for i in range(len(labels))]
    assert space.indices(np.array(labels)).tolist() == list(range(len(labels)))


@pytest.mark.parametrize("label", ["", "a", "a\0", "ä", "  ", "a" * 500], ids=ascii)
def test_labels_of_any_text_are_kept_whole(label):
    space = tp.Finite([label, "other"])
    assert space.point(0) == label
    assert space.index(label) == 0


@pytest.mark.parametrize("setup", ANY_KERNEL)
def test_labels_take_the_place_of_coordinates(setup):
    gram = np.array([[1, 0.5, 0, 0], [0.5, 1, 0, 0], [0, 0, 1, 0.2], [0, 0, 0.2, 1]])
    opt = build(setup, tp.Finite(LABELS), tp.Precomputed(gram))
    assert opt.ask() in LABELS
    opt.tell("bee", [1.0, 2.0])
    opt.tell(["cat", "ant"], [0.5, 1.0])
    opt.tell(np.array(["dog"]), [0.25])
    assert opt.history.points.tolist() == ["bee", "bee", "cat", "ant", "dog"]
    assert opt.history.indices.tolist() == [1, 1, 2, 0, 3]
    assert opt.recommend().point == LABELS[opt.recommend().index]
    some = opt.predict(["dog", "bee"])
    np.testing.assert_allclose(some.mean, opt.predict().mean[[3, 1]], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(opt.predict("cat").std, opt.predict().std[2], rtol=1e-9)


@pytest.mark.parametrize("setup", ANY_KERNEL)
def test_a_pending_label_can_be_withdrawn(setup):
    opt = build(setup, tp.Finite(LABELS), tp.Precomputed(np.eye(4)))
    label = opt.ask()
    opt.withdraw(label)
    assert opt.pending.size == 0


def test_integer_labels_are_labels_and_not_numbers_of_arms():
    opt = tp.gp_ucb(tp.Finite([30, 10, 20]), tp.Precomputed(np.eye(3)), tp.CustomSchedule(1.0))
    opt.tell(20, 5.0)
    opt.tell([10, 30], [1.0, 2.0])
    opt.tell(np.int64(30), 2.5)
    assert opt.history.indices.tolist() == [2, 1, 0, 0]
    assert opt.recommend().point == 20
