import math
import os
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from noisewise import FlipMatrix
from noisewise.datasets import load_crowd
from noisewise.labels.crowd.aggregation import dawid_skene, majority_vote, shared_flips
from noisewise.labels.crowd.annotations import read_annotations
from noisewise.labels.crowd.em import em_steps, fit_dawid_skene, variational_steps

METHODS = [majority_vote, dawid_skene, shared_flips]


def crowd(rng, n_items=300, n_annotators=20, n_labels=2000, n_classes=3, accuracy_of=(8, 3)):
    """True classes, true accuracies, and columns of items, annotators and labels."""
    truth = rng.integers(n_classes, size=n_items)
    competence = rng.beta(*accuracy_of, size=n_annotators)
    items, annotators = rng.integers(n_items, size=n_labels), rng.integers(n_annotators, size=n_labels)
    labels = np.where(
        rng.random(n_labels) < competence[annotators], truth[items], rng.integers(n_classes, size=n_labels)
    )
    return truth, competence + (1 - competence) / n_classes, items, annotators, labels


def slow_dawid_skene(items, annotators, labels, n_iter):
    """The published EM, label by label."""
    annotations = list(zip(items.tolist(), annotators.tolist(), labels.tolist(), strict=True))
    n, m, k = max(items) + 1, max(annotators) + 1, max(labels) + 1
    posterior = [[0.0] * k for _ in range(n)]
    for i, _, label in annotations:
        posterior[i][label] += 1
    posterior = [[votes / sum(row) for votes in row] for row in posterior]
    history = []
    for _ in range(n_iter):
        prevalence = [sum(row[j] for row in posterior) / n for j in range(k)]
        flips = [[[0.0] * k for _ in range(k)] for _ in range(m)]
        for i, a, label in annotations:
            for j in range(k):
                flips[a][j][label] += posterior[i][j]
        flips = [
            [[x / sum(row) if sum(row) else float(l == j) for l, x in enumerate(row)] for j, row in enumerate(of_one)]
            for of_one in flips
        ]
        joint = [[prevalence[j] for j in range(k)] for _ in range(n)]
        for i, a, label in annotations:
            for j in range(k):
                joint[i][j] *= flips[a][j][label]
        history.append(sum(math.log(sum(row)) for row in joint))
        posterior = [[x / sum(row) for x in row] for row in joint]
    return np.array(posterior), np.array(flips), np.array(history)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_without_the_prior_it_is_dawid_and_skene_as_published(rng):
    _, _, items, annotators, labels = crowd(rng, 60, 6, 300)
    posterior, flips, history = slow_dawid_skene(items, annotators, labels, 15)
    result = dawid_skene(items, annotators, labels, pooled=False, max_iter=15, tol=0)
    np.testing.assert_allclose(result.posterior, posterior, atol=1e-9)
    np.testing.assert_allclose(result.objective, history, rtol=1e-12)
    fit = fit_dawid_skene(
        read_annotations(items, annotators, labels).counts(),
        read_annotations(items, annotators, labels).vote_proportions(),
        None,
        False,
        15,
        0,
    )
    np.testing.assert_allclose(fit.counts / fit.counts.sum(axis=2, keepdims=True), flips, atol=1e-9)


@pytest.mark.parametrize("steps", [variational_steps, em_steps])
@pytest.mark.parametrize("accuracy_of", [(8, 3), (2, 4), (0.5, 0.5)])
@pytest.mark.parametrize("n_classes", [2, 5])
def test_the_objective_never_falls(steps, accuracy_of, n_classes, rng):
    _, _, items, annotators, labels = crowd(rng, 100, 12, 400, n_classes, accuracy_of)
    table = read_annotations(items, annotators, labels).counts()
    start = rng.dirichlet(np.ones(n_classes), size=table.shape[0])
    states = steps(table, start, None)
    objective = np.array([next(states).objective[0] for _ in range(60)])
    assert np.diff(objective[2:]).min() > -1e-8  # classes may still be permuted at first
    assert objective[-1] > objective[2]


@pytest.mark.parametrize("method", [dawid_skene, shared_flips])
def test_the_elbo_is_finite_and_symmetric_with_one_label_each(method):
    # one item, one annotator, two classes: each label has probability 1/2 whatever the matrices
    result = method([0, 1], ["a", "a"], ["x", "y"])
    assert np.isfinite(result.objective).all()
    np.testing.assert_allclose(result.posterior, result.posterior[::-1, ::-1], atol=1e-6)


