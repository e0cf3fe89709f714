"""Models of one's own: pipelines on frames and texts, groups, time, repeats, weights."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold, TimeSeriesSplit, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from noisewise import FlipMatrix, audit_labels
from noisewise.audit.folds import Folds, in_columns, out_of_fold, rows_of, takes_own_columns


@pytest.fixture
def mixed():
    """A table with a category, of which one label in ten is wrong."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 300)
    colour = np.where(rng.random(300) < 0.9, np.where(truth, "red", "blue"), "green")
    frame = pd.DataFrame({"colour": colour, "size": truth + 0.3 * rng.normal(size=300)})
    frame.index = rng.permutation(300)
    return frame, truth, np.where(rng.random(300) < 0.1, 1 - truth, truth)


def by_columns():
    columns = ColumnTransformer([("c", OneHotEncoder(), ["colour"]), ("s", StandardScaler(), ["size"])])
    return make_pipeline(columns, LogisticRegression())


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_pipeline_gets_the_columns_of_the_frame(mixed, library):
    frame, truth, observed = mixed
    X = frame if library == "pandas" else pl.from_pandas(frame)
    audit = audit_labels(X, observed, model=by_columns())
    assert not any("encoded" in note for note in audit.notes)
    wrong = observed != truth
    assert wrong[audit.order[: wrong.sum()]].mean() > 0.8


def test_a_pipeline_for_numbers_gets_the_encoded_rows_of_a_mixed_frame(mixed):
    frame, truth, observed = mixed
    audit = audit_labels(frame, observed, model=make_pipeline(StandardScaler(), LogisticRegression()))
    assert any("can't be fitted to the rows as given" in note for note in audit.notes)
    assert (observed != truth)[audit.order[:20]].mean() > 0.8


def test_a_pipeline_that_fits_nothing_says_why(mixed):
    frame, _, observed = mixed
    columns = ColumnTransformer([("c", OneHotEncoder(), ["taste"])])
    with pytest.raises(ValueError, match="taste"):
        audit_labels(frame, observed, model=make_pipeline(columns, LogisticRegression()))


@pytest.mark.parametrize("kind", [list, pd.Series, pl.Series, np.array])
def test_texts_go_in_as_they_are(kind):
    rng = np.random.default_rng(0)
    topics = np.arange(120) % 2
    words = (["cat", "dog", "milk", "fur", "mouse"], ["bank", "bond", "rate", "tax", "loan"])
    texts = kind([" ".join(rng.choice(words[topic], 6)) for topic in topics])
    topics[[7, 30]] = 1 - topics[[7, 30]]
    pipeline = make_pipeline(TfidfVectorizer(), LogisticRegression())
    for model in (None, pipeline):
        audit = audit_labels(texts, topics, model=model)
        assert sorted(audit.order[:2]) == [7, 30]


class Own(ClassifierMixin, BaseEstimator):
    """A classifier that knows one column by name."""

    def fit(self, X, y):
        self.classes_, self.cut_ = np.unique(y), X["size"].median()
        return self

    def predict_proba(self, X):
        high = np.asarray(X["size"] > self.cut_, dtype=float)
        return 0.05 + 0.9 * np.column_stack([1 - high, high])


def test_a_class_of_ones_own_gets_the_frame(mixed):
    frame, truth, observed = mixed
    audit = audit_labels(frame, observed, model=Own())
    assert (observed != truth)[audit.order[:15]].mean() > 0.5  # one in ten by chance


def test_rows_of_one_group_are_held_out_together():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(60), 5)
    centres = rng.normal(size=(60, 4))
    X = centres[groups] + 0.01 * rng.normal(size=(300, 4))
    y = rng.integers(0, 2, 60)[groups]  # a group has one label, which says nothing of the others
    known = audit_labels(X, y, labels_are="outcomes")
    held = audit_labels(X, y, groups=groups, labels_are="outcomes")
    assert known.expected_errors.high < 30 < held.expected_errors.high  # its neighbours give a row away
    for train, test in Folds.of(y, None, groups, None, None).splits(y, np.arange(300)):
        assert not set(groups[train]) & set(groups[test])


