import os

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_digits, load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge
from sklearn.metrics import roc_auc_score
from sklearn.svm import SVC

from noisewise import FlipMatrix
from noisewise.datasets import load, make_ringnorm, make_twonorm, make_waveform
from noisewise.kernels import Gaussian, Linear
from noisewise.labels import RobustKernelFisherClassifier
from noisewise.labels.fisher import classifier as fisher
from noisewise.labels.fisher import em
from noisewise.labels.fisher.em import EMPath, NormalClasses
from noisewise.labels.fisher.kernel_smoother import (
    DualSmoother,
    Smoother,
    choose_penalty,
    decompose,
    decompose_low_rank,
)

TRAIN_ROWS = {"banana": 400, "raetsch_diabetis": 468, "raetsch_german": 700, "raetsch_heart": 170, "ringnorm": 400}
TRAIN_ROWS |= {"thyroid": 140, "titanic": 150, "twonorm": 400, "waveform": 400}
ONE_SIDED, SYMMETRIC = FlipMatrix.binary(0.0, 0.3), FlipMatrix.binary(0.3, 0.3)


def flipped(make, noise, seed, n_train=400, n_test=2000):
    X, y = make(n_train + n_test, random_state=seed)
    y = (y > 0).astype(int)
    return X[:n_train], noise.corrupt(y[:n_train], seed), y[:n_train], X[n_train:], y[n_train:]


def mean_error(make, noise, seeds=range(2)):
    runs = [flipped(make, noise, seed) for seed in seeds]
    return np.mean(
        [1 - RobustKernelFisherClassifier().fit(X, observed).score(test, y) for X, observed, _, test, y in runs]
    )


def test_features_are_orthonormal_and_carry_the_centred_kernel(rng):
    X = rng.normal(size=(30, 3))
    basis = decompose(Gaussian(2.0), X)
    features = basis.features
    np.testing.assert_allclose(features.T @ features, np.eye(features.shape[1]), atol=1e-8)
    centring = np.eye(30) - 1 / 30
    np.testing.assert_allclose(
        (features * basis.values) @ features.T, centring @ Gaussian(2.0).gram(X) @ centring, atol=1e-6
    )
    np.testing.assert_allclose(basis.feature_map(X), features, atol=1e-6)


def test_scores_without_a_row_are_those_of_a_fit_without_it(rng):
    X, targets = rng.normal(size=(25, 2)), rng.normal(size=(25, 2))
    targets -= targets.mean(axis=0)
    penalty, kernel = 0.3, Gaussian(1.5)
    scores = Smoother.of(decompose(kernel, X), penalty).leave_one_out(targets)
    roots = np.linalg.cholesky(kernel.gram(X) + 1e-12 * np.eye(25))  # features whose products are the kernel
    for row in range(25):
        rest = np.delete(np.arange(25), row)
        refit = Ridge(penalty, solver="svd").fit(roots[rest], targets[rest])
        expected = refit.predict(roots[row : row + 1])[0] - targets[rest].mean(axis=0)
        np.testing.assert_allclose(scores[row], expected, atol=1e-6)


def test_a_cholesky_factor_gives_the_scores_and_fits_of_the_eigendecomposition(rng):
    X, targets, probes = rng.normal(size=(60, 3)), rng.normal(size=(60, 4)), rng.normal(size=(7, 3))
    targets -= targets.mean(axis=0)
    kernel, basis = Gaussian(1.5), decompose(Gaussian(1.5), X)
    eigen, dual = Smoother.of(basis, 0.3), DualSmoother.of(kernel.gram(X), 0.3)
    np.testing.assert_allclose(dual.leave_one_out(targets), eigen.leave_one_out(targets), atol=1e-8)
    coefficients = dual.coefficients(targets)
    np.testing.assert_allclose(
        (kernel.gram(probes, X) - dual.means) @ coefficients,
        basis.feature_map(probes) @ eigen.coefficients(targets),
        atol=1e-7,
    )


