"""Rows as the loops take them."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits

from noisewise._loops.compiled import COMPILING
from noisewise._loops.rounds import play_dense, play_sparse
from noisewise.online import recipes
from noisewise.online.learners.rows import writable


def frozen(X):
    for part in (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,):
        part.flags.writeable = False
    return X


@pytest.mark.parametrize(("make", "loop"), [(np.array, play_dense), (sp.csr_array, play_sparse)])
def test_rows_that_must_not_be_written_to_are_learnt_from_by_the_same_loop(make, loop):
    X, y = load_digits(return_X_y=True)
    free = recipes.arow().fit(make(X), y)
    known = len(loop.signatures) if COMPILING else 0
    bound = recipes.arow().fit(frozen(make(X)), y)
    assert np.array_equal(free.coef_, bound.coef_)
    assert not COMPILING or len(loop.signatures) == known


def test_memory_is_shared_and_not_copied():
    rows = np.arange(6.0).reshape(2, 3)
    assert writable(rows) is rows
    shared = writable(frozen(rows[:]))
    assert shared.flags.writeable
    assert np.shares_memory(shared, rows)
    assert np.array_equal(shared, rows)


def test_shared_memory_outlives_the_array_it_belongs_to():
    shared = writable(frozen(np.full(100_000, 7.0)))
    np.zeros(100_000)  # would be given the memory if it had been let go
    assert (shared == 7.0).all()


def hand_made(starts):
    """A CSR matrix whose parts were put there by hand, which SciPy does not look at."""
    X = sp.csr_array((2, 3))
    X.data, X.indices, X.indptr = np.ones(4), np.array([0, 1, 0, 2], np.int32), np.array(starts, np.int32)
    return X


@pytest.mark.parametrize("starts", [[], [0, 2], [0, 2, 3, 4], [-1, 2, 4], [0, 3, 2], [0, 2, 5]])
def test_row_starts_that_do_not_fit_the_rows_are_refused(starts):
    learner = recipes.ucwl(3)
    with pytest.raises(ValueError, match=r"rows that do not lie within its data \(indptr\)"):
        learner.play(hand_made(starts), [0, 1])
    assert not hasattr(learner, "table_")
    assert learner.play(hand_made([0, 2, 4]), [0, 1]).mistakes.shape == (2,)


@pytest.mark.parametrize("row", [np.array([1j, 1.0]), np.array([[1.0 + 0j, 1.0]]), sp.csr_array([[1j, 1.0]])])
def test_a_complex_row_is_refused_and_not_cut(row):
    learner = recipes.ucwl(3)
    for _ in range(2):
        with pytest.raises(ValueError, match="one row of real numbers is needed"):
            learner.decide(row)
        learner.decide([1.0, 2.0])


@pytest.mark.parametrize("row", [sp.csr_array((1, 0)), sp.csr_array((0, 5)), np.zeros((1, 0))])
def test_a_row_without_features_is_refused(row):
    learner = recipes.ucwl(3)
    with pytest.raises(ValueError, match="one row of features is needed; this has shape"):
        learner.decide(row)
    assert not hasattr(learner, "table_")


def test_a_first_sparse_row_has_the_type_of_the_numbers_that_are_learnt():
    row = sp.csr_array(np.array([[1.0, 0.0, 2.0]], dtype=np.float32))
    learner = recipes.linucb(3)  # a full covariance is kept in float64
    for _ in range(2):
        assert learner.decide(row).features[1].dtype == np.float64
