"""Corrected metrics: unbiased over the noise, intervals that cover, scikit-learn's own without noise."""

import numpy as np
import pytest
from sklearn import metrics as plain
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score, train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from helpers import assert_biased, assert_unbiased
from noisewise import FlipMatrix
from noisewise.labels import RobustKNeighborsClassifier
from noisewise.metrics import (
    Score,
    corrected_accuracy,
    corrected_balanced_accuracy,
    corrected_f1,
    corrected_log_loss,
    corrected_roc_auc,
    make_corrected_scorer,
)

TWO = FlipMatrix.binary(false_positive=0.1, false_negative=0.3)
THREE = FlipMatrix([[0.7, 0.3, 0.0], [0.05, 0.85, 0.1], [0.2, 0.0, 0.8]])
NOISES = pytest.mark.parametrize("noise", [TWO, THREE], ids=["two", "three"])


def by_average(score, y, p, **options):
    return score(y, p.argmax(axis=1), average="binary" if p.shape[1] == 2 else "macro", **options)


def by_guess(score, y, p, **options):
    return score(y, p.argmax(axis=1), **options)


def by_score(score, y, p, **options):
    return score(y, p[:, 1] if p.shape[1] == 2 else p, **options)


METRICS = {
    "accuracy": (corrected_accuracy, plain.accuracy_score, by_guess),
    "balanced_accuracy": (corrected_balanced_accuracy, plain.balanced_accuracy_score, by_guess),
    "f1": (corrected_f1, plain.f1_score, by_average),
    "log_loss": (corrected_log_loss, plain.log_loss, by_score),
    "roc_auc": (corrected_roc_auc, lambda y, s, **o: plain.roc_auc_score(y, s, multi_class="ovr", **o), by_score),
}
EACH_METRIC = pytest.mark.parametrize("metric", METRICS)


def draw_rows(n, n_classes, rng):
    """True labels of unequal classes, and probabilities from a decent model."""
    y = rng.choice(n_classes, n, p=[0.65, 0.35] if n_classes == 2 else [0.5, 0.3, 0.2])
    logits = rng.normal(size=(n, n_classes))
    logits[np.arange(n), y] += 1.5
    return y, np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)


def score(metric, y, p, **options):
    corrected, _, call = METRICS[metric]
    return call(corrected, y, p, **options)


def clean_score(metric, y, p, **options):
    _, known, call = METRICS[metric]
    return call(known, y, p, **options)


def covers(found, truth):
    return found.interval[0] <= truth <= found.interval[1]


@EACH_METRIC
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_without_noise_it_is_the_usual_score(metric, n_classes, weighted, rng):
    y, p = draw_rows(200, n_classes, rng)
    p = p.round(1) / p.round(1).sum(axis=1, keepdims=True) if metric == "roc_auc" else p  # ties too
    weights = rng.uniform(0.1, 3, 200) if weighted else None
    found = score(metric, y, p, noise=FlipMatrix.none(n_classes), sample_weight=weights)
    assert found.value == pytest.approx(clean_score(metric, y, p, sample_weight=weights), abs=1e-12)
    assert found.interval == pytest.approx((found.value, found.value), abs=1e-7)


@EACH_METRIC
@NOISES
def test_values_are_unbiased_and_intervals_cover(metric, noise, rng):
    """Over corruptions of the same rows, of any weight; the plain score is biased."""
    y, p = draw_rows(400, noise.n_classes, rng)
    weights = rng.uniform(0, 2, 400)
    truth = score(metric, y, p, noise=FlipMatrix.none(noise.n_classes), sample_weight=weights).value
    observed = [noise.corrupt(y, rng) for _ in range(300)]
    found = [score(metric, labels, p, noise=noise, sample_weight=weights) for labels in observed]
    assert_unbiased([one.value for one in found], truth)
    assert 0.9 < np.mean([covers(one, truth) for one in found]) < 0.99
    assert_biased([clean_score(metric, labels, p) for labels in observed[:30]], clean_score(metric, y, p), sigmas=10)


@pytest.mark.slow
@EACH_METRIC
@NOISES
def test_two_thousand_corruptions_show_no_bias(metric, noise, rng):
    y, p = draw_rows(400, noise.n_classes, rng)
    truth = clean_score(metric, y, p)
    found = [score(metric, noise.corrupt(y, rng), p, noise=noise) for _ in range(2000)]
    assert_unbiased([one.value for one in found], truth)
    assert 0.93 < np.mean([covers(one, truth) for one in found]) < 0.97


