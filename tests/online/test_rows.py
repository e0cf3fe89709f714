"""Rows as the loops take them."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits

from noisewise._loops.compiled import COMPILING
from noisewise._loops.rounds import play_dense, play_sparse
from noisewise.online import recipes
from noisewise.online._rows import writable


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


def test_memory_is_lent_and_not_copied():
    rows = np.arange(6.0).reshape(2, 3)
    assert writable(rows) is rows
    lent = writable(frozen(rows[:]))
    assert lent.flags.writeable
    assert np.shares_memory(lent, rows)
    assert np.array_equal(lent, rows)


def test_lent_memory_outlives_the_array_it_belongs_to():
    lent = writable(frozen(np.full(100_000, 7.0)))
    np.zeros(100_000)  # would be given the memory if it had been let go
    assert (lent == 7.0).all()
