import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from scipy.stats import entropy
from sklearn.datasets import (
    load_digits,
    load_iris,
    make_blobs,
    make_classification,
    make_gaussian_quantiles,
    make_moons,
)
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from noisewise import FlipMatrix
from noisewise.labels import (
    RobustClassifier,
    RobustKernelFisherClassifier,
    RobustRidgeClassifier,
    RobustTreesClassifier,
)
from noisewise.labels.stacking import classifier, cost
from noisewise.labels.stacking.readings import FOLDS, read_out_of_fold
from noisewise.labels.stacking.rows import CountedRows
from noisewise.labels.trees.boosting import BoostedTrees
from noisewise.persistence import load, save

NOISE = FlipMatrix.binary(false_positive=0.1, false_negative=0.35)


def moons(n=200):
    X, y = make_moons(n, noise=0.2, random_state=0)
    return X, y, NOISE.corrupt(y, 0)


def test_predictions_are_right_where_one_label_in_four_is_not():
    X, y, observed = moons(800)
    model = RobustClassifier().fit(X[:400], observed[:400])
    plain = RandomForestClassifier(random_state=0).fit(X[:400], observed[:400]).score(X[400:], y[400:])
    assert model.score(X[400:], y[400:]) > max(0.92, plain + 0.1)
    assert abs(model.noise_.matrix - NOISE.matrix).max() < 0.12
    assert model.weights_.sum() == pytest.approx(1)
    assert model.label_quality_[observed[:400] != y[:400]].mean() < 0.3


def test_the_order_of_the_rows_does_not_matter():
    X, _, observed = moons(120)
    order = np.random.default_rng(0).permutation(120)
    one, other = RobustClassifier().fit(X, observed), RobustClassifier().fit(X[order], observed[order])
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X))
    np.testing.assert_allclose(one.label_quality_[order], other.label_quality_)


def test_a_row_of_weight_two_is_two_rows():
    X, _, observed = moons(100)
    weights = np.random.default_rng(0).integers(0, 3, 100)
    rows = np.repeat(np.arange(100), weights)
    weighted = RobustClassifier().fit(X, observed, weights)
    repeated = RobustClassifier().fit(X[rows], observed[rows])
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X))
    of_copies = np.bincount(rows, repeated.label_quality_, minlength=100)[weights > 0] / weights[weights > 0]
    np.testing.assert_allclose(weighted.label_quality_[weights > 0], of_copies)


def test_a_class_of_weight_zero_is_known_and_never_predicted():
    X, y = load_iris(return_X_y=True)
    model = RobustClassifier().fit(X, y, (y != 1).astype(float))
    assert model.classes_.tolist() == [0, 1, 2]
    assert (model.predict_proba(X)[:, 1] == 0).all()
    assert model.noise_.n_classes == 3


def test_known_noise_is_used_by_every_learner():
    X, _, observed = moons(120)
    model = RobustClassifier(noise=NOISE).fit(X, observed)
    assert model.noise_ == NOISE
    assert model.estimators_[0].noise_ == NOISE


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_frames_of_numbers_categories_and_gaps_are_encoded(library):
    X, y, observed = moons(240)
    kind = np.where(y == 1, "b", "a").astype(object)
    kind[::7] = None
    frame = library.DataFrame({"first": X[:, 0], "second": np.where(X[:, 1] > 1.2, np.nan, X[:, 1]), "kind": kind})
    model = RobustClassifier().fit(frame, observed)
    assert model.score(frame, y) > 0.95
    assert model.feature_names_in_.tolist() == ["first", "second", "kind"]


def test_missing_numbers_are_imputed_and_unexpected_ones_refused():
    X, y, observed = moons()
    gaps = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    assert RobustClassifier().fit(gaps, observed).score(gaps, y) > 0.85
    with pytest.raises(ValueError, match="contains NaN"):
        RobustClassifier().fit(X, observed).predict(gaps)


def test_sparse_rows_are_taken_as_they_are():
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    X = csr_array((rng.random((300, 40)) < 0.05 + 0.3 * np.eye(2)[y][:, np.arange(40) % 2]).astype(float))
    observed = NOISE.corrupt(y, 0)
    assert RobustClassifier().fit(X, observed).score(X, y) > (observed == y).mean() + 0.1


def rules(n=600):
    """Three classes by thresholds, as boosting finds them."""
    X = np.random.default_rng(0).uniform(size=(n, 8))
    y = np.where((X[:, 0] > 0.4) & (X[:, 1] > 0.3), 1, 0) + ((X[:, 2] > 0.6) & (X[:, 3] < 0.7))
    return X, y, FlipMatrix.symmetric(0.2, 3).corrupt(y, 0)


def kinds(models):
    return [type(getattr(getattr(one, "model", one), "model", one)).__name__ for one in models]