def test_two_thousand_corruptions_show_no_bias_of_accuracy(rng):
    y, p = draw_rows(400, 2, rng)
    found = [corrected_accuracy(TWO.corrupt(y, rng), p.argmax(axis=1), noise=TWO) for _ in range(2000)]
    truth = clean_score("accuracy", y, p)
    assert_unbiased([one.value for one in found], truth)
    assert 0.93 < np.mean([covers(one, truth) for one in found]) < 0.97


def covers_new_rows(metric, noise, n, runs, rng):
    truth = clean_score(metric, *draw_rows(300_000, noise.n_classes, rng))
    hits = []
    for _ in range(runs):
        y, p = draw_rows(n, noise.n_classes, rng)
        hits.append(covers(score(metric, noise.corrupt(y, rng), p, noise=noise, population=True), truth))
    return np.mean(hits)


def covers_with_estimated_rates(metric, noise, n, runs, checked, rng, known=True):
    y, p = draw_rows(n, noise.n_classes, rng)
    truth, hits = clean_score(metric, y, p), []
    for _ in range(runs):
        counts = np.stack([rng.multinomial(checked, rates) for rates in noise.matrix])
        estimate = FlipMatrix(counts / checked)
        uncertainty = counts if known else None
        labels = noise.corrupt(y, rng)
        hits.append(covers(score(metric, labels, p, noise=estimate, noise_uncertainty=uncertainty), truth))
    return np.mean(hits)


@pytest.mark.parametrize("metric", ["accuracy", "roc_auc"])
def test_population_intervals_cover_the_score_of_the_distribution(metric, rng):
    assert 0.9 < covers_new_rows(metric, TWO, 300, 300, rng) < 0.99


@pytest.mark.parametrize("metric", ["f1", "log_loss"])
def test_intervals_allow_for_rates_that_were_estimated(metric, rng):
    assert 0.9 < covers_with_estimated_rates(metric, TWO, 1000, 300, 200, rng) < 0.99
    assert covers_with_estimated_rates(metric, TWO, 1000, 200, 100, rng, known=False) < 0.88


@pytest.mark.slow
@EACH_METRIC
@NOISES
def test_every_interval_covers(metric, noise, rng):
    assert 0.93 < covers_new_rows(metric, noise, 500, 3000, rng) < 0.97
    assert 0.93 < covers_with_estimated_rates(metric, noise, 1000, 3000, 200, rng) < 0.97


@EACH_METRIC
@NOISES
def test_rate_gradients_are_derivatives(metric, noise, rng):
    """A covariance of one direction of the flip matrix gives the finite difference there as standard deviation."""
    y, p = draw_rows(3000, noise.n_classes, rng)
    observed = noise.corrupt(y, rng)
    direction = np.zeros_like(noise.matrix)
    direction[0, :2], step = [-1, 1], 1e-5
    values = [
        score(metric, observed, p, noise=FlipMatrix(noise.matrix + sign * step * direction)).value for sign in (1, -1)
    ]
    derivative = abs(values[0] - values[1]) / (2 * step)
    size = 1e-4  # small, so that the interval is not clipped
    without = score(metric, observed, p, noise=noise)
    covariance = size**2 * np.outer(direction, direction)
    found = score(metric, observed, p, noise=noise, noise_uncertainty=covariance)
    squares = [np.ptp(one.interval) ** 2 / (2 * 1.959964) ** 2 for one in (found, without)]
    assert np.sqrt(squares[0] - squares[1]) == pytest.approx(size * derivative, rel=0.02)


def test_binary_area_is_affine_in_the_noisy_area(rng):
    """1/2 + (noisy - 1/2) / (1 - a - b); a, b: fractions of wrong labels among observed positives and negatives."""
    y, p = draw_rows(20_000, 2, rng)
    observed = TWO.corrupt(y, rng)
    noisy_prior = observed.mean()
    prior = (noisy_prior - 0.1) / (1 - 0.1 - 0.3)
    wrong = (1 - prior) * 0.1 / noisy_prior + prior * 0.3 / (1 - noisy_prior)
    expected = 0.5 + (plain.roc_auc_score(observed, p[:, 1]) - 0.5) / (1 - wrong)
    assert corrected_roc_auc(observed, p[:, 1], noise=TWO).value == pytest.approx(expected, abs=1e-4)


