"""Probabilities of an audit against labels of held-out rows, and against verdicts."""

import numpy as np
import pytest
from scipy.special import softmax

from noisewise import FlipMatrix, audit_labels, audit_probabilities
from noisewise.audit.reliability import bands, held_out_bands, predicted_labels, verdict_bands
from noisewise.noise import read_noise


@pytest.fixture(scope="module")
def audited():
    rng = np.random.default_rng(0)
    logits = 2 * rng.normal(size=(3000, 3))
    p = softmax(logits, axis=1)
    truth = np.array([rng.choice(3, p=row) for row in p])
    observed = FlipMatrix.symmetric(0.15, 3).corrupt(truth, rng)
    return p, truth, observed, audit_probabilities(p, observed)


def test_held_out_labels_are_predicted_as_often_as_they_come(audited):
    *_, audit = audited
    found = held_out_bands(audit)
    assert found["cases"].sum() == 3 * 2000
    std = np.sqrt(found["predicted"] * (1 - found["predicted"]) / found["cases"])
    assert (np.abs(found["happened"] - found["predicted"]) < 5 * std + 0.02).all()
    assert audit.reliability("pandas").columns.tolist()[:4] == ["from", "to", "cases", "predicted"]


def test_no_label_helps_to_predict_itself(audited):
    """Labels without any relation to the rows: an in-sample fit could only look better than their frequencies."""
    p, *_ = audited
    rng = np.random.default_rng(1)
    found = held_out_bands(audit_probabilities(p, rng.integers(0, 3, len(p))))
    assert (np.abs(found["happened"] - found["predicted"]) < 0.1).all()
    assert found["predicted"].max() < 0.6


def test_labels_are_predicted_through_the_noise(audited):
    p, _, observed, _ = audited
    calibration = read_noise(p, observed).calibration
    slow = sum(
        model.weight * np.array([[row @ model.matrix[:, j] for j in range(3)] for row in model.clean_posterior(p[:5])])
        for model in calibration.candidates
    )
    np.testing.assert_allclose(predicted_labels(calibration, p[:5]), slow, rtol=1e-6)


def test_verdicts_are_held_against_the_probabilities_before_them(audited, tmp_path):
    _, truth, observed, audit = audited
    rows = np.r_[audit.order[:60], audit.order[-60:]]
    later = audit.update({int(row): int(truth[row]) for row in rows})
    found = verdict_bands(later)
    assert found["cases"].sum() == 120
    wrong = observed[rows] != truth[rows]
    assert found["happened"] @ found["cases"] == pytest.approx(wrong.sum())
    assert found["predicted"] @ found["cases"] == pytest.approx(np.sum(1 - audit.probability[rows]))
    later.to_html(tmp_path / "audit.html")
    text = (tmp_path / "audit.html").read_text()
    assert "were wrong, %" in text
    assert "Cross-fitted" in text


def test_intervals_hold_nine_of_ten(rng):
    holds = []
    for _ in range(500):
        happened = (rng.random(80) < 0.3).astype(float)
        found = bands(np.full(80, 0.3), happened, (0.0, 1.0))
        holds.append(found["low"][0] <= 0.3 <= found["high"][0])
    assert abs(np.mean(holds) - 0.9) < 5 * np.sqrt(0.09 / 500)


def test_few_rows_get_no_panel(tmp_path, rng):
    audit = audit_labels(rng.normal(size=(60, 2)), np.arange(60) % 2)
    assert held_out_bands(audit) is None
    assert verdict_bands(audit) is None
    audit.to_html(tmp_path / "audit.html")
    assert "Do the probabilities hold?" not in (tmp_path / "audit.html").read_text()
    with pytest.raises(ValueError, match="rows are too few"):
        audit.reliability()
