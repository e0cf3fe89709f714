import doctest
import importlib.util
import pickle
import sys

import numpy as np
import pytest

from noisewise import FlipMatrix
from noisewise.online import river as adapter
from noisewise.online.recipes import arow, linucb, mpa, mscw, nherd, perceptron, rcnbf

checks = pytest.importorskip("river.checks")
bandit = pytest.importorskip("river.bandit")


def rows(n_rows=300, n_features=40, n_classes=4, seed=0):
    """Dict rows with few features each, more of them as time goes by, and labels that start one by one."""
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(n_features, n_classes))
    made = []
    for number in range(n_rows):
        reach = min(3 + number // 4, n_features)
        names = rng.choice(reach, size=3, replace=False)
        values = rng.normal(size=3)
        label = int(np.argmax((values @ weights[names])[: min(2 + number // 50, n_classes)]))
        made.append(({f"f{name:02d}": value for name, value in zip(names, values)}, label))
    return made


def test_without_river_a_sentence_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "river", None)
    spec = importlib.util.spec_from_file_location("without_river", adapter.__file__)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for make in (module.RiverClassifier, lambda: module.RiverPolicy(linucb(n_classes=2))):
        with pytest.raises(ImportError, match=r"noisewise\[river\]"):
            make()


CHECKS = list(checks.yield_checks(adapter.RiverClassifier()))


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_river_s_own_checks_pass(check):
    check(adapter.RiverClassifier())


@pytest.mark.slow
@pytest.mark.parametrize("model", [perceptron(), mpa(), mscw(), nherd(variant="full")], ids=str)
def test_river_s_own_checks_pass_for_other_recipes(model):
    checks.check_estimator(adapter.RiverClassifier(model))


def test_examples_of_the_docstrings_run():
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for found in (adapter.RiverClassifier, adapter.RiverPolicy):
        for test in finder.find(found, found.__name__, globs=dict(vars(adapter)), module=adapter):
            for example in test.examples:
                example.options.pop(doctest.SKIP, None)
            runner.run(test)
    assert runner.tries > 5
    assert runner.failures == 0


@pytest.mark.parametrize(
    "model", [perceptron(), mpa(), arow(), mscw(), nherd(), arow(covariance="full")], ids=lambda model: str(model.rule)
)
def test_growing_rows_are_learnt_as_if_all_had_been_known(model):
    stream = rows()
    names = sorted({name for x, _ in stream for name in x})
    X = np.array([[x.get(name, 0.0) for name in names] for x, _ in stream])
    y = np.array([label for _, label in stream])
    known = model.__class__(**model.get_params(deep=False)).partial_fit(X, y, classes=range(4))
    growing = adapter.RiverClassifier(model, classes=range(4), intercept=False)
    for x, label in stream:
        growing.learn_one(x, label)
    assert growing._learner.mistakes_ == known.mistakes_
    assert growing._learner.n_updates_ == known.n_updates_
    for x, row in zip([x for x, _ in stream[-50:]], X[-50:]):
        shares = growing.predict_proba_one(x)
        scores = known.decision_function(row[None])[0]
        assert np.log(shares[0] / shares[3]) == pytest.approx(scores[0] - scores[3], abs=1e-9)
        assert growing.predict_one(x) == known.predict(row[None])[0]


class SlowPerceptron:
    """Labels join when they first come; before the second one nothing is learnt."""

    def __init__(self):
        self.weights = {}

    def score(self, x, label):
        return sum(self.weights[label].get(name, 0.0) * value for name, value in x.items())

    def predict(self, x):
        return max(self.weights, key=lambda label: self.score(x, label)) if self.weights else None

    def learn(self, x, y):
        self.weights.setdefault(y, {})
        guess = self.predict(x)
        if guess != y:
            for name, value in x.items():
                self.weights[y][name] = self.weights[y].get(name, 0.0) + value
                self.weights[guess][name] = self.weights[guess].get(name, 0.0) - value


def test_labels_that_appear_join_without_weights():
    fast, slow = adapter.RiverClassifier(perceptron(), intercept=False), SlowPerceptron()
    for x, number in rows(600, n_classes=7):  # beyond one block of four
        label = f"label {number}"
        assert fast.predict_one(x) == slow.predict(x)
        fast.learn_one(x, label)
        slow.learn(x, label)
    assert len(slow.weights) == 7


def test_a_model_goes_on_after_pickling():
    stream = rows()
    model = adapter.RiverClassifier(arow())
    for x, label in stream[:150]:
        model.learn_one(x, label)
    copy = pickle.loads(pickle.dumps(model))
    for x, label in stream[150:]:
        model.learn_one(x, label)
        copy.learn_one(x, label)
    assert all(model.predict_proba_one(x) == copy.predict_proba_one(x) for x, _ in stream)


def test_words_and_missing_values_are_features():
    model = adapter.RiverClassifier(perceptron())
    for _ in range(5):
        model.learn_one({"colour": "red", "size": None, "round": True}, "apple")
        model.learn_one({"colour": "yellow", "size": 3.0}, "banana")
    assert model.predict_one({"colour": "red"}) == "apple"
    assert model.predict_one({"colour": "yellow"}) == "banana"
    assert model.predict_one({"smell": "sweet"}) in ("apple", "banana")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [1], 1j])
def test_values_that_can_t_be_learnt_from_change_nothing(value):
    model = adapter.RiverClassifier(perceptron())
    model.learn_one({"a": 1.0}, 0)
    model.learn_one({"a": -1.0}, 1)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="feature 'b' is"):
        model.learn_one({"a": 1.0, "b": value}, "new")
    assert pickle.dumps(model) == before


# ---- the policy


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
    assert len(policy._waiting) == 10


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


def test_waiting_pulls_are_bounded():
    policy = adapter.RiverPolicy(linucb(n_classes=2, random_state=0))
    for number in range(adapter.MOST_WAITING + 5):
        policy.pull([0, 1], context={"n": number})
    assert len(policy._waiting) == adapter.MOST_WAITING


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
    ("reward", "says"),
    [((0.5,), "feedback is 0.5"), ((2,), "feedback is 2"), ((), "one reward"), ((1, 1), "one reward")],
)
def test_rewards_that_are_not_right_or_wrong_change_nothing(reward, says):
    policy = adapter.RiverPolicy(linucb(classes=["a", "b"], random_state=0))
    arm = policy.pull(["a", "b"], context={"x": 1.0})
    with pytest.raises(ValueError, match=says):
        policy.update(arm, {"x": 1.0}, *reward)
    policy.update(arm, {"x": 1.0}, 1)
    assert policy._n == 1
    with pytest.raises(ValueError, match="n_features is 0"):
        adapter.RiverPolicy(linucb(n_classes=2), n_features=0)
