import doctest
import importlib.util
import pickle
import sys

import numpy as np
import pandas as pd
import pytest

from noisewise.online import river as adapter
from noisewise.online.recipes import arow, linucb, mpa, mscw, nherd, perceptron

checks = pytest.importorskip("river.checks")


def rows(n_rows=300, n_features=40, n_classes=4, seed=0):
    """Dict rows with few features each, more of them as time goes by, and labels that start one by one."""
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(n_features, n_classes))
    made = []
    for number in range(n_rows):
        known = min(3 + number // 4, n_features)
        names = rng.choice(known, size=3, replace=False)
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


def test_a_learner_from_feedback_is_refused_as_a_classifier():
    for model in (linucb(3), arow, "arow"):
        with pytest.raises(ValueError, match="learns from labels is needed"):
            adapter.RiverClassifier(model)


@pytest.mark.parametrize(
    ("label", "message"),
    [
        (None, "a missing value is no label"),
        (float("nan"), "a missing value is no label"),
        (pd.NA, "a missing value is no label"),
        (["a"], "do not change"),
        (np.ones(2), "do not change"),
    ],
)
def test_what_names_no_class_is_refused_and_changes_nothing(label, message):
    model = adapter.RiverClassifier()
    model.learn_one({"a": 1.0}, "cat")
    model.learn_one({"b": 1.0}, "dog")
    table = model._learner.table_.copy()
    with pytest.raises(ValueError, match=f"y is .*{message}"):
        model.learn_one({"c": 1.0}, label)
    assert list(model.predict_proba_one({"a": 1.0})) == ["cat", "dog"]
    assert len(model._columns) == 2
    np.testing.assert_array_equal(model._learner.table_, table)
    with pytest.raises(ValueError, match=f"classes is .*{message}"):
        adapter.RiverClassifier(classes=["cat", label])


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
        probabilities = growing.predict_proba_one(x)
        scores = known.decision_function(row[None])[0]
        assert np.log(probabilities[0] / probabilities[3]) == pytest.approx(scores[0] - scores[3], abs=1e-9)
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


@pytest.mark.parametrize("model", [perceptron(), arow(), arow(covariance="full")])
def test_rows_of_which_nothing_is_known_are_split_evenly(model):
    learner = adapter.RiverClassifier(model, intercept=False)
    assert learner.predict_proba_one({"a": 1.0}) == {}
    assert learner.predict_one({"a": 1.0}) is None
    learner.learn_one({"a": 1.0}, "p")
    assert learner.predict_proba_one({"a": 1.0}) == {"p": 1.0}
    learner.learn_one({"a": -1.0}, "q")
    learner.learn_one({}, "q")
    assert learner.predict_proba_one({}) == learner.predict_proba_one({"new": 3.0}) == {"p": 0.5, "q": 0.5}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [1], 1j])
def test_values_that_can_t_be_learnt_from_change_nothing(value):
    model = adapter.RiverClassifier(perceptron())
    model.learn_one({"a": 1.0}, 0)
    model.learn_one({"a": -1.0}, 1)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="feature 'b' is"):
        model.learn_one({"a": 1.0, "b": value}, "new")
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("classes", [["a", "b", "a"], "ab"])
def test_classes_that_are_duplicate_or_no_list_are_refused(classes):
    with pytest.raises(ValueError, match="classes is"):
        adapter.RiverClassifier(classes=classes)