def test_boosting_is_a_member_where_it_predicts_labels_well():
    X, y, observed = rules()
    model = RobustClassifier().fit(X, observed)
    assert model.weights_[kinds(model.estimators_).index("BoostedTrees")] > 0.1
    assert "RobustGaussianProcessClassifier" not in kinds(model.estimators_)  # which rules are not for
    assert model.score(X, y) > (observed == y).mean() + 0.1
    digits, y = load_digits(return_X_y=True)
    without = RobustClassifier().fit(digits[:400], FlipMatrix.symmetric(0.2, 10).corrupt(y[:400], 0))
    assert "BoostedTrees" not in kinds(without.estimators_)


def test_the_gaussian_process_is_a_member_where_it_predicts_labels_well():
    X, y = make_gaussian_quantiles(n_samples=800, n_features=6, n_classes=2, random_state=0)
    model = RobustClassifier().fit(X[:300], NOISE.corrupt(y[:300], 0))
    assert model.weights_[kinds(model.estimators_).index("RobustGaussianProcessClassifier")] > 0.1
    assert model.score(X[300:], y[300:]) > 0.7


def test_an_importance_reweighted_forest_is_a_member_of_few_rows_and_of_the_first_round_only(monkeypatch):
    X, _, observed = moons(120)
    model = RobustClassifier().fit(X, observed)
    assert kinds(model.estimators_).count("Calibrated") == 2
    assert kinds(model.refits_).count("SoftForest") == 1
    monkeypatch.setattr(classifier, "FEW_ROWS", 100)
    large = RobustClassifier().fit(X, observed)
    assert kinds(large.estimators_).count("Calibrated") == 1


def test_boosting_is_for_dense_rows_and_classes_of_more_than_one_row():
    X, _, observed = rules(150)
    assert "BoostedTrees" in kinds(RobustClassifier().fit(X, observed).estimators_)
    assert "BoostedTrees" not in kinds(RobustClassifier().fit(csr_array(X), observed).estimators_)
    assert "BoostedTrees" not in kinds(RobustClassifier().fit(X, np.append(observed[1:], 7)).estimators_)


def test_both_rounds_are_means_by_the_stacking_weights_and_forests_count_thrice_in_the_second():
    X, _, observed = rules(200)
    members = [RobustRidgeClassifier(), KNeighborsClassifier(9), RobustTreesClassifier(n_estimators=20)]
    model = RobustClassifier(members).fit(X, observed)
    ridge, neighbors, trees = (one.predict_proba(X) for one in model.estimators_)
    ridge_again, trees_again = (one.predict_proba(X) for one in model.refits_)
    w = model.weights_
    first = w[0] * ridge + w[1] * neighbors + w[2] * trees
    second = (w[0] * ridge_again + 3 * w[2] * trees_again) / (w[0] + 3 * w[2])
    np.testing.assert_allclose(model.predict_proba(X), 0.25 * first + 0.75 * second)


def test_fishers_discriminant_counts_in_the_second_round_as_far_as_true_labels_are_uncertain():
    X, y = make_blobs(200, centers=[[0, 0], [9, 0]], random_state=0)
    members = [RobustRidgeClassifier(), RobustKernelFisherClassifier()]
    certain = RobustClassifier(members).fit(X, y)
    assert certain.refit_weights_[1] < 0.05
    X, y = make_blobs(200, centers=[[0, 0], [1, 0]], random_state=0)
    model = RobustClassifier(members).fit(X, NOISE.corrupt(y, 0))
    assert model.refits_[1] is model.estimators_[1]
    uncertainty = entropy(model.true_label_posterior_, base=2, axis=1).mean()
    ridge, fisher = model.weights_ * [1, 6 * uncertainty]
    np.testing.assert_allclose(model.refit_weights_, np.array([ridge, fisher]) / (ridge + fisher))


def test_fishers_discriminant_helps_where_some_hundred_labels_do_not_tell_the_flip_rates(monkeypatch):
    """Two classes that overlap, in 150 rows: without it the second round repeats the flip rates of the first."""

    def errors():
        for seed in range(2):
            rng = np.random.default_rng(seed)
            y = rng.integers(2, size=2150)
            X = rng.normal(size=(2150, 8)) + 0.45 * (2 * y[:, None] - 1)
            observed = FlipMatrix.binary(false_positive=0.4, false_negative=0.1).corrupt(y[:150], rng)
            members = [RobustRidgeClassifier(), RobustTreesClassifier(n_estimators=50), RobustKernelFisherClassifier()]
            yield 1 - RobustClassifier(members).fit(X[:150], observed).score(X[150:], y[150:])

    with_fisher = np.mean(list(errors()))
    monkeypatch.setattr(classifier, "FISHER_GAIN", 0.0)
    assert with_fisher < np.mean(list(errors())) - 0.015


def test_learners_that_take_no_weights_are_stacked_alone():
    X, y, observed = moons()
    model = RobustClassifier([KNeighborsClassifier(15), RobustKernelFisherClassifier()]).fit(X, observed)
    assert not model.refits_
    assert model.score(X, y) > 0.85