def test_many_rows_of_several_classes_are_fitted_as_few(monkeypatch):
    X, y = load_digits(n_class=4, return_X_y=True)
    observed = FlipMatrix.symmetric(0.3, 4).corrupt(y[:400], 0)
    by_eigenvectors = RobustKernelFisherClassifier().fit(X[:400], observed)
    monkeypatch.setattr(fisher, "EIGEN_ROWS", 300)
    by_factor = RobustKernelFisherClassifier().fit(X[:400], observed)
    assert by_factor.penalty_ == by_eigenvectors.penalty_
    np.testing.assert_allclose(by_factor.predict_proba(X), by_eigenvectors.predict_proba(X), atol=1e-4)
    np.testing.assert_allclose(by_factor.label_quality_, by_eigenvectors.label_quality_, atol=1e-4)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_weights_are_copies(n_classes):
    X, y = load_digits(n_class=n_classes, return_X_y=True)
    X, y = X[:150], FlipMatrix.symmetric(0.2, n_classes).corrupt(y[:150], 0)
    weights = np.arange(150) % 3
    by_weights = RobustKernelFisherClassifier().fit(X, y, sample_weight=weights)
    by_copies = RobustKernelFisherClassifier().fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(by_weights.predict_proba(X), by_copies.predict_proba(X), atol=1e-5)
    assert by_weights.label_quality_.shape == (150,)
    np.testing.assert_allclose(
        by_weights.label_quality_[weights > 0], by_copies.label_quality_[np.cumsum(weights)[weights > 0] - 1], atol=1e-5
    )
    left_out = weights == 0
    np.testing.assert_allclose(
        by_weights.label_quality_[left_out], by_weights.label_quality(X[left_out], y[left_out]), atol=1e-9
    )


def test_an_uninformative_kernel_leaks_no_label():
    labels = np.eye(2)[(np.arange(20) % 3 == 0).astype(int)]
    targets = labels - labels.mean(axis=0)
    for width in (1e-3, 1e6):  # rows all alone, rows all alike
        scores = Smoother.of(decompose(Gaussian(width), np.arange(20.0)[:, None]), 1e-3).leave_one_out(targets)
        assert abs(np.sum(scores * targets)) < 1e-2


def test_low_rank_with_all_rows_is_exact(rng):
    X, targets = rng.normal(size=(40, 3)), rng.normal(size=(40, 1))
    targets -= targets.mean()
    exact, low = decompose(Gaussian(2.0), X), decompose_low_rank(Gaussian(2.0), X, np.arange(40)[::-1])
    scores = [Smoother.of(basis, 0.1).leave_one_out(targets) for basis in (exact, low)]
    np.testing.assert_allclose(scores[0], scores[1], atol=1e-6)
    np.testing.assert_allclose(low.feature_map(X), low.features, atol=1e-6)
    assert choose_penalty(exact, targets)[0] == choose_penalty(low, targets)[0]


def test_normal_classes_are_linear_discriminant_analysis():
    X, y = load_iris(return_X_y=True)
    scores = np.eye(3)[y] + 0.3 * (X[:, :3] - X[:, :3].mean(axis=0))
    scores -= scores.mean(axis=0)
    scores[:, 2] = -scores[:, :2].sum(axis=1)
    ours = NormalClasses.of(scores, np.eye(3)[y]).posterior(scores)
    theirs = LinearDiscriminantAnalysis(solver="lsqr").fit(scores[:, :2], y).predict_proba(scores[:, :2])
    np.testing.assert_allclose(ours, theirs, atol=1e-5)


