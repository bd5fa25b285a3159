"""The part of a space in which some parameters have given values."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tailproof as tp
from tailproof.search.space.context import ContextSpace

PARAMETERS = {
    "a": tp.Int(1, 3),
    "b": tp.Choice("u", "v", "w"),
    "c": tp.Float(0, 1, step=0.5),
    "d": tp.Float(1, 100, log=True),
}


@given(
    st.lists(st.sampled_from("abcd"), min_size=1, unique=True),
    st.sets(st.sampled_from("abcd")),
    st.integers(0, 10**6),
)
@settings(derandomize=True, max_examples=40, deadline=None)
def test_it_is_the_part_of_the_space_that_agrees_with_the_context(names, held, seed):
    space = tp.Space({name: PARAMETERS[name] for name in names})
    rng = np.random.default_rng(seed)
    some = space.params(rng.random(space.dimension))
    context = {name: some[name] for name in names if name in held}
    part = ContextSpace(space, context)
    U = part.snap(rng.random((5, space.dimension)))
    np.testing.assert_array_equal(part.snap(U), U)
    around = np.vstack([part.neighbors(u) for u in U] + [U])
    assert part.contains(around).all()
    for u in around:
        params = space.params(u)
        assert all(params[name] == pytest.approx(context[name]) for name in context if name == "d")
        assert all(params[name] == context[name] for name in context if name != "d")
    if space.count is not None:
        everything = space.enumerate(100)
        wanted = everything[part.contains(everything)]
        np.testing.assert_array_equal(part.enumerate(100), wanted)
        assert part.count == len(wanted)
