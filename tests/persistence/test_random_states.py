"""Random generators go on where they stopped."""

import numpy as np
import pytest

BITS = [np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox, np.random.SFC64]


@pytest.mark.parametrize("bits", BITS)
def test_generators_go_on_with_the_same_numbers(bits, through):
    rng = np.random.Generator(bits([1, 2, 3]))
    rng.integers(10, size=3, dtype=np.uint32)  # leaves half a word behind
    rng.spawn(2)
    back = through(rng)
    assert (back.integers(10, size=5, dtype=np.uint32) == rng.integers(10, size=5, dtype=np.uint32)).all()
    assert (back.normal(size=700) == rng.normal(size=700)).all()
    assert (back.spawn(1)[0].random(3) == rng.spawn(1)[0].random(3)).all()


@pytest.mark.parametrize("seed", [0, np.random.PCG64(5)], ids=["number", "bits"])
def test_old_random_states_go_on_with_the_same_numbers(seed, through):
    rng = np.random.RandomState(seed)
    rng.normal()  # leaves one of a pair behind
    assert (through(rng).normal(size=700) == rng.normal(size=700)).all()
