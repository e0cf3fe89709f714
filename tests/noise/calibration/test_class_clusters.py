"""Classes as clusters of log-probabilities."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from noisewise.noise.calibration import class_clusters
from noisewise.noise.calibration.class_clusters import (
    Mode,
    fit_class_clusters,
    has_clusters,
    shrunk_frequencies,
    with_frequencies,
)


def noisy_clusters(n=6000, n_classes=5, seed=0):
    """Judged probabilities that name class 0 and 1 alike for both, and the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_classes, n)
    centres = 3 * np.eye(n_classes)
    centres[0, :2], centres[1, :2] = (2.4, 2.2), (0.6, 3.0)  # much of class 0 is called 1
    return softmax(centres[truth] + 0.5 * rng.normal(size=(n, n_classes)), axis=1), truth


def test_weights_are_those_of_linear_discriminant_analysis():
    judged, truth = noisy_clusters()
    weights, offsets = class_clusters._discriminant(judged, lambda part: np.eye(5)[truth[part]])
    logs = class_clusters._logs(judged)
    peer = LinearDiscriminantAnalysis(solver="lsqr").fit(logs[:, 1:] - logs[:, :1], truth)  # the same up to a basis
    ours = softmax(logs @ weights.T + offsets, axis=1)
    np.testing.assert_allclose(ours, peer.predict_proba(logs[:, 1:] - logs[:, :1]), atol=0.01)


def test_clusters_tell_classes_that_the_probabilities_name_wrongly():
    judged, truth = noisy_clusters()
    plain = Mode(3.0, np.zeros(5))
    mode = fit_class_clusters(judged, lambda part: plain(judged[part]), 3.0, 0.3)
    assert np.mean(mode(judged).argmax(axis=1) == truth) > np.mean(judged.argmax(axis=1) == truth) + 0.01


def test_the_mode_is_about_as_certain_as_before():
    judged, _ = noisy_clusters()
    plain = Mode(3.0, np.zeros(5))
    mode = fit_class_clusters(judged, lambda part: plain(judged[part]), 3.0, 0.3)
    assert mode(judged).max(axis=1).mean() == pytest.approx(plain(judged).max(axis=1).mean(), abs=0.03)


def test_offsets_give_the_frequencies_asked_for():
    judged, _ = noisy_clusters()
    wanted = np.array([0.1, 0.3, 0.2, 0.25, 0.15])
    mode = with_frequencies(Mode(2.0, np.zeros(5), np.eye(5)), judged, wanted)
    np.testing.assert_allclose(mode(judged).mean(axis=0), wanted, rtol=1e-3)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_offsets_of_a_mode_that_is_nearly_certain_are_found_too(n_classes):
    judged = np.random.default_rng(0).dirichlet(np.full(n_classes, 0.3), 4000).astype(np.float32)
    wanted = np.arange(1, n_classes + 1) / np.arange(1, n_classes + 1).sum()
    mode = with_frequencies(Mode(12.0, np.zeros(n_classes)), judged, wanted)
    np.testing.assert_allclose(mode(judged).mean(axis=0), wanted, rtol=1e-3)


@pytest.mark.parametrize("disagreement", [0.0, 0.1, 0.5])
def test_frequencies_are_shrunk_as_james_and_stein_do(disagreement):
    frequencies = np.array([0.1, 0.15, 0.2, 0.25, 0.3])
    logs = np.log(frequencies) - np.log(frequencies).mean()
    kept = max(0.0, 1 - 2 * (class_clusters.FREQUENCY_ERROR * disagreement) ** 2 / np.sum(logs**2))
    expected = np.exp(kept * logs)
    np.testing.assert_allclose(shrunk_frequencies(frequencies, disagreement), expected / expected.sum())


def test_three_classes_keep_their_frequencies():
    np.testing.assert_allclose(shrunk_frequencies(np.array([0.3, 0.3, 0.4]), 0.6), [0.3, 0.3, 0.4])


def test_probabilities_of_zero_are_no_clusters_of_their_own():
    judged, truth = noisy_clusters()
    judged[judged < 0.05] = 0.0  # as a small forest says
    judged /= judged.sum(axis=1, keepdims=True)
    plain = Mode(3.0, np.zeros(5))
    mode = fit_class_clusters(judged, lambda part: plain(judged[part]), 3.0, 0.3)
    assert np.isfinite(mode(judged)).all()
    assert np.mean(mode(judged).argmax(axis=1) == truth) > np.mean(judged.argmax(axis=1) == truth) - 0.005


def test_the_order_of_rows_and_classes_does_not_matter():
    judged, _ = noisy_clusters(3000)
    order, rows = np.array([3, 0, 4, 1, 2]), np.random.default_rng(1).permutation(3000)
    plain = Mode(3.0, np.zeros(5))
    mode = fit_class_clusters(judged, lambda part: plain(judged[part]), 3.0, 0.3)
    other = judged[rows][:, order]
    again = fit_class_clusters(other, lambda part: plain(other[part]), 3.0, 0.3)
    np.testing.assert_allclose(again(other), mode(judged)[rows][:, order], atol=1e-4)


def test_few_rows_two_classes_and_many_classes_have_none():
    assert has_clusters(200, 10)
    assert not has_clusters(199, 10)
    assert not has_clusters(1000, 2)
    assert not has_clusters(100_000, 101)


def test_rows_that_are_all_alike_have_a_mode():
    judged = np.tile([0.5, 0.3, 0.2], (100, 1))
    mode = fit_class_clusters(judged, lambda part: judged[part], 2.0, 0.5)
    assert np.isfinite(mode(judged)).all()
