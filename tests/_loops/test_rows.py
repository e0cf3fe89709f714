"""Rows are found by their non-zeros, whatever their width, and the row that follows while one is scored."""

import numpy as np
import pytest
import scipy.sparse as sp

from noisewise._loops.compiled import bare
from noisewise._loops.lanes import even_blocks, load, odd_blocks, store, zeros
from noisewise._loops.policies import highest
from noisewise._loops.rows import compact
from noisewise._loops.signals import best_other
from noisewise.online import recipes

WIDTHS = [1, 7, 8, 9, 16, 37]


@bare
def parts_of_record(table, means, variances):
    record = load(table, 0, 0, zeros(table, 4))
    store(means, 0, even_blocks(record))
    store(variances, 0, odd_blocks(record))


def some_zeros(rng, shape, dtype=np.float64):
    X = rng.normal(size=shape) * (rng.random(shape) < 0.4)
    X[shape[0] // 2] = 0  # a row without anything
    return X.astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("width", WIDTHS)
def test_non_zeros_are_those_of_numpy_and_nan_is_one_of_them(width, dtype, rng):
    for row in some_zeros(rng, (20, width), dtype):
        row[rng.integers(width)] = np.nan
        index, value = np.zeros(width + 8, np.uint32), np.zeros(width + 8, dtype)
        n = compact(row, index, value)
        assert np.array_equal(index[:n], np.flatnonzero(row))
        assert np.array_equal(value[:n], row[np.flatnonzero(row)], equal_nan=True)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_records_are_taken_apart_and_widened(dtype, rng):
    size = 32 // np.dtype(dtype).itemsize
    table = rng.normal(size=(1, 4 * size)).astype(dtype)
    means, variances = np.zeros(2 * size), np.zeros(2 * size)
    parts_of_record(table, means, variances)
    blocks = table.reshape(4, size)
    assert np.array_equal(means, blocks[0::2].ravel())
    assert np.array_equal(variances, blocks[1::2].ravel())


@pytest.mark.parametrize("make", [recipes.perceptron, recipes.arow, recipes.mpa])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("width", WIDTHS)
def test_a_dense_stream_equals_its_rows_one_by_one_and_sparse(make, dtype, width, rng):
    X, y = some_zeros(rng, (60, width), dtype), rng.integers(3, size=60)
    y[:3] = 0, 1, 2
    whole, sparse, single = make().fit(X, y), make().fit(sp.csr_array(X), y), make()
    for i in range(len(X)):
        single.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1, 2])
    assert whole.table_.any()
    assert np.array_equal(whole.table_, sparse.table_)
    assert np.array_equal(whole.table_, single.table_)


def test_the_first_of_the_best_allowed_classes_is_chosen(rng):
    for _ in range(200):
        n = rng.integers(2, 12)
        scores, allowed = rng.integers(-3, 3, size=n).astype(float), rng.random(n) < 0.6
        allowed[rng.integers(n)] = True
        assert highest(scores, n, allowed) == np.argmax(np.where(allowed, scores, -np.inf))
        k = rng.integers(n)
        assert best_other(scores, n, k) == np.argmax(np.where(np.arange(n) == k, -np.inf, scores))


def test_scores_that_are_no_numbers_still_give_a_class():
    nothing = np.full(3, np.nan)
    assert highest(nothing, 3, np.array([False, True, True])) == 1
    assert best_other(nothing, 3, 0) == 1
    assert best_other(nothing, 3, 2) == 0
