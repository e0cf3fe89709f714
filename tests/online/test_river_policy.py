import numpy as np
import pytest

from noisewise import FlipMatrix
from noisewise.online import river as adapter
from noisewise.online.recipes import arow, linucb, rcnbf

bandit = pytest.importorskip("river.bandit")


def stream_of_contexts(n_rounds, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(n_rounds):
        best = ["left", "right", "up"][rng.integers(3)]
        yield {f"is {best}": 1.0, "noise": float(rng.normal(scale=0.1))}, best


def test_a_policy_learns_as_its_learner_does():
    arms = ["left", "right", "up"]
    policy = adapter.RiverPolicy(rcnbf(classes=arms, gamma=0.3, random_state=3), n_features=6, intercept=False)
    learner = rcnbf(classes=arms, gamma=0.3, random_state=3)
    columns = {}
    for context, best in stream_of_contexts(200):
        row = np.zeros(6)
        for name, value in sorted(context.items()):
            row[columns.setdefault(name, len(columns))] = value
        decision = learner.decide(row)
        assert policy.pull(arms, context=context) == decision.action
        learner.learn(decision, int(decision.action == best))
        policy.update(decision.action, context, int(decision.action == best))
    assert np.array_equal(policy._learner.table_, learner.table_)
    assert policy._n == 200


@pytest.mark.parametrize(("given", "added"), [(True, False), (False, True)])
def test_contexts_get_one_constant_feature(given, added):
    policy = adapter.RiverPolicy(linucb(classes=["left", "right"]), n_features=4, intercept=given)
    policy.pull(["left", "right"], context={"a": 1.0})
    assert policy._learner.intercept is added
    assert len(policy._learner.table_) == 4 + added


def test_a_policy_corrects_for_noise_and_takes_late_updates():
    arms, noise = ["left", "right", "up"], FlipMatrix.binary(0.2, 0.2)
    policy = adapter.RiverPolicy(linucb(classes=arms, noise=noise, random_state=0), n_features=8)
    late, mistakes = [], []
    rng = np.random.default_rng(1)
    for context, best in stream_of_contexts(600, seed=2):
        arm = policy.pull(arms, context=context)
        mistakes.append(arm != best)
        late.append((arm, context, int(noise.corrupt(np.array([int(arm == best)]), rng)[0])))
        if len(late) > 10:
            policy.update(*late.pop(rng.integers(10)))
    assert np.mean(mistakes[-200:]) < 0.1
    assert len(policy._pending) == 10


def test_burn_in_and_restricted_arms_are_kept():
    arms = ["left", "right", "up"]
    policy = adapter.RiverPolicy(linucb(classes=arms, random_state=0), burn_in=2)
    pulled = []
    for context, best in stream_of_contexts(6):
        pulled.append(policy.pull(arms, context=context))
        policy.update(pulled[-1], context, int(pulled[-1] == best))
    assert pulled == ["left", "left", "right", "right", "up", "up"]
    assert {policy.pull(["right", "up"], context=context) for context, _ in stream_of_contexts(50)} == {"right", "up"}


def test_features_beyond_the_columns_share_them():
    policy = adapter.RiverPolicy(linucb(n_classes=2, random_state=0), n_features=4)
    for number in range(50):
        context = {f"f{number}": 1.0}
        arm = policy.pull([0, 1], context=context)
        policy.update(arm, context, arm)
    assert policy.pull([0, 1], context={"new": 1.0}) == 1
    assert policy._learner.n_features_in_ == 4


def test_pending_pulls_are_bounded():
    policy = adapter.RiverPolicy(linucb(n_classes=2, random_state=0))
    for number in range(adapter.MOST_PENDING + 5):
        policy.pull([0, 1], context={"n": number})
    assert len(policy._pending) == adapter.MOST_PENDING


def test_river_replays_a_log_through_the_policy():
    rng = np.random.default_rng(0)
    arms = ["left", "right", "up"]
    log = [
        (arms, context, (arm := arms[rng.integers(3)]), int(arm == best)) for context, best in stream_of_contexts(600)
    ]
    policy = adapter.RiverPolicy(linucb(classes=arms, random_state=0))
    reward, used = bandit.evaluate_offline(policy, log)
    assert 150 < used < 250
    assert reward.get() / used > 0.8


def test_clones_know_nothing_of_each_other():
    policy = adapter.RiverPolicy(linucb(classes=["a", "b"], random_state=0), n_features=8)
    policy.update(policy.pull(["a", "b"], context={"x": 1.0}), {"x": 1.0}, 1)
    twin = policy.clone()
    assert (twin.n_features, twin._n, len(twin._columns)) == (8, 0, 0)
    assert isinstance(repr(policy), str)


@pytest.mark.parametrize(
    ("reward", "message"),
    [((0.5,), "feedback is 0.5"), ((2,), "feedback is 2"), ((), "one reward"), ((1, 1), "one reward")],
)
def test_rewards_that_are_not_right_or_wrong_change_nothing(reward, message):
    policy = adapter.RiverPolicy(linucb(classes=["a", "b"], random_state=0))
    arm = policy.pull(["a", "b"], context={"x": 1.0})
    with pytest.raises(ValueError, match=message):
        policy.update(arm, {"x": 1.0}, *reward)
    policy.update(arm, {"x": 1.0}, 1)
    assert policy._n == 1
    with pytest.raises(ValueError, match="n_features is 0"):
        adapter.RiverPolicy(linucb(n_classes=2), n_features=0)


def test_pulls_for_the_same_context_are_each_updated_with_their_own_probability():
    arms, context = ["left", "right"], {"x": 1.0}
    policy = adapter.RiverPolicy(rcnbf(classes=arms, gamma=0.5, random_state=0), n_features=1, intercept=False)
    learner = rcnbf(classes=arms, gamma=0.5, random_state=0)
    decisions = [learner.decide([1.0]) for _ in range(20)]
    assert [policy.pull(arms, context=context) for _ in range(20)] == [one.action for one in decisions]
    assert len({one.probability for one in decisions}) == 2
    for number, decision in enumerate(decisions):
        learner.learn(decision, number % 2)
        policy.update(decision.action, context, number % 2)
    np.testing.assert_array_equal(policy._learner.table_, learner.table_)
    assert not policy._pending


def test_refused_calls_take_no_columns():
    policy = adapter.RiverPolicy(linucb(classes=["cat", "dog"], random_state=0), n_features=3)
    arm = policy.pull(["cat", "dog"], context={"barks": 1.0})
    for call in (
        lambda: policy.pull(["cow"], context={"n1": 1.0}),
        lambda: policy.pull([], context={"n2": 1.0}),
        lambda: policy.update("cow", {"n3": 1.0}, 1),
        lambda: policy.update(arm, {"n4": float("nan")}, 1),
    ):
        with pytest.raises(ValueError):
            call()
    assert len(policy._columns) == 2
    policy.update("dog", {"meows": 1.0}, 0)
    assert policy._columns["meows"] == 2


def test_contexts_and_learners_that_cannot_be_are_refused():
    policy = adapter.RiverPolicy(linucb(classes=["left", "right"], random_state=0))
    with pytest.raises(ValueError, match="feature 'x' is"):
        policy.update("left", {"x": [1]}, 1)
    with pytest.raises(ValueError, match="learns from feedback"):
        adapter.RiverPolicy(arow())
    with pytest.raises(ValueError, match="n_features is 'x'"):
        adapter.RiverPolicy(linucb(n_classes=2), n_features="x")


def test_an_arm_that_is_no_label_is_refused_before_anything_is_learnt():
    policy = adapter.RiverPolicy(linucb(classes=["left", "right"], random_state=0))
    policy.update("left", {"x": 1.0}, 1)
    with pytest.raises(ValueError, match=r"arm_id is \['left'\]"):
        policy.update(["left"], {"x": 1.0}, 1)
    assert policy._learner.n_rounds_ == 1
