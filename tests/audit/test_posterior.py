"""Posteriors of the true labels: leave-one-out, out of fold, and with small classes excluded."""

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_digits, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from noisewise import FlipMatrix, audit_labels
from noisewise.audit.folds import out_of_fold
from noisewise.audit.posterior import judge_rows
from noisewise.labels import RobustRidgeClassifier


def overlapping(n=300, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    return rng.normal(size=(n, 2)) + truth[:, None], FlipMatrix.symmetric(0.2, 2).corrupt(truth, rng)


def has_identifiability_note(audit):
    return any("symmetric noise can't be told from classes that overlap" in note for note in audit.notes)


def test_two_classes_do_not_identify_symmetric_noise():
    X, observed = overlapping()
    audit = audit_labels(X, observed)
    assert has_identifiability_note(audit)
    low, high = audit.expected_errors.interval
    assert low == 0
    assert high > 0.2 * len(observed)


def test_a_known_noise_needs_no_identification():
    X, observed = overlapping()
    assert not has_identifiability_note(audit_labels(X, observed, noise=FlipMatrix.symmetric(0.2, 2)))


def test_many_classes_show_symmetric_noise():
    X, y = (part[:600] for part in load_digits(return_X_y=True))
    audit = audit_labels(X, FlipMatrix.symmetric(0.2, 10).corrupt(y, 0))
    assert not has_identifiability_note(audit)
    assert audit.expected_errors.low > 0


def test_any_classifier_scores_rows_out_of_fold():
    X, y = (part[:500] for part in load_digits(return_X_y=True))
    observed = FlipMatrix.symmetric(0.2, 10).corrupt(y, 0)
    for judged in judge_rows(X / 16, observed, 10, LogisticRegression()).values():
        suspicious = judged.posterior[np.arange(500), observed] < 0.5
        assert (observed != y)[suspicious].mean() > 0.9
        assert suspicious[observed != y].mean() > 0.6


def test_classes_of_one_row_have_no_folds():
    with pytest.raises(ValueError, match="one row only"):
        out_of_fold(LogisticRegression(), np.zeros((5, 1)), np.array([0, 0, 0, 0, 1]), 2)


def wine_with_odd_rows(n_odd):
    """Wines, one label in ten wrong, and some rows of a class of their own."""
    X, truth = load_wine(return_X_y=True)
    observed = FlipMatrix.symmetric(0.1, 3).corrupt(truth, 0)
    odd = np.random.default_rng(0).choice(np.flatnonzero(observed == truth), n_odd, replace=False)
    observed[odd] = 3
    return X, observed, odd


@pytest.mark.parametrize("n_odd", [1, 4])
@pytest.mark.parametrize("model", [None, make_pipeline(StandardScaler(), LogisticRegression(C=0.1))])
def test_a_small_class_hides_no_noise_in_the_others(n_odd, model):
    X, observed, odd = wine_with_odd_rows(n_odd)
    audit = audit_labels(X, observed, model=model)
    rest = np.setdiff1d(np.arange(len(X)), odd)
    without = audit_labels(X[rest], observed[rest], model=model)
    assert without.expected_errors.low > 0
    scale = len(X) / len(rest)
    bounds = [float(audit.expected_errors), *audit.expected_errors.interval]
    wanted = [scale * bound for bound in (float(without.expected_errors), *without.expected_errors.interval)]
    np.testing.assert_allclose(bounds, wanted, rtol=0.15)  # standardised with the odd rows, or without
    np.testing.assert_allclose(audit.posterior.sum(axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(1 - audit.probability[odd], float(audit.expected_errors) / len(X), rtol=1e-4)
    assert f"rows of such classes ({n_odd}) are assumed to be wrong at the error rate of the others" in audit.notes
    assert np.array_equal(audit.noise.matrix[3], [0, 0, 0, 1])


def test_streamed_rows_of_small_classes_are_excluded_too():
    X, observed, _ = wine_with_odd_rows(2)
    frame = pl.DataFrame(X, schema=[f"x{j}" for j in range(X.shape[1])])
    streamed, held = audit_labels(frame.lazy(), observed), audit_labels(frame, observed)
    np.testing.assert_allclose(streamed.posterior, held.posterior, atol=1e-6)


def test_many_small_classes_are_what_the_table_is_about():
    X, y = (part[:60] for part in load_digits(return_X_y=True))
    observed = np.where(np.arange(60) < 20, 10 + np.arange(60) % 10, y % 2)  # ten classes of two rows
    _, codes = np.unique(observed, return_inverse=True)
    judged = judge_rows(X, codes, 12, RobustRidgeClassifier())["outcomes"]
    fitted = RobustRidgeClassifier().fit(X, codes).true_label_posterior_
    np.testing.assert_allclose(judged.posterior, fitted, atol=0.02)  # but for the grades of small probabilities