def test_accuracies_are_recovered_and_intervals_cover(rng):
    n_classes = 3
    covered, votes, learnt = [], [], []
    for _ in range(10):
        truth, accuracy, items, annotators, labels = crowd(rng, 600, 40, 4000, n_classes)
        result = dawid_skene(items, annotators, labels)
        known = truth[result.items]
        votes.append(np.mean(majority_vote(items, annotators, labels).labels == known))
        learnt.append(np.mean(result.labels == known))
        covered += ((result.annotators.accuracy_low < accuracy) & (accuracy < result.annotators.accuracy_high)).tolist()
    assert np.mean(learnt) > np.mean(votes) + 0.001
    assert abs(np.mean(covered) - 0.9) < 5 * np.sqrt(0.09 / len(covered))


def test_flip_matrices_are_recovered(rng):
    truth = rng.integers(3, size=4000)
    noises = [
        FlipMatrix(rows)
        for rows in ([[0.9, 0.1, 0], [0, 0.9, 0.1], [0.1, 0, 0.9]], [[0.6, 0.2, 0.2], [0, 1, 0], [0, 0, 1]])
    ]
    noises += [FlipMatrix.symmetric(0.2, 3), FlipMatrix.symmetric(0.3, 3)]
    annotations = np.column_stack([noise.corrupt(truth, rng) for noise in noises])
    result = dawid_skene(annotations)
    for annotator, noise in zip(result.annotators, noises, strict=True):
        assert np.abs(annotator.flips - noise.matrix).max() < 0.05
    np.testing.assert_allclose(result.noise.matrix, np.mean([noise.matrix for noise in noises], axis=0), atol=0.03)


def test_an_annotator_who_inverts_labels_is_recognised(rng):
    truth = rng.integers(2, size=500)
    annotations = truth[:, None] ^ (rng.random((500, 4)) < [0.1, 0.1, 0.2, 0.95])
    result = dawid_skene(annotations)
    assert result.annotators[3].accuracy < 0.15
    assert np.mean(result.labels == truth) > np.mean(majority_vote(annotations).labels == truth)


@pytest.mark.parametrize("pooled", [True, False])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_labels_are_never_swapped(pooled, n_classes, rng):
    truth, _, items, annotators, labels = crowd(rng, 200, 10, 1500, n_classes)
    annotations = read_annotations(items, annotators, labels)
    start = np.roll(annotations.vote_proportions(), 1, axis=1)  # every class permuted to the next
    fit = fit_dawid_skene(annotations.counts(), start, None, pooled)
    assert np.mean(fit.posterior.argmax(axis=1) == truth[annotations.items]) > 0.8


def test_one_label_each_is_kept():
    result = dawid_skene(range(30), ["a"] * 10 + ["b"] * 10 + ["c"] * 10, [0, 1, 1, 0, 1, 1, 1, 0, 1, 1] * 3)
    assert result.labels.tolist() == [0, 1, 1, 0, 1, 1, 1, 0, 1, 1] * 3


def test_ties_favour_no_class_and_show():
    vote = majority_vote(np.array([[0, 1]] * 10))
    assert np.bincount(vote.labels).tolist() == [5, 5]
    np.testing.assert_array_equal(vote.posterior, 0.5)


@pytest.mark.parametrize("method", METHODS)
def test_labels_may_come_later(method, rng):
    _, _, items, annotators, labels = crowd(rng, 200, 15, 1500)
    at_once = method(items, annotators, labels)
    first = method(items[:500], annotators[:500], labels[:500])
    later = first.update(items[500:], annotators[500:], labels[500:])
    assert later.items.tolist() == at_once.items.tolist()
    np.testing.assert_allclose(later.posterior, at_once.posterior, atol=0.02)
    assert np.mean(later.labels == at_once.labels) > 0.99
    np.testing.assert_array_equal(later.annotators.n_answers, at_once.annotators.n_answers)
    assert len(first.annotations.item_codes) == 500  # the first result stays as it was


@pytest.mark.parametrize("method", METHODS)
def test_new_items_annotators_and_classes_may_appear(method):
    first = method(["i", "i", "j"], ["a", "b", "a"], ["x", "x", "z"])
    later = first.update(["h", "h", "i"], ["a", "c", "c"], ["y", "y", "x"])
    assert later.items.tolist() == ["h", "i", "j"]
    assert later.classes.tolist() == ["x", "y", "z"]
    assert later.labels.tolist() == ["y", "x", "z"]
    assert [annotator.name for annotator in later.annotators] == ["a", "b", "c"]


