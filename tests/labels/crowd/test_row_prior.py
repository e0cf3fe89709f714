"""Annotations and classifiers' scores as one model: against enumeration, Dawid-Skene, and what may not matter."""

import itertools

import numpy as np
import pytest
from scipy.special import log_softmax
from sklearn.ensemble import RandomForestClassifier

from noisewise.labels import dawid_skene
from noisewise.labels.crowd.annotations import read_annotations
from noisewise.labels.crowd.row_prior import CalibratedScores, estimate_items, log_probabilities
from noisewise.labels.crowd.row_scores import row_scores


def crowd(n_items=300, n_annotators=8, per_item=3, n_classes=3, seed=0, rates=(0.05, 0.5)):
    """Truth, long columns of labels, and probabilities of a classifier that is right in 80 % of the items."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_classes, size=n_items)
    items = np.repeat(np.arange(n_items), per_item)
    annotators = np.concatenate([rng.choice(n_annotators, per_item, replace=False) for _ in range(n_items)])
    flipped = rng.random(len(items)) < np.linspace(*rates, n_annotators)[annotators]
    labels = np.where(flipped, (truth[items] + rng.integers(1, n_classes, len(items))) % n_classes, truth[items])
    mode = np.where(rng.random(n_items) < 0.2, rng.integers(n_classes, size=n_items), truth)
    p = np.full((n_items, n_classes), 0.3 / (n_classes - 1))
    p[np.arange(n_items), mode] = 0.7
    return truth, (items, annotators, labels), p


def test_the_posterior_of_a_tiny_case_is_that_of_enumeration():
    annotations = read_annotations([0, 0, 1, 2, 2], ["a", "b", "a", "b", "b"], [0, 1, 1, 1, 0])
    p = np.array([[0.8, 0.2], [0.5, 0.5], [0.1, 0.9]])
    found = estimate_items(annotations, [log_probabilities(p)])
    given = [*zip(annotations.item_codes, annotations.annotator_codes, annotations.label_codes)]
    counts = np.zeros((2, 2, 2))
    for item, annotator, label in given:
        counts[annotator, :, label] += found.fit.posterior[item]
    joint = np.zeros((2, 2, 2))  # over the true classes of all items together
    for truth in itertools.product(range(2), repeat=3):
        joint[truth] = found.exponents.row * sum(found.fit.log_prior[item, t] for item, t in enumerate(truth))
        for item, annotator, label in given:
            others = counts[annotator, truth[item]] + found.fit.prior[truth[item]]
            others[label] -= found.fit.posterior[item, truth[item]]
            joint[truth] += found.exponents.labels * np.log(others[label] / others.sum())
    joint = np.exp(joint - joint.max())
    joint /= joint.sum()
    for item in range(3):
        others = tuple(other for other in range(3) if other != item)
        np.testing.assert_allclose(found.posterior[item], joint.sum(axis=others), atol=1e-12)


def test_without_scores_or_with_uninformative_ones_the_fit_is_close_to_dawid_skene():
    _, columns, _ = crowd(n_items=600, per_item=4)
    wanted = dawid_skene(*columns, tol=1e-6)
    for logits in ([], [log_probabilities(np.full((600, 3), 1 / 3))]):
        found = estimate_items(read_annotations(*columns), logits, max_iter=1000, tol=1e-6)
        assert np.sqrt(np.mean((found.fit.posterior - wanted.posterior) ** 2)) < 0.03
        assert np.mean(found.fit.posterior.argmax(axis=1) == wanted.posterior.argmax(axis=1)) > 0.99
        assert found.scales.shape == (len(logits),)


def test_a_classifier_that_guesses_counts_for_little_and_a_good_one_for_much():
    truth, columns, good = crowd(n_items=500)
    annotations = read_annotations(*columns)
    guessed = np.random.default_rng(1).dirichlet(np.ones(3), size=500)
    scales = estimate_items(annotations, [log_probabilities(good), log_probabilities(guessed)]).scales
    assert scales[0] > 1
    assert scales[1] < 0.2
    against, alone = (
        estimate_items(annotations, [log_probabilities(good[:, [1, 2, 0]])]),
        estimate_items(annotations, []),
    )
    accuracies = [np.mean(found.posterior.argmax(axis=1) == truth) for found in (against, alone)]
    assert against.scales[0] < 0.05  # always wrong: overruled
    assert accuracies[0] > accuracies[1] - 0.02


def test_probabilities_make_the_consensus_better_than_labels_alone():
    truth, columns, p = crowd(n_items=1000, per_item=1)
    annotations = read_annotations(*columns)
    with_rows, alone = (estimate_items(annotations, logits) for logits in ([log_probabilities(p)], []))
    accuracies = [np.mean(found.posterior.argmax(axis=1) == truth) for found in (with_rows, alone)]
    assert accuracies[0] > accuracies[1] + 0.05


def test_the_calibration_recovers_the_scale_of_true_probabilities():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(4000, 3))
    clean = np.exp(log_softmax(3 * logits, axis=1))
    truth = (clean.cumsum(axis=1) > rng.random((4000, 1))).argmax(axis=1)
    scores = CalibratedScores([logits])
    for _ in range(20):
        scores(np.eye(3)[truth])
    assert scores.scales[0] == pytest.approx(3, abs=0.3)  # five standard errors
    assert scores.outliers < 0.02


@pytest.mark.parametrize("model", [None, RandomForestClassifier(20, random_state=0)])
def test_an_items_own_label_does_not_move_its_own_scores(model):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    votes = np.eye(2)[(X[:, 0] > 0).astype(int)]
    changed = votes.copy()
    changed[7] = votes[7, ::-1]
    before, after = row_scores(X, votes, model), row_scores(X, changed, model)
    moved = np.abs(after - before)[7].max()
    assert moved < 0.1 if model is None else moved == 0  # of 5; the ridge's penalty is chosen with all labels


def test_rows_without_labels_are_scored():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    truth = (X[:, 0] > 0).astype(int)
    votes = np.eye(2)[truth]
    votes[150:] = 0
    for model in (None, RandomForestClassifier(20, random_state=0)):
        scores = row_scores(X, votes, model)
        assert np.mean(scores.argmax(axis=1)[150:] == truth[150:]) > 0.9
