"""Decisions, late feedback, logs of other policies, and refusal of invalid input."""

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from noisewise import FlipMatrix
from noisewise.online import BanditClassifier, Confidence, LeastSquares, UpperConfidence, recipes, sign_signal

K, D = 4, 6


@pytest.fixture(scope="module")
def stream():
    rng = np.random.default_rng(3)
    y = rng.integers(K, size=1500)
    X = np.eye(K, D)[y] + rng.normal(scale=0.3, size=(1500, D))
    return X, y


def state_of(learner):
    return {name: copy.deepcopy(value) for name, value in vars(learner).items() if name.endswith("_")}


def same_state(one, other):
    assert one.keys() == other.keys()
    for name in one:
        if isinstance(one[name], dict):
            same_state(one[name], other[name])
        elif isinstance(one[name], np.ndarray):
            assert np.array_equal(one[name], other[name]), name
    return True


RECIPES = ["banditron", "rcnbf", "bandit_pa", "soba", "confidit", "linucb", "ucwl"]


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_learns_without_noise(name, stream):
    options = {"gamma": 0.2} if name == "soba" else {}  # which explores too little by default, in 1 of 4 runs
    history = getattr(recipes, name)(K, random_state=0, **options).play(*stream)
    assert history.mistakes[-500:].mean() < 0.25
    assert history.mistake_rate == history.mistakes.mean()
    assert np.array_equal(history.mistakes, history.actions != stream[1])
    assert np.array_equal(history.feedback, (~history.mistakes).astype(int))


def test_labels_are_whatever_the_user_calls_them(stream):
    X, y = stream
    names = ["d", "a", "c", "b"]
    numbered = recipes.ucwl(K).play(X, y)
    named = recipes.ucwl(classes=names).play(X, [names[k] for k in y])
    assert [names[k] for k in numbered.actions] == named.actions.tolist()
    mixed = recipes.ucwl(classes=[("x", 1), "y", 7, 2.5])
    assert mixed.decide(X[0]).action in [("x", 1), "y", 7, 2.5]
    assert mixed.learn(mixed.decide(X[1], actions=[7]), 1).predict(X[1:2]).tolist() == [7]


def test_signal_by_name_or_function_is_the_same(stream):
    options = {"policy": UpperConfidence(1.2), "rule": Confidence(0.75, 0.125), "n_classes": K}
    by_name = BanditClassifier(signal="sign", **options).play(*stream)
    by_function = BanditClassifier(signal=sign_signal, **options).play(*stream)
    assert np.array_equal(by_name.actions, by_function.actions)


def test_actions_restrict_the_choice_and_the_probability(stream):
    X, y = stream
    learner = recipes.banditron(K, gamma=0.4, random_state=0)
    learner.play(X[:500], y[:500])
    for x in X[:200]:
        decision = learner.decide(x, actions=[1, 3])
        assert decision.action in (1, 3)
        best = [1, 3][int(np.argmax(learner.decision_function(x[None])[0, [1, 3]]))]
        assert decision.probability == pytest.approx(0.6 * (decision.action == best) + 0.2)


def test_probabilities_are_the_fractions_played(stream):
    learner = recipes.banditron(K, gamma=0.3, random_state=1)
    learner.play(*stream)
    decisions = [learner.decide(stream[0][0]) for _ in range(4000)]
    best = decisions[0].best
    for action in range(K):
        fraction = np.mean([d.action == action for d in decisions])
        p = 0.7 * (action == best) + 0.3 / K
        assert abs(fraction - p) < 5 * np.sqrt(p * (1 - p) / 4000)


def test_late_feedback_out_of_order_is_learnt_with_the_probability_of_its_decision(stream):
    X, y = stream
    learner = recipes.rcnbf(K, gamma=0.5, noise=FlipMatrix.binary(0.1, 0.1), random_state=0)
    decisions = [learner.decide(x) for x in X[:50]]
    W = np.zeros((K, D))
    for decision, true in reversed(list(zip(decisions, y))):
        f = int(decision.action == true)
        learner.learn(decision, f)
        W[decision.action] += (f - 0.1) / 0.8 / decision.probability * X[decision.id]
        W[decision.best] -= X[decision.id]
    np.testing.assert_allclose(learner._weights().T, W, atol=1e-9)
    assert learner.n_rounds_ == 50
    assert {d.version for d in decisions} == {0}


