"""Notes on rows and labels that look like something else."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from noisewise import audit_labels

X, Y = load_iris(return_X_y=True)


@pytest.mark.parametrize("form", [np.asarray, np.log, lambda p: p.astype(np.float16)])
def test_probabilities_given_as_rows_are_noticed(form):
    p = cross_val_predict(LogisticRegression(max_iter=1000), X, Y, cv=5, method="predict_proba")
    assert any("audit_probabilities(X, y)" in note for note in audit_labels(form(p), Y).notes)


def test_rows_are_no_probabilities():
    shares = X[:, :3] / X[:, :3].sum(axis=1, keepdims=True)
    for rows in (X, X[:, :3], -X[:, :3], shares):
        assert not any("audit_probabilities" in note for note in audit_labels(rows, Y).notes)
