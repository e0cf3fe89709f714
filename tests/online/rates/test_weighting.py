"""Feedback by annotator, and missing feedback, through the public learner."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits

from noisewise import FlipMatrix, load, save
from noisewise._numerics.ridge import fit_per_action
from noisewise.online.rates.weighting import load_fit, weighted_step
from noisewise.online.recipes import linucb, ucwl

KINDS = {
    "careful": (0.02, 0.02),
    "careless": (0.3, 0.3),
    "spiteful": (0.8, 0.8),
    "yes": (0.97, 0.03),
    "no": (0.03, 0.97),
}


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return np.column_stack([X / np.linalg.norm(X, axis=1, keepdims=True), np.full(len(X), 0.3)]), y


def teach(learner, digits, n_rounds, kinds, seed=0):
    """Annotators of these kinds give feedback, the active ones more often; the fraction of mistakes."""
    X, y = digits
    rng = np.random.default_rng(seed)
    activity = 1 / np.arange(1, len(kinds) + 1)
    annotators = rng.choice(len(kinds), n_rounds, p=activity / activity.sum())
    mistakes = 0
    for i, annotator in zip(rng.integers(len(X), size=n_rounds), annotators, strict=True):
        decision = learner.decide(X[i])
        right = decision.action == y[i]
        rho0, rho1 = KINDS[kinds[annotator]]
        feedback = rng.random() >= rho1 if right else rng.random() < rho0
        learner.learn(decision, feedback, person=f"person {annotator}")
        mistakes += not right
    return mistakes / n_rounds


def crowd(n, rng):
    fractions = {"careful": 0.5, "careless": 0.25, "spiteful": 0.1, "yes": 0.075, "no": 0.075}
    kinds = [kind for kind, fraction in fractions.items() for _ in range(round(fraction * n))]
    return list(rng.permutation((kinds + ["careful"] * n)[:n]))


def test_annotators_are_told_apart_and_learning_survives_the_careless(digits):
    kinds = ["careful", "careless", "careful", "spiteful", "careful", "yes", "careful", "no"]
    learner = linucb(10)
    teach(learner, digits, 5000, kinds)
    X, y = digits
    assert np.mean(learner.predict(X) != y) < 0.1
    frame = learner.report("polars")
    signal = dict(zip(frame["person"], frame["signal"], strict=True))
    careful = [signal[f"person {i}"] for i, kind in enumerate(kinds) if kind == "careful"]
    others = [signal[f"person {i}"] for i, kind in enumerate(kinds) if kind != "careful"]
    assert min(careful) > max(others)
    assert frame["answers"].sum() == 5000


@pytest.mark.slow
def test_twenty_annotators_of_all_kinds(digits):
    X, y = digits
    results = []
    for seed in range(4):
        learner = linucb(10)
        played = teach(learner, digits, 20_000, crowd(20, np.random.default_rng(100 + seed)), seed)
        results.append((np.mean(learner.predict(X) != y), played))
    greedy, played = np.mean(results, axis=0)
    assert greedy <= 0.02
    assert played <= 0.075


def missing_rounds(learner, digits, n_rounds, when_wrong, when_right, seed=0):
    X, y = digits
    rng = np.random.default_rng(seed)
    for i in rng.integers(len(X), size=n_rounds):
        decision = learner.decide(X[i])
        right = decision.action == y[i]
        feedback = right if rng.random() >= 0.15 else not right
        missing = rng.random() < (when_right if right else when_wrong)
        learner.learn(decision, None if missing else feedback)
    return np.mean(learner.predict(X) != y)


def test_feedback_that_is_missing_after_mistakes_is_used(digits):
    auto, drop = (missing_rounds(linucb(10, missing=mode), digits, 4000, 1.0, 0.2) for mode in ("auto", "drop"))
    assert auto < 0.1
    assert drop > 0.4


def test_feedback_missing_at_random_is_dropped(digits):
    learner = linucb(10, missing="auto", intercept=False)  # the rows have a constant
    assert missing_rounds(learner, digits, 4000, 0.5, 0.5) < 0.12
    assert not learner.report("pandas")["missing_used"].any()


def test_missing_feedback_is_negative_with_missing_no(digits):
    X, _ = digits
    one, other = linucb(10, missing="no"), linucb(10)
    for row in X[:50]:
        one.learn(one.decide(row), None)
        other.learn(other.decide(row), 0)
    np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))


@pytest.mark.parametrize("options", [{}, {"person": "ann"}])
def test_dropped_feedback_changes_nothing_and_leaves_the_decision_open(options, digits):
    X, _ = digits
    patient, prompt = linucb(10), linucb(10)
    for learner in (patient, prompt):
        learner.learn(learner.decide(X[0]), 1, **options)
    decision, same = patient.decide(X[1]), prompt.decide(X[1])
    before = patient.decision_function(X)
    for missing in (None, float("nan")):
        patient.learn(decision, missing, **options)
    np.testing.assert_array_equal(patient.decision_function(X), before)
    patient.learn(decision, 1, **options)
    prompt.learn(same, 1, **options)
    np.testing.assert_array_equal(patient.table_, prompt.table_)
    with pytest.raises(ValueError, match="already"):
        patient.learn(decision, 1, **options)


@pytest.mark.parametrize("missing", ["no", "auto"])
def test_missing_feedback_that_is_learnt_from_closes_its_decision(missing, digits):
    learner = linucb(10, missing=missing)
    decision = learner.decide(digits[0][0])
    learner.learn(decision, None)
    with pytest.raises(ValueError, match="already"):
        learner.learn(decision, 1)


def test_logs_with_gaps_are_learnt_in_each_way(digits):
    X, y = digits
    actions = np.random.default_rng(0).integers(10, size=len(y))
    feedback = [None if i % 3 == 0 else int(a == t) for i, (a, t) in enumerate(zip(actions, y, strict=True))]
    kept = [i for i, one in enumerate(feedback) if one is not None]
    dropped = linucb(10).learn_logged(X, actions, feedback, 0.1)
    short = linucb(10).learn_logged(X[kept], actions[kept], [feedback[i] for i in kept], 0.1)
    np.testing.assert_array_equal(dropped.decision_function(X), short.decision_function(X))
    as_negative = linucb(10, missing="no").learn_logged(X, actions, feedback, 0.1)
    filled = linucb(10).learn_logged(X, actions, [one or 0 for one in feedback], 0.1)
    np.testing.assert_array_equal(as_negative.decision_function(X), filled.decision_function(X))
    assert np.mean(linucb(10, missing="auto").learn_logged(X, actions, feedback, 0.1).predict(X) == y) > 0.7


def test_streams_are_weighted_row_by_row(digits):
    X, y = digits
    history = linucb(10, missing="auto").play(X, y, noise=FlipMatrix.binary(0.1, 0.1), rng=0)
    assert history.mistakes[-300:].mean() < 0.4
    np.testing.assert_array_equal(history.mistakes, history.actions != y)


def test_estimates_of_annotators_continue_after_loading(digits, tmp_path):
    def go(learner, rounds):
        X, y = digits
        for t in rounds:
            decision = learner.decide(X[t % len(X)])
            learner.learn(decision, decision.action == y[t % len(X)], person=t % 3)
        return learner.decision_function(X)

    learner = linucb(10)
    go(learner, range(1200))
    save(learner, tmp_path / "learner")
    again = load(tmp_path / "learner")
    np.testing.assert_array_equal(go(learner, range(1200, 1500)), go(again, range(1200, 1500)))


@pytest.mark.parametrize(
    ("act", "sentence"),
    [
        (lambda x: ucwl(10).learn_logged(x, [0], [1], [1.0]).report(), "nothing is estimated"),
        (lambda x: linucb(10, missing="perhaps"), "'auto', 'drop' or 'no'"),
        (lambda x: named(ucwl(10), x, "ann"), "by linucb with a full covariance"),
        (lambda x: named(linucb(10, noise=FlipMatrix.binary(0.1, 0.1)), x, "ann"), "without noise="),
        (lambda x: named(named(linucb(10), x, "ann"), x, None), "name all of them or none"),
        (lambda x: named(named(linucb(10), x, None), x, "ann"), "from the first round on"),
    ],
)
def test_what_cannot_be_weighted_is_refused(act, sentence, digits):
    with pytest.raises(ValueError, match=sentence):
        act(digits[0][:1])


def named(learner, x, person):
    return learner.learn(learner.decide(x[0]), 1, person=person)


def test_a_person_who_can_change_is_refused_and_the_decision_stays_open():
    learner = linucb(3)
    decision = learner.decide(np.eye(3)[0])
    with pytest.raises(ValueError, match="person"):
        learner.learn(decision, 1, person=["ann"])
    learner.learn(decision, 1, person="ann")


def test_estimates_of_annotators_and_actions_of_any_kind_come_in_one_frame():
    people = [1, "ann", ("bob", 2)]
    learner = linucb(classes=[("a", 1), "b", 3], random_state=0)
    for person in people:
        learner.learn(learner.decide([1.0, 0.5]), 1, person=person)
    assert learner.report("pandas")["person"].tolist() == people
    assert learner.report("polars")["person"].to_list() == people
    by_action = linucb(classes=[("a", 1), "b", 3], rates="action", random_state=0)
    by_action.decide([1.0, 0.5])
    for backend in ("pandas", "polars"):
        assert by_action.report(backend)["action"].to_list() == [("a", 1), "b", 3]


def test_annotators_are_not_told_apart_where_missing_feedback_is_used():
    learner = linucb(3, missing="auto", random_state=0)
    decision = learner.decide([1.0, 0.5])
    with pytest.raises(ValueError, match="whoever gave it"):
        learner.learn(decision, 1, person="ann")
    assert not hasattr(learner, "weigher_")
    with pytest.raises(ValueError, match="after 500 rounds"):
        learner.learn(decision, 1).report()


def test_feedback_is_weighted_or_corrected_for_noise_but_not_both():
    noise = FlipMatrix.binary(0.2, 0.1)
    learner = linucb(3, random_state=0)
    decision = learner.decide([1.0, 0.5])
    learner.learn(decision, 1, person="ann")
    with pytest.raises(ValueError, match="can't be given another one"):
        learner.use_noise(noise)
    corrected = linucb(3, random_state=0)
    decision = corrected.decide([1.0, 0.5])
    with pytest.raises(ValueError, match="without noise="):
        corrected.use_noise(noise).learn(decision, 1, person="ann")


@pytest.mark.parametrize("missing", ["drop", "no", "auto"])
@pytest.mark.parametrize("kind", ["boolean", "Int64", "Float64", "object"])
def test_feedback_may_be_missing_as_in_pandas(missing, kind):
    feedback = pd.Series([True, pd.NA, False, pd.NA], dtype=kind)
    X, actions = np.eye(4), [0, 1, 1, 0]
    learnt = linucb(2, missing=missing).learn_logged(X, actions, feedback, 0.5)
    plain = linucb(2, missing=missing).learn_logged(X, actions, [1, None, 0, None], 0.5)
    assert learnt.n_rounds_ == plain.n_rounds_ == (2 if missing == "drop" else 4)
    np.testing.assert_array_equal(learnt.table_, plain.table_)


@pytest.mark.parametrize("missing", ["drop", "no", "auto"])
@pytest.mark.parametrize("absent", [float("nan"), np.float32("nan"), pd.NA, pd.NaT], ids=str)
def test_every_missing_value_is_learnt_as_none(absent, missing):
    given, plain = (linucb(2, missing=missing, random_state=0) for _ in range(2))
    for learner, feedback in ((given, [1, absent, 0, absent]), (plain, [1, None, 0, None])):
        for x, one in zip(np.eye(4), feedback):
            learner.learn(learner.decide(x), one)
    assert given.n_rounds_ == plain.n_rounds_ == (2 if missing == "drop" else 4)
    np.testing.assert_array_equal(given.table_, plain.table_)


def test_weighted_steps_from_a_loaded_fit_give_the_fit_of_all_rounds():
    rng = np.random.default_rng(25)
    X, actions, targets, importance = rng.normal(size=(50, 4)), rng.integers(3, size=50), rng.random(50), rng.random(50)
    importance[45] = 0.0
    half, whole = (fit_per_action(X[:n], actions[:n], targets[:n], 3, importance=importance[:n]) for n in (25, 50))
    table, sigma = np.zeros((4, 6)), np.zeros((3, 4, 4))
    load_fit(table, sigma, half)
    for t in range(25, 50):
        weighted_step(table, sigma, X[t], actions[t], targets[t], importance[t])
    assert table == pytest.approx(np.hstack([whole.weights.T, whole.baseline.T]))
    assert sigma == pytest.approx(whole.inverses)