@pytest.mark.filterwarnings("ignore:the soft labels still moved")
def test_a_linear_kernel_without_noise_is_fishers_discriminant(rng):
    X, y = load_iris(return_X_y=True)
    X, y = X[y > 0], y[y > 0]
    model = RobustKernelFisherClassifier(FlipMatrix.none(2), Linear(), max_iter=1).fit(X, y)
    standardised = (X - X.mean(axis=0)) / X.std(axis=0)
    theirs = LinearDiscriminantAnalysis(solver="lsqr").fit(standardised, y)
    probes = rng.normal(size=(300, 4))
    ours = model.features_(probes) @ model.discriminants_.coefficients[:, 1]
    assert np.corrcoef(ours, theirs.decision_function(probes))[0, 1] > 0.99


@pytest.mark.parametrize("noise", [SYMMETRIC, ONE_SIDED, FlipMatrix.binary(0.3, 0.0)], ids=repr)
def test_normal_classes_are_found_through_thirty_per_cent_noise(noise):
    assert mean_error(make_twonorm, noise) <= 0.027
    assert mean_error(make_ringnorm, noise) <= 0.045


def test_no_cluster_changes_sides(monkeypatch):
    error = mean_error(make_waveform, SYMMETRIC)
    assert error < 0.17
    monkeypatch.setattr(em, "NEGLIGIBLE_LOSS", np.inf)
    monkeypatch.setattr(em, "LEAST_DIAGONAL", 0.0)
    monkeypatch.setattr(em, "PATIENCE", np.inf)
    assert mean_error(make_waveform, SYMMETRIC) == pytest.approx(error, abs=2e-3)  # late steps have no weight anyway
    monkeypatch.setattr(EMPath, "weights", property(lambda path: np.eye(len(path.steps))[-1]))
    assert error < mean_error(make_waveform, SYMMETRIC) - 0.03


def test_em_steps_are_weighted_by_the_likelihood_of_the_labels():
    X, observed, _, test, _ = flipped(make_twonorm, SYMMETRIC, 0, n_train=150, n_test=20)
    model = RobustKernelFisherClassifier().fit(X, observed)
    found, history = model.discriminants_, np.array(model.objective_history_)
    likelihood = np.exp(history - history.max())[history >= history.max() - em.NEGLIGIBLE_LOSS]
    np.testing.assert_allclose(found.weights, likelihood / likelihood.sum())
    assert len(found.weights) > 3
    scores = np.split(model.features_(model.standardizer_(test, float)) @ found.coefficients, len(likelihood), axis=1)
    each = [classes.posterior(along) for classes, along in zip(found.classes, scores, strict=True)]
    np.testing.assert_allclose(model.predict_proba(test), np.average(each, axis=0, weights=likelihood))


def test_one_sided_noise_is_found_and_its_rows_rank_first():
    X, observed, y, _, _ = flipped(make_twonorm, ONE_SIDED, 0)
    model = RobustKernelFisherClassifier().fit(X, observed)
    assert model.noise_.matrix[0, 1] < 0.05
    assert abs(model.noise_.matrix[1, 0] - 0.3) < 0.1
    assert roc_auc_score(observed != y, 1 - model.label_quality_) > 0.97
    np.testing.assert_allclose(model.true_label_posterior_.sum(axis=1), 1)
    assert model.n_iter_ == len(model.objective_history_)


def test_known_noise_is_used_as_it_is():
    X, observed, _, test, y = flipped(make_twonorm, ONE_SIDED, 1)
    model = RobustKernelFisherClassifier(noise=ONE_SIDED).fit(X, observed)
    assert model.noise_ == ONE_SIDED
    assert model.score(test, y) > 0.97


def test_pairs_of_classes_that_are_mixed_up_are_told_apart():
    X, y = load_digits(n_class=5, return_X_y=True)
    matrix = np.eye(5)
    matrix[[1, 3]] = [[0, 0.65, 0, 0.35, 0], [0, 0, 0.35, 0.65, 0]]
    observed = FlipMatrix(matrix).corrupt(y[::2], 0)
    model = RobustKernelFisherClassifier().fit(X[::2], observed)
    assert model.score(X[1::2], y[1::2]) > max(0.96, SVC().fit(X[::2], observed).score(X[1::2], y[1::2]))
    np.testing.assert_allclose(model.noise_.matrix, matrix, atol=0.12)


