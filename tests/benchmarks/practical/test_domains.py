"""Domains over search spaces: points are encodings, and lead back to the configuration."""

import numpy as np
import pytest

import tailproof as tp
from practical.domains import Encoded, Enumerated, domain_of
from practical.programs import SURFACES

SPACES = [surface.space for surface in SURFACES.values()]


@pytest.mark.parametrize("space", SPACES, ids=tuple(SURFACES))
def test_every_configuration_is_found_again_from_its_point(space):
    domain = Encoded(space)
    for u in np.random.default_rng(0).random((50, space.dimension)):
        params = space.params(u)
        assert domain.params(domain.point(params)) == params


@pytest.mark.parametrize("space", SPACES, ids=tuple(SURFACES))
def test_draws_and_covers_are_points_within_the_bounds(space):
    domain, rng = Encoded(space), np.random.default_rng(0)
    low, high = domain.bounds
    for points in (domain.draw(40, rng), domain.cover(40, rng)):
        assert points.shape[1] == domain.dimension
        assert np.all((points >= low) & (points <= high))
    cover = domain.cover(40, rng)
    assert len(np.unique(cover, axis=0)) == len(cover)


def test_a_point_between_configurations_is_mapped_to_the_nearest():
    domain = Encoded(tp.Space(n=tp.Int(0, 10), c=tp.Choice("a", "b", "c")))
    assert domain.params([0.34, 0.2, 0.5, 0.4]) == {"n": 3, "c": "b"}
    assert domain.params([1.7, -1.0, 0.0, 0.1]) == {"n": 10, "c": "c"}


def test_a_space_with_few_configurations_is_enumerated():
    few, many = domain_of(tp.Space(n=tp.Int(1, 61))), domain_of(tp.Space(x=tp.Float(0, 1)))
    assert isinstance(few, Enumerated)
    assert isinstance(many, Encoded)
    assert [params["n"] for params in few.configurations] == list(range(1, 62))
    assert few.space == tp.Space(n=tp.Int(1, 61))
    assert all(few.params(few.point(params)) == params for params in few.configurations)