def test_a_decision_keeps_its_own_copy_of_the_row(stream):
    x = stream[0][0].copy()
    learner = recipes.ucwl(K)
    decision = learner.decide(x)
    x[:] = 100
    assert np.array_equal(decision.features, stream[0][0])


def test_a_decision_is_learnt_once(stream):
    learner = recipes.ucwl(K)
    decisions = [learner.decide(x) for x in stream[0][:20]]
    learner.learn(decisions[7], 1)
    before = state_of(learner)
    with pytest.raises(ValueError, match="decision 7 has been learnt from already"):
        learner.learn(decisions[7], 0)
    assert same_state(before, state_of(learner))
    for decision in decisions[:7] + decisions[8:]:
        learner.learn(decision, 0)
    assert learner.n_rounds_ == 20


def test_a_decision_of_another_learner_is_refused(stream):
    X, _ = stream
    one, twin = (recipes.linucb(K, random_state=0) for _ in range(2))
    mine, others = one.decide(X[0]), twin.decide(X[0])
    with pytest.raises(ValueError, match="decision 0 was made by another learner"):
        twin.learn(mine, 1)
    twin.learn(others, 1)
    one.learn(mine, 1)
    assert same_state(state_of(one), state_of(twin))
    assert pickle.dumps(one) == pickle.dumps(twin)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda learner: pickle.loads(pickle.dumps(learner))])
def test_copies_share_the_decisions_made_before_them_and_no_others(copied, stream):
    X, _ = stream
    learner = recipes.linucb(K)
    before = learner.decide(X[0])
    other = copied(learner)
    mine, others = learner.decide(X[1]), other.decide(X[2])
    with pytest.raises(ValueError, match="decision 1 was made by another learner, or by another copy"):
        other.learn(mine, 1)
    for one, after in ((learner, mine), (other, others)):
        one.learn(before, 1).learn(after, 1)


def test_a_decision_kept_without_its_maker_is_learnt(stream):
    learner = recipes.linucb(K)
    decisions = [learner.decide(x) for x in stream[0][:3]]
    for decision in decisions:
        learner.learn(type(decision)(*decision[:7]), 1)
    assert learner.n_rounds_ == 3