def test_low_rank_is_nearly_as_good_and_taken_beyond_three_thousand_rows():
    X, observed, _, test, y = flipped(make_ringnorm, ONE_SIDED, 2, n_train=3100, n_test=500)
    model = RobustKernelFisherClassifier().fit(X, observed)
    assert model.low_rank_ == 500
    assert model.score(test, y) > 0.97
    small = RobustKernelFisherClassifier().fit(X[:300], observed[:300])
    assert small.low_rank_ is None
    assert RobustKernelFisherClassifier(low_rank=40).fit(X[:300], observed[:300]).features_.rows.shape == (40, 20)


def test_sparse_rows_equal_dense_rows(rng):
    X, observed, _, test, _ = flipped(make_twonorm, ONE_SIDED, 3, n_train=120, n_test=50)
    dense, sparse = (RobustKernelFisherClassifier().fit(kind(X), observed) for kind in (np.array, csr_array))
    np.testing.assert_allclose(sparse.predict_proba(csr_array(test)), dense.predict_proba(test), atol=1e-6)


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.ones((8, 2)), [0, 1] * 4),
        (np.arange(16.0).reshape(8, 2), [0] * 7 + [1]),
        (np.arange(16.0).reshape(8, 2), list("abcdefgh")),
        (np.repeat([[0.0], [1.0]], 4, axis=0), [0] * 4 + [1] * 4),
        (np.array([[0.0], [1.0]]), [0, 1]),
    ],
    ids=["constant columns", "a class with one row", "all labels different", "copies", "two rows"],
)
@pytest.mark.filterwarnings("ignore:the estimated flip matrix")
def test_poor_data_get_sound_answers(X, y):
    model = RobustKernelFisherClassifier().fit(X, y)
    posterior = model.predict_proba(X)
    np.testing.assert_allclose(posterior.sum(axis=1), 1)
    assert np.isfinite(model.label_quality(X, y)).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"low_rank": 0}, "low_rank is 0"),
        ({"max_iter": 0}, "max_iter is 0"),
    ],
)
def test_bad_settings_are_refused_clearly(options, message):
    with pytest.raises(ValueError, match=message):
        RobustKernelFisherClassifier(**options).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])


def test_too_few_em_steps_warn():
    X, observed, _, _, _ = flipped(make_twonorm, SYMMETRIC, 0, n_train=200)
    with pytest.warns(ConvergenceWarning, match="after 2 EM steps"):
        RobustKernelFisherClassifier(max_iter=2).fit(X, observed)


@pytest.mark.slow
@pytest.mark.parametrize(("rate", "most"), [(0.1, 0.147), (0.3, 0.18)])
def test_nine_sets_have_the_mean_error_of_a_well_regularised_discriminant(rate, most):
    if not os.environ.get("NOISEWISE_DATA"):
        pytest.skip("needs NOISEWISE_DATA")
    errors = {}
    for name, n in TRAIN_ROWS.items():
        X, y = load(name)
        y = (y > 0).astype(int)
        for seed in range(4):
            order = np.random.default_rng(seed).permutation(len(y))
            train, test = order[:n], order[n : n + 2000]
            one_sided = (rate, 0.0) if seed % 4 == 1 else (0.0, rate)
            noise = FlipMatrix.binary(*((rate, rate) if seed % 2 == 0 else one_sided))
            model = RobustKernelFisherClassifier().fit(X[train], noise.corrupt(y[train], seed))
            errors.setdefault(name, []).append(1 - model.score(X[test], y[test]))
    assert np.mean(errors["twonorm"]) <= 0.027
    assert np.mean(errors["ringnorm"]) <= 0.045
    assert np.mean([np.mean(runs) for runs in errors.values()]) <= most
