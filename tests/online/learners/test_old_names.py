"""Old names of attributes warn, and give what the new names hold."""

import numpy as np
import pytest

from noisewise.online import Confidence, Greedy, UniformExploration, UpperConfidence, recipes


@pytest.mark.parametrize("policy", [Greedy(), UniformExploration(0.2), UpperConfidence(1.0, 0.1, 0.5)])
@pytest.mark.parametrize(("old", "new"), [("share", "exploration_rate"), ("first_share", "first_exploration_rate")])
def test_of_policies(policy, old, new):
    with pytest.warns(DeprecationWarning, match=f"{type(policy).__name__}.{old} is now {new}"):
        assert getattr(policy, old) == getattr(policy, new)


def test_of_rules():
    with pytest.warns(DeprecationWarning, match="Confidence.numbers is now parameters"):
        assert Confidence().numbers() == Confidence().parameters()


@pytest.mark.parametrize(
    ("old", "new"), [("reals_", "parameters_"), ("integers_", "counters_"), ("chance_", "rng_state_")]
)
def test_of_learners(old, new):
    learner = recipes.linucb(2, random_state=0)
    learner.decide([1.0, 0.5])
    with pytest.warns(DeprecationWarning, match=f"BanditClassifier.{old} is now {new}"):
        assert getattr(learner, old) is getattr(learner, new)
    assert isinstance(getattr(learner, new), np.ndarray)
