"""Tables with more columns than rows: embeddings, hashed text. They can fit any labels, and must not confirm them."""

import numpy as np
import polars as pl
import pytest
from scipy import sparse
from sklearn.metrics import roc_auc_score

from noisewise import audit_labels


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_wrong_labels_of_a_wide_table_are_counted_and_found(kind):
    rng = np.random.default_rng(0)
    truth = np.arange(300) % 2
    X = rng.normal(size=(300, 600))
    X[:, :20] += 1.5 * truth[:, None]
    y = np.where(rng.random(300) < 0.2, 1 - truth, truth)
    audit = audit_labels(kind(X), y)
    wrong = y != truth
    low, high = audit.expected_errors.interval
    assert 0 < low <= wrong.sum() <= high
    assert roc_auc_score(wrong, -audit.probability) > 0.95
    assert wrong[audit.picked].mean() > 0.8


def test_labels_of_a_wide_table_by_coin_toss_are_neither_right_nor_wrong():
    X = np.random.default_rng(0).normal(size=(200, 400))
    for labels_are in (None, "outcomes"):
        audit = audit_labels(X, np.arange(200) % 2, labels_are=labels_are)
        low, high = audit.expected_errors.interval
        assert low == 0
        assert high > 60
        assert audit.probability.max() <= 0.9
    assert len(audit.picked) == 0


def test_wrong_labels_of_few_texts_are_counted_and_found():
    rng = np.random.default_rng(0)
    words = np.array([f"word{i}" for i in range(1500)])
    truth = rng.integers(0, 3, 300)
    usual = np.arange(1, 1501) ** -0.7
    probabilities = [np.where(np.arange(1500) // 50 == c, 5 * usual, usual) for c in range(3)]
    texts = [" ".join(rng.choice(words, 30, p=probabilities[c] / probabilities[c].sum())) for c in truth]
    y = np.where(rng.random(300) < 0.15, (truth + 1) % 3, truth)
    audit = audit_labels(pl.DataFrame({"text": texts, "length": rng.normal(size=300)}), y, encoder="words")
    wrong = y != truth
    low, high = audit.expected_errors.interval
    assert any("1024" in note for note in audit.notes)
    assert 0 < low <= wrong.sum() <= high
    assert roc_auc_score(wrong, -audit.probability) > 0.95
