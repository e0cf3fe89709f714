"""Rows are found by their non-zeros, whatever their width, and the row that follows while one is scored."""

import numpy as np
import pytest
import scipy.sparse as sp
from numba import njit

from noisewise._loops import argmax as argmax_module
from noisewise._loops import signals, sparse_rows, state
from noisewise._loops.compiled import bare
from noisewise._loops.simd import load, start_of, store_even, store_odd, zero_vectors
from noisewise.online import recipes

WIDTHS = [1, 7, 8, 9, 16, 37]


def from_python(inner):
    return njit(lambda *arguments: inner(*arguments))


compact, argmax, best_other = map(from_python, (sparse_rows.compact, argmax_module.argmax, signals.best_other))


@bare
def parts_of_record(table, means, variances):
    record = load(start_of(table), 0, zero_vectors(table, 4))
    store_even(means, 0, record)
    store_odd(variances, 0, record)


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
    table = rng.normal(size=(1, 16)).astype(dtype)
    means, variances = np.zeros(8), np.zeros(8)
    parts_of_record(table, means, variances)
    vectors = table.reshape(4, 4)
    assert np.array_equal(means, vectors[0::2].ravel())
    assert np.array_equal(variances, vectors[1::2].ravel())


def plain_arow(X, y, n_classes):
    means, variances = np.zeros((X.shape[1], n_classes)), np.ones((X.shape[1], n_classes))
    for x, true in zip(X.astype(float), y):
        scores, variance = x @ means, x**2 @ variances
        rival = np.where(np.arange(n_classes) == true, -np.inf, scores).argmax()
        loss = 1 - scores[true] + scores[rival]
        if loss > 0:
            beta = 1 / (variance[true] + variance[rival] + 1)
            for k, sign in ((true, 1), (rival, -1)):
                gain = variances[:, k] * x
                means[:, k] += sign * loss * beta * gain
                variances[:, k] -= beta * gain**2
    return means, variances


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_classes", [2, 4, 5, 9, 13, 20, 21, 26, 45])
def test_any_number_of_classes_is_scored_and_moved_as_by_plain_loops(n_classes, dtype, rng):
    X, y = some_zeros(rng, (90, 11), dtype), rng.integers(n_classes, size=90)
    y[:n_classes] = range(n_classes)
    weights = np.zeros((n_classes, 11), dtype)
    for x, true in zip(X, y):
        scores = np.zeros(n_classes, dtype)
        for j in np.flatnonzero(x):
            scores += x[j] * weights[:, j]
        guess = scores.argmax()
        if guess != true:
            weights[true] += x
            weights[guess] -= x
    assert np.array_equal(recipes.perceptron().fit(X, y).coef_, weights)
    means, variances = plain_arow(X, y, n_classes)
    table, tolerance = recipes.arow().fit(X, y).table_, 1e-9 if dtype == np.float64 else 1e-4
    np.testing.assert_allclose(state.means(table, n_classes, state.DIAGONAL), means, atol=tolerance)
    np.testing.assert_allclose(state.variances(table, n_classes), variances, atol=tolerance)


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


def test_argmax_is_the_first_of_the_highest_scores_with_one_class_excluded(rng):
    for _ in range(200):
        n = rng.integers(2, 12)
        scores = rng.integers(-3, 3, size=12).astype(float)
        k = rng.integers(n)
        assert argmax(scores, n, -1) == np.argmax(scores[:n])
        assert argmax(scores, n, k) == best_other(scores, n, k)
        assert best_other(scores, n, k) == np.argmax(np.where(np.arange(n) == k, -np.inf, scores[:n]))


def test_nan_scores_still_give_a_class():
    nothing = np.full(4, np.nan)
    assert argmax(nothing, 3, -1) == -1
    assert best_other(nothing, 3, 0) == 1
    assert best_other(nothing, 3, 2) == 0
    assert argmax(np.array([np.nan, 1.0, np.nan, np.nan]), 4, -1) == 1
