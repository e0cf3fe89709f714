"""Learning from labels, one pass in row order."""

import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from noisewise.online import Herd, OnlineClassifier, recipes

RECIPES = {
    "perceptron": recipes.perceptron(),
    "mpa": recipes.mpa(),
    "mpa_II": recipes.mpa(C=0.1, variant="II"),
    "mcw": recipes.mcw(),
    "mscw": recipes.mscw(C=0.5),
    "mscw_II": recipes.mscw(C=0.5, variant="II"),
    "arow": recipes.arow(),
    "arow_full": recipes.arow(covariance="full"),
    "nherd": recipes.nherd(),
    "nherd_drop": recipes.nherd(variant="drop"),
    "nherd_exact": recipes.nherd(variant="exact"),
    "nherd_full": recipes.nherd(variant="full"),
}


@parametrize_with_checks([recipes.perceptron(), recipes.mscw(), recipes.arow(covariance="full")])
def test_scikit_learn_accepts(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def clouds():
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=2000)
    X = 2 * np.eye(4, 6)[y] + rng.normal(scale=0.4, size=(2000, 6))
    return X, y


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_learns_separated_clouds(name, clouds):
    X, y = clouds
    model = clone(RECIPES[name]).fit(X[:1500], y[:1500])
    assert model.score(X[1500:], y[1500:]) > 0.97
    assert 0 < model.mistakes_ < 150
    assert model.n_rounds_ == 1500 >= model.n_updates_ > 0


@pytest.mark.parametrize("name", ["perceptron", "mscw", "nherd_exact", "arow_full"])
def test_partial_fit_in_pieces_equals_one_fit(name, clouds):
    X, y = clouds
    whole = clone(RECIPES[name]).fit(X, y)
    pieces = clone(RECIPES[name])
    for start in range(0, len(X), 300):
        pieces.partial_fit(X[start : start + 300], y[start : start + 300], classes=range(4))
    assert np.array_equal(whole.table_, pieces.table_)
    assert (whole.mistakes_, whole.n_updates_) == (pieces.mistakes_, pieces.n_updates_)


def test_labels_may_be_any_hashables(clouds):
    X, y = clouds
    names = [("a", 1), ("b", 2), ("b", 3), ("c", 0)]
    labels = [names[k] for k in y]
    model = recipes.arow().fit(X, labels)
    plain = recipes.arow().fit(X, np.array([model.classes_.tolist().index(label) for label in labels]))
    assert set(model.predict(X[:50])) <= set(names)
    assert np.array_equal(model.table_, plain.table_)


def test_data_frames_and_sparse_rows_give_the_same_weights(clouds):
    X, y = clouds
    expected = recipes.mscw().fit(X, y).table_
    columns = [f"c{i}" for i in range(X.shape[1])]
    frame, table = pd.DataFrame(X, columns=columns), pl.DataFrame(X, schema=columns)
    for rows in (frame, table, sp.csr_array(X), sp.csr_matrix(X), X.tolist()):
        assert np.array_equal(recipes.mscw().fit(rows, y).table_, expected)


