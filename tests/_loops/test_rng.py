"""The uniforms of the loops are those of NumPy's SFC64."""

import numpy as np

from noisewise._loops.rng import uniform
from noisewise.online.learners.base import seeded_rng


def test_uniforms_are_those_of_numpys_sfc64():
    state = seeded_rng(17)
    expected = np.random.Generator(np.random.SFC64(17)).random(6000)
    assert np.array_equal([uniform(state) for _ in range(6000)], expected)


def test_any_random_state_gives_an_rng_state_and_equal_ones_equal_states():
    for make in (lambda: np.random.default_rng(3), lambda: np.random.RandomState(3), lambda: np.random.SeedSequence(3)):
        assert np.array_equal(seeded_rng(make()), seeded_rng(make()))
    assert not np.array_equal(seeded_rng(None), seeded_rng(None))
