import numpy as np
import pytest

from helpers import assert_unbiased
from noisewise.datasets import CopyOracle
from noisewise.noise import GaussianNoise

X = np.arange(6.0).reshape(3, 2)
Y = np.array([1.5, 2.5, 3.5])


def test_copies_are_fresh_and_unbiased_for_the_current_row():
    oracle = CopyOracle(X, Y, GaussianNoise(0.25), rng=0)
    for row, target in enumerate(oracle):
        assert target == Y[row]
        np.testing.assert_array_equal(oracle.clean, X[row])
        copies = np.vstack([oracle.copies(5000), oracle.copies(5000)])
        assert_unbiased(copies, X[row])
        assert_unbiased((copies - X[row]) ** 2, 0.25)
        assert len(np.unique(copies, axis=0)) == 10_000
    assert oracle.n_copies == 30_000


def test_the_same_seed_gives_the_same_copies():
    first, again = (
        [oracle.copies(2) for _ in oracle] for oracle in (CopyOracle(X, Y, GaussianNoise(1.0), rng=s) for s in (5, 5))
    )
    np.testing.assert_array_equal(first, again)


def test_a_function_can_draw_the_copies():
    def mask(row, n, rng):
        return row * (rng.random((n, len(row))) < 0.5) / 0.5

    oracle = CopyOracle(X, Y, mask, rng=0)
    contexts = iter(oracle)
    next(contexts)
    next(contexts)
    copies = oracle.copies(10_000)
    assert_unbiased(copies, X[1])
    assert set(copies[:, 0]) == {0.0, 2 * X[1, 0]}


def test_a_supply_is_handed_out_in_order_and_afresh_in_each_round_and_pass():
    supply = np.arange(18.0).reshape(3, 3, 2)
    oracle = CopyOracle(X, Y, supply)
    for _ in range(2):
        for row, _ in enumerate(oracle):
            np.testing.assert_array_equal(oracle.copies(1), supply[row, :1])
            np.testing.assert_array_equal(oracle.copies(2), supply[row, 1:])
    assert oracle.n_copies == 9


def test_a_supply_that_runs_dry_says_so_and_gives_nothing():
    oracle = CopyOracle(None, Y, np.zeros((3, 2, 2)))
    next(iter(oracle))
    oracle.copies(1)
    with pytest.raises(
        RuntimeError, match=r"copies of row 0 ran dry: 2 were supplied, 1 are used up and 2 more were asked for"
    ):
        oracle.copies(2)
    assert oracle.copies(1).shape == (1, 2)


@pytest.mark.parametrize("noise", [GaussianNoise(1.0), np.zeros((3, 1, 2)), lambda row, n, rng: np.zeros((n, 2))])
def test_no_copies_at_all_may_be_asked_for(noise):
    oracle = CopyOracle(X, Y, noise)
    next(iter(oracle))
    assert oracle.copies(0).shape == (0, 2)
    with pytest.raises(ValueError, match="0 or more"):
        oracle.copies(-1)


def test_copies_and_clean_rows_need_a_current_row():
    oracle = CopyOracle(X, Y, GaussianNoise(1.0))
    with pytest.raises(RuntimeError, match="no row has been shown yet"):
        oracle.copies()
    with pytest.raises(RuntimeError, match="no row has been shown yet"):
        _ = oracle.clean


def test_clean_rows_that_are_not_known_are_not_invented():
    oracle = CopyOracle(None, Y, np.zeros((3, 2, 2)))
    next(iter(oracle))
    with pytest.raises(RuntimeError, match="X=None"):
        _ = oracle.clean


@pytest.mark.parametrize(
    ("rows", "noise", "message"),
    [
        (None, GaussianNoise(1.0), "give X, or a supply"),
        (X[:2], GaussianNoise(1.0), "one target for each row"),
        (X, np.zeros((3, 2)), "has shape"),
        (X, np.zeros((2, 2, 2)), "one target for each row"),
        (X, np.zeros((3, 2, 5)), "agree"),
    ],
)
def test_what_does_not_fit_together_is_refused(rows, noise, message):
    with pytest.raises(ValueError, match=message):
        CopyOracle(rows, Y, noise)
