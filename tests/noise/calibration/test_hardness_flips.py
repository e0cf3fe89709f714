"""Flips that depend on the class and on how hard a row is."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.metrics import average_precision_score

from noisewise.noise.calibration import hardness_flips
from noisewise.noise.calibration.class_clusters import Mode
from noisewise.noise.calibration.hardness_flips import OFFSET_STD, PRIOR_ROWS, fit_hardness_flips

SHARPNESS = 2.0


def judged_rows(n=3000, n_classes=3, seed=0):
    """P(judged label | x), observed and true labels; hard rows of class 0 are often called 1."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_classes, n)
    scores = rng.normal(size=(n, n_classes))
    scores[np.arange(n), truth] += rng.uniform(0, 6, n)
    judged = softmax(scores, axis=1)
    hard = judged.max(axis=1) < np.quantile(judged.max(axis=1), 1 / 3)
    flipped = hard & (truth == 0) & (rng.random(n) < 0.6)
    return judged, np.where(flipped, 1, truth), truth


def objective(judged, codes, flips, prior):
    """The penalised log-likelihood of the module's docstring, row by row."""
    total = -np.sum(flips.mode.offsets**2) / (2 * OFFSET_STD**2) + PRIOR_ROWS * np.sum(prior * np.log(flips.matrices))
    for c, y, g in zip(judged, codes, flips.part(judged), strict=True):
        q = c**flips.mode.sharpness * np.exp(flips.mode.offsets)
        total += np.log(np.sum(q / q.sum() * flips.matrices[g][:, y]))
    return total


@pytest.fixture
def exact(monkeypatch):
    monkeypatch.setattr(hardness_flips, "ITERATIONS", 2000)
    monkeypatch.setattr(hardness_flips, "TOLERANCE", 1e-10)


def plain_prior(judged, flips):
    """Mean of q_t(x) times c(x) in each part, without offsets."""
    q = judged**flips.mode.sharpness
    q /= q.sum(axis=1, keepdims=True)
    parts = flips.part(judged)
    joint = np.stack([q[parts == g].T @ judged[parts == g] for g in range(len(flips.matrices))])
    return joint / joint.sum(axis=2, keepdims=True)


def test_the_fit_is_a_maximum_of_the_objective(exact):
    judged, codes, _ = judged_rows(600)
    flips = fit_hardness_flips(judged, codes, SHARPNESS)
    prior = plain_prior(judged, flips)
    best = objective(judged, codes, flips, prior)
    rng = np.random.default_rng(0)
    for _ in range(30):
        offsets = flips.mode.offsets + 0.02 * rng.normal(size=3)
        matrices = flips.matrices * np.exp(0.02 * rng.normal(size=flips.matrices.shape))
        near = hardness_flips.HardnessFlips(
            Mode(SHARPNESS, offsets - offsets.mean()), flips.bounds, matrices / matrices.sum(axis=2, keepdims=True)
        )
        assert objective(judged, codes, near, prior) < best


def test_every_iteration_raises_the_objective(monkeypatch):
    judged, codes, _ = judged_rows(600)
    values = []
    for iterations in range(1, 8):
        monkeypatch.setattr(hardness_flips, "ITERATIONS", iterations)
        flips = fit_hardness_flips(judged, codes, SHARPNESS)
        values.append(objective(judged, codes, flips, plain_prior(judged, flips)))
    assert np.all(np.diff(values) > 0)


def test_flips_of_hard_rows_are_found_where_they_are():
    judged, codes, truth = judged_rows()
    flips = fit_hardness_flips(judged, codes, SHARPNESS)
    assert flips.matrices[0][0, 1] > 0.4
    assert flips.matrices[-1][0, 1] < 0.05
    wrong = codes != truth
    right = np.arange(len(codes)), codes
    by_flips = average_precision_score(wrong, 1 - flips.posterior(judged, codes)[right])
    assert by_flips > average_precision_score(wrong, 1 - judged[right]) + 0.05


def test_few_rows_say_what_the_rows_alone_say():
    judged, codes, _ = judged_rows()
    flips = fit_hardness_flips(judged[:6], codes[:6], SHARPNESS)
    np.testing.assert_allclose(flips.matrices, plain_prior(judged[:6], flips), atol=0.05)
    assert np.abs(flips.mode.offsets).max() < 0.6


def test_the_order_of_rows_and_classes_does_not_matter():
    judged, codes, _ = judged_rows()
    order, rows = np.array([2, 0, 1]), np.random.default_rng(1).permutation(len(codes))
    flips = fit_hardness_flips(judged, codes, SHARPNESS)
    other = fit_hardness_flips(judged[rows][:, order], np.argsort(order)[codes[rows]], SHARPNESS)
    np.testing.assert_allclose(other.matrices, flips.matrices[:, order][:, :, order], atol=1e-9)
    np.testing.assert_allclose(other.mode.offsets, flips.mode.offsets[order], atol=1e-9)


def test_rows_that_are_all_as_certain_are_one_part():
    flips = fit_hardness_flips(np.tile([[0.8, 0.2], [0.2, 0.8]], (50, 1)), np.arange(100) % 2, SHARPNESS)
    assert len(np.unique(flips.part(np.array([[0.8, 0.2], [0.2, 0.8]])))) == 1
    assert np.isfinite(flips.matrices).all()


def test_flips_between_judged_and_observed_labels_are_part_of_the_prior():
    judged, codes, _ = judged_rows(6)
    matrix = np.array([[0.7, 0.3, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    flips = fit_hardness_flips(judged, codes, SHARPNESS, matrix)
    np.testing.assert_allclose(flips.matrices, plain_prior(judged, flips) @ matrix, atol=0.05)


def test_a_given_mode_is_kept():
    judged, codes, _ = judged_rows()
    mode = Mode(1.0, np.array([0.3, -0.1, -0.2]), np.eye(3))
    flips = fit_hardness_flips(judged, codes, mode)
    assert flips.mode is mode
    assert flips.matrices[0][0, 1] > 0.4
