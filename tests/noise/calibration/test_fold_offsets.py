"""What the fits of different folds differ by, found and removed."""

import numpy as np
import pytest
from scipy.special import softmax

from noisewise import audit_probabilities
from noisewise.noise import consecutive_folds, without_fold_offsets


def predicted(n=6000, n_classes=4, n_folds=5, bias=0.6, seed=0):
    """Probabilities of fits that favour a class each, labels, and the fold of each row."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_classes, n)
    folds = np.arange(n) * n_folds // n
    scores = rng.normal(size=(n, n_classes))
    scores[np.arange(n), truth] += 2
    biased = scores + bias * np.eye(n_classes)[folds % n_classes]
    return softmax(biased, axis=1), truth, folds


@pytest.mark.parametrize("n_folds", [2, 3, 5, 10])
def test_folds_of_consecutive_rows_are_found(n_folds):
    p, truth, folds = predicted(n_folds=n_folds)
    np.testing.assert_array_equal(consecutive_folds(p, truth), folds)


def test_without_a_bias_no_folds_are_found():
    for seed in range(20):
        p, truth, _ = predicted(bias=0.0, seed=seed)
        assert consecutive_folds(p, truth) is None


def test_in_mixed_rows_no_folds_are_found():
    p, truth, _ = predicted()
    rows = np.random.default_rng(0).permutation(len(truth))
    assert consecutive_folds(p[rows], truth[rows]) is None


@pytest.mark.parametrize("order", ["all sorted", "sorted in each fold"])
def test_sorted_rows_are_not_taken_for_folds(order):
    p, truth, folds = predicted(bias=0.0)
    rows = np.argsort(truth, kind="stable") if order == "all sorted" else np.lexsort((truth, folds))
    assert consecutive_folds(p[rows], truth[rows]) is None


def test_a_change_of_the_labels_is_not_taken_for_folds():
    p, truth, _ = predicted(bias=0.0)
    drifting = np.where((np.arange(len(truth)) > 3000) & (np.arange(len(truth)) % 5 == 0), 0, truth)
    assert consecutive_folds(p, drifting) is None


def test_the_bias_of_fits_is_removed():
    p, truth, folds = predicted()
    equal = without_fold_offsets(p, truth, folds)
    means = np.stack([equal[folds == fold].mean(axis=0) for fold in range(5)])
    np.testing.assert_allclose(means, np.tile(p.mean(axis=0), (5, 1)), atol=0.01)
    assert np.mean(equal.argmax(axis=1) == truth) > np.mean(p.argmax(axis=1) == truth) + 0.01
    np.testing.assert_allclose(equal.sum(axis=1), 1, atol=1e-6)


def test_differences_by_chance_stay():
    p, truth, folds = predicted(bias=0.0)
    assert np.abs(without_fold_offsets(p, truth, folds) - p).max() < 0.02


def test_folds_with_other_labels_stay_as_they_are():
    p, truth, _ = predicted()
    assert without_fold_offsets(p, truth, (truth > 1).astype(int)) is p


def test_the_audit_says_that_it_found_folds_and_takes_given_ones():
    p, truth, folds = predicted()
    rng = np.random.default_rng(1)
    observed = np.where(rng.random(len(truth)) < 0.2, rng.integers(0, 4, len(truth)), truth)
    found = audit_probabilities(p, observed)
    assert any("5 fits" in note for note in found.notes)
    rows = rng.permutation(len(truth))
    given = audit_probabilities(p[rows], observed[rows], folds=folds[rows])
    np.testing.assert_allclose(given.posterior, found.posterior[rows], atol=0.01)
    plain = audit_probabilities(p[rows], observed[rows])
    assert not any("fits" in note for note in plain.notes)
    wrong = observed != truth
    assert (wrong[found.order[: wrong.sum()]]).mean() > wrong[rows][plain.order[: wrong.sum()]].mean()


def test_folds_of_another_length_are_refused():
    p, truth, folds = predicted()
    with pytest.raises(ValueError, match="folds has length 10, y has 6000 labels"):
        audit_probabilities(p, truth, folds=folds[:10])


@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_a_fold_for_each_row_changes_nothing(n_classes):
    p = np.random.default_rng(0).dirichlet(np.full(n_classes, 0.5), 300)
    equal = without_fold_offsets(p, np.arange(300) % n_classes, np.arange(300))
    np.testing.assert_allclose(equal, p, atol=0.005)
