"""An intercept is a constant feature of 1 that the learner adds: the same bits as if it were in the rows."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from noisewise import FlipMatrix, load, save
from noisewise.online import BanditClassifier, Confidence, UpperConfidence, recipes

K, D = 3, 9
NOISE = FlipMatrix.binary(0.1, 0.2)
LEARNERS = {
    "linucb": recipes.linucb,
    "linucb_diagonal": lambda *a, **o: recipes.linucb(*a, covariance="diagonal", **o),
    "linucb_rates": lambda *a, **o: recipes.linucb(*a, rates="action", **o),
    "linucb_missing": lambda *a, **o: recipes.linucb(*a, missing="auto", **o),
    "ucwl": lambda k, random_state=0, intercept=False: BanditClassifier(
        UpperConfidence(), Confidence(0.75, C=0.125), n_classes=k, random_state=random_state, intercept=intercept
    ),
}
KINDS = {
    "dense": np.asarray,
    "single": lambda X: X.astype(np.float32),
    "sparse": sp.csr_array,
    "frame": lambda X: pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]),
}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    y = rng.integers(K, size=900)
    X = 2.0 * y[:, None] * np.eye(1, D) + rng.normal(scale=0.5, size=(900, D))  # on a line: only intercepts help
    X[rng.random(X.shape) < 0.3] = 0
    return X, y


def same(one, other):
    parts = ("table_", "sigma_", "parameters_", "rng_state_")
    return all(getattr(one, part).tobytes() == getattr(other, part).tobytes() for part in parts)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", LEARNERS)
def test_an_intercept_is_a_column_of_ones(name, kind, rows):
    X, y = rows
    given, with_ones = KINDS[kind](X), KINDS[kind](np.column_stack([X, np.ones(len(X))]))
    made = LEARNERS[name](K, random_state=3, intercept=True)
    by_hand = LEARNERS[name](K, random_state=3, intercept=False)
    one, other = made.play(given, y, noise=NOISE, rng=1), by_hand.play(with_ones, y, noise=NOISE, rng=1)
    assert np.array_equal(one.actions, other.actions)
    assert same(made, by_hand)
    np.testing.assert_allclose(
        made.decision_function(given), by_hand.decision_function(with_ones), rtol=1e-5, atol=1e-6
    )
    assert made.n_features_in_ == D


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("name", LEARNERS)
def test_a_stream_is_its_rounds_one_by_one_and_goes_on_when_saved(name, kind, rows, tmp_path):
    X, y = rows
    given = KINDS[kind](X)
    stream, rounds = (LEARNERS[name](K, random_state=3, intercept=True) for _ in range(2))
    history = stream.play(given, y)
    for i in range(len(y)):
        decision = rounds.decide(given[[i]] if kind == "sparse" else given[i])
        assert decision.action == history.actions[i]
        assert kind == "sparse" or len(decision.features) == D
        rounds.learn(decision, int(decision.action == y[i]))
        if i == 400:
            save(rounds, tmp_path / "half.nw")
            rounds = load(tmp_path / "half.nw")
    assert same(stream, rounds)


def test_feedback_of_annotators_is_learnt_with_the_intercept(rows):
    X, y = rows
    made, by_hand = (recipes.linucb(K, intercept=one, random_state=0) for one in (True, False))
    for x, label in zip(X[:200], y[:200]):
        one, other = made.decide(x), by_hand.decide(np.append(x, 1.0))
        assert one.action == other.action
        made.learn(one, int(one.action == label), person="ann")
        by_hand.learn(other, int(other.action == label), person="ann")
    assert same(made, by_hand)


def test_classes_on_a_line_need_an_intercept(rows):
    X, y = rows
    rates = [recipes.linucb(K, **options).play(X, y).mistakes[-300:].mean() for options in ({}, {"intercept": False})]
    assert rates[0] < rates[1] - 0.05
