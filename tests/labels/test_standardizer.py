"""Tables of counts, as texts have: what counts is which words, not how many of them."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import normalize

from noisewise.labels import RobustRidgeClassifier
from noisewise.labels.standardizer import Standardizer


@pytest.fixture(scope="module")
def texts():
    """Counts of 1,200 words in 200 texts of 20 to 300, of two kinds, and labels of which a fifth is wrong."""
    rng = np.random.default_rng(4)
    truth = np.arange(200) % 2
    odds = np.arange(1, 1201) ** -0.7 * np.where(rng.random((2, 1200)) < 0.05, 4.0, 1.0)
    lengths = np.clip(rng.lognormal(4.0, 0.7, 200), 20, 300).astype(int)
    X = np.array([rng.multinomial(n, odds[c] / odds[c].sum()) for n, c in zip(lengths, truth)], dtype=float)
    return X, truth ^ (rng.random(200) < 0.2), truth


def test_a_text_is_scored_by_its_words_whatever_its_length(texts):
    X, y, truth = texts
    longer = X * np.random.default_rng(0).integers(1, 6, size=(200, 1))
    model, other = RobustRidgeClassifier().fit(X, y), RobustRidgeClassifier().fit(longer, y)
    np.testing.assert_allclose(other.scores_, model.scores_, atol=1e-6)
    np.testing.assert_allclose(other.predict_proba(X), model.predict_proba(longer), atol=1e-6)
    assert roc_auc_score(y != truth, -model.label_quality_) > 0.85


def test_sparse_texts_are_the_same_texts(texts):
    X, y, _ = texts
    dense, sparse = RobustRidgeClassifier().fit(X, y), RobustRidgeClassifier().fit(sp.csr_array(X), y)
    np.testing.assert_allclose(sparse.scores_, dense.scores_, atol=1e-4)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_counts_are_known_by_what_they_are(texts, kind):
    X = texts[0]
    found = Standardizer.of(kind(X), look_for_counts=True)
    assert found.by_length
    np.testing.assert_allclose(found.center, normalize(X).mean(axis=0), rtol=1e-12, atol=1e-15)
    signed = X.copy()
    signed[3, np.flatnonzero(X[3])[0]] *= -1
    assert not Standardizer.of(kind(signed), look_for_counts=True).by_length
    assert Standardizer.of(kind(signed), (np.arange(200) != 3) * 1.0, look_for_counts=True).by_length  # not counted
    assert not Standardizer.of(kind(X[:, :1000]), look_for_counts=True).by_length  # few columns
    assert not Standardizer.of(kind(X + (np.arange(1200) < 121)), look_for_counts=True).by_length  # filled


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_columns_far_from_zero_are_centred_and_constant_ones_dropped(kind):
    rng = np.random.default_rng(0)
    columns = np.round(rng.normal(size=(3000, 2)), 3)
    X = np.column_stack([columns, columns + 1e10, np.full(3000, 1e10 / 3), np.full(3000, 0.1)])
    found = Standardizer.of(kind(X))
    rows = found(X, np.float64)
    np.testing.assert_allclose(rows[:, 2:4], rows[:, :2], atol=1e-4)  # values near 1e10 are 2e-6 apart
    np.testing.assert_array_equal(found.factor[4:], 0)
