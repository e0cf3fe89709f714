"""Anchors and the mixture step find the flip matrix."""

import numpy as np
import pytest

from noisewise import FlipMatrix
from noisewise.noise import (
    anchor_scores,
    expected_counts,
    flip_from_anchors,
    mixture_step,
    rates_from_anchors,
)

NOISE = FlipMatrix([[0.8, 0.15, 0.05], [0.1, 0.9, 0.0], [0.0, 0.3, 0.7]])


def clean_posteriors(rng, n=500):
    return np.concatenate([rng.dirichlet([0.4] * 3, n), np.eye(3)])


def test_anchors_of_noisy_posteriors_are_the_flip_matrix(rng):
    noisy = NOISE.push(clean_posteriors(rng))
    np.testing.assert_allclose(flip_from_anchors(noisy).matrix, NOISE.matrix, atol=1e-12)


def test_two_classes_give_the_two_minima(rng):
    eta = rng.uniform(0.2, 0.9, 100)
    noise = flip_from_anchors(np.column_stack([1 - eta, eta]))
    np.testing.assert_allclose([noise.matrix[0, 1], noise.matrix[1, 0]], [eta.min(), 1 - eta.max()])


def test_a_quantile_is_robust_to_extreme_rows():
    scores = np.array([[0.99, 0.01]] + [[0.8, 0.2]] * 50 + [[0.3, 0.7]] * 50)
    assert flip_from_anchors(scores, quantile=0.9).matrix[0, 1] == pytest.approx(0.2)
    assert flip_from_anchors(scores).matrix[0, 1] == pytest.approx(0.01)


def test_weights_count_rows(rng):
    scores = rng.dirichlet([1.0] * 3, 40)
    weights = rng.integers(0, 4, 40)
    repeated = np.repeat(scores, weights, axis=0)
    for quantile in (1.0, 0.9, 0.5):
        used = weights > 0
        weighted = anchor_scores(scores[used], quantile, weights[used])
        np.testing.assert_allclose(weighted, anchor_scores(rng.permutation(repeated), quantile), atol=1e-12)


def test_feedback_rates_are_estimated_from_counterfactual_scores(rng):
    right = clean_posteriors(rng)
    scores = 0.1 + (1 - 0.1 - 0.25) * right  # P(feedback = 1 | x, action)
    noise = rates_from_anchors(scores)
    np.testing.assert_allclose([noise.matrix[0, 1], noise.matrix[1, 0]], [0.1, 0.25], atol=1e-12)


@pytest.mark.parametrize("quantile", [0.0, 1.5])
def test_quantiles_outside_their_range_are_refused(quantile):
    with pytest.raises(ValueError, match="quantile"):
        anchor_scores([[1.0, 0.0]], quantile)


def log_likelihood(noise, p, observed):
    return np.log(noise.push(p)[np.arange(len(observed)), observed]).sum()


def test_em_steps_converge_to_the_true_noise(rng):
    p = clean_posteriors(rng, 20_000)
    true = np.array([rng.choice(3, p=row) for row in p])
    observed = NOISE.corrupt(true, rng)
    noise, before = FlipMatrix.symmetric(0.2, 3), -np.inf
    for _ in range(60):
        after = log_likelihood(noise, p, observed)
        assert after >= before - 1e-9
        noise, before = mixture_step(noise, p, observed), after
    np.testing.assert_allclose(noise.matrix, NOISE.matrix, atol=0.03)


def test_expected_counts_add_up(rng):
    p, observed = rng.dirichlet([0.4] * 3, 50), rng.integers(0, 3, 50)
    weights = rng.uniform(0, 2, 50)
    counts = expected_counts(NOISE, p, observed, weights)
    np.testing.assert_allclose(counts.sum(axis=0), np.bincount(observed, weights, 3))
    by_hand = np.zeros((3, 3))
    for row, k, weight in zip(p, observed, weights, strict=True):
        joint = row * NOISE.matrix[:, k]
        by_hand[:, k] += weight * joint / joint.sum()
    np.testing.assert_allclose(counts, by_hand)


def test_pseudo_counts_keep_rates_away_from_zero():
    p, observed = np.eye(2)[[0, 0, 1, 1]], [0, 0, 1, 1]
    assert mixture_step(FlipMatrix.symmetric(0.2, 2), p, observed).matrix[0, 1] == 0
    assert mixture_step(FlipMatrix.symmetric(0.2, 2), p, observed, pseudo_counts=1.0).matrix[0, 1] == pytest.approx(
        0.25
    )
