"""Tables of few different rows, each many times: its own cell tells what a row is, and no other can."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from noisewise.labels import RobustRidgeClassifier
from noisewise.labels.ridge import leave_one_out


@pytest.mark.parametrize("cells", [[[1.0, 2.0], [3.0, 4.0]], np.eye(3)])
@pytest.mark.parametrize("times", [5, 10, 20])
def test_a_clean_table_of_few_cells_is_clean(cells, times):
    model = RobustRidgeClassifier().fit(np.tile(cells, (times, 1)), np.tile(np.arange(len(cells)), times))
    assert model.label_quality_.min() > 0.9
    assert model.n_wrong_interval_[0] == 0


@pytest.mark.parametrize("n", [40, 80, 150])
def test_wrong_labels_are_found_where_only_their_own_cell_knows(n):
    rng = np.random.default_rng(0)
    X = rng.integers(2, size=(n, 3)).astype(float)
    truth = (X[:, 0] != X[:, 1]).astype(int)
    wrong = rng.random(n) < 0.15
    model = RobustRidgeClassifier().fit(X, truth ^ wrong)
    assert roc_auc_score(wrong, -model.label_quality_) > 0.9
    assert model.n_wrong_interval_[0] <= wrong.sum() <= model.n_wrong_interval_[1]


def test_many_rows_that_are_all_repeated_are_duplicates(monkeypatch):
    rng = np.random.default_rng(1)
    truth = np.arange(60) % 2
    X = rng.normal(size=(60, 4)) + 3 * truth[:, None]
    wrong = np.arange(60) % 10 == 3
    rows, labels, suspect = np.tile(X, (6, 1)), np.tile(truth ^ wrong, 6), np.tile(wrong, 6)
    assert RobustRidgeClassifier().fit(rows, labels).label_quality_[suspect].max() < 0.7
    monkeypatch.setattr(leave_one_out, "MOST_CELLS", 60)
    assert RobustRidgeClassifier().fit(rows, labels).label_quality_[suspect].min() > 0.9  # its duplicates confirm each
