"""Spaces of parameters and lists of configurations: one interface, exact both ways."""

import json
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from space_strategies import TABLE, anything, plain, same, units
from tailproof.search.space.parameters import Choice, Fixed, Float, Int
from tailproof.search.space.space import Configurations, Space, space_from_state

CAREFUL = settings(derandomize=True, max_examples=60, deadline=None)

MIXED = Space(
    lr=Float(1e-5, 1e-1, log=True),
    layers=Int(1, 8),
    seed=Fixed(3),
    act=Choice("relu", "gelu", None),
    p=Float(0, 1),
    share=Float(0, 1, step=0.25),
)

spaces = st.dictionaries(
    st.text(min_size=1, max_size=4), st.one_of(anything, plain.map(Fixed)), min_size=1, max_size=5
).map(Space)
tables = st.integers(1, 8).flatmap(
    lambda rows: st.dictionaries(
        st.text(min_size=1, max_size=3),
        st.one_of(
            st.lists(st.floats(-1e308, 1e308), min_size=rows, max_size=rows),
            st.lists(st.integers(-3, 3), min_size=rows, max_size=rows),
            st.lists(st.sampled_from([1, 1.0, True, "1", None]), min_size=rows, max_size=rows),
            st.lists(st.one_of(st.text(max_size=2), st.none()), min_size=rows, max_size=rows),
        ),
        min_size=1,
        max_size=4,
    )
)


def equal(a, b):
    """Tell whether two configurations are the same dict, types included."""
    return list(a) == list(b) and all(same(a[name], b[name]) for name in a)


# ---- both kinds of space ------------------------------------------------------------------------


@CAREFUL
@given(st.one_of(spaces, tables.map(Configurations.from_table)), st.data())
def test_places_and_configurations_correspond(space, data):
    row = st.lists(units, min_size=space.dimension, max_size=space.dimension)
    rows = data.draw(st.lists(row, min_size=2, max_size=5))
    U = np.array(rows, dtype=np.float64).reshape(len(rows), space.dimension)
    before = U.copy()
    snapped = space.snap(U)
    assert np.array_equal(space.snap(snapped), snapped)
    configurations = [space.params(u) for u in U]
    for canonical, params in zip(snapped, configurations, strict=True):
        assert tuple(params) == space.names
        assert equal(space.params(canonical), params)
        assert np.array_equal(space.position(params), canonical)
    for i in range(len(U)):
        assert equal(configurations[0], configurations[i]) == np.array_equal(snapped[0], snapped[i])
    coordinates = space.encode(U)
    assert coordinates.shape == (len(U), space.encoded_dimension)
    assert ((coordinates >= 0.0) & (coordinates <= 1.0)).all()
    assert np.array_equal(U, before)


@CAREFUL
@given(st.one_of(spaces, tables.map(Configurations.from_table)))
def test_spaces_survive_json_and_pickle(space):
    text = json.dumps(space.state(), allow_nan=False)
    for again in (space_from_state(json.loads(text)), pickle.loads(pickle.dumps(space))):
        assert type(again) is type(space)
        assert again == space
        assert again.state() == space.state()
        assert repr(again) == repr(space)


@CAREFUL
@given(st.one_of(spaces, tables.map(Configurations.from_table)))
def test_the_layout_fits_together(space):
    assert space.discrete.shape == space.encoded_columns.shape == (space.dimension,)
    assert space.parameter_of_column.shape == (space.encoded_dimension,)
    assert (space.encoded_columns[space.discrete] == -1).all()
    u = np.linspace(0.1, 0.9, max(space.dimension, 1))[: space.dimension]
    coordinates = space.encode(u[None])[0]
    for k in np.flatnonzero(~space.discrete):
        assert coordinates[space.encoded_columns[k]] == u[k]
        assert space.parameter_of_column[space.encoded_columns[k]] == k
    for array in (space.discrete, space.encoded_columns, space.parameter_of_column):
        assert not array.flags.writeable


@pytest.mark.parametrize("space", [MIXED, TABLE])
def test_places_outside_the_cube_are_refused(space):
    good = np.full((2, space.dimension), 0.5)
    for wrong, message in (
        (good + 0.6, "`0 <= U <= 1` must hold"),
        (good - 0.6, "`0 <= U <= 1` must hold"),
        (good * np.nan, "`U` must be finite"),
        (np.full((2, space.dimension + 1), 0.5), r"`U` must have shape \(n, "),
        (good[0], r"`U` must have 2 dimension\(s\)"),
    ):
        for use in (space.snap, space.encode):
            with pytest.raises(ValueError, match=message):
                use(wrong)
    for use in (space.params, space.neighbors):
        with pytest.raises(ValueError, match=r"`u` must have 1 dimension\(s\)"):
            use(good)


def test_no_rows_are_no_trouble():
    assert MIXED.snap(np.empty((0, 5))).shape == (0, 5)
    assert MIXED.encode(np.empty((0, 5))).shape == (0, MIXED.encoded_dimension)
    assert TABLE.snap(np.empty((0, 1))).shape == (0, 1)
    assert TABLE.encode(np.empty((0, 1))).shape == (0, TABLE.encoded_dimension)


# ---- a space of parameters ----------------------------------------------------------------------


def test_the_shape_of_a_mixed_space():
    assert MIXED.names == ("lr", "layers", "seed", "act", "p", "share")
    assert (MIXED.dimension, MIXED.encoded_dimension, MIXED.count) == (5, 7, None)
    assert MIXED.discrete.tolist() == [False, True, True, False, True]
    assert MIXED.encoded_columns.tolist() == [0, -1, -1, 5, -1]
    assert MIXED.parameter_of_column.tolist() == [0, 1, 2, 2, 2, 3, 4]
    assert MIXED.params([0.5, 0.0, 0.5, 1.0, 0.99]) == {
        "lr": 0.001, "layers": 1, "seed": 3, "act": "gelu", "p": 1.0, "share": 1.0
    }  # fmt: skip
    with pytest.raises(TypeError):
        MIXED.parameters["lr"] = Fixed(1)


