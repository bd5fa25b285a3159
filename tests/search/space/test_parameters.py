"""Parameters: one mapping to [0, 1] and back, exact for every value that can come out of it."""

import json
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from space_strategies import (
    CAREFUL,
    LIMIT,
    anything,
    continua,
    integers,
    plain,
    same,
    stepped,
    units,
)
from tailproof.search.space.parameters import Choice, Fixed, Float, Int, parameter_from_state

# ---- the round trip -----------------------------------------------------------------------------


@CAREFUL
@given(anything, st.lists(units, min_size=1, max_size=8))
def test_values_are_found_again_bit_for_bit(parameter, places):
    snapped = parameter.encoding.snap(np.array(places))
    assert ((snapped >= 0.0) & (snapped <= 1.0)).all()
    assert np.array_equal(parameter.encoding.snap(snapped), snapped)
    for u, canonical in zip(places, snapped, strict=True):
        value = parameter.value(u)
        assert same(parameter.value(parameter.position(value)), value)
        assert same(parameter.value(canonical), value)
        # One canonical place a value: equal values have equal rows, whatever u they came from.
        assert parameter.position(value) == canonical


@CAREFUL
@given(anything)
def test_the_ends_are_reached_exactly(parameter):
    first, last = parameter.value(0.0), parameter.value(1.0)
    if isinstance(parameter, Choice):
        assert same(first, parameter.options[0])
        assert same(last, parameter.options[-1])
        return
    assert same(first, parameter.low)
    if parameter.step is None or (isinstance(parameter, Int) and parameter.step == 1):
        assert same(last, parameter.high)
    else:
        assert parameter.high - parameter.step * (1 + 1e-8) < last <= parameter.high


@CAREFUL
@given(st.one_of(continua(), stepped(), integers()), st.lists(units, min_size=2, max_size=8))
def test_numbers_keep_the_order_of_their_places(parameter, places):
    values = [parameter.value(u) for u in sorted(places)]
    assert values == sorted(values)
    assert all(parameter.low <= value <= parameter.high for value in values)


@CAREFUL
@given(integers(), st.data())
def test_every_integer_is_reached(parameter, data):
    value = parameter.low + parameter.step * data.draw(st.integers(0, parameter.count - 1))
    assert parameter.value(parameter.position(value)) == value
    assert parameter.position(float(value)) == parameter.position(value)  # as storages return it


@CAREFUL
@given(stepped(), st.data())
def test_every_step_is_reached_and_tidy(parameter, data):
    index = data.draw(st.integers(0, parameter.count - 1))
    rough = min(parameter.low + index * parameter.step, parameter.high)
    value = parameter.value(parameter.position(rough))
    assert value == pytest.approx(rough, rel=1e-12, abs=1e-9 * parameter.step)
    assert same(parameter.value(parameter.position(value)), value)


@CAREFUL
@given(continua(), st.data())
def test_any_float_inside_is_accepted(parameter, data):
    value = data.draw(st.floats(parameter.low, parameter.high))
    u = parameter.position(value)
    assert 0.0 <= u <= 1.0
    scale = value if parameter.log else max(abs(parameter.low), abs(parameter.high))
    assert abs(parameter.value(u) - value) <= 1e-10 * scale


@pytest.mark.parametrize("text", ["0.3", "0.1", "0.07", "0.123456789012", "0.999999999999", "1e-6"])
def test_decimals_a_user_writes_come_back_as_written(text):
    value = float(text)
    for parameter in (Float(0, 1), Float(-5, 10), Float(1e-6, 1, log=True), Float(0, math.pi)):
        assert same(parameter.value(parameter.position(value)), value)


def test_powers_of_ten_have_one_place_seen_from_either_side():
    for k in range(-249, 250):
        value = float(f"1e{k}")
        parameter = Float(value / 3.0, value * 5.0, log=True)
        around = [value * (1 - 1e-15), value, value * (1 + 1e-15)]
        assert len({parameter.position(one) for one in around}) == 1
        assert parameter.value(parameter.position(value)) == value


def test_values_are_tidy():
    tenths = Float(0, 1, step=0.1)
    assert [tenths.value(k / 10) for k in range(11)] == [k / 10 for k in range(11)]
    assert [Float(0, 1, step=1 / 3).value(u) for u in (0.3, 0.6, 0.9)] == [1 / 3, 2 / 3, 1.0]
    assert Float(0.1, 0.7, step=0.2).count == 4
    assert Float(0, 1, step=0.3).value(1.0) == 0.9
    assert Float(1e-5, 1e-1, log=True).value(0.25) == 0.0001
    assert repr(Float(-1, 1).value(0.65)) == "0.3"
    assert repr(Float(-1, 1).value(0.5)) == "0.0"
    assert repr(Float(-0.0, 1).value(0.0)) == "0.0"


