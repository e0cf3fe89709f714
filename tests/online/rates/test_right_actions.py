"""A log by itself tells whether one action is right for a row, several may be, or none."""

import numpy as np
import pytest

from noisewise.online.rates.overlap import (
    LARGEST_DEFICIT,
    LARGEST_EXCESS,
    NONE,
    SEVERAL,
    implied_right_actions,
)
from noisewise.online.rates.per_annotator import NOBODY_TELLS
from noisewise.online.recipes import linucb

K, ROUNDS = 6, 6_000
RATES = np.array([[0.05, 0.1], [0.3, 0.2], [0.1, 0.35], [0.2, 0.05], [0.8, 0.7]])
ONE = np.eye(K)
SETS = ONE + np.roll(ONE, 1, axis=1) + np.roll(ONE, 3, axis=1)  # three right actions for each class
SOMETIMES = np.random.default_rng(3).beta(0.8, 1.2, size=(K, K)) * 0.5 + 0.5 * SETS
A_THIRD = ONE * (np.arange(K) < 4)[:, None]  # and none for two of six classes


def rounds_of(p_right, seed, distance=4.0):
    """Rows of classes, P(right) of their actions, who gives feedback, and uniforms."""
    rng = np.random.default_rng(seed)
    y = rng.integers(K, size=ROUNDS)
    X = (distance * np.eye(K)[y] + rng.normal(size=(ROUNDS, K))) / (1 + distance)
    return X, p_right[y], rng.integers(len(RATES), size=ROUNDS).tolist(), rng.random((ROUNDS, 2))


def reported(p_right, seed):
    learner = linucb(K, random_state=0)
    for x, p, who, (u, flip) in zip(*rounds_of(p_right, seed)):
        decision = learner.decide(x)
        right = u < p[decision.action]
        learner.learn(decision, int(right != (flip < RATES[who, int(right)])), person=who)
    return learner.report("pandas")


@pytest.mark.parametrize("seed", range(2))
def test_rates_of_annotators_are_identified_where_one_action_is_right(seed):
    report = reported(ONE, seed)
    assert report["identified"].all()
    assert (report["reason"] == "").all()


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("p_right", "reasons"), [(SETS, {SEVERAL}), (SOMETIMES, {SEVERAL})])
def test_rates_of_annotators_are_not_identified_where_several_actions_are_right(p_right, reasons, seed):
    report = reported(p_right, seed)
    assert not report["identified"].any()
    assert set(report["reason"]) == reasons
    assert (report["false_positive_low"] == 0).all()
    assert (report["false_negative_high"] == 1).all()


@pytest.mark.parametrize("seed", range(2))
def test_rates_of_annotators_are_not_identified_where_no_action_is_right_for_a_third_of_the_rows(seed):
    report = reported(A_THIRD, seed)
    assert not report["identified"].any()
    assert set(report["reason"]) != {NOBODY_TELLS}


def test_where_classes_do_not_overlap_the_reason_is_that_none_may_be_right():
    """One class in eight has no right action: wrong guesses stay below the limit of overlapping classes."""
    scores, actions, feedback = _scored(none=0.15)
    implied = implied_right_actions(scores, actions, feedback, *np.zeros((2, len(actions))))
    assert implied.none
    assert not implied.several
    assert "none may be right" in NONE


@pytest.mark.parametrize("rates", [(0.0, 0.0), (0.1, 0.3), (0.8, 0.7)])
def test_the_implied_number_of_right_actions_is_one_whatever_the_rates(rates):
    scores, actions, right = _scored()
    flipped = np.random.default_rng(1).random(len(right)) < np.where(right > 0, rates[1], rates[0])
    rho0, rho1 = np.full((2, len(right)), np.array(rates)[:, None])
    implied = implied_right_actions(scores, actions, np.abs(right - flipped), rho0, rho1)
    assert implied.excess < LARGEST_EXCESS / 2
    assert implied.deficit < LARGEST_DEFICIT / 2


def test_annotators_without_signal_tell_nothing():
    scores, actions, _ = _scored()
    implied = implied_right_actions(scores, actions, np.ones(len(actions)), *np.full((2, len(actions)), 0.5))
    assert implied == (0.0, 0.0)


def _scored(none=0.0, n=20_000):
    """Calibrated scores of one right action, two of which are likely, one of them played, and the truth."""
    rng = np.random.default_rng(0)
    first = rng.uniform(0.5, 1, size=n)
    scores = np.column_stack([first, 1 - first, np.full(n, -0.1)])
    right = (rng.random(n) > first).astype(int)
    absent = rng.random(n) < none
    scores[absent] = [0.1, 0.05, -0.1]
    actions = (rng.random(n) < 0.4).astype(int)
    return scores, actions, ((actions == right) & ~absent).astype(float)
