"""The audit of any model's probabilities, and its two readings of a wrong label."""

import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import softmax
from sklearn.datasets import load_digits, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from benchmark_scripts import benchmark
from noisewise import FlipMatrix, audit_labels, audit_probabilities
from noisewise.audit.probabilities import better_order
from noisewise.noise import read_judgements, read_noise
from noisewise.noise.calibration.judgement import (
    LEAST_PROBABILITY,
    MOST_SHARPNESS,
    _calibrated,
    couple,
    flips_of,
    sharpened,
    sharpness_for,
)

REAL = Path(os.environ.get("NOISEWISE_DATA", "")) / "real_noise"
needs_real_noise = pytest.mark.skipif(
    "NOISEWISE_DATA" not in os.environ or not REAL.is_dir(), reason="NOISEWISE_DATA names no folder with real_noise"
)


def simulated(n=600, n_classes=3, noise_rate=0.2, seed=0, margin=4.0):
    """Probabilities of a model that knows the truth well, noisy labels and true ones."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_classes, n)
    scores = rng.normal(size=(n, n_classes))
    scores[np.arange(n), truth] += margin
    observed = FlipMatrix.symmetric(noise_rate, n_classes).corrupt(truth, rng)
    return softmax(scores, axis=1), observed, truth


def out_of_fold(model, X, y):
    return cross_val_predict(model, X, y, cv=5, method="predict_proba")


def f1(picked, wrong):
    return 2 * wrong[picked].sum() / (len(picked) + wrong.sum())


def same(one, other, order=slice(None), atol=1e-6):
    """Two audits agree, but for rounding, where `order` takes the classes of the first to those of the other."""
    np.testing.assert_allclose(one.posterior[:, order], other.posterior, atol=atol)
    np.testing.assert_allclose(one.noise.matrix[order][:, order], other.noise.matrix, atol=atol)
    n = len(one.observed)
    for name, reading in one.readings.items():
        theirs = other.readings[name].expected_errors
        np.testing.assert_allclose(float(reading.expected_errors), float(theirs), atol=n * atol)
        np.testing.assert_allclose(reading.expected_errors.interval, theirs.interval, atol=n * atol)


@pytest.fixture(scope="module")
def digits():
    """Digits, 20 % of the labels wrong at random, and out-of-fold probabilities of two models."""
    X, truth = load_digits(return_X_y=True)
    y = FlipMatrix.symmetric(0.2, 10).corrupt(truth, 0)
    models = LogisticRegression(C=0.2, max_iter=300), GaussianNB(var_smoothing=0.1)
    return [out_of_fold(model, X / 16, y) for model in models], y, truth


# the mathematics


def exact_coupling(c, q):
    """Joint distribution of (z, t) with marginals c and q that agree as often as possible, cell by cell."""
    joint = np.diag(np.minimum(c, q))
    left, right = np.maximum(c - q, 0), np.maximum(q - c, 0)
    for z, t in product(range(len(c)), repeat=2):
        if left.sum() > 0:
            joint[z, t] += left[z] * right[t] / left.sum()
    return joint


@pytest.mark.parametrize("sharpness", [1.0, 1.5, 3.0, 20.0])
@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_the_truth_follows_the_maximal_coupling(sharpness, n_classes):
    c = np.random.default_rng(0).dirichlet(np.ones(n_classes), 40)
    q = sharpened(c, sharpness)
    given = [couple(c, np.tile(row, (40, 1)), sharpness, 0.0) for row in np.eye(n_classes)]  # P(t | z), z by z
    for i in range(40):
        joint = exact_coupling(c[i], q[i])
        np.testing.assert_allclose(joint.sum(axis=0), q[i])
        np.testing.assert_allclose(np.trace(joint), 1 - np.abs(c[i] - q[i]).sum() / 2)  # none agrees more often
        np.testing.assert_allclose([one[i] for one in given], joint / c[i][:, None], atol=1e-10)


@pytest.mark.parametrize("independence", [0.0, 0.3, 1.0])
def test_the_truth_has_the_sharpened_distribution_on_average(independence):
    c = np.random.default_rng(1).dirichlet([0.5, 1, 2, 4], 60)
    truth = couple(c, c, 3.0, independence)  # z drawn from c
    np.testing.assert_allclose(truth, sharpened(c, 3.0), atol=1e-12)
    np.testing.assert_allclose(truth.sum(axis=1), 1)


def test_without_sharpness_and_independence_the_judged_label_is_the_truth():
    rng = np.random.default_rng(2)
    c, label = rng.dirichlet(np.ones(5), 50), rng.dirichlet(np.ones(5), 50)
    np.testing.assert_allclose(couple(c, label, 1.0, 0.0), label, atol=1e-12)
    np.testing.assert_allclose(couple(c, label, 1.0, 1.0), c, atol=1e-12)


def test_sharpened_rows_are_powers():
    c = np.random.default_rng(3).dirichlet(np.ones(4), 30)
    np.testing.assert_allclose(sharpened(c, 2.5), c**2.5 / (c**2.5).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(sharpened(c, 1.0), c)
    np.testing.assert_allclose(sharpened(np.array([[1.0, 0.0]]), 3.0), [[1, 0]], atol=1e-30)


@pytest.mark.parametrize("error", [0.05, 0.1, 0.2])
def test_the_sharpness_leaves_the_mode_wrong_as_often_as_stated(error):
    c = np.random.default_rng(4).dirichlet(np.ones(3), 3000)
    found = sharpness_for(c, error)
    assert 1 < found < MOST_SHARPNESS
    assert sharpened(c, found).max(axis=1).mean() == pytest.approx(1 - error, abs=1e-3)
    assert sharpness_for(c, 0.99) == 1
    assert sharpness_for(c, 0.0) == MOST_SHARPNESS


@pytest.mark.parametrize("rate", [0.0, 0.25])
def test_the_temperature_has_the_largest_likelihood(rate):
    p, observed, _ = simulated(2000, 4, rate, seed=5)
    matrix = FlipMatrix.symmetric(rate, 4).matrix
    flat = p**0.6 / (p**0.6).sum(axis=1, keepdims=True)  # a model that is too little sure of itself

    def scaled(power):
        powers = np.maximum(flat, LEAST_PROBABILITY / 4) ** power
        return powers / powers.sum(axis=1, keepdims=True)

    def loss(power):
        return -np.log((scaled(power) @ matrix)[np.arange(len(flat)), observed]).sum()

    best = minimize_scalar(loss, bounds=(0.1, 12), method="bounded", options={"xatol": 1e-8}).x
    np.testing.assert_allclose(_calibrated(flat, observed, matrix), scaled(best), atol=1e-4)


def test_flips_are_counted_by_the_posterior():
    rng = np.random.default_rng(6)
    codes = rng.integers(0, 3, 200)
    posterior = (0.3 * rng.dirichlet(np.ones(3), 200) + 0.7 * np.eye(3)[codes]).astype(np.float32)
    counts = np.array([[posterior[codes == k, j].sum(dtype=np.float64) for k in range(3)] for j in range(3)])
    flips, std = flips_of(posterior, codes)
    np.testing.assert_allclose(flips.matrix, counts / counts.sum(axis=1, keepdims=True), rtol=1e-6)
    assert (std > 0).all()
    wider, _ = flips_of(np.column_stack([posterior, np.zeros(200)]), codes)
    np.testing.assert_allclose(wider.matrix[:3, :3], flips.matrix)
    np.testing.assert_array_equal(wider.matrix[3], [0, 0, 0, 1])  # no row carries this class: nothing is known of it


# what goes in


def test_several_arrays_in_any_order_give_the_same(digits):
    (one, other), y, _ = digits
    both = audit_probabilities([one, other], y)
    same(both, audit_probabilities([other, one], y), atol=2e-6)
    same(both, audit_probabilities({"nb": other, "lr": one}, y), atol=2e-6)
    same(both, audit_probabilities(np.stack([one, other]), y))


def test_an_array_given_twice_says_that_models_do_not_err():
    p, y, truth = simulated(noise_rate=0.3)
    once, twice = audit_probabilities(p, y), audit_probabilities([p, p], y)
    np.testing.assert_allclose(*(audit.readings["outcomes"].posterior for audit in (once, twice)), atol=1e-6)
    judged = [read_judgements(arrays, y, read_noise(p, y)) for arrays in ([p], [p, p])]
    assert judged[1].sharpness > 2 * judged[0].sharpness  # no disagreement: hardly any error of their own
    assert f1(twice.picked, y != truth) > f1(once.picked, y != truth) - 0.02


def test_logits_are_recognised_and_normalised():
    p, y, _ = simulated()
    audit = audit_probabilities(np.log(p) + np.arange(len(p))[:, None], y)
    same(audit_probabilities(p, y), audit)
    assert "logits were given, and normalised to probabilities" in audit.notes
    assert not any("logits" in note for note in audit_probabilities(p, y).notes)


def test_numbers_below_zero_by_rounding_are_no_logits():
    p, y, _ = simulated()
    p[0] = [1 + 1e-9, -1e-9, 0]
    assert not any("logits" in note for note in audit_probabilities(p, y).notes)


def test_what_is_given_stays_as_it_is():
    p, y, _ = simulated()
    for given in (p.astype(np.float32), p):
        before = given.copy()
        audit_probabilities([given, given[:, ::-1]], y)
        audit_probabilities(given, y)
        np.testing.assert_array_equal(given, before)


@pytest.mark.parametrize("n_classes", [2, 200])
def test_few_and_many_classes_are_read(n_classes):
    p, y, truth = simulated(120 if n_classes == 2 else 2500, n_classes, margin=5.0)
    audit = audit_probabilities(p, y)
    np.testing.assert_allclose(audit.posterior.sum(axis=1), 1, atol=1e-4)
    low, high = audit.expected_errors.interval
    assert low <= np.sum(y != truth) <= high
    assert f1(audit.picked, y != truth) > (0.6 if n_classes == 2 else 0.9)


@pytest.mark.parametrize(
    "names",
    [["ant", "bee", "cat"], [5, 7, 11], [True, 1.5, "one"], [("a", 1), ("a", 2), ("b", 1)]],
    ids=["text", "numbers", "mixed", "tuples"],
)
def test_labels_may_be_of_any_kind(names):
    p, y, _ = simulated(300)
    labels = [names[code] for code in y]
    audit = audit_probabilities(p, labels, classes=names)
    same(audit, audit_probabilities(p, y))
    assert audit.classes.tolist() == names
    assert set(audit.suggested.tolist()) <= set(names)


def test_without_classes_labels_are_sorted_or_are_the_columns():
    p, y, _ = simulated(300)
    same(audit_probabilities(p, y), audit_probabilities(p, np.array(["a", "b", "c"])[y]))
    wider = np.column_stack([p, np.full(300, 1e-9)])  # a class that no row carries
    assert audit_probabilities(wider / wider.sum(axis=1, keepdims=True), y.astype(np.uint8)).classes.tolist() == [
        0,
        1,
        2,
        3,
    ]


def test_permuted_columns_give_the_permuted_result():
    p, y, _ = simulated(1500, 4)
    order = np.array([2, 0, 3, 1])
    one = audit_probabilities(p, y, classes=[0, 1, 2, 3])
    other = audit_probabilities(p[:, order], y, classes=order)
    same(one, other, order, atol=1e-5)
    np.testing.assert_array_equal(one.suggested, other.suggested)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_frames_say_the_order_of_the_classes_by_their_columns(frame):
    p, y, _ = simulated(300)
    labels = np.array(["wolf", "ant", "bee"])[y]
    audit = audit_probabilities(frame(dict(zip(["wolf", "ant", "bee"], p.T))), labels)
    assert audit.classes.tolist() == ["wolf", "ant", "bee"]
    same(audit, audit_probabilities(p, y))
    same(audit_probabilities(frame(dict(zip("xyz", p.T))), y), audit_probabilities(p, y))
    with pytest.raises(ValueError, match="different columns"):
        audit_probabilities(
            [frame(dict(zip(order, p.T))) for order in (["wolf", "ant", "bee"], ["bee", "ant", "wolf"])], labels
        )


@pytest.mark.parametrize(("dtype", "atol"), [(np.float16, 0.01), (np.float32, 1e-4)])
def test_half_and_single_precision_will_do(dtype, atol):
    p, y, _ = simulated()
    same(audit_probabilities(p, y), audit_probabilities(p.astype(dtype), y), atol=atol)


def test_rows_and_annotators_are_shown(tmp_path):
    p, y, _ = simulated(300)
    frame = pl.DataFrame({"name": [f"picture {i}" for i in range(300)]})
    audit = audit_probabilities(p, y, X=frame, annotators=["ann", "bob"] * 150)
    audit.to_html(tmp_path / "audit.html")
    assert f"picture {audit.order[0]}</td>" in (tmp_path / "audit.html").read_text()
    assert audit.by_annotator("polars")["labels"].to_list() == [150, 150]
    titles = audit_probabilities(p, y, X=[f"text {i}" for i in range(300)])
    assert titles.X.shape == (300, 1)
    wide, observed, _ = simulated(400, 36)
    audit_probabilities(wide, observed).to_html(tmp_path / "audit.html")  # 36 numbers a row are no picture of 6 x 6
    assert "<img" not in (tmp_path / "audit.html").read_text()


# what comes out


def test_every_reading_can_be_asked_for(digits):
    (p, _), y, _ = digits
    both, judged, outcome = (audit_probabilities(p, y, labels_are=which) for which in (None, "judgements", "outcomes"))
    assert (both.labels_are, judged.labels_are, outcome.labels_are) == (None, "judgements", "outcomes")
    for audit in (both, judged, outcome):
        assert list(audit.readings) == ["judgements", "outcomes"]
        assert audit.summary()["labels_are"] == audit.labels_are
        assert set(audit.summary()["readings"]) == {"judgements", "outcomes"}
    np.testing.assert_array_equal(both.posterior, judged.posterior)
    np.testing.assert_array_equal(outcome.posterior, both.readings["outcomes"].posterior)
    assert float(both.expected_errors) == float(judged.expected_errors)
    ends = [audit.expected_errors.interval for audit in (judged, outcome)]
    assert both.expected_errors.interval == (min(low for low, _ in ends), max(high for _, high in ends))


@pytest.mark.parametrize("labels_are", [None, "judgements"])
@pytest.mark.parametrize("noise_rate", [0.0, 0.3])
def test_judgements_are_never_left_without_rows_to_look_at(labels_are, noise_rate):
    p, y, _ = simulated(120, 2, noise_rate, margin=1.0)
    assert (p.argmax(axis=1) != y).any()
    assert len(audit_probabilities(p, y, labels_are=labels_are).picked) > 0
    outcomes = audit_probabilities(p, y, labels_are="outcomes")  # two classes that overlap
    assert np.all(outcomes.probability[outcomes.picked] <= 0.2)


def test_a_known_noise_is_that_of_the_outcomes():
    p, y, _ = simulated()
    audit = audit_probabilities(p, y, labels_are="outcomes", noise=FlipMatrix.symmetric(0.2, 3))
    np.testing.assert_array_equal(audit.noise.matrix, FlipMatrix.symmetric(0.2, 3).matrix)
    assert not audit.noise_spread.any()


def test_class_conditional_noise_is_read_alike_by_both(digits):
    (p, _), y, truth = digits
    wrong = y != truth
    for labels_are in (None, "judgements", "outcomes"):
        audit = audit_probabilities(p, y, labels_are=labels_are)
        assert average_precision_score(wrong, 1 - audit.probability) > 0.97
        assert float(audit.expected_errors) == pytest.approx(wrong.sum(), rel=0.1)
        low, high = audit.expected_errors.interval
        assert low <= wrong.sum() <= high
    judged, outcome = (audit.readings[name] for name in ("judgements", "outcomes"))
    assert np.abs(judged.posterior - outcome.posterior).mean() < 5e-3
    assert abs(judged.expected_errors - outcome.expected_errors) < 1e-2 * len(y)
    rows = np.arange(len(y))
    precision = [average_precision_score(wrong, -one.posterior[rows, y]) for one in (judged, outcome)]
    assert precision[0] == pytest.approx(precision[1], abs=1e-2)


@pytest.mark.parametrize("seed", [0, 1])
def test_errors_on_hard_rows_are_found(seed):
    """Labels are drawn from a tempered strong model: hard rows are mislabelled more often."""
    X, digit = load_digits(return_X_y=True)
    X = X / 16
    strong = LogisticRegression(max_iter=300).fit(X, digit).predict_log_proba(X)
    uniforms = np.random.default_rng(seed).random((len(X), 1))
    y = (uniforms > np.cumsum(softmax(0.6 * strong, axis=1), axis=1)[:, :-1]).sum(axis=1)
    wrong = y != strong.argmax(axis=1)
    assert 0.1 < wrong.mean() < 0.4
    p = out_of_fold(LogisticRegression(C=0.05, max_iter=300), X, y)
    audit = audit_probabilities(p, y)
    assert f1(audit.picked, wrong) >= f1(np.flatnonzero(p.argmax(axis=1) != y), wrong) - 0.02
    low, high = audit.expected_errors.interval
    assert low <= wrong.sum() <= high


# what can't be


P, Y, _ = simulated(300)
NAN = np.where(np.arange(900).reshape(300, 3) == 7, np.nan, P)


@pytest.mark.parametrize(
    ("probabilities", "y", "options", "sentence"),
    [
        (NAN, Y, {}, "NaN or infinity, first in row 2"),
        (2 * P, Y, {}, "must sum to 1; row [0-9]+ sums to 2"),
        (
            P,
            np.arange(300) % 4 + 1,
            {},
            r"y has 4 labels \(1, 2, 3, 4\) and probabilities have 3 columns; one for each",
        ),
        (P, np.array(["a", "b"])[Y % 2], {}, "2 labels .* have 3 columns; name their classes"),
        (P, Y, {"classes": [0, 1]}, "there are 2 classes and 3 columns"),
        (P, Y, {"classes": [0, 1, 5]}, "the label 2 is not among the classes"),
        (P, Y, {"classes": [0, 1, 1]}, "two or more different labels"),
        (P, Y * 0, {}, "1 class only"),
        (P, np.full(300, "a"), {}, "1 class only"),
        (P[:, :1], Y, {}, "two classes or more are needed"),
        (P[:, 0], Y, {}, "a column for each class"),
        (P.astype(str), Y, {}, "a column for each class"),
        ([], Y, {}, "the list of probabilities is empty"),
        (None, Y, {}, "the type NoneType; an array of numbers"),
        (pl.LazyFrame(P), Y, {}, "the type LazyFrame; an array of numbers"),
        (pd.DataFrame(P).assign(id="a"), Y, {}, "column 'id' of the probabilities holds something else than numbers"),
        ([P, P[:200]], Y, {}, "have shapes"),
        ([P, softmax(P[:, :2], axis=1)], Y, {}, "have shapes"),
        (P[:0], Y[:0], {}, "no rows"),
        (P[:50], Y, {}, "50 rows of probabilities and 300 labels"),
        (P, np.where(Y, 1.0, np.nan), {}, "labels are missing"),
        (P, Y, {"labels_are": "facts"}, "'judgements', 'outcomes' or None"),
        (np.vstack([P[:-1], [[1.1, *[0.0] * (P.shape[1] - 2), -0.1]]]), Y, {}, "sums to 1 and holds -0.1"),
        (P, Y, {"X": P[:4]}, "X has 4 rows, y has 300 labels"),
        (P, Y, {"annotators": ["ann"]}, "annotators has length 1, y has 300 labels"),
        (P, Y, {"noise": 0.2}, "noise is 0.2; a FlipMatrix or None would do"),
        (P, Y, {"noise": FlipMatrix.symmetric(0.2, 4)}, "noise has 4 classes, probabilities have 3"),
    ],
)
def test_bad_input_gets_one_sentence(probabilities, y, options, sentence):
    with pytest.raises(ValueError, match=sentence) as refusal:
        audit_probabilities(probabilities, y, **options)
    assert "\n" not in str(refusal.value)


def test_a_model_that_saw_the_labels_is_warned_of():
    p, _, truth = simulated(margin=30.0)
    with pytest.warns(UserWarning, match="agree with 100.00 % of the labels"):
        audit_probabilities(p, truth)


def test_names_of_columns_that_a_file_has_as_text_say_the_order_of_numbers():
    p, y, _ = simulated(200)
    audit = audit_probabilities(pd.DataFrame(p[:, ::-1], columns=["2", "1", "0"]), y)
    assert audit.classes.tolist() == [2, 1, 0]
    same(audit, audit_probabilities(p, y), order=[2, 1, 0])


def test_of_many_small_classes_some_are_named():
    p, y, _ = simulated(90, 40)
    [note] = [note for note in audit_probabilities(p, y).notes if "too small to judge" in note]
    n_small = np.sum(np.bincount(y, minlength=40) < 5)
    assert note.endswith(f" and {n_small - 20} more")
    assert note.count("(") == 20


def test_columns_in_another_order_than_the_classes_are_warned_of():
    p, y, _ = simulated()
    with pytest.warns(UserWarning, match="fewer than by chance .* in the order of the classes, 0, 1, 2"):
        audit_probabilities(np.roll(p, 1, axis=1), y)
    rng = np.random.default_rng(0)
    audit_probabilities(rng.dirichlet([1, 1, 1], len(y)), y)  # by chance: warns of nothing


PETS = ["wolf", "ant", "fox", "bee"]  # in the order of the columns, which is not the sorted one


@pytest.mark.parametrize(
    "categorical",
    [
        lambda labels: pd.Categorical(labels, categories=PETS),
        lambda labels: pd.Series(pd.Categorical(labels, categories=PETS)),
        lambda labels: pl.Series(labels, dtype=pl.Enum(PETS)),
    ],
    ids=["Categorical", "pandas", "polars"],
)
def test_categories_say_the_order_of_the_columns_unless_the_sorted_labels_agree_better(categorical):
    p, y, _ = simulated(400, 4)
    labels = np.array(PETS)[y]
    audit = audit_probabilities(p, categorical(labels))
    assert audit.classes.tolist() == PETS
    assert "the columns are taken in the order of the categories of y" in audit.notes
    same(audit, audit_probabilities(p, y))
    by_sorted = audit_probabilities(p[:, np.argsort(PETS)], categorical(labels))  # as scikit-learn's are
    assert by_sorted.classes.tolist() == sorted(PETS)
    assert any("in the sorted order of the labels" in note for note in by_sorted.notes)
    named = audit_probabilities(pd.DataFrame(p[:, ::-1], columns=PETS[::-1]), categorical(labels))
    assert named.classes.tolist() == PETS[::-1]  # names of columns come first
    fewer = audit_probabilities(p[y < 3], categorical(labels[y < 3]))  # a category without a row
    assert fewer.classes.tolist() == PETS


def test_categories_in_sorted_order_need_no_note():
    p, y, _ = simulated(300)
    audit = audit_probabilities(p, pd.Categorical(np.array(["a", "b", "c"])[y]))
    assert not any("order" in note for note in audit.notes)


@pytest.mark.parametrize("names", ["p_{}", "P({})", "{} probability", "t_{}_t"])
@pytest.mark.parametrize("labels", [["two", "three", "ten"], [2, 0, 1]], ids=["text", "numbers"])
def test_what_all_names_of_columns_begin_and_end_with_is_left_out(names, labels):
    p, y, _ = simulated(300)
    frame = pl.DataFrame(dict(zip([names.format(label) for label in labels], p.T)))
    audit = audit_probabilities(frame, np.array(labels)[y])
    assert audit.classes.tolist() == labels
    same(audit, audit_probabilities(p, y))


def test_names_of_columns_that_are_no_labels_are_warned_of():
    p, y, _ = simulated(300)
    labels = np.array(["a", "b", "c"])[y]
    with pytest.warns(UserWarning, match="'first', 'second', 'third' are not named by the labels: .* 'a', 'b', 'c'"):
        audit_probabilities(pd.DataFrame(p, columns=["first", "second", "third"]), labels)
    for unnamed in (pd.DataFrame(p), pl.DataFrame(p), pd.DataFrame(p, columns=["0", "1", "2"])):  # warns of nothing
        same(audit_probabilities(unnamed, labels), audit_probabilities(p, y))


@pytest.mark.parametrize("n_classes", [3, 10, 40])
def test_an_order_of_the_columns_that_agrees_far_better_is_named(n_classes):
    p, y, _ = simulated(2000, n_classes, 0.3)
    half = np.arange(n_classes)
    half[: n_classes // 2 + 1] = np.roll(half[: n_classes // 2 + 1], 1)  # the other half is right: above chance
    sentence = "agree with .* of the labels, (and with .* if their columns are|fewer than by chance)"
    with pytest.warns(UserWarning, match=sentence):
        audit_probabilities(p[:, half], y)
    np.testing.assert_array_equal(better_order(half.argsort()[p.argmax(axis=1)], y, n_classes), half)


def noisy(kind, n, n_classes, margin, rng):
    """Labels by 40 % pair noise, by people who take the second best on hard rows, by chance, or mostly of one class."""
    truth = rng.integers(0, n_classes, n)
    scores = rng.normal(size=(n, n_classes))
    scores[np.arange(n), truth] += margin
    if kind == "pair":
        y = np.where(rng.random(n) < 0.4, (truth + 1) % n_classes, truth)
    elif kind == "people":
        ranked = np.argsort(-scores, axis=1)
        margins = -np.diff(np.take_along_axis(scores, ranked[:, :2], axis=1))[:, 0]
        y = np.where(margins < np.quantile(margins, 0.35), ranked[:, 1], truth)
    elif kind == "chance":
        y = rng.integers(0, n_classes, n)
    else:
        y = np.where(rng.random(n) < 0.3, 0, truth)
    return scores.argmax(axis=1), y


@pytest.mark.parametrize("kind", ["pair", "people", "chance", "one class"])
@pytest.mark.parametrize("n_classes", [2, 10, 100])
@pytest.mark.parametrize("margin", [1.0, 3.0])
def test_noisy_labels_and_columns_in_order_are_not_warned_of(kind, n_classes, margin):
    for seed in range(5):
        for n in (120, 1000, 5000):
            modes, y = noisy(kind, n, n_classes, margin, np.random.default_rng(seed))
            assert better_order(modes, y, n_classes) is None


def test_a_model_that_always_predicts_one_class_is_not_warned_of():
    y = (np.random.default_rng(0).random(1000) < 0.8).astype(int)
    assert better_order(np.zeros(1000, dtype=int), y, 2) is None


@pytest.mark.parametrize("kind", ["Float64", "object"])
def test_frames_of_nullable_numbers_and_of_objects_are_taken(kind):
    p, y, _ = simulated(200)
    same(audit_probabilities(pd.DataFrame(p).astype(kind), y), audit_probabilities(p, y))


def test_a_forest_that_saw_the_labels_is_less_sure_than_right_and_warned_of():
    X, truth = make_classification(600, 20, n_informative=8, n_classes=4, class_sep=0.8, random_state=0)
    y = FlipMatrix.symmetric(0.3, n_classes=4).corrupt(truth, rng=0)
    forest = RandomForestClassifier(50, min_samples_leaf=3, random_state=0).fit(X, y)
    with pytest.warns(UserWarning, match=r"expect to agree with .*or it has seen the labels"):
        audit_probabilities(forest.predict_proba(X), y)
    for labels in (y, truth):  # warns of nothing
        audit_probabilities(cross_val_predict(forest, X, labels, cv=3, method="predict_proba"), labels)


# labels of people


CLEANLAB = {  # AUROC and AP of its best score, F1 of find_label_issues; the same data
    ("cifar10n_aggregate", "resnet18"): (0.977, 0.875, 0.673),
    ("cifar10n_aggregate", "efficientnet_b1"): (0.976, 0.866, 0.678),
    ("cifar10n_worst", "resnet18"): (0.967, 0.953, 0.849),
    ("cifar10n_worst", "efficientnet_b1"): (0.971, 0.959, 0.858),
    ("cifar10_synthetic", "resnet18"): (0.997, 0.989, 0.942),
    ("cifar10_synthetic", "efficientnet_b1"): (0.996, 0.988, 0.944),
}
F1 = {"cifar10n_aggregate": (0.755, 0.82), "cifar10n_worst": (0.87, 0.895), "cifar10_synthetic": (0.965, 0.975)}
COUNT_ERROR = {"cifar10n_aggregate": 0.35, "cifar10n_worst": 0.15, "cifar10_synthetic": 0.15}


def scored(name, models):
    with np.load(REAL / f"{name}.npz") as data:
        wrong = data["y"] != data["truth"]
        audit = audit_probabilities([data[f"p_{model}"] for model in models], data["y"])
    low, high = audit.readings["judgements"].expected_errors.interval
    assert low <= wrong.sum() <= high
    assert abs(float(audit.expected_errors) / wrong.sum() - 1) < COUNT_ERROR[name]
    score = 1 - audit.probability
    return roc_auc_score(wrong, score), average_precision_score(wrong, score), f1(audit.picked, wrong)


@needs_real_noise
@pytest.mark.parametrize(("name", "model"), CLEANLAB)
def test_labels_of_people_are_read_at_least_as_well_as_by_cleanlab(name, model):
    auroc, ap, picked = scored(name, [model])
    assert auroc >= CLEANLAB[name, model][0]
    assert ap >= CLEANLAB[name, model][1]
    assert picked >= max(F1[name][0], CLEANLAB[name, model][2])


@needs_real_noise
@pytest.mark.parametrize("name", F1)
def test_two_models_find_more_than_one(name):
    assert scored(name, ["resnet18", "efficientnet_b1"])[2] >= F1[name][1]


@pytest.mark.parametrize("power", [0.5, 0.8])
def test_the_interval_holds_noise_by_row_that_flips_by_class_would_explain_in_part(power):
    X, truth = load_digits(return_X_y=True)
    rows = np.arange(len(truth))
    logs = np.log(out_of_fold(LogisticRegression(C=0.1, max_iter=200), X / 16, truth))
    logs[rows, truth] = logs.max(axis=1)
    draws = softmax(power * logs, axis=1).cumsum(axis=1)
    y = np.minimum((np.random.default_rng(0).random((len(truth), 1)) > draws).sum(axis=1), 9)
    audit = audit_probabilities(out_of_fold(KNeighborsClassifier(20), X, y), y)
    n_wrong = int(np.sum(y != truth))
    judged, outcome = (audit.readings[name].expected_errors for name in ("judgements", "outcomes"))
    assert outcome.interval[1] < n_wrong
    assert judged.interval[0] <= n_wrong <= judged.interval[1]


@pytest.fixture(scope="module")
def blurred_digits():
    """Digits that are hard to tell, 13 % of the labels wrong, and out-of-fold probabilities of two models."""
    rng = np.random.default_rng(0)
    X, truth = load_digits(return_X_y=True)
    X = X / 16 + rng.normal(scale=0.45, size=X.shape)
    y = FlipMatrix.symmetric(0.13, 10).corrupt(truth, rng)
    models = LogisticRegression(C=0.03, max_iter=200), KNeighborsClassifier(5)
    return [out_of_fold(model, X, y) for model in models], y, truth


def test_errors_of_a_weak_model_are_not_all_counted_as_errors_of_the_labels(blurred_digits):
    (p, _), y, truth = blurred_digits
    wrong = y != truth
    audit = audit_probabilities(p, y)
    assert np.mean(p.argmax(axis=1) != truth) > 2 * np.mean(wrong)
    assert audit.readings["judgements"].expected_errors.low < wrong.sum()
    assert f1(audit.picked, wrong) > 0.56


def test_a_weak_model_given_twice_does_not_hide_that_it_errs(blurred_digits):
    (p, _), y, truth = blurred_digits
    once, twice = (audit_probabilities(given, y).readings["judgements"].expected_errors for given in (p, [p, p]))
    assert twice.low < np.sum(y != truth)
    assert twice.low < 1.1 * once.low


def test_a_model_that_counts_votes_rules_out_no_class_for_another(blurred_digits):
    (p, votes), y, truth = blurred_digits
    wrong = y != truth
    assert np.mean(votes == 0) > 0.3
    both = average_precision_score(wrong, 1 - audit_probabilities([p, votes], y).probability)
    assert both > average_precision_score(wrong, 1 - (p + votes)[np.arange(len(y)), y]) - 0.01


def test_a_model_of_audit_labels_that_favours_a_class_judges_as_one_that_does_not():
    X, y, _ = simulated(600, 3, 0.25)
    model = GaussianNB(priors=[0.98, 0.01, 0.01])
    audit = audit_labels(X, y, model=model)
    assert any(note.startswith("the model favours some classes") for note in audit.notes)
    plain = audit_labels(X, y, model=GaussianNB())
    assert np.abs(audit.probability - plain.probability).mean() < 0.02


def test_the_benchmark_of_other_models_prints_every_one(monkeypatch, capsys):
    pytest.importorskip("cleanlab", reason="it is compared with")
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "benchmarks")
    script = benchmark("audit_models")
    monkeypatch.setattr(script, "MODELS", {"5-NN": script.MODELS["5-NN"]})
    script.main(["--sets", "wine"])
    head, _, *lines = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()]
    assert [line[:2] for line in lines] == [[kind, name] for kind in script.CHOSEN for name in ("5-NN", "all")]
    found = {line[0]: dict(zip(head, line, strict=True)) for line in lines}
    assert found["clean"]["AP"] == "-"
    assert float(found["pair 20 %"]["AP"]) > 0.3


def test_the_benchmark_prints_every_method(tmp_path, monkeypatch, capsys):
    pytest.importorskip("cleanlab", reason="it is compared with")
    p, y, truth = simulated(400, 4)
    (tmp_path / "real_noise").mkdir()
    np.savez(tmp_path / "real_noise" / "toy.npz", p_one=p, p_two=sharpened(p, 2.0), y=y, truth=truth)
    monkeypatch.setenv("NOISEWISE_DATA", str(tmp_path))
    script = benchmark("audit_real")
    script.main([])
    head, _, *lines = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()]
    assert len(lines) == 2 * (4 + len(script.SCORES) + len(script.FILTERS)) + 2
    for line in lines:
        cells = dict(zip(head, line, strict=True))
        assert cells["errors"] == str((y != truth).sum())
        assert float(cells["AUROC"] if cells["AP"] != "-" else cells["F1"]) > 0.5
    assert script.ranking(np.array([True, False, False, False]), np.array([4, 3, 2, 1]))["lift"] == 4
    assert script.picks(np.array([True, False, True, False]), np.array([0, 1]))["F1"] == 0.5


MANY_CLASSES = """
import resource, time
import numpy as np
from noisewise import audit_probabilities

n, n_classes, rng = 50_000, 1_000, np.random.default_rng(0)
truth = rng.integers(0, n_classes, n)
p = rng.standard_normal((n, n_classes), dtype=np.float32)
p[np.arange(n), truth] += 9
for rows in np.split(p, 50):
    np.exp(rows, out=rows)
    rows /= rows.sum(axis=1, keepdims=True)
y = np.where(rng.random(n) < 0.2, rng.integers(0, n_classes, n), truth)
before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
audit = audit_probabilities(p, y)
seconds, after = time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
low, high = audit.expected_errors.interval
print(seconds, (after - before) * 1024 / p.nbytes, low <= np.sum(y != truth) <= high)
"""


@pytest.mark.slow
def test_a_thousand_classes_take_minutes_and_bounded_memory():
    done = subprocess.run([sys.executable, "-c", MANY_CLASSES], capture_output=True, text=True, check=True)
    seconds, times_the_input, holds = done.stdout.split()
    assert float(seconds) < 180
    assert float(times_the_input) < 4
    assert holds == "True"
