"""Weighted classifiers: importance weights and label-dependent costs, and how all loss corrections take their noise."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, make_blobs
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from noisewise import FlipMatrix
from noisewise.datasets import load
from noisewise.labels.corrections.reweighting import (
    ImportanceReweightedClassifier,
    LabelDependentClassifier,
    importance_weights,
    label_dependent_weights,
)
from noisewise.labels.corrections.unbiased import UnbiasedLogisticRegression

ONE_SIDED = FlipMatrix.binary(false_positive=0.0, false_negative=0.45)
THREE = FlipMatrix([[0.7, 0.3, 0.0], [0.05, 0.85, 0.1], [0.2, 0.0, 0.8]])
WRAPPERS = pytest.mark.parametrize("kind", [ImportanceReweightedClassifier, LabelDependentClassifier])
EVERY = pytest.mark.parametrize(
    "kind", [ImportanceReweightedClassifier, LabelDependentClassifier, UnbiasedLogisticRegression]
)


@pytest.fixture
def blobs():
    X, y = make_blobs(1000, centers=[[0, 0], [2, 1]], random_state=0)
    return X, y, ONE_SIDED.corrupt(y, 1)


@pytest.mark.parametrize("noise", [FlipMatrix.binary(0.1, 0.3), THREE], ids=["two", "three"])
def test_weighted_losses_have_the_clean_loss_as_mean(noise, rng):
    """Exactly, over the observed labels of every row, for losses of any kind."""
    n_classes = noise.n_classes
    clean = rng.dirichlet(np.ones(n_classes), size=20)
    noisy, losses = noise.push(clean), rng.normal(size=(20, n_classes))
    weights = np.stack(
        [importance_weights(noisy, np.full(20, label), noise) for label in range(n_classes)], axis=1
    )  # one column a label
    np.testing.assert_allclose((noisy * weights * losses).sum(axis=1), (clean * losses).sum(axis=1), atol=1e-12)


def test_importance_weights_are_those_of_the_paper(rng):
    """(P(observed) - rho of the other class) / ((1 - rho0 - rho1) P(observed)) for two classes."""
    noise, rates = FlipMatrix.binary(0.1, 0.3), np.array([0.3, 0.1])
    observed, p = rng.integers(2, size=50), rng.uniform(0.1, 0.7, size=50)
    noisy = np.where(observed == 1, p, 1 - p)
    expected = (noisy - rates[observed]) / (0.6 * noisy)
    found = importance_weights(np.column_stack([1 - p, p]), observed, noise)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert (importance_weights(rng.dirichlet([0.1, 0.1], 50), observed, noise) >= 0).all()


def test_costs_put_the_threshold_at_a_clean_posterior_of_one_half():
    noise = FlipMatrix.binary(0.1, 0.3)
    half = noise.push([[0.5, 0.5]])[0]
    weighted = half * label_dependent_weights(noise)
    assert weighted[0] == pytest.approx(weighted[1])
    np.testing.assert_allclose(label_dependent_weights(FlipMatrix.binary(0.2, 0.2)), 0.5)


@WRAPPERS
@pytest.mark.parametrize("inner", [LogisticRegression(), GaussianNB(), DecisionTreeClassifier(max_depth=3), SVC()])
def test_one_sided_noise_is_undone_around_any_classifier(kind, inner, blobs):
    X, y, observed = blobs
    plain = inner.fit(X, observed).score(X, y)
    clean = inner.fit(X, y).score(X, y)
    assert kind(inner, ONE_SIDED).fit(X, observed).score(X, y) > max(plain + 0.04, clean - 0.05)


@WRAPPERS
def test_without_noise_it_is_the_classifier_itself(kind, blobs):
    X, y, _ = blobs
    plain = LogisticRegression(tol=1e-6).fit(X, y)
    found = kind(LogisticRegression(tol=1e-6), FlipMatrix.none(2)).fit(X, y)
    np.testing.assert_allclose(found.predict_proba(X), plain.predict_proba(X), atol=1e-4)


@EVERY
def test_probabilities_are_posteriors_of_the_true_label(kind, blobs):
    X, y, observed = blobs
    p = kind(noise=ONE_SIDED).fit(X, observed).predict_proba(X)[:, 1]
    assert observed.mean() < 0.3
    assert p.mean() == pytest.approx(y.mean(), abs=0.05)
    truth = LogisticRegression().fit(X, y).predict_proba(X)[:, 1]
    assert np.abs(p - truth).mean() < 0.12


@WRAPPERS
def test_predictions_are_the_most_probable_labels(kind, blobs):
    X, _, observed = blobs
    model = kind(noise=FlipMatrix.binary(0.1, 0.3)).fit(X, np.array(["no", "yes"])[observed])
    np.testing.assert_array_equal(model.predict(X), model.classes_[model.predict_proba(X).argmax(axis=1)])
    np.testing.assert_array_equal(model.predict(X) == "yes", model.decision_function(X) > 0)


def test_a_classifier_without_probabilities_keeps_its_decisions(blobs):
    X, _, observed = blobs
    model = LabelDependentClassifier(SVC(), ONE_SIDED).fit(X, observed)
    assert not hasattr(model, "predict_proba")
    assert model.decision_function(X).shape == (len(X),)
    assert not hasattr(LabelDependentClassifier(GaussianNB(), ONE_SIDED).fit(X, observed), "decision_function")


def test_three_classes_are_reweighted_and_no_one_cost_per_label_would_do():
    X, y = load_iris(return_X_y=True)
    observed = THREE.corrupt(y, 0)
    model = ImportanceReweightedClassifier(noise=THREE).fit(X, observed)
    assert model.score(X, y) > 0.93
    with pytest.raises(ValueError, match="ImportanceReweightedClassifier takes them"):
        LabelDependentClassifier(noise=THREE).fit(X, observed)


def test_posteriors_may_come_from_any_classifier_out_of_fold(blobs):
    X, y, observed = blobs
    weights = np.where(np.arange(len(y)) % 10 == 0, 0.0, 1.0)
    model = ImportanceReweightedClassifier(noise=ONE_SIDED, posterior_estimator=GaussianNB())
    assert model.fit(X, observed, weights).score(X, y) > 0.85
    assert model.weights_[observed == 1].min() >= 1  # a label that noise never makes is true
    assert ImportanceReweightedClassifier(posterior_estimator=GaussianNB()).fit(X, observed).noise_.n_classes == 2
    with pytest.raises(ValueError, match="fewer than two rows"):
        model.fit(X[:9], [0] * 8 + [1])


@EVERY
def test_estimated_noise_is_one_sided(kind, blobs):
    X, _, observed = blobs
    assert kind().fit(X, observed).noise_.matrix[1, 0] > 0.15


@EVERY
def test_weights_count_rows(kind, blobs):
    X, _, observed = (part[:120] for part in blobs)
    weights = np.random.default_rng(0).integers(0, 4, 120)
    weighted = kind().fit(X, observed, sample_weight=weights)
    order = np.random.default_rng(1).permutation(np.repeat(np.arange(120), weights))
    repeated = kind().fit(X[order], observed[order])
    assert weighted.noise_ == repeated.noise_
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-5)


@EVERY
def test_quality_and_suggestions_use_the_observed_label(kind, blobs):
    X, _, observed = blobs
    model = kind(noise=ONE_SIDED).fit(X[:500], observed[:500])
    quality = model.label_quality(X[500:], observed[500:])
    assert (quality[observed[500:] == 1] > 1 - 1e-9).all()  # this noise makes no false positives
    np.testing.assert_array_equal(
        model.suggest(X[500:], observed[500:])[observed[500:] == 0] == 0, quality[observed[500:] == 0] >= 0.5
    )


def test_a_class_that_loses_all_weight_still_counts_a_little():
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.repeat([0, 1], [50, 10])

    class Certain(GaussianNB):
        def predict_proba(self, X):
            return np.tile([1.0, 0.0], (len(X), 1))

    model = ImportanceReweightedClassifier(SVC(), FlipMatrix.binary(0.1, 0.1), Certain()).fit(X, y)
    assert model.weights_[y == 1].max() == pytest.approx(1e-3)


@WRAPPERS
def test_impossible_input_gets_a_sentence(kind, blobs):
    X, _, observed = blobs
    for inner in (KNeighborsClassifier(), LinearRegression()):
        with pytest.raises(ValueError, match="no classifier whose fit takes sample_weight"):
            kind(inner, ONE_SIDED).fit(X, observed)
    with pytest.raises(ValueError, match="at least one non-zero"):
        kind(noise=ONE_SIDED).fit(X, observed, sample_weight=np.zeros(len(X)))
    with pytest.raises(ValueError, match="negative"):
        kind(noise=ONE_SIDED).fit(X, observed, sample_weight=-np.ones(len(X)))
    with pytest.raises(ValueError, match="1 class only"):
        kind(noise=ONE_SIDED).fit(X, np.zeros(len(X)))


def test_real_labels_are_corrected():
    X, y = load_breast_cancer(return_X_y=True)
    X = MinMaxScaler().fit_transform(X)
    train, test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
    scores = {}
    for seed in range(3):
        observed = ONE_SIDED.corrupt(y_train, seed)
        for name, model in {
            "plain": SVC(),
            "reweighted": ImportanceReweightedClassifier(SVC(), ONE_SIDED),
            "costs": LabelDependentClassifier(SVC(), ONE_SIDED),
            "unbiased": UnbiasedLogisticRegression(ONE_SIDED),
        }.items():
            scores.setdefault(name, []).append(model.fit(train, observed).score(test, y_test))
    means = {name: np.mean(found) for name, found in scores.items()}
    assert min(means["reweighted"], means["costs"], means["unbiased"]) > means["plain"] + 0.05


SETS = ["heart", "ionosphere", "housing", "breast_cancer_wisconsin", "diabetes"]
SETS += ["vehicle", "fourclass", "german_numeric", "splice_libsvm", "optdigits"]
GRID = {"C": [0.25, 1, 4, 16]}


def kernel_machine(X, y):
    """A support vector machine of width and C chosen on clean labels, as the paper does for these baselines."""
    widths = [2.0**power / X.shape[1] for power in (-3, -1, 1, 3, 5)]
    return SVC(**GridSearchCV(SVC(), {**GRID, "gamma": widths}, cv=4).fit(X, y).best_params_)


@pytest.mark.slow
def test_kernel_machines_with_true_rates_reach_the_ten_set_means():
    """Gao's protocol: columns in [-1, 1], three quarters to train, many classes split into two groups at random."""
    try:
        sets = {name: load(name) for name in SETS}
    except (FileNotFoundError, OSError, ValueError) as error:
        pytest.skip(f"the sets are not at hand: {error}")
    noises = [
        FlipMatrix.binary(false_positive=fp, false_negative=fn) for fn, fp in [(0.1, 0.2), (0.3, 0.1), (0.4, 0.4)]
    ]
    scores = np.zeros((2, 3))
    for data in sets.values():
        X = MinMaxScaler((-1, 1)).fit_transform(data.X)
        for seed in range(2):
            rng = np.random.default_rng(seed)
            codes = np.unique(data.y, return_inverse=True)[1]
            n_classes = codes.max() + 1
            y = codes if n_classes == 2 else np.isin(codes, rng.permutation(n_classes)[: n_classes // 2]).astype(int)
            train, test, y_train, y_test = train_test_split(X, y, random_state=seed, stratify=y)
            machine = kernel_machine(train[:1500], y_train[:1500])
            for column, noise in enumerate(noises):
                observed = noise.corrupt(y_train, 100 + seed)
                for row, kind in enumerate((LabelDependentClassifier, ImportanceReweightedClassifier)):
                    model = kind(machine, noise).fit(train, observed)
                    scores[row, column] += model.score(test, y_test) / (2 * len(sets))
    np.testing.assert_allclose(scores.mean(axis=0), [0.86, 0.855, 0.73], atol=0.025)


@pytest.mark.parametrize("model", [ImportanceReweightedClassifier(), UnbiasedLogisticRegression()])
@pytest.mark.parametrize("given", [True, False])
def test_a_class_of_zero_weight_is_known_and_not_predicted(model, given):
    X, y = make_blobs(150, centers=[[0, 0], [4, 0], [0, 4]], random_state=0)
    model = clone(model).set_params(noise=FlipMatrix.symmetric(0.1, 3) if given else None)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the corrected proportion|the estimated flip matrix")
        model.fit(X, y, sample_weight=np.where(y == 1, 0.0, 1.0))
    assert model.noise_.n_classes == 3
    assert model.predict_proba(X)[y != 1].mean(axis=0)[1] < 0.1
