"""A forest judges together with the ridge where it predicts the observed labels better, and only there."""

import numpy as np
import polars as pl
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import softmax
from sklearn.datasets import load_iris
from sklearn.metrics import average_precision_score

from noisewise import FlipMatrix, audit_labels
from noisewise.audit import streaming, trees
from noisewise.audit.posterior import WITH_TREES
from noisewise.audit.trees import Forest, pool_powers, pooled_with_trees
from noisewise.labels import RobustRidgeClassifier, disagreement_of_halves
from noisewise.noise import NoiseReading


def rules(n=500, seed=0, rate=0.15):
    """Rows whose class follows thresholds in three of twelve columns, and which labels are wrong."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 12))
    truth = (X[:, 0] > 0.4).astype(int) + ((X[:, 1] > 0.5) & (X[:, 2] > 0.3))
    observed = FlipMatrix.symmetric(rate, 3).corrupt(truth, rng)
    return X, observed, observed != truth


def precision(audit, wrong):
    return average_precision_score(wrong, 1 - audit.probability)


@pytest.mark.parametrize("labels_are", [None, "outcomes"])
def test_rules_are_judged_by_trees(labels_are):
    X, y, wrong = rules()
    alone = audit_labels(X, y, RobustRidgeClassifier(), labels_are=labels_are)
    audit = audit_labels(X, y, labels_are=labels_are)
    assert WITH_TREES in audit.notes
    assert WITH_TREES not in alone.notes
    assert precision(audit, wrong) > 0.9 > precision(alone, wrong) + 0.1
    low, high = audit.expected_errors.interval
    assert low <= wrong.sum() <= high


def test_what_is_smooth_is_judged_by_the_ridge_alone():
    X, y = load_iris(return_X_y=True)
    y = FlipMatrix.symmetric(0.1, 3).corrupt(y, rng=0)
    audit, alone = audit_labels(X, y), audit_labels(X, y, RobustRidgeClassifier())
    assert WITH_TREES not in audit.notes
    np.testing.assert_array_equal(audit.probability, alone.probability)


def test_the_order_of_rows_does_not_matter():
    X, y, _ = rules(300)
    order = np.random.default_rng(1).permutation(300)
    one, other = audit_labels(X, y), audit_labels(X[order], y[order])
    assert WITH_TREES in one.notes
    np.testing.assert_allclose(one.probability[order], other.probability, atol=1e-4)


def test_copies_of_a_row_do_not_vouch_for_one_another():
    X, y, wrong = rules(400)
    once, thrice = audit_labels(X, y), audit_labels(np.repeat(X, 3, axis=0), np.repeat(y, 3))
    assert WITH_TREES in thrice.notes
    assert precision(thrice, np.repeat(wrong, 3)) > precision(once, wrong) - 0.03


def test_out_of_bag_probabilities_know_nothing_of_a_row_s_own_label():
    X, y, _ = rules(300)
    changed = y.copy()
    changed[:10] = (changed[:10] + 1) % 3
    before, after = Forest(X, y, 3, 0).of_rows(X), Forest(X, changed, 3, 0).of_rows(X)
    right = np.arange(10), changed[:10]
    assert np.abs(after[right] - before[right]).max() < 0.3  # one of its own would be 0.6 in nearly every tree


def test_rows_the_forest_did_not_grow_on_are_predicted(monkeypatch, tmp_path):
    monkeypatch.setattr(trees, "FOREST_ROWS", 400)
    monkeypatch.setattr(streaming.StreamedRows.__init__, "__defaults__", (map, 4096))
    X, y, wrong = rules(900)
    frame = pl.DataFrame(X)
    audit = audit_labels(frame, y)
    assert WITH_TREES in audit.notes
    assert precision(audit, wrong) > 0.9
    frame.write_parquet(tmp_path / "rows.parquet")
    streamed = audit_labels(pl.scan_parquet(tmp_path / "rows.parquet"), y)
    np.testing.assert_array_equal(streamed.probability, audit.probability)


def test_halves_that_follow_the_rules_disagree_less():
    X, y, _ = rules(800)
    fitted = RobustRidgeClassifier().fit(X, y)
    outcome = NoiseReading(fitted.calibration_, fitted.true_label_posterior_, fitted.n_wrong_, fitted.n_wrong_interval_)
    everywhere = np.ones(800, dtype=bool)
    both = pooled_with_trees(X, y, 3, everywhere, outcome, fitted.scores_)
    alone, _ = disagreement_of_halves(X, y, 3, np.ones(800))
    together, n = disagreement_of_halves(X, y, 3, np.ones(800), modes=both.modes)
    assert n == 800
    assert together < 0.7 * alone


def test_powers_are_those_of_a_slow_search():
    rng = np.random.default_rng(0)
    clean = softmax(2 * rng.normal(size=(400, 3)), axis=1)
    noise = FlipMatrix.symmetric(0.2, 3)
    codes = noise.corrupt((rng.random((400, 1)) > clean.cumsum(axis=1)).sum(axis=1), rng)
    logs = [np.log(clean) + 0.5 * rng.normal(size=clean.shape), np.log(clean) + rng.normal(size=clean.shape)]

    def loss(powers):
        pooled = softmax(powers[0] * logs[0] + powers[1] * logs[1], axis=1)
        return -np.log((pooled @ noise.matrix)[np.arange(400), codes]).mean()

    slow = minimize(loss, [0.5, 0.5], method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-10}).x
    np.testing.assert_allclose(pool_powers(logs, noise.matrix.T[codes]), slow, atol=1e-3)


def test_rows_that_trees_can_not_take_are_judged_by_the_ridge():
    X, y, _ = rules(300)
    large = X.copy()
    large[:, 3] *= 1e60
    repeated = np.round(X[:, :1])  # two distinct rows
    for rows in (sparse.csr_array(X), large, repeated):
        assert WITH_TREES not in audit_labels(rows, y).notes
    assert np.isfinite(Forest(X, y, 3, 0).of_rows(large)).all()