def test_a_model_file_holds_all_of_it(tmp_path):
    X, _, observed = rules(200)
    model = RobustClassifier().fit(X, observed)
    save(model, tmp_path / "model.nw")
    np.testing.assert_array_equal(load(tmp_path / "model.nw").predict_proba(X), model.predict_proba(X))


def test_twenty_thousand_rows_from_one_end_to_the_other():
    """The noise, most of the wrong labels and new rows; in seconds, by few landmarks and trees."""
    X, y = make_classification(
        23_000, 8, n_informative=5, n_clusters_per_class=1, class_sep=1.5, flip_y=0, random_state=0
    )
    train, test = slice(20_000), slice(20_000, None)
    observed = NOISE.corrupt(y[train], 0)
    members = [RobustRidgeClassifier(n_landmarks=100), RobustTreesClassifier(n_estimators=10), BoostedTrees(20)]
    model = RobustClassifier(members).fit(X[train], observed)
    assert model.score(X[test], y[test]) > 0.98
    np.testing.assert_allclose(model.noise_.matrix, NOISE.matrix, atol=0.05)
    wrong = model.label_quality_ < 0.5
    assert np.mean(observed[wrong] != y[train][wrong]) > 0.9
    assert np.mean(wrong[observed != y[train]]) > 0.9


def test_any_classifiers_may_be_the_members():
    X, y, observed = moons()
    members = [
        RobustRidgeClassifier(),
        RobustKernelFisherClassifier(),
        HistGradientBoostingClassifier(max_iter=20, random_state=0),
        LogisticRegression(),
        KNeighborsClassifier(15),  # takes no weights: of the first round only
    ]
    model = RobustClassifier(members).fit(X, observed)
    assert len(model.weights_) == 5
    assert len(model.refits_) == 4  # ridge, boosting and regression fitted again, Fisher's discriminant as it is
    assert model.score(X, y) > (observed == y).mean() + 0.1


@pytest.mark.parametrize("estimators", [[], [LinearSVC()], [StandardScaler()]])
def test_members_without_probabilities_are_refused(estimators):
    X, _, observed = moons(40)
    with pytest.raises(ValueError, match="one classifier with predict_proba or more"):
        RobustClassifier(estimators).fit(X, observed)


def test_many_classes_and_a_class_of_one_row():
    X, y = make_blobs(400, centers=40, n_features=6, cluster_std=0.5, center_box=(-9, 9), random_state=0)
    observed = FlipMatrix.symmetric(0.2, 40).corrupt(y, 0)
    observed[3] = 99
    model = RobustClassifier().fit(X, observed)
    assert (model.predict(X) == y).mean() > 0.95


def test_out_of_fold_rows_are_predicted_by_models_that_do_not_know_them():
    X, _, observed = moons(100)
    rows = CountedRows.of(X, observed, np.ones(100), np.arange(2), NOISE)
    reading = read_out_of_fold(RobustKernelFisherClassifier(), rows, None)
    own = rows.folds(FOLDS) == 2
    others = RobustKernelFisherClassifier(noise=NOISE).fit(rows.X[~own], rows.codes[~own])
    wanted = others.predict_proba(rows.X[own]) @ NOISE.matrix
    at_observed = wanted[np.arange(len(wanted)), rows.codes[own]]
    np.testing.assert_allclose(reading.likelihood[own], at_observed, rtol=0.05)


def test_copies_of_a_row_do_not_confirm_one_another():
    rng = np.random.default_rng(1)
    y = np.arange(80) % 2
    X, wrong = rng.normal(size=(80, 4)) + 3 * y[:, None], np.arange(80) % 10 == 3
    once, often = (RobustClassifier().fit(np.tile(X, (n, 1)), np.tile(y ^ wrong, n)) for n in (1, 4))
    np.testing.assert_allclose(often.noise_.matrix, once.noise_.matrix, atol=0.05)
    assert often.label_quality_[np.tile(wrong, 4)].mean() < 0.4


def test_callbacks_see_every_learner():
    pytest.importorskip("sklearn.callback")

    class Watcher:
        seen = 0

        def setup(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context):
            self.seen += context.parent is not None

        def teardown(self, estimator, context):
            pass

    X, _, observed = moons(60)
    watcher = Watcher()
    model = RobustClassifier().set_callbacks(watcher).fit(X, observed)
    fitted = {id(one) for one in (*model.estimators_, *model.refits_)}  # Fisher's discriminant once
    assert watcher.seen == len(fitted)


def test_a_long_fit_is_announced_and_a_short_one_is_not(monkeypatch, caplog):
    X, _, observed = moons(60)
    RobustClassifier().fit(X, observed)
    assert not caplog.messages
    monkeypatch.setattr(cost, "LONG", 0.0)
    RobustClassifier().fit(X, observed)
    assert "60 rows, 2 columns and 2 classes: the fit takes about 0 minutes of one core" in caplog.text
