"""Every public estimator and every noise keeps the promises all of them make."""

import importlib
import inspect

import numpy as np
import pytest
from sklearn.base import BaseEstimator, is_classifier
from sklearn.datasets import make_blobs
from sklearn.utils.estimator_checks import parametrize_with_checks

from helpers import assert_unbiased
from noisewise import FlipMatrix, GaussianNoise, load, save

PACKAGES = ["noisewise.labels", "noisewise.online", "noisewise.features"]
NOISES = [
    FlipMatrix.none(3),
    FlipMatrix.binary(0.1, 0.3),
    FlipMatrix.symmetric(0.4, 5),
    FlipMatrix([[0.7, 0.3, 0.0], [0.0, 0.9, 0.1], [0.2, 0.0, 0.8]]),
]


def estimators():
    """Every public class with fit, by default parameters, found by itself."""
    found = []
    for name in PACKAGES:
        try:
            package = importlib.import_module(name)
        except ModuleNotFoundError:
            continue
        for public in package.__all__:
            member = getattr(package, public)
            if inspect.isclass(member) and issubclass(member, BaseEstimator) and hasattr(member, "fit"):
                found.append(member())
    return found


def two_blobs():
    return make_blobs(60, centers=[(-3, -3), (3, 3)], random_state=0)


ESTIMATORS = estimators()
# For estimators with long fits, the checks that fit often or on many rows; `make slow` and CI run these too.
LONG_FITS = {
    "CrowdClassifier",
    "DeconvolvedFourierClassifier",
    "DeconvolvedFourierRegressor",
    "ImportanceReweightedClassifier",
    "LabelDependentClassifier",
    "RobustClassifier",
    "RobustGaussianProcessClassifier",
    "RobustKernelLogisticRegression",
    "RobustMultiKernelLogisticRegression",
    "RobustRidgeClassifier",
    "RobustTreesClassifier",
    "RobustVotingClassifier",
    "UnbiasedLogisticRegression",
}
LONG_CHECKS = {
    "check_classifier_data_not_an_array",
    "check_classifiers_train",
    "check_dtype_object",
    "check_estimator_sparse_array",
    "check_estimator_sparse_matrix",
    "check_estimators_dtypes",
    "check_estimators_nan_inf",
    "check_fit_check_is_fitted",
    "check_fit_idempotent",
    "check_fit_score_takes_y",
    "check_n_features_in_after_fitting",
    "check_positive_only_tag_during_fit",
    "check_supervised_y_2d",
}
quiet = pytest.mark.filterwarnings(
    "ignore:the estimated flip matrix",  # random labels: the checks ask about the interface, not about the data
    "ignore::sklearn.exceptions.SkipTestWarning",
    "ignore::sklearn.exceptions.ConvergenceWarning",
)


def test_estimators_are_found():
    assert "RobustKNeighborsClassifier" in [type(estimator).__name__ for estimator in ESTIMATORS]


def every_check():
    """Every estimator with every scikit-learn check; the long checks of the long fits are marked slow."""
    checks = parametrize_with_checks(ESTIMATORS)
    names, pairs = checks.args
    marked = [pytest.param(*pair, marks=pytest.mark.slow) if is_slow(*pair) else pair for pair in pairs]
    return pytest.mark.parametrize(names, marked, **checks.kwargs)


def is_slow(estimator, check):
    return type(estimator).__name__ in LONG_FITS and check.func.__name__ in LONG_CHECKS


@quiet
@every_check()
def test_scikit_learn_checks_pass(estimator, check):
    check(estimator)


@quiet
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
def test_model_files_round_trip(estimator, tmp_path):
    X, y = two_blobs()
    estimator.fit(X, y)
    save(estimator, tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(X), estimator.predict(X))
    if hasattr(estimator, "predict_proba"):
        np.testing.assert_array_equal(again.predict_proba(X), estimator.predict_proba(X))


@quiet
@pytest.mark.parametrize("estimator", [e for e in ESTIMATORS if is_classifier(e)], ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("labels", [["no", "yes"], [("a", 1), ("b", 2)], [True, False], [7, -2], ["x", 3]])
def test_labels_are_any_hashables(estimator, labels):
    X, y = two_blobs()
    named = [labels[code] for code in y]
    predicted = estimator.fit(X, named).predict(X)
    assert np.mean([guess == name for guess, name in zip(predicted.tolist(), named, strict=True)]) > 0.9


@quiet
@pytest.mark.parametrize("estimator", [e for e in ESTIMATORS if is_classifier(e)], ids=lambda e: type(e).__name__)
def test_missing_labels_are_refused(estimator):
    X, y = two_blobs()
    with pytest.raises(ValueError, match="labels are missing"):
        estimator.fit(X, np.where(y == 0, np.nan, 1.0))


@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_corrupt_then_correct_is_unbiased(noise, rng):
    for true in range(noise.n_classes):
        observed = noise.corrupt(np.full(20_000, true), rng)
        assert_unbiased(noise.unbiased_targets(observed), np.eye(noise.n_classes)[true])


@pytest.mark.parametrize("covariance", [0.5, [0.1, 0.0, 2.0], np.diag([1.0, 2.0, 3.0]) + 0.5])
def test_added_noise_has_mean_zero_and_the_covariance(covariance, rng):
    noise = GaussianNoise(covariance)
    clean = np.array([[1.0, -2.0, 3.0]])
    added = noise.copies(clean, 50_000, rng)[0] - clean
    assert_unbiased(added, np.zeros(3))
    products = added[:, :, None] * added[:, None, :]
    assert_unbiased(products.reshape(len(added), -1), noise.matrix(3).ravel())