def test_checked_rows_per_class_are_counts_at_the_rates(rng):
    y, p = draw_rows(500, 2, rng)
    observed, guess = TWO.corrupt(y, rng), p.argmax(axis=1)
    by_number = corrected_accuracy(observed, guess, noise=TWO, noise_uncertainty=[100, 200])
    by_counts = corrected_accuracy(observed, guess, noise=TWO, noise_uncertainty=[[90, 10], [60, 140]])
    assert by_number.interval == pytest.approx(by_counts.interval)
    assert np.ptp(by_number.interval) > 1.05 * np.ptp(corrected_accuracy(observed, guess, noise=TWO).interval)


def test_a_score_is_a_pair_and_a_float():
    found = corrected_accuracy([0, 1, 1, 0], [0, 1, 1, 1], noise=FlipMatrix.none(2))
    value, (low, high) = found
    assert isinstance(found, Score)
    assert float(found) == value == found.value == 0.75
    assert low <= value <= high


def test_wider_confidence_wider_interval(rng):
    y, p = draw_rows(300, 2, rng)
    observed = TWO.corrupt(y, rng)
    widths = [
        np.ptp(corrected_accuracy(observed, p.argmax(axis=1), noise=TWO, confidence=c).interval)
        for c in (0.5, 0.7, 0.9)
    ]
    assert widths[0] < widths[1] < widths[2]


@pytest.mark.parametrize("names", [["no", "yes"], [("a", 1), ("b", 2)], [False, True], [-1, 1], [1, 2]])
@EACH_METRIC
def test_labels_are_any_hashables(metric, names, rng):
    y, p = draw_rows(300, 2, rng)
    observed = TWO.corrupt(y, rng)
    corrected = METRICS[metric][0]
    by_label = metric in ("accuracy", "balanced_accuracy", "f1")
    shown = [names[code] for code in p.argmax(axis=1)] if by_label else p[:, 1]
    found = corrected([names[code] for code in observed], shown, noise=TWO)
    assert found == score(metric, observed, p, noise=TWO)


def test_classes_give_the_order_of_the_flip_matrix(rng):
    y, p = draw_rows(300, 2, rng)
    observed, guess = TWO.corrupt(y, rng), p.argmax(axis=1)
    reversed_order = corrected_f1(1 - observed, 1 - guess, noise=TWO, classes=[1, 0], pos_label=0)
    assert reversed_order.value == pytest.approx(corrected_f1(observed, guess, noise=TWO).value)
    names = np.array(["no", "yes"])
    only_no = corrected_accuracy(["no"] * 3, ["no"] * 3, noise=TWO, classes=names)
    assert only_no.value == pytest.approx(0.7 / 0.6)


