import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_breast_cancer, load_digits, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from noisewise import FlipMatrix
from noisewise.labels.crowd.aggregation import dawid_skene, majority_vote
from noisewise.labels.crowd.classifier import CrowdClassifier
from noisewise.labels.crowd.soft_labels import SoftLogisticRegression, fit_soft

quiet = pytest.mark.filterwarnings("ignore:the estimated flip matrix", "ignore::sklearn.exceptions.SkipTestWarning")


def annotated(rng, y, rates, fraction=1.0):
    n_classes = y.max() + 1
    wrong = (y[:, None] + rng.integers(1, n_classes, size=(len(y), len(rates)))) % n_classes
    annotations = np.where(rng.random(wrong.shape) < rates, wrong, y[:, None])
    return np.where(rng.random(wrong.shape) < fraction, annotations, -1)


@pytest.fixture
def digits(rng):
    X, y = load_digits(return_X_y=True)
    kept = y < 4
    return X[kept], y[kept], annotated(rng, y[kept], [0.1, 0.3, 0.5, 0.6, 0.6], 0.4)


def test_features_help_the_annotators_and_annotators_the_classifier(digits):
    X, y, annotations = digits
    model = CrowdClassifier(missing=-1).fit(X[::2], annotations[::2])
    alone = dawid_skene(annotations[::2], missing=-1)
    assert np.mean(model.labels_ == y[::2]) > np.mean(alone.labels == y[::2]) + 0.05
    voted = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    voted.fit(X[::2], majority_vote(annotations[::2], missing=-1).labels)
    assert model.score(X[1::2], y[1::2]) > voted.score(X[1::2], y[1::2]) + 0.01
    assert np.argmax(model.annotators_.accuracy) == 0
    given = annotations[::2] >= 0
    right = np.sum((annotations[::2] == y[::2, None]) & given, axis=0) / given.sum(axis=0)
    np.testing.assert_allclose(model.annotators_.accuracy, right, atol=0.06)


def test_long_and_wide_annotations_give_the_same_model(digits):
    X, _, annotations = digits
    wide = CrowdClassifier(missing=-1).fit(X, annotations)
    rows, annotators = np.nonzero(annotations >= 0)
    long = CrowdClassifier().fit(X, annotations[rows, annotators], annotators=annotators, items=rows)
    np.testing.assert_allclose(long.posterior_, wide.posterior_, atol=1e-8)
    frame = pd.DataFrame(annotations).replace(-1, np.nan)
    frame.columns = [str(name) for name in frame.columns]
    np.testing.assert_allclose(CrowdClassifier().fit(X, frame.iloc[:, ::-1]).posterior_, wide.posterior_, atol=1e-8)
    assert wide.annotators_.n_answers.tolist() == np.sum(annotations >= 0, axis=0).tolist()


def test_one_label_a_row_by_known_annotators(rng):
    X, y = make_blobs(600, centers=[(-2, 0), (2, 0)], random_state=0)
    annotators = rng.choice(["careful", "careless"], size=600)
    observed = y ^ (rng.random(600) < np.where(annotators == "careful", 0.05, 0.4))
    model = CrowdClassifier().fit(X, observed, annotators=annotators)
    assert model.annotators_.named("careful").accuracy > 0.9
    assert model.annotators_.named("careless").accuracy < 0.7
    quality = model.label_quality(X, observed, annotators=annotators)
    wrong = observed != y
    assert quality[wrong].mean() < 0.3 < 0.8 < quality[~wrong].mean()
    careful, careless = np.full(2, "careful"), np.full(2, "careless")
    near = [[0.1, 0.0], [-0.1, 0.0]]
    assert (model.label_quality(near, [1, 0], careful) > model.label_quality(near, [1, 0], careless)).all()
    with pytest.raises(ValueError, match="'nobody' gave no label"):
        model.label_quality(near, [1, 0], ["careful", "nobody"])


def test_plain_labels_show_one_sided_noise(rng):
    X, y = load_breast_cancer(return_X_y=True)
    observed = FlipMatrix.binary(0.0, 0.3).corrupt(y, rng)
    model = CrowdClassifier().fit(X, observed)
    assert model.noise_.matrix[0, 1] < 0.03
    assert abs(model.noise_.matrix[1, 0] - 0.3) < 0.08
    naive = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(X, observed)
    assert model.score(X, y) > naive.score(X, y) + 0.02


def test_rows_without_labels_are_classified_by_their_features(rng):
    X, y = make_blobs(200, centers=[(-4, 0), (4, 0)], random_state=0)
    annotations = np.column_stack([y, y]).astype(float)
    annotations[::4] = np.nan
    model = CrowdClassifier().fit(X, annotations)
    assert np.mean(model.labels_ == y) > 0.99
    assert model.classes_.tolist() == [0, 1]


def test_an_annotator_without_labels_has_the_prior_accuracy(rng):
    X, y = make_blobs(200, centers=[(-4, 0), (4, 0)], random_state=0)
    annotations = np.column_stack([annotated(rng, y, [0.1, 0.1]).astype(float), np.full(200, np.nan)])
    model = CrowdClassifier().fit(X, annotations)
    known, inactive = model.annotators_[0], model.annotators_[2]
    assert inactive.n_answers == 0
    assert np.isfinite(inactive.flips).all()
    assert inactive.accuracy.low < known.accuracy < inactive.accuracy.high
    assert inactive.accuracy.high - inactive.accuracy.low > 3 * (known.accuracy.high - known.accuracy.low)


