"""A plain LinUCB that the tests of rate estimators play with."""

import numpy as np
from numba import njit
from sklearn.datasets import load_digits


def digits():
    X, y = load_digits(return_X_y=True)
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    return np.hstack([X, np.full((len(X), 1), 0.3)]), y.astype(np.int64)


def two_sides(n, seed):
    """Rows on two sides of a plane, some of them so near to it that their side is random; their sides."""
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
        self.uninformative = np.zeros(n_actions, dtype=np.bool_)
        self.width = np.ones(n_actions)

    def use(self, fit):
        self.inverses, self.weights, self.baseline = fit.inverses.copy(), fit.weights.copy(), fit.baseline.copy()

    def correct(self, report):
        """Score by the rates of an `ActionRates`."""
        self.false_positive = report.on * report.false_positive
        self.signal = 1 - report.on * (report.false_positive + report.false_negative)
        self.uninformative = report.uninformative

    def play(self, X, rows, y, channel, groups, uniforms, exploration, targets, importance):
        """Play the rows; feedback is drawn from channel[group, action, truth]; learn targets[action, feedback]."""
        n = len(rows)
        actions, feedback = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        _play(
            X,
            rows,
            y,
            np.cumsum(channel, axis=-1),
            groups,
            uniforms,
            exploration,
            targets,
            importance,
            self.inverses,
            self.weights,
            self.baseline,
            self.false_positive,
            self.signal,
            self.uninformative,
            self.width,
            actions,
            feedback,
        )
        return actions, feedback

    def greedy_error(self, X, y):
        scores = (X @ self.weights.T - self.false_positive * (X @ self.baseline.T)) / self.signal
        if self.uninformative.any():
            left = 1 - np.maximum(scores[:, ~self.uninformative], 0).sum(axis=1)
            scores[:, self.uninformative] = (left / self.uninformative.sum())[:, None]
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
    exploration,
    targets,
    importance,
    inverses,
    weights,
    baseline,
    false_positive,
    signal,
    uninformative,
    width,
    actions,
    feedback,
):
    n_actions = len(weights)
    gain = np.zeros(X.shape[1])
    for t in range(len(rows)):
        x = X[rows[t]]
        best, top, left, n_uninformative = 0, -np.inf, 1.0, 0
        for a in range(n_actions):
            if uninformative[a]:
                n_uninformative += 1
                continue
            z = (_dot(weights[a], x) - false_positive[a] * _dot(baseline[a], x)) / signal[a]
            left -= max(z, 0.0)
            _product(inverses[a], x, gain)
            z += width[a] / signal[a] * np.sqrt(max(_dot(gain, x), 0.0))
            if z > top:
                best, top = a, z
        for a in range(n_actions):
            if uninformative[a] and left / n_uninformative > top:
                best, top = a, left / n_uninformative
        action = int(uniforms[t, 1] * n_actions) if uniforms[t, 0] < exploration else best
        truth = int(y[rows[t]] == action)
        row = channel[groups[t], action, truth]
        code = 0
        while code < len(row) - 1 and uniforms[t, 2] >= row[code]:
            code += 1
        weight = importance[action, code]
        if weight > 0:
            _product(inverses[action], x, gain)
            scale = 1 / (1 / weight + _dot(gain, x))
            up, level = targets[action, code] - _dot(weights[action], x), 1 - _dot(baseline[action], x)
            for i in range(len(x)):
                step = scale * gain[i]
                weights[action, i] += up * step
                baseline[action, i] += level * step
                for j in range(len(x)):
                    inverses[action, i, j] -= step * gain[j]
        actions[t], feedback[t] = action, code
