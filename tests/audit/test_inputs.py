"""Notes on rows and labels that look like something else."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from noisewise import audit_labels
from noisewise.audit.posterior import UNEXPLAINED

X, Y = load_iris(return_X_y=True)


@pytest.mark.parametrize("form", [np.asarray, np.log, lambda p: p.astype(np.float16)])
def test_probabilities_given_as_rows_are_noticed(form):
    p = cross_val_predict(LogisticRegression(max_iter=1000), X, Y, cv=5, method="predict_proba")
    assert any("audit_probabilities(X, y)" in note for note in audit_labels(form(p), Y).notes)


def test_rows_are_no_probabilities():
    shares = X[:, :3] / X[:, :3].sum(axis=1, keepdims=True)
    for rows in (X, X[:, :3], -X[:, :3], shares):
        assert not any("audit_probabilities" in note for note in audit_labels(rows, Y).notes)


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("model", [None, LogisticRegression()])
def test_rows_that_say_nothing_of_the_labels_are_noticed(n_classes, model):
    rng = np.random.default_rng(n_classes)
    assert UNEXPLAINED in audit_labels(rng.normal(size=(400, 4)), rng.integers(n_classes, size=400), model=model).notes


@pytest.mark.parametrize("share", [0.5, 0.05])
def test_weak_columns_and_rare_classes_are_no_reason_for_that_note(share):
    """The most frequent class may be the likeliest of every row, and rows still tell something."""
    rng = np.random.default_rng(0)
    y = (rng.random(1000) < share).astype(int)
    assert UNEXPLAINED not in audit_labels(rng.normal(size=(1000, 4)) + 0.8 * y[:, None], y).notes
