"""Logs of feedback for several test modules."""

import io

import numpy as np
import pytest
import scipy.sparse as sp

from noisewise.online.logs.feedback_log import FeedbackLog
from noisewise.online.logs.logged_round import Choice, LoggedRound

COSTS = ["-reward", "1-reward"]


def some_log(classes=("left", "right", "up"), n_rounds=40, sparse=False, seed=0, **more):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rounds, 4)) * (rng.random((n_rounds, 4)) < 0.6)
    actions = np.array(classes)[rng.integers(len(classes), size=n_rounds)]
    feedback, probabilities = rng.integers(2, size=n_rounds), rng.uniform(0.01, 1.0, size=n_rounds)
    return FeedbackLog(sp.csr_array(X) if sparse else X, actions, feedback, probabilities, list(classes), **more)


def offered_log():
    first = (Choice("a", {"x^p": 0.1}, 0.5), Choice("b", {}, 0.5))
    second = (Choice("c", {"x^p": 1.0, "q": 2.0}, 1 / 3), Choice("a", {}, 2 / 3))
    rounds = [
        LoggedRound({"user^age": 3.25, "day": 1.0}, "b", 1, 0.5, first, "e1"),
        LoggedRound({"user^age": -2.0}, "c", 0, 1 / 3, second, "e2"),
    ]
    return FeedbackLog.from_rounds(rounds)


def dense(X):
    return X.toarray() if sp.issparse(X) else X


def assert_same(one, other, offered=True):
    assert np.array_equal(dense(one.X), dense(other.X))
    for name in ("actions", "classes", "feedback", "probabilities"):
        assert getattr(one, name).tolist() == getattr(other, name).tolist(), name
    assert one.feature_names == other.feature_names
    assert one.ids == other.ids
    assert one.weights.tolist() == other.weights.tolist()
    if offered:
        assert one.offered == other.offered


def written(write, log, **options):
    file = io.StringIO()
    write(log, file, **options)
    return file.getvalue().splitlines()


def refusal(call):
    """What is wrong, as the error says it; nothing if nothing is."""
    try:
        call()
    except ValueError as error:
        return str(error)
    return ""


def vw_labels(workspace, text):
    examples = workspace.parse(text)
    examples = examples if isinstance(examples, list) else [examples]
    labels = [str(example.get_label()) for example in examples]
    workspace.learn(examples if len(examples) > 1 else examples[0])
    n_features = [example.get_feature_number() for example in examples]
    return labels, n_features


def parsed_label(label):
    number, cost, probability = label.split(":")
    return int(number), float(cost), pytest.approx(float(probability), rel=1e-6)