def test_duplicate_sparse_entries_count_as_their_sum():
    X = sp.csr_array((np.array([0.5, 0.5, 1.0]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    y = [1, 0]
    assert np.array_equal(recipes.arow().fit(X, y).table_, recipes.arow().fit(X.toarray(), y).table_)


def test_a_row_that_is_not_finite_is_refused_and_nothing_is_learnt(clouds):
    X, y = clouds
    model = recipes.arow().fit(X[:100], y[:100])
    before = model.table_.copy(), model.counts_.copy()
    for bad in (np.nan, np.inf):
        for n in (3, 500):
            rows = X[:n].copy()
            rows[2, 3] = bad
            for given in (rows, sp.csr_array(rows)):
                with pytest.raises(ValueError, match="NaN or infinity in row 2"):
                    model.partial_fit(given, y[:n])
    assert np.array_equal(model.table_, before[0])
    assert np.array_equal(model.counts_, before[1])


def test_what_can_not_work_is_refused(clouds):
    X, y = clouds
    with pytest.raises(ValueError, match="needs classes="):
        recipes.arow().partial_fit(X, y)
    with pytest.raises(ValueError, match="not the same as on last call"):
        recipes.arow().partial_fit(X, y, classes=range(4)).partial_fit(X, y, classes=range(5))
    with pytest.raises(ValueError, match="label 9 was not seen"):
        recipes.arow().partial_fit(X, y, classes=range(4)).partial_fit(X[:1], [9])
    with pytest.raises(ValueError, match="signal is 'sign'"):
        OnlineClassifier(signal="sign").fit(X, y)
    with pytest.raises(ValueError, match="covariance is 'block'"):
        recipes.arow(covariance="block").fit(X, y)
    for wrong in ({"C": 0.0}, {"C": -1.0}, {"variant": "III"}):
        with pytest.raises(ValueError, match=r"C is|variant is"):
            recipes.mpa(**wrong)
    with pytest.raises(ValueError, match=r"confidence is 0\.5"):
        recipes.mcw(confidence=0.5)


@pytest.mark.parametrize("kind", ["float64", "float32", "sparse"])
def test_rows_are_not_copied(kind):
    rng = np.random.default_rng(0)
    X, y = rng.random((4000, 200)), rng.integers(3, size=4000)
    rows = sp.csr_array(X) if kind == "sparse" else X.astype(kind)
    runs = [lambda: recipes.arow().fit(rows, y), lambda: recipes.ucwl(3).play(rows, y)]
    for run in runs:
        run()  # compiled, or read from the cache
        tracemalloc.start()
        run()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 0.1 * X.nbytes


@pytest.mark.parametrize("column", [-1, 4])
@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_sparse_rows_with_columns_that_do_not_exist_are_refused_and_nothing_is_learnt(column, kind):
    good, bad, y = sp.csr_array(np.eye(4)), sp.csr_array(np.eye(4)), [0, 1, 0, 1]
    bad.indices = bad.indices.astype(kind)
    bad.indices[2] = column
    model, bandit = recipes.perceptron().fit(good, y), recipes.ucwl(2)
    bandit.play(good, y)
    before, played = model.table_.copy(), bandit.table_.copy()
    refused = [
        lambda: recipes.perceptron().fit(bad, y),
        lambda: model.partial_fit(bad, y),
        lambda: model.predict(bad),
        lambda: bandit.play(bad, y),
        lambda: bandit.learn_logged(bad, y, y, 0.5),
        lambda: bandit.decide(bad[[2]]),
        lambda: recipes.rcine(2).play(bad, y),
    ]
    for act in refused:
        with pytest.raises(ValueError, match="column indices outside 0 to 3"):
            act()
    assert np.array_equal(model.table_, before)
    assert np.array_equal(bandit.table_, played)


def test_sparse_rows_outside_their_numbers_are_refused():
    X = sp.csr_array(np.eye(4))
    X.indptr[2] = 9
    with pytest.raises(ValueError, match="do not lie within its data"):
        recipes.perceptron().fit(X, [0, 1, 0, 1])


@pytest.mark.parametrize("variant", ["project", "drop", "exact"])
def test_a_full_covariance_is_herded_alike_whatever_would_keep_a_diagonal_one(variant, clouds):
    X, y = clouds
    expected = recipes.nherd(0.7, variant="full").fit(X, y)  # held against the formula in test_plain_versions
    for model in (
        recipes.nherd(0.7, variant=variant, covariance="full"),
        OnlineClassifier(Herd(0.7, variant), covariance="full"),
    ):
        model.fit(X, y)
        assert np.array_equal(model.coef_, expected.coef_)
        assert (np.linalg.eigvalsh(model.sigma_) > 0).all()