def test_neighbors_are_single_discrete_moves():
    space = Space(n=Int(1, 3), x=Float(0, 1), c=Choice("a", "b", "c"), k=Fixed(0))
    start = space.position({"n": 1, "x": 0.3, "c": "b", "k": 0})
    found = [space.params(u) for u in space.neighbors(start)]
    rest = {"x": 0.3, "k": 0}
    assert found == [
        {"n": 2, "c": "b", **rest}, {"n": 1, "c": "a", **rest}, {"n": 1, "c": "c", **rest}
    ]  # fmt: skip
    moved = space.neighbors(start)
    assert np.array_equal(space.snap(moved), moved)
    assert Space(x=Float(0, 1)).neighbors([0.5]).shape == (0, 1)


def test_all_configurations_are_enumerated_once():
    space = Space(n=Int(1, 10, log=True), k=Fixed("k"), c=Choice(1, 1.0), s=Float(0, 1, step=0.5))
    assert space.count == 60
    places = space.enumerate(60)
    assert places.shape == (60, 3)
    assert np.array_equal(space.snap(places), places)
    assert len({repr(space.params(u)) for u in places}) == 60
    assert space.params(places[1]) == {"n": 1, "k": "k", "c": 1, "s": 0.5}
    for refused, limit in ((space, 59), (MIXED, 10**9), (TABLE, 2)):
        with pytest.raises(ValueError, match=rf"`count <= {limit}` must hold, but got count="):
            refused.enumerate(limit)


def test_a_space_of_constants_has_one_configuration():
    space = Space(a=Fixed(1), b=Fixed(None))
    assert (space.dimension, space.encoded_dimension, space.count) == (0, 0, 1)
    assert space.enumerate(1).shape == (1, 0)
    assert space.params([]) == {"a": 1, "b": None}
    assert space.position({"a": 1, "b": None}).shape == (0,)
    assert space.snap(np.empty((4, 0))).shape == space.encode(np.empty((4, 0))).shape == (4, 0)
    assert space.neighbors([]).shape == (0, 0)


def test_names_need_not_be_identifiers():
    space = Space({"learning rate": Float(0, 1), "self": Int(1, 2)}, parameters=Fixed(1))
    assert space.params([0.5, 0.0]) == {"learning rate": 0.5, "self": 1, "parameters": 1}
    assert repr(Space(x=Int(1, 2))) == "Space(x=Int(1, 2))"
    assert repr(Space({"a b": Int(1, 2)})) == "Space({'a b': Int(1, 2)})"


def test_order_and_kinds_count_for_equality():
    assert Space(a=Int(1, 2), b=Int(1, 3)) != Space(b=Int(1, 3), a=Int(1, 2))
    assert Space(a=Fixed(1)) != Space(a=Fixed(True))
    assert Space(a=Fixed(1)) != Configurations([{"a": 1}])
    assert Space(a=Fixed(1)) != {"a": 1}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Space(), "`parameters` must hold at least one parameter, but got none"),
        (lambda: Space({}), "`parameters` must hold at least one parameter"),
        (lambda: Space([("a", Int(1, 2))]), "`parameters` must map names to parameters"),
        (lambda: Space({"a": Int(1, 2)}, a=Int(1, 2)), "`names` must be distinct, but got 'a'"),
        (lambda: Space({"": Int(1, 2)}), "`names` must be text that is not empty"),
        (lambda: Space({1: Int(1, 2)}), "`names` must be text"),
        (lambda: Space(a=3), r"`a` must be a Float, Int, Choice or Fixed, but got a=3; use Fixed"),
        (lambda: Space(a=Float), "`a` must be a Float"),
        (lambda: Space(a=Space(b=Int(1, 2))), r"`a` .*conditional parameters .* not supported"),
        (lambda: Space(a={"b": Int(1, 2)}), r"`a` .*conditional parameters .* not supported"),
        (lambda: Space(a=Configurations([{"b": 1}])), "conditional parameters .* not supported"),
        (lambda: Space(a=Choice(Space(b=Int(1, 2)), "c")), "conditional parameters are not"),
        (lambda: space_from_state({"kind": "cube"}), "`kind` must be space or configurations"),
        (lambda: space_from_state({"kind": "space"}), "`state` must come from"),
        (lambda: space_from_state(3), "`state` must come from"),
    ],
)
def test_what_makes_no_space_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lr": 1.0}, "`1e-05 <= lr <= 0.1` must hold, but got lr=1.0"),
        ({"layers": 9}, "`layers` must be an integer from 1 to 8, but got layers=9"),
        ({"seed": 4}, "`seed` must be 3, but got seed=4"),
        ({"act": "tanh"}, "`act` must be one of"),
        ({"more": 1, "other": 2}, "unknown 'more', unknown 'other'"),
    ],
)
def test_configurations_outside_are_refused_by_name(change, message):
    good = MIXED.params(np.full(5, 0.5))
    with pytest.raises(ValueError, match=message):
        MIXED.position({**good, **change})


def test_missing_names_are_named():
    with pytest.raises(
        ValueError, match=r"`params` must have the names .*, but got no 'lr', no 'p'"
    ):
        MIXED.position({"layers": 1, "seed": 3, "act": None, "share": 0.5})
    with pytest.raises(ValueError, match="`params` must be a dict"):
        MIXED.position([1, 2])
