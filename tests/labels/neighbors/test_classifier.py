"""Robust nearest neighbours: the paper's rule, weights, duplicates, sparse rows."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, make_moons
from sklearn.neighbors import KNeighborsClassifier

from noisewise import FlipMatrix
from noisewise.datasets import make_sine_2d
from noisewise.labels import RobustKNeighborsClassifier
from noisewise.labels.neighbors.votes import tally
from noisewise.labels.theory import neighbors_limit


@pytest.fixture
def moons():
    X, y = make_moons(300, noise=0.3, random_state=0)
    return X, FlipMatrix.binary(0.1, 0.3).corrupt(y, 1)


@pytest.mark.parametrize("noise", [FlipMatrix.none(2), FlipMatrix.binary(0.3, 0.3)])
def test_equal_rates_are_plain_neighbours(moons, noise):
    X, y = moons
    plain = KNeighborsClassifier(9).fit(X, y)
    robust = RobustKNeighborsClassifier(9, noise=noise).fit(X, y)
    np.testing.assert_array_equal(robust.predict(X), plain.predict(X))


def test_two_classes_follow_the_threshold(moons):
    X, y = moons
    noise = FlipMatrix.binary(0.1, 0.3)
    robust = RobustKNeighborsClassifier(10, noise=noise).fit(X, y)
    eta = KNeighborsClassifier(10).fit(X, y).predict_proba(X)[:, 1]
    np.testing.assert_array_equal(
        robust.predict(X), np.round(eta, 9) >= np.round(0.5 + (0.1 - 0.3) / 2, 9)
    )  # a tie is class 1


def test_a_tie_of_two_classes_is_class_1_as_in_print_and_in_the_theory():
    """Print: y = I[eta >= 1/2]. With two voters whose labels are 1 half of the time, so says k-NN in 3 of 4 cases."""
    quiet = FlipMatrix.none(2)
    said = [
        RobustKNeighborsClassifier(2, noise=quiet).fit([[0.0], [0.0], [9.0], [9.0]], [*pair, 0, 1]).predict([[0.0]])[0]
        for pair in ((0, 0), (0, 1), (1, 0), (1, 1))
    ]
    assert said == [0, 1, 1, 1]
    assert 1 - np.mean(said) == pytest.approx(neighbors_limit([1.0], FlipMatrix.binary(0.0, 0.5 - 1e-12), 2))


def slow_anchor_rates(X, y, k):
    """Eq. 5 and the right form of eq. 6, one row at a time: each row votes with its k nearest others."""
    fractions = []
    for i in range(len(X)):
        far = np.linalg.norm(X - X[i], axis=1)
        far[i] = -1  # itself first, whatever lies on the same spot
        fractions.append(y[np.argsort(far)[: k + 1]].mean())
    return min(fractions), 1 - max(fractions)


def test_rates_are_the_extreme_vote_fractions(moons):
    X, y = moons
    noise = RobustKNeighborsClassifier(10, 25).fit(X, y).noise_
    np.testing.assert_allclose([noise.matrix[0, 1], noise.matrix[1, 0]], slow_anchor_rates(X, y, 25))


def errors_through_asymmetric_noise(false_negative, seed):
    """Test errors of plain, robust and wrongly printed neighbours on Gao's set, and the estimated rates."""
    X, y = make_sine_2d(4000, random_state=seed)
    X_test, y_test = make_sine_2d(3000, random_state=1000 + seed)
    observed = FlipMatrix.binary(0.1, false_negative).corrupt(y, 500 + seed)
    found = RobustKNeighborsClassifier(100, 100).fit(X, observed).noise_
    swapped = FlipMatrix.binary(found.matrix[1, 0], found.matrix[0, 1])
    models = [RobustKNeighborsClassifier(100, noise=noise) for noise in (FlipMatrix.none(2), found, swapped)]
    return [1 - model.fit(X, observed).score(X_test, y_test) for model in models] + [
        found.matrix[1, 0] - found.matrix[0, 1]
    ]


@pytest.mark.parametrize(("false_negative", "plain_error", "robust_error"), [(0.3, 0.340, 0.310), (0.4, 0.386, 0.315)])
def test_asymmetric_noise_is_undone_in_the_right_direction(false_negative, plain_error, robust_error):
    """Figure 1 (a): 100 voters converge to the wrong rule. The printed eq. 6 corrects it the wrong way.

    Ties of the voters are class 1; were they class 0, plain votes would err in 0.401 of the rows at a rate of 0.4.
    """
    runs = [errors_through_asymmetric_noise(false_negative, seed) for seed in range(5)]
    plain, robust, printed, asymmetry = np.mean(runs, axis=0)
    assert plain == pytest.approx(plain_error, abs=0.01)
    assert robust <= robust_error + 0.005
    assert printed > plain + 0.03
    assert asymmetry > 0.1


@pytest.mark.parametrize("rate", [0.1, 0.2, 0.3])
def test_one_neighbour_stays_inconsistent_under_symmetric_noise(rate):
    """Figure 1 (c): rate + (1 - 2 rate) E[2 eta (1 - eta)], where the mean is 3/8 on this set."""
    errors = []
    for seed in range(5):
        X, y = make_sine_2d(4000, random_state=seed)
        X_test, y_test = make_sine_2d(10_000, random_state=1000 + seed)
        noise = FlipMatrix.symmetric(rate, 2)
        model = RobustKNeighborsClassifier(1, noise=noise).fit(X, noise.corrupt(y, 500 + seed))
        errors.append(1 - model.score(X_test, y_test))
    assert np.mean(errors) == pytest.approx(rate + (1 - 2 * rate) * 3 / 8, abs=0.01)