def test_wrong_input_is_refused_and_changes_nothing(stream):
    X, y = stream
    learner = recipes.rcnbf(K, gamma=0.2, noise=FlipMatrix.binary(0.1, 0.1), random_state=0)
    learner.play(X, y)
    decision = learner.decide(X[0])
    before = state_of(learner)
    hole = X[:40].copy()
    hole[17, 2] = np.nan
    refused = [
        (lambda: learner.learn(decision, 2), "feedback is 2"),
        (lambda: learner.learn(decision, "yes"), "feedback is 'yes'"),
        (lambda: learner.learn(decision, 0.5), "feedback is 0.5"),
        (lambda: learner.learn(decision, np.array([1, 0])), "feedback is array"),
        (lambda: learner.learn(3, 1), "the Decision that decide returned, not 3"),
        (lambda: learner.learn(decision._replace(probability=0.0), 1), "a probability is 0.0"),
        (lambda: learner.learn(decision._replace(probability=1.5), 1), "a probability is 1.5"),
        (lambda: learner.learn(decision._replace(code=9), 1), "not class 9"),
        (lambda: learner.learn(decision._replace(action=(decision.action + 1) % K), 1), "is not class"),
        (lambda: learner.learn(decision._replace(action=9), 1), "the action 9 is not among the classes"),
        (lambda: learner.learn(decision._replace(id=99), 1), "decision 99 was not made by this learner"),
        (lambda: learner.learn(decision._replace(features=X[0][:3]), 1), "3 features"),
        (lambda: learner.learn(decision._replace(features=np.full(D, np.nan)), 1), "NaN"),
        (lambda: learner.decide(X[0], actions=[9]), "action 9"),
        (lambda: learner.decide(X[0], actions=[]), "at least one action"),
        (lambda: learner.decide(hole[17]), "NaN"),
        (lambda: learner.decide(sp.csr_array(hole[17:18])), "NaN"),
        (lambda: learner.decide(X[0][:3]), "3 features"),
        (lambda: learner.decide(X[:2]), "one row"),
        (lambda: learner.decide("abc"), "one row of numbers"),
        (lambda: learner.play(hole, y[:40]), "row 17"),
        (lambda: learner.play(sp.csr_array(hole), y[:40]), "row 17"),
        (lambda: learner.play(X, np.full(len(X), 11)), "label 11"),
        (lambda: learner.play(X, y[:-1]), "inconsistent numbers"),
        (lambda: learner.play(X[:, :2], y), "2 features"),
        (lambda: learner.play(X, y, noise=FlipMatrix.none(3)), "FlipMatrix of two classes"),
        (lambda: learner.play(X, y, noise=[FlipMatrix.none(2)] * 3), "3 noises"),
        (lambda: learner.learn_logged(X, y, np.ones(len(X)), np.zeros(len(X))), "a probability is 0.0"),
        (lambda: learner.learn_logged(X, y, np.full(len(X), 2), np.ones(len(X))), "feedback is 2"),
        (lambda: learner.learn_logged(X, y + 1, np.ones(len(X)), np.ones(len(X))), "action 4"),
        (lambda: learner.learn_logged(X, y, np.ones(len(X) - 1), np.ones(len(X) - 1)), "inconsistent numbers"),
        (lambda: learner.use_noise([FlipMatrix.none(2)]), "1 noises"),
    ]
    for call, sentence in refused:
        with pytest.raises(ValueError, match=sentence):
            call()
        assert same_state(before, state_of(learner)), sentence
    learner.learn(decision, True)


def test_wrong_recipes_are_refused_at_once():
    for wrong, sentence in [
        ({}, "either n_classes="),
        ({"n_classes": 3, "classes": [1, 2]}, "either n_classes="),
        ({"n_classes": 1}, "n_classes is 1"),
        ({"classes": ["a", "a"]}, "different labels"),
        ({"n_classes": 3, "noise": [FlipMatrix.none(2)] * 2}, "2 noises"),
        ({"n_classes": 3, "noise": FlipMatrix.none(3)}, "FlipMatrix of two classes"),
        ({"n_classes": 3, "gamma": 1.2}, "gamma is 1.2"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            recipes.rcnbf(**wrong)
    with pytest.raises(ValueError, match="sum to 1"):
        FlipMatrix.binary(0.6, 0.4)


def test_a_first_row_that_is_refused_leaves_no_trace():
    learner = recipes.ucwl(K)
    with pytest.raises(ValueError, match="NaN"):
        learner.decide([np.nan, 1.0])
    with pytest.raises(ValueError, match="label 8"):
        learner.play(np.ones((2, 2)), [0, 8])
    with pytest.raises(ValueError, match="NaN"):
        learner.play(np.array([[np.nan, 1.0], [1.0, 2.0]]), [0, 1])
    assert not hasattr(learner, "table_")
    assert len(learner.decide([1.0, 2.0, 3.0]).features) == 3


def test_rows_of_all_kinds_decide_alike(stream):
    X = stream[0]
    expected = [recipes.ucwl(K).decide(X[0]).action] * 6
    names = [f"c{i}" for i in range(D)]
    frame, table = pd.DataFrame(X[:1], columns=names), pl.DataFrame(X[:1], schema=names)
    kinds = [X[0].tolist(), X[:1], sp.csr_array(X[:1]), frame, table, frame.iloc[0]]
    assert [recipes.ucwl(K).decide(kind).action for kind in kinds] == expected


@pytest.mark.parametrize("name", RECIPES)
def test_a_pickled_learner_goes_on_bit_for_bit(name, stream):
    X, y = stream
    learner = getattr(recipes, name)(K, random_state=0)
    learner.play(X[:700], y[:700])
    copied = pickle.loads(pickle.dumps(learner))
    rebuilt = clone(learner)
    rebuilt.__dict__.update({name: copy.deepcopy(value) for name, value in vars(learner).items()})
    for twin in (copied, rebuilt):
        assert np.array_equal(
            copy.deepcopy(learner).play(X[700:], y[700:]).actions, twin.play(X[700:], y[700:]).actions
        )


@pytest.mark.parametrize("name", ["linucb", "confidit", "ucwl", "bandit_pa"])
def test_a_log_without_propensities_teaches_those_that_do_not_use_them(name, stream):
    X, y = stream
    actions = np.random.default_rng(0).integers(K, size=len(y))
    log = X, actions, (actions == y).astype(int)
    one, other = (getattr(recipes, name)(K, random_state=0) for _ in range(2))
    assert np.array_equal(one.learn_logged(*log).table_, other.learn_logged(*log, 1 / K).table_)


def test_rates_of_actions_need_no_propensities(stream):
    X, y = stream
    learner = recipes.linucb(K, rates="action").learn_logged(X, y, [1] * len(y))
    assert learner.n_rounds_ == len(y)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: recipes.banditron(K), "divides feedback by its propensity"),
        (lambda: recipes.soba(K), "divides feedback by its propensity"),
        (lambda: recipes.rcine(K), "divides feedback by its propensity"),
        (lambda: recipes.corrected_ucwl(K), "estimates flip rates from propensities"),
    ],
)
def test_a_log_without_propensities_is_refused_by_those_that_need_them(make, reason, stream):
    X, y = stream
    learner = make()
    with pytest.raises(ValueError, match=f"{reason}.*; give probabilities="):
        learner.learn_logged(X, y, [1] * len(y))
    assert not hasattr(learner, "table_")


