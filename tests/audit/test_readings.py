"""The labels of a table read as judgements and as outcomes."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier

from noisewise import FlipMatrix, audit_labels
from noisewise.labels import RobustRidgeClassifier
from noisewise.noise import ModelError, read_judgements, read_noise, read_row_judgements
from noisewise.noise.calibration import judgement
from noisewise.noise.calibration.class_clusters import fit_class_clusters
from noisewise.noise.calibration.hardness_flips import fit_hardness_flips
from noisewise.noise.calibration.judgement import _by_overlap, sharpness_for


def hard_rows(rate, seed=0):
    """Digits of which those near the boundary, by a forest, are called the runner-up; truth is the forest's mode."""
    X, y = load_digits(return_X_y=True)
    forest = RandomForestClassifier(100, min_samples_leaf=2, oob_score=True, random_state=seed).fit(X, y)
    p = forest.oob_decision_function_
    truth, runner_up = np.argsort(-p, axis=1)[:, :2].T
    margin = np.take_along_axis(p, np.column_stack([truth, runner_up]), axis=1) @ [1, -1]
    chance = np.exp(-3 * margin)
    chance = np.minimum(rate / chance.mean() * chance, 0.5)
    return X, truth, np.where(np.random.default_rng(seed).random(len(y)) < chance, runner_up, truth)


@pytest.mark.parametrize("rate", [0.1, 0.25])
def test_errors_on_hard_rows_are_counted_as_judgements_only(rate):
    X, truth, observed = hard_rows(rate)
    audit, wrong = audit_labels(X, observed), observed != truth
    judgements, outcomes = (audit.readings[name] for name in ("judgements", "outcomes"))
    low, high = judgements.expected_errors.interval
    assert low <= wrong.sum() <= high
    assert outcomes.expected_errors < 0.3 * wrong.sum() < judgements.expected_errors
    assert 2 * wrong[audit.picked].sum() / (len(audit.picked) + wrong.sum()) > 0.65


@pytest.mark.parametrize("rate", [0.1, 0.3])
def test_flips_by_class_are_read_alike(rate):
    X, truth = load_digits(return_X_y=True)
    observed = FlipMatrix.symmetric(rate, 10).corrupt(truth, 0)
    audit = audit_labels(X, observed)
    judgements, outcomes = (audit.readings[name].posterior for name in ("judgements", "outcomes"))
    assert np.abs(judgements - outcomes).max() < 0.1
    assert float(audit.expected_errors) == pytest.approx(np.sum(observed != truth), rel=0.1)


@pytest.mark.parametrize("load", [load_digits, load_iris, load_wine])
def test_hardly_a_row_of_a_clean_table_is_picked(load):
    X, y = load(return_X_y=True)
    audit = audit_labels(X, y)
    assert len(audit.picked) <= 0.015 * len(y)
    assert audit.expected_errors.low == 0


def test_by_default_the_interval_spans_both_readings():
    X, y = load_iris(return_X_y=True)
    both, judged, outcome = (audit_labels(X, y, labels_are=which) for which in (None, "judgements", "outcomes"))
    lows, highs = zip(judged.expected_errors.interval, outcome.expected_errors.interval)
    assert both.expected_errors.interval == (min(lows), max(highs))
    np.testing.assert_array_equal(both.posterior, judged.posterior)
    assert set(both.readings) == set(judged.readings) == {"judgements", "outcomes"}
    assert outcome.readings == {}
    fitted = RobustRidgeClassifier().fit(X, y).true_label_posterior_
    np.testing.assert_allclose(outcome.posterior, fitted, atol=0.01)  # but for the grades of small probabilities


def test_the_whole_audit_is_read_as_either():
    X, y = load_iris(return_X_y=True)
    y[::10] = (y[::10] + 1) % 3
    both = audit_labels(X, y)
    for which in ("judgements", "outcomes"):
        one, wanted = both.read_as(which), audit_labels(X, y, labels_are=which)
        np.testing.assert_array_equal(one.posterior, wanted.posterior)
        np.testing.assert_array_equal(one.rows(0.8), wanted.rows(0.8))
        np.testing.assert_array_equal(one.suggested, wanted.suggested)
        np.testing.assert_array_equal(one.noise_interval, wanted.noise_interval)
        assert one.summary() | {"readings": wanted.summary()["readings"]} == wanted.summary()
        assert one.labels_are == which
    assert both.labels_are is None
    with pytest.raises(ValueError, match="'facts'; the readings of this audit are 'judgements', 'outcomes'"):
        both.read_as("facts")
    with pytest.raises(ValueError, match="of this audit are none, after a review"):
        both.update({0: y[0]}).read_as("outcomes")


def test_a_given_noise_depends_on_the_class_alone():
    X, y = load_iris(return_X_y=True)
    noise = FlipMatrix.symmetric(0.1, 3)
    audit = audit_labels(X, y, noise=noise)
    assert audit.labels_are == "outcomes"
    np.testing.assert_array_equal(audit.posterior, audit_labels(X, y, noise=noise, labels_are="outcomes").posterior)


