"""Back ends of the neighbour search, and rows that come and go."""

import pickle
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.datasets import make_blobs, make_moons
from sklearn.neighbors import KNeighborsTransformer

from noisewise import FlipMatrix
from noisewise.labels.neighbors.classifier import RobustKNeighborsClassifier
from noisewise.labels.neighbors.classifier_cv import RobustKNeighborsClassifierCV
from noisewise.labels.neighbors.index import ApproximateIndex, ExactIndex, GivenIndex, make_index, overlap

MODELS = [
    RobustKNeighborsClassifier(),
    RobustKNeighborsClassifierCV(),
    RobustKNeighborsClassifierCV(criterion="noisy", cv=3),
]


@pytest.fixture
def moons():
    X, y = make_moons(200, noise=0.3, random_state=0)
    return X, FlipMatrix.binary(0.1, 0.3).corrupt(y, 1)


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(6000, 20, centers=30, cluster_std=3.0, random_state=0)


class OnlyTransforms(BaseEstimator):
    """A transformer of distances without `kneighbors`, whose rows are not in order."""

    def fit(self, X, y=None):
        self.inner_ = KNeighborsTransformer(n_neighbors=30, mode="distance").fit(X)
        return self

    def transform(self, X):
        graph = self.inner_.transform(X)
        graph.sort_indices()
        return graph


def slow_neighbors(X, wanted, k):
    return np.argsort(((wanted[:, None] - X) ** 2).sum(axis=2), axis=1, kind="stable")[:, :k]


@pytest.mark.parametrize("kind", ["auto", "exact", "approximate", KNeighborsTransformer(), OnlyTransforms()])
def test_nearest_rows_come_first(kind, blobs):
    pytest.importorskip("faiss")
    X = blobs[0][:1000]
    index, recall = make_index(kind, X, "euclidean", None, 10)
    expected = slow_neighbors(X, X[:50], 10)
    found = index.nearest(X[:50], 10)
    assert recall >= 0.97
    assert overlap(found, expected) >= 0.95
    if index.name != "approximate":
        np.testing.assert_array_equal(found, expected)


def test_approximate_neighbours_give_the_exact_predictions(blobs):
    pytest.importorskip("faiss")
    X, y = blobs
    y = FlipMatrix.binary(0.1, 0.3).corrupt(y % 2, 0)
    near = RobustKNeighborsClassifier(20, index="approximate").fit(X, y)
    exact = RobustKNeighborsClassifier(20, index="exact").fit(X, y)
    assert (near.index_, exact.index_, exact.recall_) == ("approximate", "exact", 1.0)
    assert near.recall_ >= 0.95
    assert near._index.fraction_visited < 0.9  # or it would be exact search in disguise
    assert np.mean(near.predict(X) == exact.predict(X)) >= 0.98


def test_few_cells_visited_are_made_good_by_exact_search(blobs):
    pytest.importorskip("faiss")
    X = blobs[0][:1500]
    index = ApproximateIndex(X)
    np.testing.assert_array_equal(np.sort(index.nearest(X[:3], len(X)), axis=1), np.tile(np.arange(len(X)), (3, 1)))


def test_cosine_neighbours_do_not_see_lengths(blobs, rng):
    pytest.importorskip("faiss")
    X = blobs[0][:1000]
    found = ApproximateIndex(X * rng.uniform(1, 9, (1000, 1)), "cosine").nearest(X[:50], 10)
    assert overlap(found, ExactIndex(X, "cosine").nearest(X[:50], 10)) > 0.95


@pytest.mark.parametrize("kind", [ExactIndex, ApproximateIndex, lambda X: GivenIndex(X, KNeighborsTransformer())])
def test_rows_come_and_go(kind, blobs):
    pytest.importorskip("faiss")
    X = blobs[0][:1000]
    index = kind(X[:800])
    index.add(X, 200)
    gone = np.arange(0, 1000, 3)
    left = np.delete(X, gone, axis=0)
    index.remove(left, gone)
    assert overlap(index.nearest(X[:100], 10), slow_neighbors(left, X[:100], 10)) > 0.95