def test_numbers_below_the_number_of_classes_need_no_names():
    assert corrected_accuracy([0, 0], [0, 2], noise=FlipMatrix.none(3)).value == 0.5


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: corrected_accuracy([0, 1], [0, 1, 1], noise=TWO), "2 and 3 labels"),
        (lambda: corrected_accuracy([0, 1], [0, 1], noise=FlipMatrix.binary(0.4, 0.6)), "sum to 1.00"),
        (lambda: corrected_accuracy([0, 1], [0, 1], noise=0.2), "must be a FlipMatrix"),
        (lambda: corrected_accuracy(["a", "b"], ["a", "c"], noise=TWO), "name all with `classes=`"),
        (lambda: corrected_accuracy(["a"], ["a"], noise=TWO), "the labels have 1"),
        (lambda: corrected_accuracy(["a", "b"], ["a", "c"], noise=TWO, classes=["a", "b"]), "'c' is not among"),
        (lambda: corrected_accuracy([0, 1], [0, 1], noise=TWO, classes=[0, 1, 2]), "names 3"),
        (lambda: corrected_accuracy([0, 1], [0, 1], noise=TWO, classes=[0, 0]), "twice"),
        (lambda: corrected_accuracy([0, np.nan], [0, 1], noise=TWO), "missing"),
        (lambda: corrected_accuracy([0, 1], [0, 1], noise=TWO, sample_weight=[0, 0]), "at least one non-zero"),
        (lambda: corrected_accuracy([0, 1], [0, 1], noise=TWO, sample_weight=[1, -1]), "negative"),
        (lambda: corrected_accuracy([0, 1], [0, 1], noise=TWO, sample_weight=[1]), "one finite weight for each"),
        (lambda: corrected_accuracy([0, 1], [0, 1], noise=TWO, confidence=95), "confidence is 95"),
        (lambda: corrected_accuracy([0, 1], [0, 1], noise=TWO, noise_uncertainty=[1, 2, 3]), "shape"),
        (lambda: corrected_accuracy([0, 1], [0, 1], noise=TWO, noise_uncertainty=[1, 0]), "never checked"),
        (lambda: corrected_balanced_accuracy([0, 0, 0], [0, 1, 0], noise=TWO), "class 1 has"),
        (lambda: corrected_roc_auc([0, 0, 0], [0.1, 0.2, 0.3], noise=TWO), "class 1 has"),
        (lambda: corrected_roc_auc([0, 1], [0.1, np.inf], noise=TWO), "infinite"),
        (lambda: corrected_roc_auc([0, 1], [[0.1], [0.2]], noise=THREE), r"must be \(2, 3\)"),
        (lambda: corrected_log_loss([0, 1], [0.1, 1.2], noise=TWO), "outside 0 and 1"),
        (lambda: corrected_log_loss([0, 1], [[0.1, 0.1], [0.5, 0.5]], noise=TWO), "sum to 1"),
        (lambda: corrected_f1([0, 1, 2], [0, 1, 2], noise=THREE), "name one with pos_label"),
        (lambda: corrected_f1([0, 1], [0, 1], noise=TWO, pos_label=7), "pos_label 7"),
        (lambda: corrected_f1([0, 1], [0, 1], noise=TWO, average="micro"), "macro"),
        (lambda: corrected_f1([0, 0, 0], [0, 0, 0], noise=TWO), "never predicted"),
        (lambda: make_corrected_scorer(TWO, "brier"), "one of accuracy"),
        (lambda: make_corrected_scorer(0.2), "must be a FlipMatrix"),
        (lambda: make_corrected_scorer(TWO, "log_loss")(LinearSVC(), np.ones((2, 1)), [0, 1]), "no predict_proba"),
    ],
)
def test_impossible_input_is_refused(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


@EACH_METRIC
def test_a_scorer_is_its_metric_on_the_models_predictions(metric):
    X, y = load_breast_cancer(return_X_y=True)
    names = np.array(["bad", "good"])
    observed = names[TWO.corrupt(y, 0)]
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X[:400], observed[:400])
    found = make_corrected_scorer(TWO, metric)(model, X[400:], observed[400:])
    sign = -1 if metric == "log_loss" else 1
    options = {"noise": TWO, "classes": names}
    corrected, _, call = METRICS[metric]
    p = model.predict_proba(X[400:])
    predictions = (names[p.argmax(axis=1)],) if call is not by_score else (p[:, 1],)
    assert found == sign * corrected(observed[400:], *predictions, **options).value


def test_scorers_work_in_cross_validation():
    X, y = load_digits(return_X_y=True)
    noise = FlipMatrix.symmetric(0.3, 10)
    observed = np.array([f"digit {code}" for code in range(10)])[noise.corrupt(y, 0)]
    scorer = make_corrected_scorer(noise, "f1", average="macro")
    model = RobustKNeighborsClassifier(15)
    scores = cross_val_score(model, X, observed, scoring=scorer, cv=3)
    guessed = [int(name[-1]) for name in cross_val_predict(model, X, observed, cv=3)]
    assert np.mean(scores) == pytest.approx(plain.f1_score(y, guessed, average="macro"), abs=0.03)
    assert clone(GridSearchCV(LogisticRegression(), {"C": [1]}, scoring=scorer)).scoring == scorer


def test_the_corrected_scorer_picks_the_model_that_is_better_on_clean_labels():
    """False negatives make a model with too few positive predictions look good on noisy labels."""
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    noise = FlipMatrix.binary(false_positive=0.0, false_negative=0.45)
    train, valid = train_test_split(np.arange(len(y)), test_size=0.5, random_state=0, stratify=y)
    observed = noise.corrupt(y, 2)
    chosen = {}
    for name, scoring in {"plain": "accuracy", "corrected": make_corrected_scorer(noise)}.items():
        search = GridSearchCV(
            RobustKNeighborsClassifier(25),
            {"noise": [FlipMatrix.none(2), noise]},
            scoring=scoring,
            cv=[(train, valid)],
            refit=False,
        )
        chosen[name] = search.fit(X, observed).best_params_["noise"]
    on_clean = {
        name: RobustKNeighborsClassifier(25, noise=picked).fit(X[train], observed[train]).score(X[valid], y[valid])
        for name, picked in chosen.items()
    }
    assert chosen["corrected"] == noise
    assert chosen["plain"] != noise
    assert on_clean["corrected"] > on_clean["plain"] + 0.1


def test_a_flip_matrix_that_contradicts_the_labels_gets_a_warning():
    y = np.arange(1000) % 2
    with pytest.warns(RuntimeWarning, match="does not fit"):
        corrected_accuracy(y, y, noise=FlipMatrix.symmetric(0.3, 2))