def test_an_unknown_reading_gets_one_sentence():
    with pytest.raises(ValueError, match="'judgements', 'outcomes' or None would do"):
        audit_labels([[0.0]] * 6, [0, 1] * 3, labels_are="facts")


def test_the_judgement_posterior_of_rows_is_that_of_plain_loops(rng):
    scores = rng.dirichlet([0.7] * 3, 400)
    codes = np.array([rng.choice(3, p=row) for row in scores])
    outcome = read_noise(scores, codes)
    error = ModelError.of_halves(0.05, 400)
    judged = read_row_judgements(scores, codes, outcome, error)
    c = outcome.calibration.clean_posterior(scores.astype(np.float32)).astype(np.float64)
    sharpness = sharpness_for(c, error.likely)
    assert judged.sharpness == pytest.approx(sharpness, rel=1e-3)
    assert judged.outcome_weight == 0  # no noise is proven
    independence, flips_weight = 0.02 + 0.45 * (1 - 1 / sharpness), 1 - 1 / sharpness
    sharper, matrix, disagreement = (
        1 + 1.5 * (sharpness - 1),
        outcome.calibration.noise.matrix,
        c.argmax(axis=1) != codes,
    )
    first = fit_hardness_flips(c, codes, sharper, matrix)
    clusters = fit_class_clusters(c, lambda part: first.posterior(c[part], codes[part]), sharper, disagreement.mean())
    by_flips = fit_hardness_flips(c, codes, clusters, matrix).posterior(c, codes)
    for row in range(0, 400, 13):
        mode = c[row] ** sharpness / np.sum(c[row] ** sharpness)
        truth = np.zeros(3)
        for z in range(3):  # the judged label; then the truth, by the maximal coupling with it
            label = outcome.posterior[row, z]
            stays = min(1, mode[z] / c[row, z])
            excess = np.maximum(mode - c[row], 0)
            given = (1 - stays) * excess / max(excess.sum(), 1e-300)
            given[z] += stays
            truth += label * ((1 - independence) * given + independence * mode)
        truth = flips_weight * by_flips[row] + (1 - flips_weight) * truth
        np.testing.assert_allclose(judged.posterior[row], truth, atol=2e-3)


def test_the_surer_the_model_of_itself_the_more_errors_of_the_labels(rng):
    scores = rng.dirichlet([0.7] * 3, 600)
    codes = np.array([rng.choice(3, p=row) for row in scores])
    outcome = read_noise(scores, codes)
    counts = [
        read_row_judgements(scores, codes, outcome, ModelError.of_halves(disagreement, 600)).n_wrong
        for disagreement in (0.0, 0.1, 0.3, 0.6)
    ]
    assert all(first >= second for first, second in pairwise(counts))
    assert counts[0] > 2 * counts[-1]


@pytest.mark.parametrize("labels_are", [None, "outcomes"])
def test_what_is_not_proven_of_the_count_does_not_empty_the_list(labels_are):
    found, wrong_among = 0, 0
    for load in (load_iris, load_wine):
        for seed in range(3):
            X, truth = load(return_X_y=True)
            observed = FlipMatrix.symmetric(0.05, 3).corrupt(truth, seed)
            audit = audit_labels(X, observed, labels_are=labels_are)
            assert len(audit.picked) > 0 or (1 - audit.probability).max() < 0.8
            found, wrong_among = found + len(audit.picked), wrong_among + np.sum((observed != truth)[audit.picked])
    assert found >= 20  # of about 48
    assert wrong_among >= 0.8 * found


def test_flips_fitted_to_some_rows_are_nearly_those_of_all(rng, monkeypatch):
    truth = np.arange(4000) % 4
    scores = softmax(3.0 * np.eye(4)[truth] + 0.5 * rng.normal(size=(4000, 4)), axis=1)
    codes = np.array([rng.choice(4, p=row) for row in scores])
    outcome = read_noise(scores, codes)
    whole = read_judgements([scores], codes, outcome)
    monkeypatch.setattr(judgement, "FLIPS_ROWS", 2000)
    half = read_judgements([scores], codes, outcome)
    assert half.n_wrong == pytest.approx(whole.n_wrong, rel=0.05)
    assert np.abs(half.posterior - whole.posterior).mean() < 0.02
    assert half.interval == pytest.approx(whole.interval, rel=0.05)


def test_the_error_of_one_model_counts_the_less_the_more_often_labels_disagree(rng):
    truth = np.arange(3000) % 3
    confused = softmax(2 * np.eye(3)[truth] + rng.normal(size=(3000, 3)), axis=1).astype(np.float32)
    of_noise, least_of_noise = _by_overlap(confused, 3.0, 0.6)
    of_error, least_of_error = _by_overlap(confused, 3.0, 0.15)
    assert 1 <= of_error < of_noise - 0.1 <= 2.9
    assert least_of_error == least_of_noise <= of_error
    certain = (0.97 * np.eye(3)[truth] + 0.01).astype(np.float32)
    assert _by_overlap(certain, 3.0, 0.3)[0] == 3.0