def test_a_log_of_another_policy_teaches(stream):
    X, y = stream
    rng = np.random.default_rng(0)
    noise = FlipMatrix.binary(0.2, 0.2)
    actions = rng.integers(K, size=len(y))
    feedback = noise.corrupt((actions == y).astype(int), rng)
    for name in ("rcnbf", "ucwl", "linucb"):
        learner = getattr(recipes, name)(K, noise=noise)
        learner.learn_logged(X, actions, feedback, 1 / K)
        assert (learner.predict(X) != y).mean() < 0.2
        assert learner.n_rounds_ == len(y)
        assert learner.mistakes_ == 0


def test_feedback_noise_flips_at_its_rates_and_per_action(stream):
    X, y = np.tile(stream[0], (10, 1)), np.tile(stream[1], 10)
    noises = [FlipMatrix.binary(0.1 * k, 0.1 * (3 - k)) for k in range(K)]
    history = recipes.banditron(K, gamma=1.0, random_state=0).play(X, y, noise=noises, rng=1)
    for k in range(K):
        wrong = history.feedback[(history.actions == k) & history.mistakes]
        right = 1 - history.feedback[(history.actions == k) & ~history.mistakes]
        for flips, rate in ((wrong, 0.1 * k), (right, 0.1 * (3 - k))):
            assert abs(flips.mean() - rate) <= 5 * np.sqrt(rate * (1 - rate) / len(flips))


def test_linucb_rates_may_change_at_any_time(stream):
    X, y = stream
    noises = [FlipMatrix.binary(0.4, 0.1), FlipMatrix.binary(0.05, 0.5)] * 2
    raw, known = recipes.linucb(K), recipes.linucb(K, noise=noises)
    log = recipes.banditron(K, gamma=1.0, random_state=0).play(X, y, noise=noises, rng=2)
    for learner in (raw, known):
        learner.learn_logged(X, log.actions, log.feedback, 1 / K)
    assert not np.allclose(raw.decision_function(X), known.decision_function(X))
    raw.use_noise(noises)
    assert np.array_equal(raw.decision_function(X), known.decision_function(X))
    assert [n.matrix.tolist() for n in raw.noise_] == [n.matrix.tolist() for n in noises]


