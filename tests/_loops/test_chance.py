"""Uniform numbers inside the loops are numpy's own."""

import numpy as np

from noisewise._loops.rng import uniform
from noisewise.online.learners.base import chance_state


def test_uniforms_are_those_of_numpys_sfc64():
    state = chance_state(17)
    expected = np.random.Generator(np.random.SFC64(17)).random(6000)
    assert np.array_equal([uniform(state) for _ in range(6000)], expected)


def test_any_source_of_chance_gives_a_state_and_equal_sources_equal_ones():
    for make in (lambda: np.random.default_rng(3), lambda: np.random.RandomState(3), lambda: np.random.SeedSequence(3)):
        assert np.array_equal(chance_state(make()), chance_state(make()))
    assert not np.array_equal(chance_state(None), chance_state(None))
