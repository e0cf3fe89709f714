"""Loops over many classes: variances four at a time, and the classes with the highest scores."""

import numpy as np
import pytest

from noisewise._loops.rounds import fill_highest
from noisewise._loops.scores import quadratic
from noisewise._loops.sparse_rows import Row
from noisewise._loops.state import WIDTH
from noisewise.online import rank_actions
from noisewise.online.recipes import linucb


@pytest.mark.parametrize("n_classes", [2, 3, 4, 5, 7, 8, 21])
def test_widths_are_those_of_each_class_by_itself_to_the_last_bit(n_classes):
    rng = np.random.default_rng(n_classes)
    learner = linucb(n_classes, covariance="full", random_state=0)
    for _ in range(50):
        learner.learn(learner.decide(rng.normal(size=6)), rng.integers(2))
    x = rng.normal(size=6)
    widths = rank_actions(learner, x, None, learner.rng_state_.copy())[5]
    full = np.append(x, 1.0)[: learner.sigma_.shape[1]]  # with the intercept
    row = Row(np.arange(len(full)), full, 0, len(full), len(full))
    alone = np.array([quadratic.py_func(sigma, row) for sigma in learner.sigma_])
    np.testing.assert_array_equal(widths, learner.parameters_[WIDTH] * np.sqrt(alone))


@pytest.mark.parametrize("seed", range(20))
def test_the_highest_are_those_of_a_sort(seed):
    rng = np.random.default_rng(seed)
    scores, allowed = rng.integers(8, size=60).astype(float), rng.random(60) < rng.choice([0.05, 0.5, 1.0])
    highest = np.empty(16, dtype=np.intp)
    n = fill_highest(scores, allowed, highest)
    found = highest[:n].tolist()
    assert n == len(set(found)) == min(16, allowed.sum())
    assert allowed[found].all()
    assert sorted(scores[found]) == sorted(scores[allowed])[-n:]
