import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from noisewise import FlipMatrix, audit_labels
from noisewise.audit._posterior import judge_rows, out_of_fold


def overlapping(n=300, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    return rng.normal(size=(n, 2)) + truth[:, None], FlipMatrix.symmetric(0.2, 2).corrupt(truth, rng)


def told_about_two_classes(audit):
    return any("flipped as often both ways look like classes that overlap" in note for note in audit.notes)


def test_what_two_classes_leave_open_is_said():
    X, observed = overlapping()
    audit = audit_labels(X, observed)
    assert told_about_two_classes(audit)
    low, high = audit.expected_errors.interval
    assert low == 0
    assert high > 0.2 * len(observed)


def test_a_known_noise_leaves_nothing_open():
    X, observed = overlapping()
    assert not told_about_two_classes(audit_labels(X, observed, noise=FlipMatrix.symmetric(0.2, 2)))


def test_many_classes_show_symmetric_noise():
    X, y = (part[:600] for part in load_digits(return_X_y=True))
    audit = audit_labels(X, FlipMatrix.symmetric(0.2, 10).corrupt(y, 0))
    assert not told_about_two_classes(audit)
    assert audit.expected_errors.low > 0


def test_any_classifier_judges_rows_it_has_not_seen():
    X, y = (part[:500] for part in load_digits(return_X_y=True))
    observed = FlipMatrix.symmetric(0.2, 10).corrupt(y, 0)
    judged = judge_rows(X / 16, observed, 10, LogisticRegression())
    doubted = judged.posterior[np.arange(500), observed] < 0.5
    assert (observed != y)[doubted].mean() > 0.9
    assert doubted[observed != y].mean() > 0.6


def test_classes_of_one_row_have_no_folds():
    with pytest.raises(ValueError, match="one row only"):
        out_of_fold(LogisticRegression(), np.zeros((5, 1)), np.array([0, 0, 0, 0, 1]), 2)