def test_leaving_one_out_is_refitting_without_the_row(moons):
    X, y = moons
    model = RobustKNeighborsClassifier(7, noise=FlipMatrix.binary(0.1, 0.3)).fit(X, y)
    for i in (0, 17, 150):
        others = np.arange(len(X)) != i
        refitted = RobustKNeighborsClassifier(7, noise=model.noise).fit(X[others], y[others])
        np.testing.assert_allclose(model.leave_one_out_proba()[i], refitted.predict_proba(X[[i]])[0])


def test_duplicates_leave_out_the_row_itself():
    X, y = np.zeros((6, 1)), np.array([0, 1, 1, 1, 1, 1])
    p = RobustKNeighborsClassifier(5, noise=FlipMatrix.none(2)).fit(X, y).leave_one_out_proba()
    np.testing.assert_allclose(p[:, 0], [0.0, 0.2, 0.2, 0.2, 0.2, 0.2])


def test_votes_stop_when_the_weight_is_together():
    votes = tally(np.array([[2, 0, 1]]), np.array([0, 1, 2]), np.array([0.5, 4.0, 2.0]), np.array([1, 3, 9]), 3)
    np.testing.assert_allclose(votes[:, 0], [[0, 0, 1], [0.5, 0.5, 2], [0.5, 4, 2]])


def test_weights_count_rows(moons, rng):
    X, y = moons
    weights = rng.integers(0, 4, len(X))
    weighted = RobustKNeighborsClassifier(12).fit(X, y, sample_weight=weights)
    repeated = RobustKNeighborsClassifier(12).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X))


def test_light_rows_look_further(moons):
    X, y = moons
    light = RobustKNeighborsClassifier(3, noise=FlipMatrix.none(2)).fit(X, y, sample_weight=np.full(len(X), 0.1))
    plain = KNeighborsClassifier(30).fit(X, y)
    np.testing.assert_allclose(light.predict_proba(X), plain.predict_proba(X))


@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csr_array, sparse.csc_array])
def test_sparse_rows_equal_dense_rows(container):
    X, y = load_digits(return_X_y=True)
    X, y = X[:400] * np.random.default_rng(0).uniform(0.9, 1.1, (400, 64)), y[:400]  # no equal distances
    dense = RobustKNeighborsClassifier().fit(X, y)
    thin = RobustKNeighborsClassifier().fit(container(X), y)
    np.testing.assert_array_equal(thin.predict(container(X)), dense.predict(X))


def test_pair_flips_of_ten_classes_are_undone():
    X, y = load_digits(return_X_y=True)
    noise = FlipMatrix(0.6 * np.eye(10) + 0.4 * np.roll(np.eye(10), 1, axis=1))
    observed = noise.corrupt(y, 0)
    plain = KNeighborsClassifier(21).fit(X[:1000], observed[:1000]).score(X[1000:], y[1000:])
    robust = RobustKNeighborsClassifier(21).fit(X[:1000], observed[:1000])
    assert robust.score(X[1000:], y[1000:]) > plain + 0.03


def test_label_quality_and_suggestions_explain_the_observed_label(moons):
    X, y = moons
    model = RobustKNeighborsClassifier().fit(X[:200], np.array(["no", "yes"])[y[:200]])
    quality = model.label_quality(X[200:], ["yes"] * 100)
    explained = model.noise_.explain(model.predict_proba(X[200:]), np.ones(100, dtype=int))
    np.testing.assert_allclose(quality, explained[:, 1])
    np.testing.assert_array_equal(model.suggest(X[200:], ["yes"] * 100) == "yes", quality >= 0.5)
    with pytest.raises(ValueError, match="'maybe' was not seen"):
        model.label_quality(X[:1], ["maybe"])


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"n_neighbors": 301}, "n_neighbors is 301"),
        ({"n_neighbors": 2.5}, "whole number"),
        ({"n_anchor_neighbors": 300}, "n_anchor_neighbors is 300"),
    ],
)
def test_impossible_parameters_get_a_sentence(moons, change, sentence):
    with pytest.raises(ValueError, match=sentence):
        RobustKNeighborsClassifier(**change).fit(*moons)


@pytest.mark.parametrize(("weight", "sentence"), [(-1.0, "negative"), (0.0, "at least one non-zero")])
def test_impossible_weights_get_a_sentence(moons, weight, sentence):
    X, y = moons
    with pytest.raises(ValueError, match=sentence):
        RobustKNeighborsClassifier().fit(X, y, sample_weight=np.full(len(X), weight))


def test_weights_that_are_fractions_count_as_rows():
    X, y = make_moons(200, noise=0.2, random_state=0)
    fractions = RobustKNeighborsClassifier().fit(X, y, sample_weight=np.full(200, 1 / 200))
    np.testing.assert_allclose(fractions.predict_proba(X), RobustKNeighborsClassifier().fit(X, y).predict_proba(X))


def test_masks_and_fractions_are_no_row_numbers():
    X, y = make_moons(200, noise=0.2, random_state=0)
    model = RobustKNeighborsClassifier().fit(X, y)
    for rows in (np.ones(200, dtype=bool), [1.5]):
        with pytest.raises(ValueError, match="numbers of rows are needed"):
            model.forget(rows)


def test_a_rare_class_is_not_taken_for_noise():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [300, 300, 8])
    X = rng.normal(size=(len(y), 2)) + np.array([[0, 0], [6, 0], [3, 9]])[y]
    model = RobustKNeighborsClassifier(n_neighbors=5).fit(X, y)
    np.testing.assert_array_equal(model.noise_.matrix[2], [0, 0, 1])
    assert model.score(X, y) == KNeighborsClassifier(5).fit(X, y).score(X, y)
