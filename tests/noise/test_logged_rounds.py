import numpy as np
import pytest
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import Ridge

from noisewise.noise.logged_rounds import (
    FOURIER_PENALTY,
    N_FOURIER,
    leave_one_out_scores,
    sharper_scores,
)


def rings(n_rounds, rng, linear=False):
    """Two classes, one around the other or beside it, played at random; rows, actions, feedback, truth."""
    angle, y = rng.uniform(0, 2 * np.pi, size=n_rounds), rng.integers(2, size=n_rounds)
    X = np.column_stack([np.cos(angle), np.sin(angle)]) * (0.3 + 0.7 * y)[:, None]
    X = np.column_stack([y + 0.1 * X[:, 0], 1 - y]) if linear else X
    actions = rng.integers(2, size=n_rounds)
    feedback = ((actions == y) != (rng.random(n_rounds) < 0.2)).astype(float)
    return np.column_stack([X, np.full(n_rounds, 0.3)]).astype(np.float32), actions, feedback, y


def test_a_nonlinear_regression_is_taken_where_it_predicts_better():
    X, actions, feedback, y = rings(3_000, np.random.default_rng(0))
    scores = leave_one_out_scores(X, actions, feedback, 2)
    kept, sharp, baseline = sharper_scores(X, scores, actions, feedback)
    assert np.mean(scores.argmax(axis=1) == y) < 0.7
    assert np.mean(sharp.argmax(axis=1) == y[kept]) > 0.99
    assert abs(baseline.mean() - 1) < 0.05
    straight = rings(3_000, np.random.default_rng(0), linear=True)[0]
    assert sharper_scores(X[:1_999], scores[:1_999], actions[:1_999], feedback[:1_999])[1] is not sharp
    linear = leave_one_out_scores(straight, actions, feedback, 2)
    assert np.mean(linear.argmax(axis=1) == y) > 0.99


def test_rounds_are_scored_by_every_other_round():
    X, actions, feedback, _ = rings(2_000, np.random.default_rng(1))
    scores = leave_one_out_scores(X, actions, feedback, 2)
    _, sharp, _ = sharper_scores(X, scores, actions, feedback)
    distance = np.median(np.square(X[:1_000] - X[1_000:]).sum(axis=1))
    features = RBFSampler(gamma=0.5 / distance, n_components=N_FOURIER, random_state=0).fit_transform(X)
    penalty = FOURIER_PENALTY * np.mean(np.sum(features**2, axis=1))
    others = (np.arange(2_000) % 2 == 1) & (actions == 1)
    ridge = Ridge(alpha=penalty, fit_intercept=False).fit(features[others], feedback[others])
    assert sharp[::2, 1] == pytest.approx(ridge.predict(features[::2]), abs=2e-3)


def test_short_logs_keep_their_linear_scores():
    X, actions, feedback, _ = rings(1_999, np.random.default_rng(2))
    scores = leave_one_out_scores(X, actions, feedback, 2)
    kept, same, baseline = sharper_scores(X, scores, actions, feedback)
    assert same is scores
    assert (baseline == 1).all()
    assert len(X[kept]) == 1_999
