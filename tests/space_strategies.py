"""Hypothesis strategies for parameters of every kind, a table, and how values are compared."""

import math

from hypothesis import assume, settings
from hypothesis import strategies as st

from tailproof.search.space.configurations import Configurations
from tailproof.search.space.parameters import Choice, Float, Int

CAREFUL = settings(derandomize=True, max_examples=150, deadline=None)
LIMIT = 2**50  # of integers
TABLE = Configurations(
    [
        {"nodes": 1, "cpu": "arm", "zone": "eu", "fast": True},
        {"nodes": 5, "cpu": "x86", "zone": "eu", "fast": False},
        {"nodes": 3, "cpu": "arm", "zone": "eu", "fast": False},
    ]
)

units = st.one_of(
    st.sampled_from([0.0, 1.0, 0.5, math.nextafter(0.0, 1.0), math.nextafter(1.0, 0.0)]),
    st.floats(0.0, 1.0),
    st.floats(0.0, 40.0).map(lambda x: 10.0**-x),
    st.floats(0.0, 16.0).map(lambda x: 1.0 - 10.0**-x),
)
plain = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(max_size=5),
)


def made(kind, *arguments, **options):
    """A parameter, or nothing where the range is one that is refused."""
    try:
        return kind(*arguments, **options)
    except ValueError:
        return None


@st.composite
def continua(draw):
    log = draw(st.booleans())
    ends = st.one_of(
        st.floats(-1e6, 1e6),
        st.floats(allow_nan=False, allow_infinity=False),
        st.integers(-1000, 1000).map(lambda k: k / 100),
        st.floats(-289.0, 308.0).map(lambda x: 10.0**x),
    )
    low, high = draw(ends), draw(ends)
    low, high = (abs(low), abs(high)) if log else (low, high)
    parameter = made(Float, min(low, high), max(low, high), log=log)
    assume(parameter is not None)
    return parameter


@st.composite
def narrow_continua(draw):
    low = draw(st.floats(1e-200, 1e200))
    parameter = made(
        Float, low, low * (1.0 + 10.0 ** draw(st.floats(-9.9, 1.0))), draw(st.booleans())
    )
    assume(parameter is not None)
    return parameter


@st.composite
def stepped(draw):
    step = draw(st.one_of(st.sampled_from([0.1, 0.25, 1 / 3, 1e-3, 7.0]), st.floats(1e-9, 1e9)))
    low = draw(st.one_of(st.sampled_from([0.0, 0.1, -1.0, 1 / 3]), st.floats(-1e6, 1e6)))
    high = low + step * draw(st.floats(1.0, 1e4))
    parameter = made(Float, low, high, step=step)
    assume(parameter is not None)
    return parameter


@st.composite
def integers(draw):
    if draw(st.booleans()):
        low = draw(st.integers(1, 10**13 - 1))
        return Int(low, draw(st.integers(low + 1, 10**13)), log=True)
    low = draw(st.integers(-LIMIT, LIMIT - 1))
    parameter = made(Int, low, draw(st.integers(low + 1, LIMIT)), step=draw(st.integers(1, 9)))
    assume(parameter is not None)
    return parameter


choices = st.lists(plain, min_size=2, max_size=6, unique_by=lambda x: (type(x), x)).map(Choice)
anything = st.one_of(continua(), narrow_continua(), stepped(), integers(), choices)


def same(a, b):
    """Equal bit for bit and of one type."""
    return type(a) is type(b) and (a == b) and repr(a) == repr(b)
