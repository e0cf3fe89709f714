"""A plain LinUCB that the tests of rate estimators play with."""

import numpy as np
from numba import njit
from sklearn.datasets import load_digits


def digits():
    X, y = load_digits(return_X_y=True)
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    return np.hstack([X, np.full((len(X), 1), 0.3)]), y.astype(np.int64)


def two_sides(n, seed):
    """Rows on two sides of a plane, some of them so near to it that chance decides; their sides."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    y = (X[:, 0] + 0.5 * X[:, 1] + 0.2 * rng.normal(size=n) > 0).astype(np.int64)
    return np.hstack([X / np.linalg.norm(X, axis=1, keepdims=True), np.full((n, 1), 0.3)]), y


class Learner:
    """Ridge regressions of targets by action, with what is needed to act on them."""

    def __init__(self, n_actions, n_features):
        self.inverses = np.tile(np.eye(n_features), (n_actions, 1, 1))
        self.weights = np.zeros((n_actions, n_features))
        self.baseline = np.zeros((n_actions, n_features))
        self.false_positive = np.zeros(n_actions)
        self.signal = np.ones(n_actions)
        self.useless = np.zeros(n_actions, dtype=np.bool_)
        self.width = np.ones(n_actions)

    def use(self, fit):
        self.inverses, self.weights, self.baseline = fit.inverses.copy(), fit.weights.copy(), fit.baseline.copy()

    def correct(self, report):
        """Score by the rates of an `ActionRates`."""
        self.false_positive = report.on * report.false_positive
        self.signal = 1 - report.on * (report.false_positive + report.false_negative)
        self.useless = report.useless

    def play(self, X, rows, y, channel, groups, uniforms, share, targets, importance):
        """Play the rows; answers are drawn from channel[group, action, truth]; learn targets[action, answer]."""
        n = len(rows)
        actions, answers = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        _play(
            X,
            rows,
            y,
            np.cumsum(channel, axis=-1),
            groups,
            uniforms,
            share,
            targets,
            importance,
            self.inverses,
            self.weights,
            self.baseline,
            self.false_positive,
            self.signal,
            self.useless,
            self.width,
            actions,
            answers,
        )
        return actions, answers

    def greedy_error(self, X, y):
        scores = (X @ self.weights.T - self.false_positive * (X @ self.baseline.T)) / self.signal
        if self.useless.any():
            left = 1 - np.maximum(scores[:, ~self.useless], 0).sum(axis=1)
            scores[:, self.useless] = (left / self.useless.sum())[:, None]
        return np.mean(scores.argmax(axis=1) != y)


@njit(cache=True)
def _dot(u, v):
    total = 0.0
    for i in range(len(u)):
        total += u[i] * v[i]
    return total


@njit(cache=True)
def _product(matrix, x, out):
    out[:] = 0.0
    for i in range(len(x)):
        if x[i] != 0.0:
            for j in range(len(x)):
                out[j] += x[i] * matrix[i, j]


@njit(cache=True)
def _play(
    X,
    rows,
    y,
    channel,
    groups,
    uniforms,
    share,
    targets,
    importance,
    inverses,
    weights,
    baseline,
    false_positive,
    signal,
    useless,
    width,
    actions,
    answers,
):
    n_actions = len(weights)
    gain = np.zeros(X.shape[1])
    for t in range(len(rows)):
        x = X[rows[t]]
        best, top, left, n_useless = 0, -np.inf, 1.0, 0
        for a in range(n_actions):
            if useless[a]:
                n_useless += 1
                continue
            z = (_dot(weights[a], x) - false_positive[a] * _dot(baseline[a], x)) / signal[a]
            left -= max(z, 0.0)
            _product(inverses[a], x, gain)
            z += width[a] / signal[a] * np.sqrt(max(_dot(gain, x), 0.0))
            if z > top:
                best, top = a, z
        for a in range(n_actions):
            if useless[a] and left / n_useless > top:
                best, top = a, left / n_useless
        action = int(uniforms[t, 1] * n_actions) if uniforms[t, 0] < share else best
        truth = int(y[rows[t]] == action)
        row = channel[groups[t], action, truth]
        answer = 0
        while answer < len(row) - 1 and uniforms[t, 2] >= row[answer]:
            answer += 1
        weight = importance[action, answer]
        if weight > 0:
            _product(inverses[action], x, gain)
            scale = 1 / (1 / weight + _dot(gain, x))
            up, level = targets[action, answer] - _dot(weights[action], x), 1 - _dot(baseline[action], x)
            for i in range(len(x)):
                step = scale * gain[i]
                weights[action, i] += up * step
                baseline[action, i] += level * step
                for j in range(len(x)):
                    inverses[action, i, j] -= step * gain[j]
        actions[t], answers[t] = action, answer
