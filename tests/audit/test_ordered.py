"""Ordered classes: scored by one number and thresholds, near and far mistakes told apart."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import logistic
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score

from noisewise import audit_labels
from noisewise.audit.ordered import order_sentences, steps_of, wrong_by_steps
from noisewise.labels import RobustRidgeClassifier
from noisewise.labels.ridge.ordered_fit import OrderedRidgeClassifier, between, fit_thresholds

GRADES = ["none", "mild", "severe", "extreme"]


def graded(n=400, wrong=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    truth = np.searchsorted([-0.8, 0.0, 0.8], X[:, 0] + X[:, 1] ** 2 / 2 - 0.5 + 0.1 * rng.normal(size=n))
    observed, rows = truth.copy(), rng.choice(n, wrong, replace=False)
    observed[rows] = (observed[rows] + rng.integers(1, 4, wrong)) % 4
    return X, truth, observed


@pytest.fixture(scope="module")
def audited():
    X, truth, observed = graded()
    names = np.array(GRADES)
    unordered = audit_labels(X, names[observed], RobustRidgeClassifier())  # by default trees find the grades too
    return truth, observed, audit_labels(X, names[observed], ordered=GRADES), unordered


def test_classes_are_in_the_order_given(audited):
    _truth, observed, audit, _ = audited
    assert audit.classes.tolist() == GRADES
    np.testing.assert_array_equal(audit.observed, observed)
    assert audit.ordered


def test_the_order_finds_more_wrong_labels(audited):
    truth, observed, audit, unordered = audited
    wrong = observed != truth
    with_order, without = (average_precision_score(wrong, 1 - one.probability) for one in (audit, unordered))
    assert with_order > without + 0.05


def test_near_and_far_mistakes_add_up(audited):
    _, observed, audit, _ = audited
    by_steps = wrong_by_steps(audit)
    assert by_steps.sum() == pytest.approx(np.sum(1 - audit.probability), rel=1e-5)
    slow = np.zeros(4)
    for row, label in enumerate(observed):
        for k in range(4):
            slow[abs(k - label)] += audit.posterior[row, k]
    np.testing.assert_allclose(by_steps, slow[1:], rtol=1e-5)
    found = audit.summary()["mistakes"]
    assert found == {"near": round(by_steps[0], 1), "far": round(by_steps[1:].sum(), 1)}


def test_far_mistakes_are_named_with_a_row(audited):
    _, _, audit, _ = audited
    far = [sentence for sentence in order_sentences(audit) if sentence.startswith("far: ")]
    assert far
    row = int(far[0].rpartition(" ")[2])
    assert abs(steps_of(audit)[row]) > 1
    assert f"far: {audit.suggested[row]} is labelled {GRADES[audit.observed[row]]} in " in far[0]
    assert audit.to_frame()["steps"].abs().max() == 3


def test_the_report_has_the_order_and_the_far_mistakes(audited, tmp_path):
    audit = audited[2]
    audit.to_html(tmp_path / "audit.html")
    text = (tmp_path / "audit.html").read_text()
    heads = [text.index(f"<th>{name}</th>") for name in GRADES]
    assert heads == sorted(heads)
    assert "far mistakes, two steps or more" in text


def test_numbers_are_in_order_by_themselves_and_models_may_be_given():
    X, _, observed = graded()
    audit = audit_labels(pd.DataFrame(X), observed, LogisticRegression(), ordered=True)
    assert audit.classes.tolist() == [0, 1, 2, 3]
    assert "mistakes" in audit.summary()


@pytest.mark.parametrize(
    ("ordered", "sentence"),
    [
        (True, "ordered=True is for numbers"),
        (["none", "mild", "severe"], "leaves out 'extreme'"),
        ([*GRADES, "mild"], "names a class twice"),
        ("none", "a list of the classes from low to high"),
    ],
)
def test_what_is_no_order_is_refused(ordered, sentence):
    X, _, observed = graded(60, 4)
    with pytest.raises(ValueError, match=sentence):
        audit_labels(X, np.array(GRADES)[observed], ordered=ordered)


def test_probabilities_between_thresholds_are_those_of_the_logistic_distribution():
    p = between(np.array([0.3]), np.array([-1.0, 0.5]), 0.7)[0]
    edges = logistic.cdf(np.array([-np.inf, -1.0, 0.5, np.inf]), 0.3, 0.7)
    np.testing.assert_allclose(p, np.diff(edges), atol=1e-8)


def test_thresholds_are_found_again(rng):
    f = rng.normal(size=20_000)
    codes = np.searchsorted([-0.7, 0.4], f + 0.2 * rng.logistic(size=20_000))
    changed = rng.random(20_000) < 0.1
    codes[changed] = rng.integers(0, 3, changed.sum())
    thresholds, scale, flipped = fit_thresholds(f, codes)
    np.testing.assert_allclose(thresholds, [-0.7, 0.4], atol=0.06)
    assert scale == pytest.approx(0.2, abs=0.03)
    assert flipped == pytest.approx(0.1, abs=0.05)


def test_the_classifier_predicts_new_rows():
    X, truth, observed = graded()
    fitted = OrderedRidgeClassifier().fit(X[:300], observed[:300])
    p = fitted.predict_proba(X[300:])
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert np.mean(fitted.predict(X[300:]) == truth[300:]) > 0.7