def test_a_warm_start_takes_fewer_iterations(rng):
    _, _, items, annotators, labels = crowd(rng, 500, 30, 3000)
    at_once = dawid_skene(items, annotators, labels)
    later = dawid_skene(items[:-5], annotators[:-5], labels[:-5]).update(items[-5:], annotators[-5:], labels[-5:])
    assert len(later.objective) < len(at_once.objective)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "annotations",
    [
        [["x", "x"], ["x", None]],
        [["x", None], ["y", None]],
        [["x", "y"], [None, None], ["y", "y"]],
        [["x", "y"]],
        [["x", "y", "z"], ["u", "v", "w"]],
    ],
    ids=["one class", "annotator without labels", "item without labels", "one item", "all different"],
)
def test_sparse_annotations_give_sound_results(method, annotations):
    result = method(annotations)
    assert len(result.labels) == len(annotations)
    assert len(result.annotators) == len(annotations[0])
    np.testing.assert_allclose(result.posterior.sum(axis=1), 1)
    for annotator in result.annotators:
        assert np.isfinite(annotator.flips).all()
        np.testing.assert_allclose(annotator.flips.sum(axis=1), 1)
        assert 0 <= annotator.accuracy.low <= annotator.accuracy <= annotator.accuracy.high <= 1
    inactive = [annotator for annotator in result.annotators if annotator.n_answers == 0]
    assert all(annotator.accuracy.high - annotator.accuracy.low > 0.3 for annotator in inactive)


def test_results_can_be_pickled_and_put_into_frames(rng):
    _, _, items, annotators, labels = crowd(rng)
    result = pickle.loads(pickle.dumps(dawid_skene(items, annotators, labels)))
    frame = pd.DataFrame(result.annotators.columns())
    assert frame.columns.tolist() == ["name", "n_answers", "accuracy", "accuracy_low", "accuracy_high"]
    assert frame["n_answers"].sum() == len(labels)
    assert result.annotators.named(3).n_answers == np.sum(annotators == 3)
    assert result.annotators[-1].name == annotators.max()
    with pytest.raises(KeyError, match="'nobody'"):
        result.annotators.named("nobody")
    assert "20 annotators" in repr(result)
    assert "2,000 labels" in repr(result.annotators)


def test_too_few_iterations_warn(rng):
    _, _, items, annotators, labels = crowd(rng)
    with pytest.warns(ConvergenceWarning, match="after 2 iterations"):
        dawid_skene(items, annotators, labels, max_iter=2)
    with pytest.raises(ValueError, match="max_iter is 0"):
        dawid_skene(items, annotators, labels, max_iter=0)


def rte():
    if not os.environ.get("NOISEWISE_DATA"):
        pytest.skip("needs NOISEWISE_DATA")
    try:
        return load_crowd("rte")
    except FileNotFoundError as error:
        pytest.skip(str(error))


def test_textual_entailment_by_164_annotators():
    items, annotators, labels, gold = tuple(rte())[:4]
    assert 0.895 <= np.mean(majority_vote(items, annotators, labels).labels == gold) <= 0.9
    assert 0.925 <= np.mean(dawid_skene(items, annotators, labels).labels == gold) <= 0.93
    assert 0.925 <= np.mean(dawid_skene(items, annotators, labels, pooled=False).labels == gold) <= 0.93
    assert np.mean(shared_flips(items, annotators, labels).labels == gold) == pytest.approx(0.886, abs=0.01)


@pytest.mark.slow
def test_the_pooled_prior_is_never_worse_than_the_vote_and_best_from_41_annotators():
    items, annotators, labels, gold = tuple(rte())[:4]
    rng = np.random.default_rng(0)
    gains = {}
    for n_annotators in (5, 10, 20, 41, 82, 123):
        scores = []
        for _ in range(100):
            kept = np.isin(annotators, rng.choice(164, n_annotators, replace=False))
            annotations = items[kept], annotators[kept], labels[kept]
            results = [method(*annotations) for method in METHODS]
            scores.append([np.mean(result.labels == gold[result.items]) for result in results])
        votes, pooled, shared = np.mean(scores, axis=0)
        gains[n_annotators] = pooled - votes
        if n_annotators >= 41:
            assert pooled > max(votes, shared) + 0.03
    assert min(gains[5], gains[10]) > -0.005
    assert gains[20] > 0.01
