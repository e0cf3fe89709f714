"""The audit of numbers: which are wrong, how many, what they should be."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_friedman1
from sklearn.linear_model import LinearRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from noisewise import TargetAudit, audit_targets
from noisewise.labels.ridge.target_fit import TargetRidge
from noisewise.noise.calibration.residuals import read_residuals


def numbers(n=300, noise=0.7, seed=0):
    X, y = make_friedman1(n, noise=noise, random_state=seed)
    return X, y + 20


@pytest.fixture(scope="module")
def tenfold():
    X, y = numbers()
    observed = y.copy()
    observed[:15] *= 10
    return X, y, observed, audit_targets(X, observed)


def test_numbers_ten_times_too_large_are_found_named_and_mended(tenfold):
    _, y, _, audit = tenfold
    assert set(audit.order[:15].tolist()) == set(range(15))
    assert set(audit.reasons[:15]) == {"10 times"}
    np.testing.assert_allclose(audit.apply()[:15], y[:15])
    assert any("15 numbers look 10 times" in note for note in audit.notes)


def test_the_count_holds_the_number_of_wrong_ones(tenfold):
    audit = tenfold[-1]
    assert audit.expected_errors.low <= 15 <= audit.expected_errors.high
    assert audit.summary()["expected_errors"] == pytest.approx(float(audit.expected_errors), abs=0.05)


def test_clean_numbers_prove_nothing():
    audit = audit_targets(*numbers())
    assert audit.expected_errors.low == 0
    assert audit.expected_errors < 15


def test_the_range_of_a_right_number_holds_nine_of_ten(tenfold):
    _, y, _, audit = tenfold
    holds = np.mean((audit.low <= y) & (y <= audit.high))
    assert abs(holds - 0.9) < 5 * np.sqrt(0.09 / len(y)) + 0.03  # predictions are made from the same rows


@pytest.mark.parametrize("model", [None, LinearRegression()])
def test_shifted_numbers_come_first_with_any_model(model, rng):
    X, y = numbers()
    wrong = np.zeros(len(y), dtype=bool)
    wrong[rng.choice(len(y), 20, replace=False)] = True
    y = y + 15 * wrong
    audit = audit_targets(X, y, model)
    assert roc_auc_score(wrong, 1 - audit.probability) > 0.98
    assert wrong[audit.order[:10]].mean() >= 0.8


def test_frames_arrays_and_sparse_rows_give_the_same(tenfold):
    X, _, observed, audit = tenfold
    for rows in (X.tolist(), sparse.csr_array(X)):
        np.testing.assert_allclose(audit_targets(rows, observed).probability, audit.probability, atol=1e-3)
    framed = audit_targets(pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])]), pd.Series(observed))
    assert set(framed.order[:15].tolist()) == set(range(15))
    assert list(framed.to_frame().columns) == ["row", "observed", "suggested", "low", "high", "probability", "reason"]


def test_the_unit_of_the_numbers_does_not_matter(tenfold):
    X, _, observed, audit = tenfold
    in_grams = audit_targets(X, 1000 * observed)
    np.testing.assert_allclose(in_grams.probability, audit.probability, atol=1e-6)
    np.testing.assert_allclose(in_grams.suggested, 1000 * audit.suggested, rtol=1e-6)


def test_a_pipeline_gets_the_columns_of_the_frame(rng):
    x, kind = rng.normal(size=200), rng.choice(["a", "b"], 200)
    y = 3 * x + 10 * (kind == "b") + 0.1 * rng.normal(size=200)
    y[:5] += 8
    columns = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough")
    frame = pd.DataFrame({"x": x, "kind": kind})
    audit = audit_targets(frame, y, make_pipeline(columns, LinearRegression()))
    assert set(audit.order[:5].tolist()) == set(range(5))


def test_review_files_and_report(tenfold, tmp_path):
    audit = tenfold[-1]
    assert isinstance(audit, TargetAudit)
    audit.patch(tmp_path / "patch.json")
    entries = json.loads((tmp_path / "patch.json").read_text())
    assert entries[0]["decision"] == ""
    assert {entry["row"] for entry in entries} >= set(range(15))
    audit.to_html(tmp_path / "audit.html")
    text = (tmp_path / "audit.html").read_text()
    assert "of 300 numbers look wrong" in text
    assert "10 times" in text


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        (["a"] * 50, "not numbers; audit_labels"),
        ([0, 1] * 25, "2 distinct values; these are classes"),
        ([np.nan, *range(49)], "NaN"),
        (range(10), "10 numbers; 30 or more"),
        (range(49), "50 rows, y has 49"),
    ],
)
def test_what_is_no_target_is_refused(y, sentence):
    values = np.array(list(y), dtype=object if isinstance(next(iter(y)), str) else float)
    with pytest.raises(ValueError, match=sentence):
        audit_targets(np.random.default_rng(0).normal(size=(50, 3)), values)


def test_leave_one_out_equals_a_refit_without_the_row(rng):
    X, y = rng.normal(size=(40, 2)), rng.normal(size=40)
    ridge = TargetRidge(X, np.random.default_rng(0))
    found = ridge.leave_one_out(y, np.ones(40))
    changed = y.copy()
    changed[7] += 1.0  # the choice of penalties may depend on it, the prediction of row 7 must hardly
    assert abs(ridge.leave_one_out(changed, np.ones(40))[7] - found[7]) < 0.15
    twice = TargetRidge(np.vstack([X, X[7:8]]), np.random.default_rng(0))
    copied = twice.leave_one_out(np.append(y, 100.0), np.append(np.ones(40), 0.0))  # weight 0: scored only
    assert copied[40] == pytest.approx(copied[7])


class Apart(LinearRegression):
    """Refuses to predict rows whose number in the first column it has seen in a fit."""

    def fit(self, X, y):
        self.seen_ = set(X[:, 0].tolist())
        return super().fit(X, y)

    def predict(self, X):
        assert not self.seen_ & set(X[:, 0].tolist())
        return super().predict(X)


@pytest.mark.parametrize("model", [None, Apart()])
def test_rows_of_one_group_never_judge_each_other(model, rng):
    X = rng.normal(size=(60, 3)).repeat(3, axis=0)
    X[:, 0] = np.arange(60).repeat(3)
    y = X[:, 1] + 0.1 * rng.normal(size=180)
    y[:3] += 5  # all rows of a patient, who would vouch for each other
    audit = audit_targets(X, y, model, groups=[f"p{patient:g}" for patient in X[:, 0]])
    assert set(audit.order[:3].tolist()) == {0, 1, 2}
    assert audit.probability[:3].max() < 0.5


def test_rows_before_the_first_fold_in_time_are_not_judged():
    X, y = numbers()
    y[250] += 60
    audit = audit_targets(X, y, cv=TimeSeriesSplit(4))
    first = len(y) - 4 * (len(y) // 5)
    assert np.isnan(audit.low[:first]).all()
    assert np.ptp(audit.probability[:first]) == 0
    np.testing.assert_array_equal(audit.suggested[:first], y[:first])
    assert audit.order[0] == 250
    assert f"{first} rows are in no test fold" in audit.notes[0]


def test_missing_numbers_are_predicted_and_rows_keep_their_place(tenfold):
    X, y, observed, _ = tenfold
    gaps = observed.copy()
    gaps[100:110] = np.nan
    audit = audit_targets(X, gaps, missing="predict")
    assert set(audit.order[:15].tolist()) == set(range(15))
    assert np.abs(audit.suggested - y)[100:110].max() < 5 * 0.7 + 3
    assert (audit.probability[100:110] == 1).all()
    assert audit.summary()["missing"] == 10
    with pytest.raises(ValueError, match="NaN or infinity, first in row 100"):
        audit_targets(X, gaps)


def test_suggestions_have_no_more_digits_than_they_are_worth(tenfold):
    *_, audit = tenfold
    widths = audit.high - audit.low
    digits = np.array([len(repr(float(one)).partition(".")[2]) for one in audit.suggested])
    assert (10.0 ** -digits[15:] >= widths[15:] / 1000 * 0.999).all()


def test_a_larger_residual_is_never_a_smaller_reason_for_doubt_among_equals(rng):
    y = rng.normal(10.0, 1.0, 400)
    predictions = y + rng.normal(0.0, 0.3, 400)
    y[:40] += rng.uniform(1, 6, 40)
    reading = read_residuals(y, predictions, np.ones(400), np.ones(400))
    far = np.argsort(-np.abs(y - predictions))[:10]
    assert reading.right[far].max() < 0.5
    assert 0 <= reading.interval[0] <= 40 <= reading.interval[1]


def test_numbers_that_are_mostly_zero_are_audited_and_zero_is_in_no_other_unit(rng):
    X = rng.normal(size=(400, 4))
    rain = np.round(10 * np.maximum(0, X[:, 0] + 0.3 * rng.normal(size=400)), 1)
    typed, wrong = rain.copy(), np.flatnonzero(rain > 1)[:15]
    typed[wrong] *= 10
    audit = audit_targets(X, typed)
    assert np.isin(audit.order[:15], wrong).mean() > 0.8
    assert audit.expected_errors.low <= 15 <= audit.expected_errors.high
    assert not any(audit.reasons[typed == 0])


def test_where_most_numbers_are_one_the_rare_ones_prove_nothing(rng):
    X = rng.normal(size=(300, 3))
    y = np.where(rng.random(300) < 0.15, rng.normal(0, 20, 300), 0.0)
    audit = audit_targets(X, y)
    assert audit.expected_errors.low == 0
    assert any("half of the numbers or more are 0" in note for note in audit.notes)


def test_a_target_over_many_powers_of_ten_proves_nothing_until_its_logarithm_is_audited(rng):
    X = rng.normal(size=(300, 3))
    logs = 3 * X[:, 0] + 2.5 * rng.normal(size=300)
    logs[:10] += 25
    plain = audit_targets(X, np.exp(logs))
    assert plain.expected_errors.low == 0
    assert any("try their logarithm" in note for note in plain.notes)
    assert not any(" times" in note for note in plain.notes)  # nor is anything said of units
    assert len(plain.picked) == 30  # one in ten, though most look wrong
    np.testing.assert_array_equal(plain.picked, plain.order[:30])
    audit = audit_targets(X, logs)
    assert set(range(10)) <= set(audit.order[:12].tolist())
    assert audit.expected_errors.low <= 10 <= audit.expected_errors.high
