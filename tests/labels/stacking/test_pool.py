import numpy as np

from noisewise import FlipMatrix
from noisewise.labels.stacking.pool import OUTLIER_WEIGHT, PRIOR_ROWS, Pool, Reading, likelihood_weights


def test_weights_maximise_the_likelihood_of_the_mixture_and_the_prior():
    likelihoods = np.random.default_rng(0).uniform(0.1, 1, size=(200, 2))
    grid = np.linspace(0, 1, 2001)[1:-1]
    values = np.log(np.outer(grid, likelihoods[:, 0]) + np.outer(1 - grid, likelihoods[:, 1])).sum(axis=1)
    values += PRIOR_ROWS * (np.log(grid) + np.log(1 - grid))
    assert abs(likelihood_weights(likelihoods)[0] - grid[values.argmax()]) < 2e-3


def test_with_many_rows_the_learner_that_predicts_their_labels_better_has_all_the_weight():
    np.testing.assert_allclose(likelihood_weights(np.array([[0.9, 0.6]] * 50_000)), [1, 0], atol=1e-3)


def test_the_posterior_is_that_of_true_class_and_learner_together():
    codes = np.array([0, 1, 1])
    clean = [np.array([[0.8, 0.2], [0.6, 0.4], [0.1, 0.9]]), np.array([[0.5, 0.5], [0.3, 0.7], [0.2, 0.8]])]
    flips = [FlipMatrix.binary(0.1, 0.3).matrix, FlipMatrix.binary(0.2, 0.0).matrix]
    pool = Pool.of([Reading.of(None, *pair, codes) for pair in zip(clean, flips, strict=True)], codes, None)
    for i, code in enumerate(codes):
        joint = np.zeros(2)
        for weight, p, T in zip(pool.weights, clean, flips, strict=True):
            for true in range(2):
                mixed = (1 - OUTLIER_WEIGHT) * p[i, true] + OUTLIER_WEIGHT / 2
                joint[true] += weight * mixed * T[true, code]
        np.testing.assert_allclose(pool.posterior[i], joint / joint.sum(), rtol=1e-9)


def test_noise_that_is_known_stays():
    noise = FlipMatrix.binary(0.1, 0.3)
    codes = np.array([0, 1])
    reading = Reading.of(None, np.eye(2), noise.matrix, codes)
    assert Pool.of([reading], codes, noise).noise is noise
