"""Probabilities far from the observed labels, fitted to them by an exponent and offsets of the classes."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.metrics import roc_auc_score

from noisewise import audit_probabilities
from noisewise.noise import fit_label_calibration
from noisewise.noise.calibration.judgement import least_probability


def calibrated(n=4000, n_classes=4, seed=0):
    """Probabilities of a calibrated model, and labels drawn from them."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(n_classes, 0.4), n)
    return p, (p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)


def normalised(p):
    return p / p.sum(axis=1, keepdims=True)


def by_likelihood(p, codes):
    """Exponent and offsets by a general optimiser."""

    def loss(values):
        scores = values[0] * np.log(p) + np.append(values[1:], 0.0)
        return -log_softmax(scores, axis=1)[np.arange(len(p)), codes].mean()

    found = minimize(loss, np.append(1.0, np.zeros(p.shape[1] - 1))).x
    return found[0], np.append(found[1:], 0.0) - np.append(found[1:], 0.0).mean()


BIAS = np.array([1.5, 0.0, -1.0, 0.5])


def test_a_calibrated_model_is_left_as_it_is():
    p, codes = calibrated()
    assert fit_label_calibration(p, codes) is None
    assert fit_label_calibration(normalised(p**1.5), codes) is None


@pytest.mark.parametrize("power", [0.25, 4.0])
def test_a_temperature_is_undone(power):
    p, codes = calibrated()
    found = fit_label_calibration(normalised(p**power), codes)
    assert found.offsets is None
    assert found.exponent == pytest.approx(1 / power, rel=0.1)
    assert np.abs(found(normalised(p**power)) - p).max() < 0.05


@pytest.mark.parametrize("power", [0.5, 1.0, 3.0])
def test_exponent_and_offsets_maximise_the_likelihood(power):
    p, codes = calibrated()
    favouring = normalised(p**power * np.exp(BIAS))
    found = fit_label_calibration(favouring, codes)
    exponent, offsets = by_likelihood(favouring, codes)
    assert found.exponent == pytest.approx(exponent, rel=0.02)
    np.testing.assert_allclose(found.offsets, offsets, atol=0.03)
    np.testing.assert_allclose(found(favouring).mean(axis=0), np.bincount(codes) / len(codes), rtol=0.01)


def test_of_two_classes_one_is_favoured_no_more():
    p, codes = calibrated(n_classes=2)
    favouring = normalised(p * np.exp([2.0, 0.0]))
    found, (exponent, offsets) = fit_label_calibration(favouring, codes), by_likelihood(favouring, codes)
    assert found.exponent == pytest.approx(exponent, rel=1e-3)
    np.testing.assert_allclose(found.offsets, offsets, atol=1e-3)


def test_the_order_of_classes_does_not_matter():
    p, codes = calibrated()
    favouring, order = normalised(p * np.exp(BIAS)), np.array([2, 0, 3, 1])
    moved = favouring[:, order]
    one = fit_label_calibration(favouring, codes)(favouring)
    other = fit_label_calibration(moved, np.argsort(order)[codes])(moved)
    np.testing.assert_allclose(one[:, order], other, atol=1e-6)


def test_votes_of_few_neighbours_have_no_exponent():
    p, codes = calibrated(500)
    votes = np.random.default_rng(0).multinomial(5, p) / 5
    assert np.mean(votes[np.arange(500), codes] == 0) > 0.01
    assert fit_label_calibration(votes, codes) is None


def test_labels_without_relation_to_the_rows_are_not_fitted_to():
    p, _ = calibrated()
    assert fit_label_calibration(p, np.random.default_rng(1).integers(0, 3, len(p))) is None


def test_few_rows_of_many_classes_say_nothing_of_frequencies():
    p, codes = calibrated(60)
    assert fit_label_calibration(normalised(p * np.exp(BIAS)), codes) is None


def test_zeros_are_raised_to_what_the_model_gives_at_least():
    assert least_probability(np.array([[1.0, 0.0]], dtype=np.float32)) == pytest.approx(5e-6)
    assert least_probability(np.array([[1.0, 0.0], [1 - 1e-9, 1e-9]])) == 1e-9
    assert least_probability(np.array([[1.0, 1e-200]])) == 1e-30


@pytest.mark.parametrize("given", ["too sure", "less sure", "favouring"])
def test_the_audit_does_not_depend_on_how_sure_the_model_says_it_is(given):
    p, codes = calibrated(3000)
    truth = p.argmax(axis=1)
    other = {"too sure": p**5, "less sure": p**0.2, "favouring": p * np.exp(BIAS)}[given]
    plain, fitted = (audit_probabilities(one, codes, progress=False) for one in (p, normalised(other)))
    wrong = codes != truth
    scores = [roc_auc_score(wrong, 1 - one.probability) for one in (plain, fitted)]
    assert scores[1] == pytest.approx(scores[0], abs=0.01)
    assert float(fitted.expected_errors) == pytest.approx(float(plain.expected_errors), rel=0.1)
    (note,) = [note for note in fitted.notes if "the model" in note]
    assert note.startswith("the model favours some classes (one has" if given == "favouring" else "the model is far")
    assert not [note for note in plain.notes if "the model" in note]
