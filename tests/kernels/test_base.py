import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

import noisewise.kernels as nk
from noisewise.kernels import (
    Binomial,
    ConicSum,
    Exponential,
    Gaussian,
    Grouped,
    Laplacian,
    Linear,
    Polynomial,
    RationalQuadratic,
    pairwise,
)

KERNELS = [
    Linear(),
    Polynomial(2, constant=0),
    Polynomial(3),
    Exponential(),
    Binomial(1.5),
    Gaussian(0.6),
    Laplacian(0.9),
    RationalQuadratic(1.5, 0.7),
    ConicSum([Linear(), Gaussian(0.5)], [0.5, 2.0]),
    Grouped(Laplacian(0.5), [0, 2]),
    Grouped(Linear(), [0, 1]) + 0.5 * Grouped(Gaussian(0.3), [2, 3]),
]


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    dense = rng.uniform(-0.5, 0.5, (60, 4)) * 0.9
    dense[rng.random(dense.shape) < 0.4] = 0
    return dense


@pytest.mark.parametrize("kernel", KERNELS)
def test_gram_matrices_are_positive_semidefinite_and_symmetric(kernel, X):
    gram = kernel.gram(X)
    assert gram.dtype == np.float64
    np.testing.assert_array_equal(gram, gram.T)
    assert np.linalg.eigvalsh(gram).min() > -1e-10


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_same_rows_twice_give_the_same_gram(kernel, X):
    np.testing.assert_allclose(kernel.gram(X, X.copy()), kernel.gram(X), rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(kernel.diagonal(X), kernel.gram(X).diagonal(), rtol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csr_array, sparse.coo_array, sparse.csc_matrix])
def test_sparse_rows_give_what_dense_rows_give(kernel, form, X):
    expected = kernel.gram(X[:7], X[7:])
    for left, right in [(form(X[:7]), form(X[7:])), (form(X[:7]), X[7:]), (X[:7], form(X[7:]))]:
        found = kernel.gram(left, right)
        assert isinstance(found, np.ndarray)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(kernel.gram(form(X)), kernel.gram(X), rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(kernel.diagonal(form(X)), kernel.diagonal(X))


@pytest.mark.parametrize("kernel", KERNELS)
def test_frames_are_rows(kernel, X):
    for frame in (pd.DataFrame(X, columns=list("abcd")), pl.DataFrame(X, schema=list("abcd"))):
        np.testing.assert_array_equal(kernel.gram(frame), kernel.gram(X))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("tile", [1, 7, 60, 100])
def test_tiles_do_not_show(kernel, tile, X, monkeypatch):
    whole, across = kernel.gram(X), kernel.gram(X[:13], X)
    monkeypatch.setattr(pairwise, "TILE", tile)
    np.testing.assert_allclose(kernel.gram(X), whole, rtol=1e-9, atol=1e-14)
    np.testing.assert_array_equal(kernel.gram(X), kernel.gram(X).T)
    np.testing.assert_allclose(kernel.gram(X[:13], X), across, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels_are_values(kernel):
    again = eval(repr(kernel), vars(nk))
    for twin in (again, copy.deepcopy(kernel), pickle.loads(pickle.dumps(kernel))):
        assert twin == kernel
        assert hash(twin) == hash(kernel)
    assert sum(kernel == other for other in KERNELS) == 1


def test_numpy_scalars_leave_the_repr_readable():
    assert repr(Gaussian(np.float64(2))) == "Gaussian(width=2.0)"
    assert Gaussian(np.float32(2)) == Gaussian(2)
    assert repr(Grouped(Linear(), np.arange(2))) == "Grouped(kernel=Linear(), columns=(0, 1))"


def test_sums_and_multiples_add_up(X):
    total = (Linear() + 2 * Gaussian(1.0) + Laplacian(1.0)) * np.float64(0.5)
    assert total == ConicSum([Linear(), Gaussian(1.0), Laplacian(1.0)], [0.5, 1.0, 0.5])
    assert np.float64(0.5) * Linear() == Linear() * 0.5
    by_hand = 0.5 * Linear().gram(X) + Gaussian(1.0).gram(X) + 0.5 * Laplacian(1.0).gram(X)
    np.testing.assert_allclose(total.gram(X), by_hand)
    np.testing.assert_array_equal((0 * Linear()).gram(X), np.zeros((60, 60)))


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf])
def test_weights_that_break_the_kernel_are_refused(weight):
    with pytest.raises(ValueError, match="weights"):
        Linear() * weight
    with pytest.raises(ValueError, match="weights"):
        ConicSum([Linear()], [weight])


def test_sums_of_something_else_are_refused():
    with pytest.raises(ValueError, match="one weight per kernel"):
        ConicSum([Linear()], [1.0, 2.0])
    with pytest.raises(ValueError, match="one kernel or more"):
        ConicSum([])
    with pytest.raises(TypeError):
        Linear() + 1
    with pytest.raises(TypeError):
        Linear() * Linear()


def test_groups_depend_on_their_columns_only(X):
    np.testing.assert_allclose(Grouped(Gaussian(1.0), [3, 1]).gram(X), Gaussian(1.0).gram(X[:, [1, 3]]))
    with pytest.raises(ValueError, match="have 4 columns"):
        Grouped(Linear(), [4]).gram(X)
    with pytest.raises(ValueError, match="counted from 0"):
        Grouped(Linear(), [-1])


def test_rows_of_different_columns_are_refused(X):
    with pytest.raises(ValueError, match="X has 4 columns and Z has 3"):
        Linear().gram(X, X[:, :3])


def test_no_rows_make_an_empty_gram(X):
    assert Gaussian(1.0).gram(X[:0], X).shape == (0, 60)
    assert Gaussian(1.0).gram(X, X[:0]).shape == (60, 0)


@pytest.mark.parametrize("kernel", [Gaussian(2.0), Laplacian(2.0), Polynomial(2), Linear() + Gaussian(1.0)])
def test_support_vector_machines_take_a_kernel(kernel):
    X, y = load_iris(return_X_y=True)
    direct = SVC(kernel=kernel).fit(X[::2], y[::2])
    precomputed = SVC(kernel="precomputed").fit(kernel.gram(X[::2]), y[::2])
    np.testing.assert_array_equal(direct.predict(X[1::2]), precomputed.predict(kernel.gram(X[1::2], X[::2])))
    assert direct.score(X[1::2], y[1::2]) > 0.9


def test_gaussian_in_a_support_vector_machine_is_its_rbf():
    X, y = load_iris(return_X_y=True)
    ours, theirs = SVC(kernel=Gaussian(2.0)).fit(X, y), SVC(kernel="rbf", gamma=0.25).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-2)


def test_kernels_can_be_searched_over_and_used_pair_by_pair():
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(SVC(), {"kernel": [Gaussian(0.01), Gaussian(2.0)]}, cv=3).fit(X, y)
    assert search.best_params_["kernel"] == Gaussian(2.0)
    ridge = KernelRidge(kernel=Laplacian(3.0)).fit(X[::5], y[::5])
    precomputed = KernelRidge(kernel="precomputed").fit(Laplacian(3.0).gram(X[::5]), y[::5])
    np.testing.assert_allclose(ridge.dual_coef_, precomputed.dual_coef_)
