"""Corrected least squares: coefficients of clean features, from noisy ones."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from noisewise import GaussianNoise
from noisewise.datasets import load, make_california_like, make_linear_stream
from noisewise.features import LaplaceNoise, MaskingNoise, NoisyFeatureClassifier, NoisyFeatureRegressor

TRUE = np.array([2.0, -1.0, 0.5])


def correlated(n, rng):
    X = rng.normal(size=(n, 3)) @ np.array([[1.0, 0.6, 0.0], [0.0, 0.8, 0.3], [0.0, 0.0, 1.0]]) + 3
    return X, X @ TRUE + 4 + 0.1 * rng.normal(size=n)


@pytest.mark.parametrize(
    ("noise", "known", "m"),
    [
        (GaussianNoise([[0.5, 0.2, 0], [0.2, 0.4, 0], [0, 0, 0.1]]), True, 1),
        (GaussianNoise(0.5), False, 2),
        (GaussianNoise([0.5, 0.1, 0.0]), True, 2),
        (LaplaceNoise(0.5), True, 1),
        (MaskingNoise(0.9), True, 1),
        (MaskingNoise(0.9), False, 2),
    ],
)
def test_attenuation_of_coefficients_is_corrected(noise, known, m, rng):
    X, y = correlated(40_000, rng)
    copies = noise.copies(X, m, rng)
    model = NoisyFeatureRegressor(noise if known else None).fit(copies[:, 0], y, copies=copies)
    plain = LinearRegression().fit(copies.mean(axis=1), y)
    assert np.abs(plain.coef_ - TRUE).max() > 0.1
    assert np.abs(model.coef_ - TRUE).max() < 0.4 * np.abs(plain.coef_ - TRUE).max()
    np.testing.assert_allclose(model.attenuated_coef_, plain.coef_, atol=0.2 * np.abs(plain.coef_ - TRUE).max() + 0.02)
    np.testing.assert_allclose(model.intercept_, 4, atol=0.4 * abs(plain.intercept_ - 4) + 0.05)


def test_noise_covariances_of_each_row_are_subtracted(rng):
    X, y = correlated(40_000, rng)
    variances = rng.exponential(0.5, size=X.shape)
    noisy = X + rng.normal(size=X.shape) * np.sqrt(variances)
    model = NoisyFeatureRegressor().fit(noisy, y, row_covariances=variances)
    np.testing.assert_allclose(model.coef_, TRUE, atol=0.1)
    np.testing.assert_allclose(np.diag(model.noise_.matrix(3)), variances.mean(axis=0))
    full = NoisyFeatureRegressor().fit(noisy, y, row_covariances=variances[:, :, None] * np.eye(3))
    np.testing.assert_allclose(full.coef_, model.coef_, rtol=1e-8)


def test_attenuation_and_reliability_are_reported(rng):
    X = rng.normal(size=(50_000, 1))
    noise = GaussianNoise(3.0)
    model = NoisyFeatureRegressor(noise).fit(noise.corrupt(X, rng), X[:, 0])
    np.testing.assert_allclose(model.attenuation_, 0.25, atol=0.02)
    np.testing.assert_allclose(model.reliability_, [0.25], atol=0.02)
    quiet = NoisyFeatureRegressor().fit(X, X[:, 0])
    assert quiet.attenuation_ == pytest.approx(1.0)
    assert quiet.attenuated_coef_ == pytest.approx(quiet.coef_)


def test_bent_coef_is_the_earlier_name_of_attenuated_coef(rng):
    X = rng.normal(size=(50, 2))
    model = NoisyFeatureRegressor().fit(X, X[:, 0])
    with pytest.warns(DeprecationWarning, match="bent_coef_ is now attenuated_coef_"):
        np.testing.assert_array_equal(model.bent_coef_, model.attenuated_coef_)
    assert not hasattr(NoisyFeatureRegressor(), "bent_coef_")


def test_noise_is_estimated_from_copies(rng):
    X, y = correlated(20_000, rng)
    covariance = np.array([[0.5, 0.2, 0], [0.2, 0.4, 0], [0, 0, 0.1]])
    copies = GaussianNoise(covariance).copies(X, 3, rng)
    model = NoisyFeatureRegressor().fit(copies[:, 0], y, copies=copies)
    np.testing.assert_allclose(model.noise_.matrix(3), covariance, atol=0.02)


@pytest.mark.parametrize("constraint", ["ridge", "ball"])
def test_without_noise_it_is_least_squares(constraint, rng):
    X, y = correlated(500, rng)
    model = NoisyFeatureRegressor(constraint=constraint).fit(X, y)
    np.testing.assert_allclose(model.predict(X), LinearRegression().fit(X, y).predict(X), atol=0.02)


@pytest.mark.parametrize("constraint", ["ridge", "ball"])
def test_pieces_give_what_all_rows_give(constraint, rng):
    X, y = correlated(230, rng)
    copies = GaussianNoise(0.3).copies(X, 2, rng)
    whole = NoisyFeatureRegressor(constraint=constraint).fit(copies[:, 0], y, copies=copies)
    pieces = NoisyFeatureRegressor(constraint=constraint)
    for part in (slice(0, 1), slice(1, 8), slice(8, 100), slice(100, 230)):
        pieces.partial_fit(copies[part, 0], y[part], copies=copies[part])
    np.testing.assert_allclose(pieces.coef_, whole.coef_, rtol=1e-6)
    np.testing.assert_allclose(pieces.intercept_, whole.intercept_, rtol=1e-6)
    assert pieces.n_samples_seen_ == 230


def test_units_of_columns_do_not_matter(rng):
    X, y = correlated(300, rng)
    units = np.array([1.0, 1000.0, 0.001])
    model = NoisyFeatureRegressor(GaussianNoise(0.3)).fit(X, y)
    scaled = NoisyFeatureRegressor(GaussianNoise(0.3 * units**2)).fit(X * units, y)
    np.testing.assert_allclose(scaled.coef_ * units, model.coef_, rtol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_are_separated_as_in_clean_rows(n_classes, rng):
    X = rng.normal(size=(20_000, 3)) * [3.0, 1.0, 0.3]
    scores = X @ rng.normal(size=(3, n_classes)) / [1, 2, 3][:n_classes]
    y = scores.argmax(axis=1)
    noise = GaussianNoise([4.0, 0.0, 0.0])
    noisy = noise.corrupt(X, rng)
    corrected = NoisyFeatureClassifier(noise).fit(noisy, y)
    assert corrected.correction_ > 0
    assert corrected.score(X, y) > NoisyFeatureClassifier().fit(noisy, y).score(X, y)


@pytest.mark.parametrize("deviation", [0.0, 0.3, 0.7])
@pytest.mark.parametrize("dataset", [load_breast_cancer, load_iris, load_wine])
def test_classes_are_told_apart_at_least_as_well_as_by_logistic_regression(dataset, deviation):
    X, y = dataset(return_X_y=True)
    errors = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        order, n = rng.permutation(len(y)), int(0.6 * len(y))
        rows, labels, noise = StandardScaler().fit_transform(X)[order], y[order], GaussianNoise(deviation**2)
        copies = noise.copies(rows[:n], 2, rng)
        ours = NoisyFeatureClassifier(noise).fit(copies[:, 0], labels[:n], copies=copies)
        plain = LogisticRegression(max_iter=1000).fit(copies.mean(axis=1), labels[:n])
        errors.append([1 - model.score(rows[n:], labels[n:]) for model in (ours, plain)])
    assert np.mean(errors, axis=0)[0] <= np.mean(errors, axis=0)[1] + 0.025  # of 60 to 228 test rows in each run


@pytest.mark.parametrize("n_classes", [2, 3])
def test_without_noise_the_classifier_is_logistic_regression(n_classes):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < n_classes], y[y < n_classes]
    model, plain = NoisyFeatureClassifier().fit(X, y), LogisticRegression().fit(StandardScaler().fit_transform(X), y)
    np.testing.assert_allclose(model.coef_, plain.coef_ / X.std(axis=0), rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(
        model.decision_function(X), plain.decision_function(StandardScaler().fit_transform(X)), atol=1e-2
    )


def test_boundaries_of_several_classes_are_taken_back(rng):
    X = rng.normal(size=(10_000, 3)) @ np.array([[1.0, 0.8, 0.0], [0.0, 0.6, 0.3], [0.0, 0.0, 1.0]])
    y, noise = (
        (X @ [[1.0, -1.0, 0.2], [-1.0, 0.4, 0.7], [0.1, 0.8, -1.0]]).argmax(axis=1),
        GaussianNoise([1.0, 0.0, 0.0]),
    )
    copies = noise.copies(X[:6000], 2, rng)
    model = NoisyFeatureClassifier(noise).fit(copies[:, 0], y[:6000], copies=copies)
    plain = LogisticRegression().fit(copies.mean(axis=1), y[:6000])
    assert model.score(X[6000:], y[6000:]) > plain.score(X[6000:], y[6000:]) + 0.02


def test_noise_that_turns_the_boundary_is_undone(rng):
    X = rng.normal(size=(4000, 2)) @ np.array([[1.0, 0.8], [0.0, 0.6]])
    y, noise = X[:, 0] - X[:, 1] > 0.3, GaussianNoise([1.0, 0.0])
    noisy = noise.corrupt(X, rng)
    model, plain = NoisyFeatureClassifier(noise).fit(noisy, y), LogisticRegression().fit(noisy, y)
    assert model.score(X, y) > plain.score(X, y) + 0.05
    assert np.mean(model.predict(noisy, noisy=True) == y) > max(plain.score(noisy, y) - 0.01, model.score(noisy, y))


@pytest.mark.parametrize("m", [1, 2])
def test_noisy_rows_are_predicted_as_by_least_squares_on_single_copies(m, rng):
    X, y = correlated(4000, rng)
    noise = GaussianNoise(0.5)
    copies = noise.copies(X, m, rng)
    model = NoisyFeatureRegressor(noise).fit(copies[:, 0], y, copies=copies)
    single = LinearRegression().fit(copies.reshape(-1, 3), np.repeat(y, m))
    np.testing.assert_allclose(model.predict(X[:50], noisy=True), single.predict(X[:50]), atol=0.05)


def test_classes_may_come_before_their_rows(rng):
    X, labels = rng.normal(size=(60, 2)), np.array(["a", "b", "c"])
    y = labels[np.clip(np.round(X[:, 0] + 1), 0, 2).astype(int)]
    order = np.argsort(y, kind="stable")
    model = NoisyFeatureClassifier()
    for part in (order[:20], order[20:]):
        model.partial_fit(X[part], y[part], classes=labels)
    assert model.classes_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="not the same as on last call"):
        model.partial_fit(X, y, classes=["a", "b"])


@pytest.mark.parametrize(
    ("options", "call", "sentence"),
    [
        ({"noise": GaussianNoise(np.ones(2))}, {}, "2 columns, the data have 3"),
        ({}, {"copies": np.zeros((49, 1, 3))}, r"\(50, m, 3\)"),
        ({}, {"row_covariances": np.zeros((50, 2))}, r"\(50, 3\)"),
        ({"constraint": "cone"}, {}, "'ridge' or 'ball'"),
        ({"strength": -1.0}, {}, "0 or more"),
        ({"n_folds": 1}, {}, "at least two folds"),
    ],
)
def test_bad_input_is_refused(options, call, sentence):
    with pytest.raises(ValueError, match=sentence):
        NoisyFeatureRegressor(**options).fit(np.eye(50, 3), np.arange(50), **call)


def diabetes_scores(noise, seeds=20):
    """R2 on clean test rows: plain and corrected from one copy, plain mean and corrected from two."""
    X, y = load("diabetes_progression")
    X = X / X.std(axis=0)
    scores = []
    for seed in range(seeds):
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=seed)
        copies = noise.copies(X_train, 2, np.random.default_rng([1, seed]))
        models = [
            LinearRegression().fit(copies[:, 0], y_train),
            NoisyFeatureRegressor(noise).fit(copies[:, 0], y_train),
            LinearRegression().fit(copies.mean(axis=1), y_train),
            NoisyFeatureRegressor().fit(copies[:, 0], y_train, copies=copies),
        ]
        scores.append([model.score(X_test, y_test) for model in models])
    return np.mean(scores, axis=0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "noise",
    [
        *(GaussianNoise(level**2) for level in (0.3, 0.6, 1.0)),
        LaplaceNoise(np.sqrt(0.5)),
        MaskingNoise(0.5),
    ],
    ids=repr,
)
def test_correction_does_no_harm_on_diabetes(noise):
    noisy, one, mean, two = diabetes_scores(noise)
    assert one > noisy - 0.01
    assert two > noisy - 0.01
    assert 1 - two < 1.1 * (1 - mean)
    if noise == GaussianNoise(1.0):
        assert one > noisy + 0.01
        assert two > noisy + 0.02


@pytest.mark.slow
def test_most_of_what_noise_costs_is_won_back_on_california_like_rows():
    noise, scores = GaussianNoise(1.0), []
    for seed in range(8):
        X, y = make_california_like(10_000, random_state=seed)
        copies = noise.copies(X[:5000], 2, np.random.default_rng([1, seed]))
        y, X_test, y_test = y[:5000], X[5000:], y[5000:]
        models = [
            LinearRegression().fit(X[:5000], y),
            LinearRegression().fit(copies[:, 0], y),
            LinearRegression().fit(copies.mean(axis=1), y),
            NoisyFeatureRegressor(noise).fit(copies[:, 0], y),
            NoisyFeatureRegressor().fit(copies[:, 0], y, copies=copies),
        ]
        scores.append([model.score(X_test, y_test) for model in models])
    clean, noisy, mean, one, two = np.mean(scores, axis=0)
    np.testing.assert_allclose([clean, noisy, mean], [0.728, 0.518, 0.606], atol=0.025)
    np.testing.assert_allclose([one, two], [0.719, 0.723], atol=0.015)


@pytest.mark.slow
def test_cross_validated_batch_has_the_excess_risk_of_the_best_steps():
    variances = 0.7 ** np.arange(10) / (0.7 ** np.arange(10)).sum()
    noise, risks = GaussianNoise(0.09), []
    for seed in range(10):
        X, y = make_linear_stream(16_000, random_state=seed)
        copies = noise.copies(X, 2, np.random.default_rng([1, seed]))
        models = [
            LinearRegression().fit(copies[:, 0], y),
            NoisyFeatureRegressor(noise).fit(copies[:, 0], y),
            NoisyFeatureRegressor().fit(copies[:, 0], y, copies=copies),
        ]
        risks.append([1000 * variances @ (model.coef_ - 10**-0.5) ** 2 for model in models])
    noisy, one, two = np.mean(risks, axis=0)
    np.testing.assert_allclose(noisy, 17.8, rtol=0.05)
    assert one < 0.42 * 1.3
    assert two < 0.24 * 1.3


def on_a_line(n_rows=2000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3)) @ (np.eye(3) + 0.3)
    y = X @ [1.0, -2.0, 0.5] + 0.2 * rng.normal(size=n_rows)
    return GaussianNoise(0.25).corrupt(X, rng), y


def test_known_target_noise_gives_total_least_squares():
    noisy, y = on_a_line()
    table = np.column_stack([noisy / 0.5, y / 0.2])  # noise of variance one everywhere
    normal = np.linalg.svd(table - table.mean(axis=0))[2][-1]
    by_hand = -normal[:3] / normal[3] * 0.2 / 0.5
    found = NoisyFeatureRegressor(GaussianNoise(0.25), strength=0.0, target_noise=0.04).fit(noisy, y)
    np.testing.assert_allclose(found.coef_, by_hand, rtol=1e-9)
    model = NoisyFeatureRegressor(GaussianNoise(0.25), target_noise=0.04).fit(noisy, y)
    np.testing.assert_allclose(model.coef_, by_hand, rtol=0.01)


def test_known_target_noise_errs_less():
    errors = {}
    for seed in range(40):
        noisy, y = on_a_line(300, seed)
        for known in (None, 0.04):
            coef = NoisyFeatureRegressor(GaussianNoise(0.25), strength=0.0, target_noise=known).fit(noisy, y).coef_
            errors.setdefault(known, []).append(np.sum((coef - [1.0, -2.0, 0.5]) ** 2))
    better = np.subtract(errors[None], errors[0.04])
    assert better.mean() > 2 * better.std() / np.sqrt(len(better))


def test_target_noise_that_does_not_fit_is_not_used():
    noisy, y = on_a_line()
    curved = y + noisy[:, 0] ** 2
    plain = NoisyFeatureRegressor(GaussianNoise(0.25)).fit(noisy, curved)
    with pytest.warns(RuntimeWarning, match="does not fit") as caught:
        known = NoisyFeatureRegressor(GaussianNoise(0.25), target_noise=0.04).fit(noisy, curved)
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(known.coef_, plain.coef_)


def test_target_noise_is_a_variance():
    with pytest.raises(ValueError, match="variance above 0"):
        NoisyFeatureRegressor(target_noise=0.0).fit(*on_a_line(50))


def test_columns_of_noise_alone_are_not_brought_to_the_size_of_the_others(rng):
    X = np.zeros((200, 30))
    X[:, :3] = rng.normal(size=(200, 3))
    y, copies = X[:, :3].sum(axis=1) + rng.normal(size=200) > 0, GaussianNoise(0.01).copies(X, 2, rng)
    model, scaler = NoisyFeatureClassifier().fit(copies[:, 0], y, copies=copies), StandardScaler()
    brought = LogisticRegression().fit(scaler.fit_transform(copies.mean(axis=1)), y).coef_ / scaler.scale_
    assert np.abs(model.coef_[0, 3:]).mean() < 0.7 * np.abs(brought[0, 3:]).mean()