def test_automatic_choice_goes_by_size_and_kind(monkeypatch, blobs):
    pytest.importorskip("faiss")
    monkeypatch.setattr("noisewise.labels.neighbors.index.MANY_ROWS", 1000)
    X = blobs[0]
    assert make_index("auto", X, "euclidean", None, 5)[0].name == "approximate"
    assert make_index("auto", X[:999], "euclidean", None, 5)[0].name == "exact"
    assert make_index("auto", X[:, :3], "euclidean", None, 5)[0].name == "exact"
    assert make_index("auto", X, "manhattan", None, 5)[0].name == "exact"
    assert make_index("auto", sparse.csr_array(X), "euclidean", None, 5)[0].name == "exact"
    monkeypatch.setattr("noisewise.labels.neighbors.index.MOST_CELLS_VISITED", 0.0)
    assert make_index("auto", X, "euclidean", None, 5)[0].name == "exact"


def test_without_faiss_a_sentence_names_the_extra(monkeypatch, moons):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(ImportError, match=r"noisewise\[neighbors\]"):
        RobustKNeighborsClassifier(index="approximate").fit(*moons)


@pytest.mark.parametrize(
    ("index", "metric", "container", "sentence"),
    [
        ("approximate", "manhattan", np.asarray, "knows the metrics"),
        ("approximate", "euclidean", sparse.csr_array, "dense rows"),
        ("quick", "euclidean", np.asarray, "index is 'quick'"),
        (OnlyTransforms(), "euclidean", np.asarray, "raise n_neighbors"),
    ],
)
def test_impossible_indices_get_a_sentence(moons, index, metric, container, sentence):
    pytest.importorskip("faiss")
    X, y = moons
    with pytest.raises(ValueError, match=sentence):
        RobustKNeighborsClassifier(40, index=index, metric=metric).fit(container(X), y)


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_adding_rows_is_fitting_all_at_once(model, moons, container):
    X, y = moons
    whole = model.fit(container(X), y).predict_proba(X)
    again = type(model)(**model.get_params()).partial_fit(container(X[:120]), y[:120])
    again.partial_fit(container(X[120:150]), y[120:150]).partial_fit(container(X[150:]), y[150:])
    np.testing.assert_allclose(again.predict_proba(X), whole)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_forgotten_rows_were_never_there(model, moons):
    X, y = moons
    gone = np.array([3, 77, 130, 199])
    left = np.delete(np.arange(200), gone)
    expected = type(model)(**model.get_params()).fit(X[left], y[left]).predict_proba(X)
    weights = np.ones(200)
    weights[130] = 0.0  # never kept, but counted
    found = model.fit(X[:150], y[:150], sample_weight=weights[:150]).partial_fit(X[150:], y[150:]).forget([77, 3])
    np.testing.assert_allclose(found.forget(199).predict_proba(X), expected)
    np.testing.assert_array_equal(found.rows_, left)
    for row in (77, 130, 200):
        with pytest.raises(ValueError, match=f"row {row} is not kept"):
            found.forget([0, row])
    with pytest.raises(ValueError, match="every row"):
        found.forget(found.rows_)


def test_an_approximate_index_takes_rows_in_and_out(blobs):
    pytest.importorskip("faiss")
    X, y = blobs[0][:3000], blobs[1][:3000] % 2
    model = RobustKNeighborsClassifier(20, index="approximate").fit(X[:2500], y[:2500])
    index = model._index
    model.partial_fit(X[2500:], y[2500:]).forget(np.arange(500))
    assert model._index is index
    expected = RobustKNeighborsClassifier(20, index="exact").fit(X[500:], y[500:]).predict(X)
    assert np.mean(model.predict(X) == expected) > 0.98


def test_classes_may_come_later(moons):
    X, y = moons
    model = RobustKNeighborsClassifier().partial_fit(X[y == 0], y[y == 0], classes=[0, 1])
    assert (model.predict(X) == 0).all()
    np.testing.assert_array_equal(model.noise_.matrix, np.eye(2))
    whole = RobustKNeighborsClassifier().fit(np.concatenate([X[y == 0], X[y == 1]]), np.sort(y))
    np.testing.assert_allclose(model.partial_fit(X[y == 1], y[y == 1]).predict_proba(X), whole.predict_proba(X))
    with pytest.raises(ValueError, match="earlier calls had"):
        model.partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="2 was not seen"):
        model.partial_fit(X[:1], [2])


def test_pickles_leave_the_index_behind(blobs):
    pytest.importorskip("faiss")
    X, y = blobs[0][:1000], blobs[1][:1000] % 2
    model = RobustKNeighborsClassifier(20, index="approximate", n_jobs=1).fit(X, y)
    np.testing.assert_allclose(pickle.loads(pickle.dumps(model)).predict_proba(X), model.predict_proba(X))
