"""The argument `noise` means the same in every label estimator, and is resolved in one place."""

import inspect

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from noisewise import FlipMatrix, labels
from noisewise.labels.base import NoisyLabelClassifier
from noisewise.labels.noise_argument import METHODS, confident_flips, replicate_rows, resolve_noise

ONE_SIDED = FlipMatrix.binary(false_positive=0.05, false_negative=0.3)
CLASSIFIERS = [
    kind
    for kind in (getattr(labels, name) for name in labels.__all__)
    if inspect.isclass(kind) and issubclass(kind, NoisyLabelClassifier) and kind is not labels.CrowdClassifier
]
EVERY = pytest.mark.parametrize("kind", CLASSIFIERS, ids=lambda kind: kind.__name__)


class Estimator:
    def estimate(self, X, y):
        self.shape, self.classes = X.shape, set(y.tolist())
        return ONE_SIDED


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs(120, centers=[(-2, -2), (2, 2)], random_state=0)
    return X, ONE_SIDED.corrupt(y, 0)


def fit(kind, noise, blobs):
    X, observed = blobs
    return kind(noise=noise).fit(X, np.array(["no", "yes"])[observed])


@EVERY
def test_none_is_estimated(kind, blobs):
    assert fit(kind, None, blobs).noise_.n_classes == 2


@EVERY
def test_a_flip_matrix_is_used_as_given(kind, blobs):
    assert fit(kind, ONE_SIDED, blobs).noise_ is ONE_SIDED


@EVERY
def test_a_function_or_an_estimator_is_asked_with_rows_and_codes(kind, blobs):
    estimator = Estimator()
    assert fit(kind, estimator, blobs).noise_ is ONE_SIDED
    assert (estimator.shape, estimator.classes) == ((120, 2), {0, 1})
    assert fit(kind, lambda X, y: ONE_SIDED, blobs).noise_ is ONE_SIDED


@EVERY
def test_rows_reach_a_function_as_they_were_given(kind, blobs):
    rows = []
    fit(kind, lambda X, y: rows.append(X) or ONE_SIDED, blobs)
    np.testing.assert_array_equal(np.unique(rows[0], axis=0), np.unique(blobs[0], axis=0))


@EVERY
@pytest.mark.parametrize("method", ["confident", "fisher"])
def test_confident_and_fisher_are_one_way(kind, method, blobs):
    flips = fit(kind, method, blobs).noise_.matrix
    assert flips[0, 1] == pytest.approx(0.02)
    assert 0.1 < flips[1, 0] < 0.5


@pytest.fixture(scope="module")
def ridge(blobs):
    X, observed = blobs
    order = replicate_rows(X, observed, np.ones(len(X)))
    return labels.RobustRidgeClassifier().fit(X[order], observed[order]).noise_


@EVERY
def test_ridge_is_the_estimate_of_the_robust_ridge(kind, ridge, blobs):
    np.testing.assert_allclose(fit(kind, "ridge", blobs).noise_.matrix, ridge.matrix, atol=1e-12)


@EVERY
@pytest.mark.parametrize(
    ("noise", "sentence"),
    [
        (FlipMatrix.none(3), "the noise is for 3 classes, the labels have 2"),
        (lambda X, y: FlipMatrix.none(3), "the noise is for 3 classes, the labels have 2"),
        (lambda X, y: 0.2, "the noise estimator returned a float; it must return a FlipMatrix"),
        ("guess", "noise is 'guess'; None, a FlipMatrix, 'confident', 'fisher', 'ridge', a function"),
        (0.2, "noise is a float; None, a FlipMatrix, 'confident', 'fisher', 'ridge', a function"),
        (np.eye(2), "noise is a ndarray; None, a FlipMatrix, 'confident', 'fisher', 'ridge', a function"),
    ],
    ids=["matrix of 3", "function of 3", "function of no matrix", "unknown name", "number", "array"],
)
def test_what_is_no_noise_is_refused_in_one_sentence(kind, noise, sentence, blobs):
    with pytest.raises(ValueError, match=sentence):
        fit(kind, noise, blobs)


@EVERY
def test_the_docstring_states_the_one_meaning(kind):
    text = inspect.getdoc(kind)
    values = 'None, FlipMatrix, "confident", "fisher", "ridge", function of (X, y), or object with ``estimate(X, y)``'
    assert f"noise : {values}\n" in text
    assert "The noise transition matrix T, or how it is estimated; one meaning for all, see `noisewise.labels`." in text
    assert inspect.signature(kind).parameters["noise"].default in (None, *METHODS)


def test_the_default_stands_for_none_alone(blobs):
    X, observed = blobs
    assert resolve_noise(None, X, observed, 2) is None
    assert resolve_noise(None, X, observed, 2, default="ridge") == resolve_noise("ridge", X, observed, 2)
    assert resolve_noise(ONE_SIDED, X, observed, 2, default="ridge") is ONE_SIDED


def test_gram_matrices_leave_the_names_to_the_model_and_reach_functions_square(blobs):
    X, observed = blobs
    gram = X @ X.T
    shapes = []
    for method in METHODS:
        assert resolve_noise(method, gram, observed, 2, pairwise=True) is None
    weights = np.where(observed == 1, 2.0, 1.0)
    found = resolve_noise(
        lambda X, y: shapes.append((X.shape, len(y))) or ONE_SIDED, gram, observed, 2, weights, pairwise=True
    )
    assert found is ONE_SIDED
    assert shapes == [((int(weights.sum()), int(weights.sum())), int(weights.sum()))]


def test_a_class_without_rows_keeps_its_labels(blobs):
    X, observed = blobs
    for method, row in {"fisher": [0.01, 0.01, 0.98], "ridge": [0, 0, 1]}.items():
        np.testing.assert_allclose(resolve_noise(method, X, observed, 3).matrix[2], row)


def test_a_class_without_weight_flips_at_the_least_rate(blobs):
    X, observed = blobs
    found = resolve_noise("confident", X, observed, 2, (observed == 1).astype(float))
    np.testing.assert_allclose(found.matrix, [[0.98, 0.02], [0.02, 0.98]])


def test_confident_counts_of_a_model_that_knows_the_truth_are_those_of_the_flips():
    rng = np.random.default_rng(0)
    true = rng.integers(3, size=600)
    observed = FlipMatrix([[0.8, 0.2, 0.0], [0.0, 1.0, 0.0], [0.0, 0.1, 0.9]]).corrupt(true, rng)
    counts = np.zeros((3, 3))
    np.add.at(counts, (true, observed), 1)
    np.testing.assert_allclose(confident_flips(np.eye(3)[true], observed), counts / counts.sum(axis=1, keepdims=True))


def test_fractions_of_weight_add_up(rng):
    X, codes = rng.normal(size=(1000, 2)), np.zeros(1000, dtype=int)
    replicates = replicate_rows(X, codes, np.where(X[:, 0] > 0, 0.3, 0.1))
    light, heavy = np.bincount(X[replicates, 0] > 0)
    assert len(replicates) == 1000
    assert heavy / light == pytest.approx(3 * (X[:, 0] > 0).sum() / (X[:, 0] <= 0).sum(), rel=0.1)