@pytest.mark.parametrize(
    "estimator",
    [
        DecisionTreeClassifier(max_depth=2, random_state=0),
        GaussianNB(),
        make_pipeline(StandardScaler(), GaussianNB()),
    ],
    ids=["tree", "bayes", "pipeline"],
)
def test_any_classifier_with_weights_can_be_inside(estimator, rng):
    X, y = make_blobs(200, centers=[(-3, 0), (3, 0)], random_state=0)
    model = CrowdClassifier(estimator, cv=3, tol=0.02).fit(X, annotated(rng, y, [0.2, 0.3, 0.4]))
    assert model.score(X, y) > 0.95
    assert np.mean(model.labels_ == y) > 0.95


def test_sparse_rows_equal_dense_rows(rng):
    X, y = make_blobs(90, centers=3, random_state=1)
    annotations = annotated(rng, y, [0.2, 0.3, 0.4])
    assert CrowdClassifier().fit(csr_array(X), annotations).score(csr_array(X), y) > 0.9
    centred = X - X.mean(axis=0)
    dense, sparse = (
        CrowdClassifier(tol=1e-5, max_iter=500).fit(rows, annotations) for rows in (centred, csr_array(centred))
    )
    np.testing.assert_allclose(sparse.posterior_, dense.posterior_, atol=1e-3)


def test_logistic_regression_on_posteriors_is_that_on_weighted_replicates(rng):
    for n_classes in (2, 3):
        X = rng.normal(size=(80, 4)) * [1, 10, 0.1, 1] + 5
        posterior = rng.dirichlet(np.ones(n_classes), size=80)
        posterior[:5] = np.eye(n_classes)[0]
        replicated = fit_soft(LogisticRegression(tol=1e-10, max_iter=10_000), X, posterior)
        ours = fit_soft(SoftLogisticRegression(tol=1e-9), X, posterior)
        np.testing.assert_allclose(ours.predict_proba(X), replicated.predict_proba(X), atol=1e-5)
        again = fit_soft(ours, X, posterior[::-1])  # a warm start converges to the same minimum
        fresh = fit_soft(SoftLogisticRegression(tol=1e-9), X, posterior[::-1])
        np.testing.assert_allclose(again.predict_proba(X), fresh.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize(
    ("options", "y", "more", "message"),
    [
        ({"cv": 1}, [0, 1, 0, 1], {}, "cv is 1"),
        ({"max_iter": 0}, [0, 1, 0, 1], {}, "max_iter is 0"),
        ({"estimator": KNeighborsClassifier()}, [0, 1, 0, 1], {}, "takes no sample_weight"),
        ({"estimator": LinearSVC()}, [0, 1, 0, 1], {}, "no predict_proba"),
        ({}, [[0, 0], [0, 0], [0, 0], [0, None]], {}, "1 class only"),
        ({}, [[0, 0], [1, 0]], {}, "X has 4 rows, y has 2"),
        ({}, [0, 1, 1], {"annotators": ["a", "b"]}, "lengths 3, 2 and 3"),
        ({}, [0, 1], {"annotators": ["a", "b"], "items": [0, 4]}, "from 0 to 3"),
        ({}, [0, 1], {"annotators": ["a", "b"], "items": ["x", "y"]}, "numbers of rows"),
    ],
)
def test_bad_input_is_refused_clearly(options, y, more, message):
    with pytest.raises(ValueError, match=message):
        CrowdClassifier(**options).fit(np.arange(8.0).reshape(4, 2), y, **more)


def test_items_alone_have_one_anonymous_annotator(rng):
    X, y = make_blobs(40, centers=[(-4, 0), (4, 0)], random_state=0)
    model = CrowdClassifier().fit(X, np.append(y, y[:5]), items=np.append(np.arange(40), np.arange(5)))
    assert model.annotators_.n_answers.tolist() == [45]
    with pytest.warns(ConvergenceWarning, match="after 1 iterations"):
        CrowdClassifier(max_iter=1).fit(X, y)


def test_a_flat_list_may_have_missing_labels():
    X, y = make_blobs(60, centers=[[-3, -3], [3, 3]], random_state=0)
    incomplete = np.where(np.arange(60) % 7 == 0, -1, y)
    model = CrowdClassifier(missing=-1).fit(X, incomplete)
    assert model.classes_.tolist() == [0, 1]
    assert (model.labels_ == y).all()
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        CrowdClassifier(missing=-1).fit(X, incomplete[:50])


@pytest.mark.parametrize("annotators", [[("a", 1), ("b", 2)], ["a", 2]])
def test_annotators_of_any_name_are_found_again(annotators):
    X, y = make_blobs(60, centers=[[-3, -3], [3, 3]], random_state=0)
    model = CrowdClassifier().fit(X, np.repeat(y, 2), annotators=annotators * 60, items=np.repeat(np.arange(60), 2))
    assert model.label_quality(X[:2], y[:2], annotators=annotators).min() > 0.9
