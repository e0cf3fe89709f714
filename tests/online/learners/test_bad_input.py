"""Invalid input is refused with a sentence by every public call, and the learner is left as it was."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from noisewise import FlipMatrix
from noisewise.online import BanditClassifier, RateTracker, recipes
from refusals import assert_refused

K, D = 4, 6
LEARNERS = {
    "banditron": lambda: recipes.banditron(K, random_state=0),
    "rcnbf": lambda: recipes.rcnbf(K, noise=FlipMatrix.binary(0.1, 0.1), random_state=0),
    "rcine": lambda: recipes.rcine(K, block=25, random_state=0),
    "soba": lambda: recipes.soba(K, random_state=0),
    "ucwl": lambda: recipes.ucwl(K, random_state=0),
    "corrected_ucwl": lambda: recipes.corrected_ucwl(K, random_state=0),
    "linucb": lambda: recipes.linucb(K, random_state=0),
    "linucb by action": lambda: recipes.linucb(K, rates="action", random_state=0),
    "linucb with missing feedback": lambda: recipes.linucb(K, missing="auto", random_state=0),
    "linucb by annotator": lambda: recipes.linucb(K, random_state=0),
}
LAYOUTS = {"dense": np.asarray, "sparse": lambda rows: sp.csr_array(np.atleast_2d(rows))}


def rounds(n=60):
    rng = np.random.default_rng(3)
    y = np.arange(n) % K
    return np.eye(K, D)[y] + rng.normal(scale=0.3, size=(n, D)), y


def calls(learner, decision, person, shape):
    """Every public call with input that it must refuse, and the message."""
    X, y = rounds(8)
    ones, hole, infinite = np.ones(8), X.copy(), X.copy()
    hole[5, 2], infinite[5, 1] = np.nan, np.inf
    named = {"person": person} if person else {}
    for feedback in (2, -1, 0.5, np.inf, "yes", "1", [1]):
        yield lambda f=feedback: learner.learn(decision, f, **named), "feedback is"
    for probability in (0.0, -0.1, 1.5, np.nan):
        yield lambda p=probability: learner.learn(decision._replace(probability=p), 1, **named), "a probability is"
    for code in (-1, K, 99):
        yield lambda c=code: learner.learn(decision._replace(code=c, action=c), 1, **named), f"the action {code} is not"
    for best in (-1, K, 99):
        yield lambda b=best: learner.learn(decision._replace(best=b), 1, **named), "the best action"
    for field, value in (
        ("id", "3"),
        ("id", 3.0),
        ("id", None),
        ("code", 1.0),
        ("code", "1"),
        ("best", None),
        ("best", 0.5),
    ):
        yield lambda f=field, v=value: learner.learn(decision._replace(**{f: v}), 1, **named), "not a whole number"
    for probability in ("0.5", None):
        yield lambda p=probability: learner.learn(decision._replace(probability=p), 1, **named), "a probability is"
    for row in (None, [1.0, "x"], np.ones((2, D)), np.ones(D + 1), {"a": 1.0}):
        yield lambda r=row: learner.learn(decision._replace(features=r), 1, **named), "row|convert"
    for row in (([-1], [1.0]), ([D], [1.0]), ([0, 1], [1.0]), ([0.5], [1.0]), ([0], [1.0], [2.0]), ([[0]], [[1.0]])):
        yield lambda r=row: learner.learn(decision._replace(features=r), 1, **named), "row"
    kept = decision.features
    broken = kept * np.nan if isinstance(kept, np.ndarray) else (kept[0], kept[1] * np.nan)
    yield lambda: learner.learn(decision._replace(features=broken), 1, **named), "NaN or infinity"
    yield lambda: learner.learn(None, 1, **named), "the Decision that decide returned"
    yield lambda: learner.learn(decision, 1, person=["ann"]), "person|linucb"
    yield lambda: learner.learn(decision, 1, person=(1, ["ann"])), "person|linucb"
    yield lambda: learner.learn(decision, 1, person=None if person else "bob"), "name|linucb|whoever gave it"
    yield lambda: learner.play(shape(X), y, noise=0.3), "FlipMatrix of two classes"
    in_stream = "weights feedback by annotator" if person else "NaN or infinity in row 5"
    for rows in (hole, infinite):
        yield lambda r=rows: learner.decide(shape(r[5])), "NaN or infinity"
        yield lambda r=rows: learner.play(shape(r), y), in_stream
        yield lambda r=rows: learner.learn_logged(shape(r), y, ones, ones), in_stream
    yield lambda: learner.decide({"a": 1.0}), "one row of numbers"
    for mask in ([True, False, True, True], np.array([False, True, True, False])):
        yield lambda m=mask: learner.decide(shape(X[0]), actions=m), "not a mask"
    for actions in (2, "cat"):
        yield lambda a=actions: learner.decide(shape(X[0]), actions=a), "a list of actions"
    yield lambda: learner.learn_logged(shape(X), y, None, ones), "one value for each row"
    for actions, sentence in (
        ([9], "action 9"),
        ([], "at least one"),
        (["a", 0], "action 'a'"),
        ([np.nan], "action nan"),
    ):
        yield lambda a=actions: learner.decide(shape(X[0]), actions=a), sentence
    yield lambda: learner.play(shape(X), np.full(8, 11)), "label 11"
    yield lambda: learner.play(shape(X), y, noise=FlipMatrix.binary(0.6, 0.5)), "sum to 1.10"
    yield lambda: learner.play(shape(X), y, noise=FlipMatrix([[0.5, 0.5], [0.5, 0.5]])), "sum to 1.00"
    yield lambda: learner.use_noise(FlipMatrix([[0.3, 0.7], [0.6, 0.4]])), "sum to 1.30"
    yield lambda: learner.use_noise([FlipMatrix.none(2)]), "1 noises"
    yield lambda: learner.learn_logged(shape(X), y + 1, ones, ones), "the action 4 is not among the classes"
    for feedback in (2 * ones, 0.5 * ones, ["1"] * 8):
        yield lambda f=feedback: learner.learn_logged(shape(X), y, f, ones), "feedback is"
    for probabilities in (0 * ones, 2 * ones, np.nan * ones):
        yield lambda p=probabilities: learner.learn_logged(shape(X), y, ones, p), "a probability is"
    for probabilities in (ones[:2] / 2, ones[:, None] / 2):
        yield lambda p=probabilities: learner.learn_logged(shape(X), y, ones, p), "probabilities has shape"


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", LEARNERS)
def test_in_mid_stream(name, layout):
    learner, shape, person = LEARNERS[name](), LAYOUTS[layout], "ann" if "annotator" in name else None
    X, y = rounds()
    for x, label in zip(X, y):
        decision = learner.decide(shape(x))
        learner.learn(decision, decision.action == label, person=person)
    decision = learner.decide(shape(X[0]))
    n_calls = 0
    for call, sentence in calls(learner, decision, person, shape):
        assert_refused(learner, call, sentence)
        n_calls += 1
    assert n_calls > 35
    learner.learn(decision, True, person=person)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", LEARNERS)
def test_before_anything_is_learnt(name, layout):
    shape, (X, y) = LAYOUTS[layout], rounds(8)
    hole, ones = X.copy(), np.ones(8)
    hole[5, 2] = np.nan
    learner = LEARNERS[name]()
    for call, sentence in [
        (lambda: learner.decide(shape(hole[5])), "NaN or infinity"),
        (lambda: learner.decide([]), "one row of features"),
        (lambda: learner.decide(shape(X[0]), actions=[9]), "the action 9 is not among the classes"),
        (lambda: learner.decide(shape(X[0]), actions=[]), "at least one"),
        (lambda: learner.play(shape(hole), y), "row 5"),
        (lambda: learner.play(shape(X), y + 1), "label 4"),
        (lambda: learner.learn_logged(shape(hole), y, ones, ones), "row 5"),
        (lambda: learner.learn_logged(shape(X), y + 1, ones, ones), "the action 4 is not among the classes"),
        (lambda: learner.learn_logged(shape(X), y, 2 * ones, ones), "feedback is 2"),
        (lambda: learner.learn_logged(shape(X), y, ones, 0 * ones), "a probability is 0"),
        (lambda: learner.use_noise([FlipMatrix.none(2)]), "1 noises"),
    ]:
        assert_refused(learner, call, sentence)
    assert not [attribute for attribute in vars(learner) if attribute.endswith("_")]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["perceptron", "arow", "mscw"])
def test_labels_and_rows_of_partial_fit(name, layout):
    shape, (X, y) = LAYOUTS[layout], rounds()
    model = getattr(recipes, name)().partial_fit(shape(X), y, classes=range(K))
    hole = X.copy()
    hole[5, 2] = np.nan
    assert_refused(model, lambda: model.partial_fit(shape(hole), y), "NaN or infinity in row 5")
    assert_refused(model, lambda: model.partial_fit(shape(X), y + 1), "label 4")
    assert_refused(model, lambda: model.partial_fit(shape(X[:, :3]), y), "3 features")
    assert_refused(model, lambda: model.fit(shape(hole[:, :3]), y % 2), "NaN or infinity in row 5")
    assert_refused(model, lambda: model.fit(shape(X[:, :3]), np.zeros(len(y))), "1 class only")
    new = getattr(recipes, name)()
    assert_refused(new, lambda: new.partial_fit(shape(hole), y, classes=range(K)), "NaN or infinity in row 5")
    assert_refused(new, lambda: new.fit(shape(hole), y), "NaN or infinity in row 5")


class OnlyEstimates:
    def estimate(self):
        return FlipMatrix.none(2)


NOT_READ = "by linucb with a full covariance, without noise= and rates="


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: BanditClassifier(n_classes=3, missing="auto"), NOT_READ),
        (lambda: recipes.linucb(3, missing="auto", covariance="diagonal"), NOT_READ),
        (lambda: recipes.linucb(3, missing="auto", rates="action"), NOT_READ),
        (lambda: recipes.linucb(3, missing="auto", noise=FlipMatrix.binary(0.1, 0.1)), NOT_READ),
        (lambda: BanditClassifier(n_classes=3, missing="perhaps"), "'auto', 'drop' or 'no'"),
        (lambda: BanditClassifier(n_classes=3, tracker=OnlyEstimates()), r"needed, as a RateTracker is"),
        (lambda: recipes.rcine(3, tracker=RateTracker), r"needed, as a RateTracker is"),
        (lambda: recipes.corrected_ucwl(3, tracker=RateTracker(4)), "for 4 actions; the learner has 3"),
        (lambda: recipes.rcine(3, block=0), "block is 0"),
        (lambda: BanditClassifier(n_classes=3, policy=3), "policy is 3"),
        (lambda: BanditClassifier(n_classes=3, rule="arow"), "rule is 'arow'"),
    ],
)
def test_parameters_that_cannot_work_are_refused_before_the_first_round(make, sentence):
    X = np.eye(3)
    model = make()
    assert_refused(model, lambda: model.decide(X[0]), sentence)
    assert_refused(model, lambda: model.decide(sp.csr_array(X[:1])), sentence)
    assert_refused(model, lambda: model.play(X, [0, 1, 2]), sentence)
    assert_refused(model, lambda: model.learn_logged(X, [0, 1, 2], [1, 0, 1], 1 / 3), sentence)


@pytest.mark.parametrize(
    "classes",
    [
        5,
        [["a"], ["b"]],
        ["a"],
        ["a", "a"],
        [],
        "ab",
        b"ab",
        np.array(5),
        [1.0, np.nan],
        ["a", None],
        ["a", pd.NA],
        pd.Index([1.5, None]),
        {"a", "b"},
        (label for label in "ab"),
    ],
)
def test_classes_that_are_no_labels_are_refused(classes):
    with pytest.raises(ValueError, match="classes is"):
        recipes.ucwl(classes=classes)


def test_decisions_kept_as_lists_are_learnt_from_as_they_were_made():
    X, y = rounds()
    for shape in LAYOUTS.values():
        one, other = recipes.ucwl(K, random_state=0), recipes.ucwl(K, random_state=0)
        for x, label in zip(X, y):
            decision, kept = one.decide(shape(x)), other.decide(shape(x))
            row = kept.features
            listed = row.tolist() if isinstance(row, np.ndarray) else tuple(part.tolist() for part in row)
            one.learn(decision, decision.action == label)
            other.learn(kept._replace(features=listed), kept.action == label)
        np.testing.assert_array_equal(one.table_, other.table_)


@pytest.mark.parametrize(("width", "takes"), [(10**7, "2,235,174.2 GiB"), (10**9, "22,351,741,790.8 GiB")])
def test_a_covariance_that_no_memory_holds_is_refused_with_what_would_do(width, takes):
    row = sp.csr_array(([1.0], ([0], [3])), shape=(1, width))
    learner = recipes.linucb(3, intercept=False)
    message = f"{takes} of memory, all of which a decision or an update reads; a diagonal one would do"
    assert_refused(learner, lambda: learner.decide(row), message)
    assert_refused(learner, lambda: learner.play(row, [0]), message)
    with pytest.raises(ValueError, match=message):
        recipes.arow(covariance="full").partial_fit(row, [0], classes=[0, 1, 2])


def test_a_full_covariance_of_gigabytes_is_refused_before_it_is_allocated(monkeypatch):
    learner = recipes.linucb(10_000, intercept=False)
    assert_refused(learner, lambda: learner.decide(np.ones(500)), "18.6 GiB of memory, all of which a decision or")
    joint = recipes.soba(300, covariance="full")
    assert_refused(joint, lambda: joint.decide(np.ones(100)), "100 features and 300 classes takes 6.7 GiB of memory")
    recipes.linucb(10_000, covariance="diagonal").decide(np.ones(500))

    def no_memory(*_):
        raise MemoryError

    monkeypatch.setattr("noisewise._loops.state.new_sigma", no_memory)
    assert_refused(learner, lambda: learner.decide(np.ones(100)), "0.7 GiB of memory, more than there is")


def test_noise_of_each_action_may_come_from_a_generator():
    noises = [FlipMatrix.binary(rate, 0.1) for rate in (0.1, 0.2, 0.3)]
    learner = recipes.ucwl(3, noise=iter(noises))
    learner.decide([1.0, 2.0])
    assert learner.noise_ == noises


def test_scores_of_a_learner_that_has_learnt_nothing_are_refused():
    with pytest.raises(ValueError, match="has not learnt anything yet"):
        recipes.ucwl(3).predict([[1.0]])


@pytest.mark.parametrize(
    "make",
    [
        lambda noise: recipes.linucb(3, noise=noise, rates="action"),
        lambda noise: recipes.corrected_ucwl(3, noise=noise, tracker=RateTracker(3)),
        lambda noise: recipes.rcine(3, noise=noise, tracker=RateTracker(3)),
    ],
)
def test_rates_are_given_or_estimated_but_not_both(make):
    with pytest.raises(ValueError, match="give one of the two"):
        make(FlipMatrix.binary(0.1, 0.2))


def test_rows_of_frames_with_other_names_or_another_order_are_refused():
    X, y = rounds()
    frame = pd.DataFrame(X, columns=list("abcdef"))
    learner = recipes.ucwl(K, random_state=0)
    learner.play(frame, y)
    reordered, renamed = frame[list("bacdef")], frame.rename(columns={"a": "z"})
    for other in (reordered, renamed):
        for row in (other.iloc[0], other.iloc[[0]], pl.DataFrame(other.to_dict("list"))[0]):
            assert_refused(learner, lambda row=row: learner.decide(row), "in this order")
    for row in (frame.iloc[0], frame.iloc[[0]], pl.DataFrame(frame.to_dict("list"))[0], X[0], X[0].tolist()):
        np.testing.assert_array_equal(learner.decide(row).features, X[0])


@pytest.mark.parametrize("first", [lambda frame: frame.iloc[0], lambda frame: frame.iloc[[0]]])
def test_a_learner_that_begins_with_a_row_of_a_frame_knows_its_names(first):
    frame = pd.DataFrame(np.eye(3), columns=list("abc"))
    learner = recipes.ucwl(3)
    learner.decide(first(frame))
    assert learner.predict(frame).shape == (3,)  # without a warning that names are new
    with pytest.raises(ValueError, match=r"features are \['c', 'b', 'a'\]; they were"):
        learner.decide(frame[list("cba")].iloc[0])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: recipes.banditron(3, gamma="a"), "gamma is 'a'; it is a fraction of the rounds"),
        (lambda: recipes.soba(3, gamma=None), "gamma is None; it is a fraction of the rounds"),
        (lambda: recipes.ucwl(3, C="x"), "C is 'x'; it must be positive"),
        (lambda: recipes.ucwl(3, width_in_std=[1]), r"width_in_std is \[1\]; it is a number"),
        (lambda: recipes.ucwl(3, confidence=None), "confidence is None; it is a probability"),
        (lambda: recipes.linucb(3, ridge="x"), "ridge is 'x'; it must be positive"),
        (lambda: recipes.ucwl(3, random_state="x").decide([1.0, 2.0]), "'x' is no random state"),
        (lambda: recipes.ucwl(3, random_state=-1).decide([1.0, 2.0]), "random_state is -1; a seed is a whole number"),
    ],
)
def test_parameters_that_are_no_numbers_are_refused_with_a_sentence(make, message):
    with pytest.raises(ValueError, match=message):
        make()
