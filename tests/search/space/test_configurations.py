"""Lists of configurations: equal rows, coordinates in the model, neighbors, what is refused."""

import math

import numpy as np
import pytest

from space_strategies import TABLE, same
from tailproof.search.space.configurations import Configurations


def test_where_a_table_lies_in_the_model():
    assert (TABLE.dimension, TABLE.encoded_dimension, TABLE.count, len(TABLE)) == (1, 5, 3, 3)
    assert TABLE.discrete.tolist() == [True]
    assert TABLE.encoded_columns.tolist() == [-1]
    assert TABLE.parameter_of_column.tolist() == [0, 1, 1, 2, 2]
    far = math.sqrt(0.5)
    assert np.array_equal(
        TABLE.encode(TABLE.enumerate(3)),
        [[0.0, far, 0.0, far, 0.0], [1.0, 0.0, far, 0.0, far], [0.5, far, 0.0, 0.0, far]],
    )
    assert [TABLE.params(u)["nodes"] for u in TABLE.neighbors([0.0])] == [3, 5]
    assert repr(TABLE) == "Configurations(3 of nodes, cpu, zone, fast)"


def test_of_equal_configurations_the_first_stands_for_all():
    space = Configurations.from_table({"x": [2, 1, 2.0, 1], "tag": ["a", "b", "a", True]})
    assert [space.params(u) for u in space.enumerate(9)] == [
        {"x": 2, "tag": "a"}, {"x": 1, "tag": "b"}, {"x": 1, "tag": True}
    ]  # fmt: skip
    assert same(space.params([0.0])["x"], 2)
    assert space.index({"x": 2.0, "tag": "a"}) == 0


def test_numbers_that_a_storage_changed_are_found():
    space = Configurations.from_table({"x": [0.1, 0.2, 0.0, 1e308], "s": ["a", "b", "a", "b"]})
    assert space.index({"x": 0.1 + 2e-17, "s": "a"}) == 0
    assert space.index({"x": np.float64(0.2) * (1 + 1e-12), "s": "b"}) == 1
    for x, s in ((0.1, "b"), (0.1001, "a"), (1e-12, "a"), (10**400, "a"), (True, "a"), ("a", "a")):
        with pytest.raises(ValueError, match="`params` must be one of the 4 configurations"):
            space.index({"x": x, "s": s})


def test_neighbors_in_a_list_are_the_nearest():
    rng = np.random.default_rng(0)
    space = Configurations.from_table(
        {"x": rng.random(200), "y": rng.integers(0, 5, 200), "c": list("abcd") * 50}
    )
    places = space.enumerate(200)
    coordinates = space.encode(places)
    for k in (0, 57, 199):
        gaps = np.linalg.norm(coordinates - coordinates[k], axis=1)
        found = [space.index(space.params(u)) for u in space.neighbors(places[k])]
        assert len(set(found)) == 32
        assert k not in found
        assert (np.diff(gaps[found]) >= -1e-12).all()
        assert gaps[found[-1]] <= np.delete(gaps, [k, *found]).min() + 1e-12


def test_ties_among_neighbors_go_to_the_earlier_rows():
    space = Configurations([{"name": f"arm {k}"} for k in range(100)])
    found = [space.index(space.params(u)) for u in space.neighbors([0.505])]
    assert found == [k for k in range(33) if k != 50][:32]
    assert Configurations([{"a": 1}]).neighbors([0.5]).shape == (0, 1)


def test_a_single_configuration_is_a_space():
    space = Configurations([{"a": 1, "b": "x"}])
    assert (space.dimension, space.encoded_dimension, space.count) == (1, 0, 1)
    assert space.snap([[0.0], [1.0]]).tolist() == [[0.5], [0.5]]
    assert space.encode([[0.0], [1.0]]).shape == (2, 0)


def test_wide_numbers_are_scaled_without_overflow():
    space = Configurations.from_table({"x": [-1.7e308, 1.7e308, 0.0]})
    assert space.encode(space.enumerate(3))[:, 0].tolist() == [0.0, 1.0, 0.5]


def test_a_large_table_is_handled():
    X = np.random.default_rng(1).random((20_000, 10))
    space = Configurations.from_table({f"x{j}": X[:, j] for j in range(10)})
    assert (space.count, space.encoded_dimension) == (20_000, 10)
    row = space.params(space.enumerate(10**6)[12_345])
    assert list(row.values()) == X[12_345].tolist()
    assert space.index(row) == 12_345
    assert space.neighbors([0.5]).shape == (32, 1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Configurations([]), "`configurations` must hold at least one"),
        (lambda: Configurations([{}]), "`configurations` must have at least one name"),
        (lambda: Configurations([1, 2]), r"`configurations\[0\]` must be a dict"),
        (lambda: Configurations([{"a": 1}, 2]), r"`configurations\[1\]` must be a dict"),
        (
            lambda: Configurations([{"a": 1}, {"b": 1}]),
            r"`configurations\[1\]` .*no 'a', unknown 'b'",
        ),
        (lambda: Configurations([{"a": [1]}]), "`a` must be text, a number, a boolean or None"),
        (lambda: Configurations([{"a": {"b": 1}}]), "conditional parameters are not supported"),
        (lambda: Configurations([{"a": math.nan}]), "`a` must not be NaN"),
        (lambda: Configurations([{"a": math.inf}, {"a": 1}]), "`a` must be finite"),
        (lambda: Configurations([{"a": 10**400}]), "`a` must be a finite number"),
        (lambda: Configurations([{1: 1}]), "`names` must be text"),
        (
            lambda: Configurations.from_table({"a": [1], "b": [1, 2]}),
            "`columns` must have one length",
        ),
        (lambda: Configurations.from_table({"a": []}), "`columns` must have one length"),
        (lambda: Configurations.from_table([[1]]), "`columns` must map names to columns"),
        (lambda: Configurations.from_table({}), "`columns` must"),
    ],
)
def test_what_makes_no_list_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