class KnownRates:
    """A tracker with given rates."""

    def __init__(self, noise):
        self.noise, self.blocks = noise, []

    def observe(self, X, actions, probabilities, feedback):
        X = X.toarray() if sp.issparse(X) else X
        self.blocks.append((np.array(X), np.array(actions), np.array(probabilities), np.array(feedback)))

    def estimate(self):
        return self.noise


@pytest.mark.parametrize("as_rows", [np.asarray, sp.csr_array])
def test_blocks_reach_the_tracker_whole_and_in_order(as_rows, stream):
    X, y = stream
    noise = FlipMatrix.binary(0.1, 0.2)
    learner = recipes.rcine(K, gamma=0.3, block=400, tracker=KnownRates(noise), random_state=0)
    histories = [learner.play(as_rows(X[s]), y[s], noise, rng=3) for s in (slice(0, 250), slice(250, 399))]
    assert learner.noise_ == FlipMatrix.none(2)
    for i in range(399, 402):
        decision = learner.decide(as_rows(X[i : i + 1]))
        learner.learn(decision, 1)
        histories.append(None)
        assert (learner.noise_ == noise) == (i >= 399)
    learner.play(as_rows(X[402:]), y[402:], noise, rng=4)
    blocks = learner.tracker_.blocks
    assert [len(block[1]) for block in blocks] == [400, 400, 400]
    assert np.array_equal(np.concatenate([block[0] for block in blocks]), X[:1200])
    assert np.array_equal(blocks[0][1][:250], histories[0].actions)
    assert np.array_equal(blocks[0][2][250:399], histories[1].probabilities)
    assert np.array_equal(blocks[0][3][:250], histories[0].feedback)
    assert learner.tracker.blocks == []  # the parameter stays as given


@pytest.mark.parametrize("rounds_before", [0, 30, 700])
def test_given_noise_stays_whatever_a_tracker_would_find(rounds_before, stream):
    X, y = stream
    given = FlipMatrix.binary(0.4, 0.1)
    learner = recipes.corrected_ucwl(K, block=500, tracker=KnownRates(FlipMatrix.none(2)), random_state=0)
    if rounds_before:
        learner.play(X[:rounds_before], y[:rounds_before])
    learner.use_noise(given)
    later = learner.play(X[rounds_before:], y[rounds_before:])
    for x in X[:600]:
        learner.learn(learner.decide(x), 1)
    assert learner.noise_ == given
    assert set(np.round(later.probabilities, 10)) == {0.0025, 0.9925}  # as if the noise had been known at once


def test_a_tracker_needs_no_policy_of_its_own(stream):
    noise = FlipMatrix.binary(0.1, 0.2)
    learner = BanditClassifier(n_classes=K, tracker=KnownRates(noise), block=100)
    learner.play(*stream)
    assert learner.noise_ == noise


class FirstActionUninformative(KnownRates):
    """A tracker with blocks of its own that finds the first action's feedback uninformative."""

    next_refit = 50

    def estimate(self):
        self.next_refit = 100_000
        return self

    @property
    def uninformative(self):
        return np.arange(K) == 0


def test_an_action_with_uninformative_feedback_is_scored_by_elimination(stream):
    X, y = stream
    learner = BanditClassifier(
        UpperConfidence(0.0), LeastSquares(), "value", K, covariance="full", tracker=FirstActionUninformative(None)
    )
    history = learner.play(X, y)
    assert len(learner.tracker_.blocks[0][1]) == 50 == learner.n_tracked_
    scores = learner.decision_function(X)
    np.testing.assert_allclose(scores[:, 0], 1 - np.maximum(scores[:, 1:], 0).sum(axis=1))
    assert history.mistakes[-500:].mean() < 0.25
    assert learner.decide(X[0]).action == scores[0].argmax()


def test_exploration_is_wider_until_the_noise_is_known(stream):
    X, y = stream
    learner = recipes.corrected_ucwl(
        K, tracker=KnownRates(FlipMatrix.none(2)), block=500, exploration=0.04, random_state=0
    )
    history = learner.play(X, y)
    assert set(np.round(history.probabilities[:500], 10)) == {0.05, 0.85}
    assert set(np.round(history.probabilities[500:], 10)) == {0.01, 0.97}