def test_huge_ranges_work():
    wide = Float(-1e300, 1e300)
    assert wide.value(0.5) == 0.0
    assert wide.value(wide.position(1e299)) == 1e299
    assert Float(1e-290, 1e300, log=True).value(1.0) == 1e300
    every = Int(0, LIMIT)
    for value in (0, 1, LIMIT // 2 - 1, LIMIT // 2 + 1, LIMIT // 3, LIMIT - 1, LIMIT):
        assert every.value(every.position(value)) == value


# ---- what is told by storages and users ---------------------------------------------------------


def test_a_few_last_bits_are_forgiven():
    assert Float(10, 20).position(9.999999999999998) == 0.0
    assert Float(1e-5, 1e-1, log=True).position(0.10000000000000002) == 1.0
    assert Float(0, 1).position(-1e-16) == 0.0
    tenths = Float(0, 1, step=0.1)
    assert tenths.value(tenths.position(0.1 * 3)) == 0.3
    assert tenths.value(tenths.position(0.3 + 5e-11)) == 0.3
    assert Int(1, 8).value(Int(1, 8).position(2.9999999999999996)) == 3
    assert Int(1, 8).value(Int(1, 8).position(np.float32(3.0))) == 3
    assert Choice("a", "b").position(np.str_("b")) == 0.75


@pytest.mark.parametrize(
    ("parameter", "value", "message"),
    [
        (Float(0, 1), 1.001, r"`0.0 <= x <= 1.0` must hold, but got x=1.001"),
        (Float(0, 1), 1.0 + 1e-12, "x <= 1.0"),
        (Float(1e-5, 1, log=True), 1e-5 - 1e-16, "1e-05 <= x"),
        (Float(0, 1), math.nan, "`x` must be finite"),
        (Float(0, 1), "0.5", "`x` must be a finite number"),
        (Float(0, 1), True, "`x` must be a finite number"),
        (Float(0, 1), None, "`x` must be a finite number"),
        (Float(0, 1, step=0.1), 0.3 + 1e-9, "11 steps of 0.1 from 0.0"),
        (Float(0, 1, step=0.3), 1.0, "4 steps of 0.3"),
        (Int(1, 8), 9, "`x` must be an integer from 1 to 8, but got x=9"),
        (Int(1, 8), 3.5, "`x` must be an integer"),
        (Int(1, 8), math.inf, "`x` must be finite"),
        (Int(1, 8), "3", "`x` must be a finite number"),
        (Int(1, 8), True, "`x` must be a finite number"),
        (Int(2, 10, step=4), 4, "from 2 to 10 in steps of 4"),
        (Choice(1, 2), 1.0, r"`x` must be one of \[1, 2\], but got x=1.0"),
        (Choice("a", "b"), "c", r"one of \['a', 'b'\]"),
        (Choice("a", "b"), ["a"], "`x` must be text"),
    ],
)
def test_values_outside_are_refused_by_name(parameter, value, message):
    with pytest.raises(ValueError, match=message):
        parameter.position(value, "x")


def test_a_constant_is_checked():
    Fixed(3).check(3.0)
    Fixed(None).check(None)
    for held, told in ((3, True), (3, 4), ("3", 3), (True, 1), (None, "None"), (1.5, 2)):
        with pytest.raises(ValueError, match=r"`seed` must be .*, but got seed="):
            Fixed(held).check(told, "seed")


@pytest.mark.parametrize("u", [-0.1, 1.1, math.nan, "a"])
def test_places_outside_are_refused(u):
    for parameter in (Float(0, 1), Int(1, 8), Choice("a", "b")):
        with pytest.raises(ValueError, match=r"`.*u.*` must"):
            parameter.value(u)


# ---- what may be defined ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Float(1, 1), "`low < high` must hold.*use Fixed"),
        (lambda: Float(2, 1), "`low < high` must hold"),
        (lambda: Float(0, math.inf), "`high` must be finite"),
        (lambda: Float("0", 1), "`low` must be a finite number"),
        (
            lambda: Float(0, 1, log=True),
            "`low >= 1e-290` must hold for a log scale",
        ),
        (lambda: Float(-1, 1, log=True), "for a log scale"),
        (
            lambda: Float(-1.7e308, 1.7e308),
            r"`1e-290 <= max.* <= 1e\+300` must hold",
        ),
        (
            lambda: Float(1, 1e308, log=True),
            r"<= 1e\+300` must hold, but got low=1.0, high",
        ),
        (lambda: Float(0, 1, log="yes"), "`log` must be True or False"),
        (lambda: Float(1, 1 + 1e-12), "`high - low` must be at least 1e-10"),
        (lambda: Float(0, 1e-300), r"`1e-290 <= max\(\|low\|, \|high\|\) <= "),
        (lambda: Float(0, 1, step=0), "`step > 0` must hold"),
        (lambda: Float(0, 1, step=2), "`step` must be at most"),
        (lambda: Float(1e6, 1e6 + 1, step=1e-9), "`step` must be at most"),
        (lambda: Float(1, 2, log=True, step=0.1), "`step` must be None for a log scale"),
        (lambda: Int(1, 1), "`low < high` must hold.*use Fixed"),
        (lambda: Int(1.5, 3), "`low` must be an integer"),
        (lambda: Int(True, 3), "`low` must be a finite number"),
        (lambda: Int(0, 8, log=True), "`1 <= low`"),
        (lambda: Int(1, 10**13 + 1, log=True), r"`high <= 10\*\*13` .* must hold for a log scale"),
        (lambda: Int(1, 8, log=True, step=2), "`step == 1` must hold for a log scale"),
        (lambda: Int(1, 8, step=0), "`step >= 1` must hold"),
        (lambda: Int(1, 8, step=8), "`step <= high - low` must hold"),
        (lambda: Int(0, LIMIT + 1), r"`high <= 2\*\*50` must hold"),
        (lambda: Int(-LIMIT - 1, 0), r"`-2\*\*50 <= low`"),
        (lambda: Choice(), "`options` must hold at least two"),
        (lambda: Choice("a"), "`options` must hold at least two.*use Fixed"),
        (lambda: Choice("a", "a"), "`options` must be distinct"),
        (lambda: Choice(0.0, -0.0), "`options` must be distinct"),
        (lambda: Choice(math.nan, 1.0), "`options` must not be NaN"),
        (lambda: Choice((1, 2), (3, 4)), "`options` must be text, a number, a boolean or None"),
        (lambda: Choice("a", {"b": 1}), "conditional parameters are not supported"),
        (lambda: Choice("a", Float(0, 1)), "conditional parameters are not supported"),
        (lambda: Fixed([1]), "`constant` must be text"),
    ],
)
def test_what_makes_no_parameter_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_options_differ_by_type_and_value():
    options = (1, 1.0, True, "1", None, 0, False)
    parameter = Choice(*options)
    for option in options:
        assert same(parameter.value(parameter.position(option)), option)
    assert Choice(1, 2) != Choice(1.0, 2.0)
    assert Fixed(1) != Fixed(True)
    assert Choice(["a", "b"]) == Choice("a", "b") != Choice("b", "a")
    assert hash(Choice("a", 1)) == hash(Choice("a", 1))
    assert Float(0, 1) == Float(0.0, 1.0) != Float(0, 1, step=0.5)
    assert Choice(np.float64(0.5), np.bool_(True)).options == (0.5, True)


@CAREFUL
@given(st.one_of(anything, plain.map(Fixed)))
def test_states_survive_json_and_pickle(parameter):
    text = json.dumps(parameter.state(), allow_nan=False)
    for again in (parameter_from_state(json.loads(text)), pickle.loads(pickle.dumps(parameter))):
        assert again == parameter
        assert repr(again) == repr(parameter)
        assert type(again) is type(parameter)


def test_parameters_read_as_they_are_written():
    for text in (
        "Float(1e-05, 0.1, log=True)",
        "Float(0.0, 1.0, step=0.1)",
        "Int(1, 8)",
        "Int(1, 8, log=True)",
        "Int(0, 8, step=2)",
        "Choice('a', 1, 1.0, True, None)",
        "Fixed('x')",
    ):
        assert repr(eval(text)) == text


def test_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="`kind` must be float, int, choice or fixed"):
        parameter_from_state({"kind": "complex"})
    with pytest.raises(ValueError, match="`kind` must be one of"):
        parameter_from_state({"kind": "fixed", "constant": ["list", []]})