def test_folds_are_those_of_scikit_learn():
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression(max_iter=500)
    cv = StratifiedKFold(4, shuffle=True, random_state=3)
    [ours] = out_of_fold(model, X, y, 3, Folds(cv))
    np.testing.assert_allclose(ours, cross_val_predict(model, X, y, cv=cv, method="predict_proba"), atol=1e-12)
    [parallel] = out_of_fold(model, X, y, 3, Folds(cv, n_jobs=2))
    np.testing.assert_array_equal(parallel, ours)


def test_repeats_are_several_models():
    X, truth = load_iris(return_X_y=True)
    observed = FlipMatrix.symmetric(0.1, 3).corrupt(truth, 0)
    cv = RepeatedStratifiedKFold(n_splits=5, n_repeats=3, random_state=0)
    forest = RandomForestClassifier(30, min_samples_leaf=3, random_state=0)
    arrays = out_of_fold(forest, X, observed, 3, Folds(cv))
    assert len(arrays) == 3
    assert not any(np.isnan(array).any() for array in arrays)
    assert np.abs(arrays[0] - arrays[1]).max() > 0.01
    audit = audit_labels(X, observed, model=forest, cv=cv)
    assert (observed != truth)[audit.order[:10]].mean() > 0.8


def test_rows_before_the_first_fold_are_not_judged():
    X, truth = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(150)
    X, truth = X[order], truth[order]
    observed = FlipMatrix.symmetric(0.1, 3).corrupt(truth, 0)
    audit = audit_labels(X, observed, model=LogisticRegression(max_iter=500), cv=TimeSeriesSplit(4))
    assert "30 rows are in no test fold: assumed to be wrong at the error rate of the others" in audit.notes
    assert np.ptp(audit.probability[:30]) == 0
    np.testing.assert_allclose(audit.posterior.sum(axis=1), 1, atol=1e-5)
    assert 1 - audit.probability[0] == pytest.approx(float(audit.expected_errors) / 150, rel=1e-3)


def test_weights_reach_the_fit():
    X, y = load_iris(return_X_y=True)
    weights = np.where(y == 0, 1e-6, 1.0)
    plain = make_pipeline(StandardScaler(), LogisticRegression())
    for model in (plain, LogisticRegression(max_iter=500)):
        [with_all], [without] = (out_of_fold(model, X, y, 3, Folds(sample_weight=w)) for w in (None, weights))
        assert with_all[y == 0, 0].mean() > 0.9
        assert without[y == 0, 0].mean() < 0.6


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"groups": [1, 2]}, "groups has length 2, and there are 150 labels"),
        ({"groups": [1] * 150}, "one group only"),
        ({"groups": ["a"] * 149 + [None]}, "1 of 150 rows has no group"),
        ({"groups": "city"}, "not the name of a column"),
        ({"sample_weight": [1.0]}, "one finite weight for each of 150 rows"),
        ({"sample_weight": [1.0] * 150}, "give a model= with it"),
        ({"cv": "often"}, "cv"),
    ],
)
def test_folds_that_cannot_be_get_one_sentence(options, sentence):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=sentence):
        audit_labels(X, y, **options)


def test_what_goes_in_as_it_is():
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    frame = pd.DataFrame({"a": [1, 2]})
    assert takes_own_columns(pipeline, frame)
    assert takes_own_columns(pipeline, ["a", "b"])
    assert not takes_own_columns(pipeline, np.eye(2))
    assert not takes_own_columns(LogisticRegression(), frame)
    assert in_columns(["a", "b"]).shape == (2, 1)
    assert rows_of(frame, np.array([1]))["a"].tolist() == [2]
