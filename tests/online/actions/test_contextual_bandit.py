"""The contextual bandit with action features: against plain ridge regression, round by round."""

import copy
import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from noisewise import FlipMatrix, GaussianNoise, load, save
from noisewise.online import (
    ActionDecision,
    ContextualBandit,
    Greedy,
    InverseGapWeighting,
    ThompsonSampling,
    UniformExploration,
    UpperConfidence,
)
from noisewise.online.actions.offers import as_offer

POLICIES = [ThompsonSampling(0.3), InverseGapWeighting(), UpperConfidence(0.5, 0.1), UniformExploration(0.2), Greedy()]
MEALS = [
    {"id": "pasta", "taste": "salty", "price": 9.5},
    {"id": "tart", "taste": "sweet", "price": 4.0},
    {"id": "curry", "taste": "hot", "price": 11.0, "vegan": True},
]


def meal_rounds(n, seed=0):
    """Contexts with some meals on offer."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        context = {"time": str(rng.choice(["noon", "night"])), "age": int(rng.integers(18, 80))}
        yield context, [MEALS[index] for index in rng.permutation(3)[: rng.integers(1, 4)]]


def play(bandit, rounds, seed=1):
    """Decide and learn; a meal is liked if it is sweet at night."""
    rng = np.random.default_rng(seed)
    decisions = []
    for context, meals in rounds:
        decision = bandit.decide(context, meals)
        bandit.learn(decision, int((decision.action == "tart") == (context["time"] == "night") or rng.random() < 0.1))
        decisions.append(decision)
    return decisions


def arrays(n, n_context=3, n_features=4, n_actions=5, seed=0):
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(n_context, n_features))
    contexts = rng.normal(3.0, 2.0, size=(n, n_context))
    actions = rng.normal(-50.0, 10.0, size=(n, n_actions, n_features))
    clean = np.einsum("ni,ij,nkj->nk", contexts, weights, actions)
    return contexts, actions, (clean - clean.min()) / np.ptp(clean)


def played_by(bandit, contexts, actions, rewards):
    """What was played, in order."""
    played = []
    for context, offered, reward in zip(contexts, actions, rewards):
        decision = bandit.decide(context, offered)
        bandit.learn(decision, reward[decision.position])
        played.append(decision.position)
    return np.array(played)


def ridge_scores(contexts, rows, rewards, context, offered, ridge=0.3):
    """Ridge regression on products of standardised columns, by one dense solve."""

    def standard(table, like):
        return np.column_stack([np.ones(len(table)), (table - like.mean(0)) / like.std(0)])

    def products(one, other):
        return np.einsum("ni,nj->nij", one, other).reshape(len(one), -1)

    X = products(standard(contexts, contexts), standard(rows, rows))
    penalty = np.full(X.shape[1], ridge * (X**2).sum() / len(X))
    penalty[0] *= 1e-3
    weights = np.linalg.solve(X.T @ X + np.diag(penalty), X.T @ rewards)
    repeated = np.repeat(context[None], len(offered), axis=0)
    return products(standard(repeated, contexts), standard(offered, rows)) @ weights


def test_scores_are_those_of_ridge_regression_on_standardised_products():
    contexts, actions, rewards = arrays(64)
    bandit = ContextualBandit(random_state=0)
    played = played_by(bandit, contexts, actions, rewards)
    rounds = np.arange(64)
    expected = ridge_scores(
        contexts, actions[rounds, played], rewards[rounds, played], contexts[0], actions[0]
    )  # 64 is a power of 2: columns have just been scaled
    np.testing.assert_allclose(bandit.predict(contexts[0], actions[0]), expected, atol=1e-9)


@pytest.mark.parametrize("memory", [None, 20.0])
def test_between_exact_solutions_rank_one_updates_keep_weights_and_covariance(memory):
    contexts, actions, rewards = arrays(100)
    bandit = ContextualBandit(memory=memory, random_state=0)
    played_by(bandit, contexts, actions, rewards)
    model = bandit.model_
    prior = np.full(len(model.weights), model.penalty)
    prior[0] *= 1e-3
    gram = np.tril(model.gram) + np.tril(model.gram, -1).T  # rounds are added below the diagonal
    sigma = np.linalg.inv(gram + np.diag(prior))
    np.testing.assert_allclose(model.sigma, sigma, atol=1e-8)
    np.testing.assert_allclose(model.weights, sigma @ model.moment, atol=1e-8)


@pytest.mark.parametrize("relative", [False, True])
def test_the_variance_is_that_of_the_score_or_of_its_difference_from_the_mean_action(relative):
    contexts, actions, rewards = arrays(40)
    bandit = ContextualBandit(random_state=0)
    played_by(bandit, contexts, actions, rewards)
    model, n_actions = bandit.model_, actions.shape[1]
    one, rows = bandit.encoder_.encode(contexts[:1], _offer(actions[0]))
    _, variances = model.score(one.row(0), rows, relative)
    c = (one.values - model.contexts[3]) * model.contexts[4]
    a = (rows.values.reshape(n_actions, -1) - model.actions[3]) * model.actions[4]
    products = np.array([np.kron(c, row) for row in a - relative * a.mean(axis=0)])
    np.testing.assert_allclose(variances, np.einsum("ki,ij,kj->k", products, model.sigma, products), atol=1e-9)


def _offer(features):
    from noisewise.online.actions.offers import as_offer

    return as_offer(features)


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: type(policy).__name__)
def test_a_replayed_stream_gives_the_same_bits(policy):
    one, other = (ContextualBandit(policy, random_state=3) for _ in range(2))
    first, second = play(one, meal_rounds(60)), play(other, meal_rounds(60))
    assert [decision.action for decision in first] == [decision.action for decision in second]
    assert all(a.probabilities.tobytes() == b.probabilities.tobytes() for a, b in zip(first, second))
    assert one.model_.weights.tobytes() == other.model_.weights.tobytes()


@pytest.mark.parametrize(
    "options", [{}, {"covariance": "diagonal"}, {"hash_bits": 12}, {"memory": 50}, {"per_action": True}]
)
def test_a_saved_or_copied_learner_goes_on_with_the_same_bits(options, tmp_path):
    bandit = ContextualBandit(random_state=3, **options)
    play(bandit, meal_rounds(40))
    path = tmp_path / "bandit.nw"
    save(bandit, path)
    for again in (load(path), copy.deepcopy(bandit)):
        original = copy.deepcopy(bandit)
        rounds = list(meal_rounds(40, seed=9))
        assert [one.action for one in play(original, rounds)] == [one.action for one in play(again, rounds)]
        assert original.model_.weights.tobytes() == again.model_.weights.tobytes()


@pytest.mark.parametrize("memory", [None, 30.0])
@pytest.mark.parametrize("missing", ["drop", "no"])
def test_a_log_is_learnt_as_round_by_round(memory, missing):
    contexts, actions, rewards = arrays(128)
    bandit = ContextualBandit(memory=memory, missing=missing, noise=FlipMatrix.binary(0.1, 0.2), random_state=0)
    played, given = [], []
    for number, (context, offered) in enumerate(zip(contexts, actions)):
        decision = bandit.decide(context, offered)
        reward = None if number % 16 == 3 else rewards[number, decision.position]
        bandit.learn(decision, reward)
        played.append(offered[decision.position])
        given.append(np.nan if reward is None else reward)
    bandit.model_.solve()
    logged = ContextualBandit(memory=memory, missing=missing, noise=FlipMatrix.binary(0.1, 0.2))
    logged.learn_logged(contexts, np.array(played), np.array(given))
    np.testing.assert_allclose(
        logged.predict(contexts[0], actions[0]), bandit.predict(contexts[0], actions[0]), atol=1e-8
    )
    assert logged.n_rounds_ == bandit.n_rounds_


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_logs_of_dicts_in_parts_are_learnt_as_in_one(covariance, monkeypatch):
    rows = [(context, meals[0]) for context, meals in meal_rounds(90)]
    contexts, meals = [context for context, _ in rows], [meal for _, meal in rows]
    rewards = [float(meal["taste"] == "sweet") for meal in meals]
    whole = ContextualBandit(covariance=covariance).learn_logged(contexts, meals, rewards)
    monkeypatch.setattr("noisewise.online.actions.bandit.BLOCK", 45 if covariance == "full" else 1024)
    parts = ContextualBandit(covariance=covariance).learn_logged(contexts, meals, rewards)
    np.testing.assert_allclose(whole.predict(contexts[0], MEALS), parts.predict(contexts[0], MEALS), atol=1e-8)


def test_binary_rewards_are_the_interval_from_0_to_1_bit_for_bit():
    plain, unit = (
        ContextualBandit(random_state=0),
        ContextualBandit(rewards=(0, 1), noise=FlipMatrix.none(2), random_state=0),
    )
    play(plain, meal_rounds(50))
    play(unit, meal_rounds(50))
    assert plain.model_.weights.tobytes() == unit.model_.weights.tobytes()


@pytest.mark.parametrize(
    ("options", "change"),
    [
        ({"rewards": (-1, 1)}, lambda reward: 2 * reward - 1),
        ({"rewards": (0, 1), "costs": True}, lambda reward: 1 - reward),
        ({"rewards": (-3, 0), "costs": True}, lambda reward: -3 * reward),
        ({"outcomes": {"click": 0.25, "purchase": 0.75}}, lambda reward: {"click": reward, "purchase": reward}),
    ],
)
def test_other_units_of_rewards_give_the_same_decisions(options, change):
    plain, other = ContextualBandit(random_state=0), ContextualBandit(random_state=0, **options)
    for context, meals in meal_rounds(60):
        one, two = plain.decide(context, meals), other.decide(context, meals)
        assert one.action == two.action
        reward = float(one.action == "tart")
        plain.learn(one, reward)
        other.learn(two, change(reward))
    expected = plain.predict({"time": "noon", "age": 30}, MEALS)
    scale = other.reader_.scale
    np.testing.assert_allclose(other.predict({"time": "noon", "age": 30}, MEALS), scale.given(expected), atol=1e-12)


@pytest.mark.parametrize(
    ("options", "given"),
    [
        ({"noise": FlipMatrix.binary(0.1, 0.3)}, {}),
        ({"noise": {"ann": FlipMatrix.binary(0.1, 0.3), "bob": FlipMatrix.binary(0.4, 0.2)}}, {"people": True}),
        ({"noise": {1.0: FlipMatrix.binary(0.1, 0.3), 2.0: FlipMatrix.binary(0.3, 0.1)}, "noise_by": "kind"}, {}),
    ],
)
def test_flips_are_corrected(options, given, rng):
    n = 60_000
    kinds, clean = rng.integers(1, 3, size=n).astype(float), rng.random(n)
    people = rng.choice(["ann", "bob"], size=n)
    rates = {"ann": (0.1, 0.3), "bob": (0.4, 0.2), 1.0: (0.1, 0.3), 2.0: (0.3, 0.1)}
    keys = people if given else kinds if "noise_by" in options else ["ann"] * n
    rho = np.array([rates[key] for key in keys])
    truth = rng.random(n) < np.where(kinds == 1, 0.2, 0.7)
    observed = np.where(truth, rng.random(n) >= rho[:, 1], rng.random(n) < rho[:, 0]).astype(float)
    bandit = ContextualBandit(**options)
    actions = [{"kind": kind} for kind in kinds]
    bandit.learn_logged([{}] * n, actions, observed, people=people if given else None)
    assert len(clean) == n
    predicted = bandit.predict(None, [{"kind": 1.0}, {"kind": 2.0}])
    np.testing.assert_allclose(predicted, [0.2, 0.7], atol=5 * 0.5 / 0.6 / np.sqrt(n / 4))


def test_rounds_count_by_their_information(rng):
    """Known additive noise: a round with variance v counts 1 / (1 + v / .25) times."""
    noisy = ContextualBandit(noise={"near": GaussianNoise(0.0), "far": GaussianNoise(0.75)}, noise_by="person")
    clean = ContextualBandit(noise=GaussianNoise(0.0))
    rows = rng.normal(size=(8, 2))
    rewards = rng.normal(size=8)  # additive noise leaves the interval
    noisy.learn_logged([{}] * 8, rows, rewards, people=["far"] * 4 + ["near"] * 4)
    clean.learn_logged([{}] * 8, rows, rewards)
    weights = np.array([0.25] * 4 + [1.0] * 4)
    assert noisy.model_.gram[0, 0] == pytest.approx(weights.sum())
    assert clean.model_.gram[0, 0] == pytest.approx(8)


def test_forgetting_follows_a_change():
    late = {}
    for memory in (None, 50):
        bandit = ContextualBandit(memory=memory, random_state=0)
        played = []
        for number in range(600):
            decision = bandit.decide(None, {"a": {"x": 1}, "b": {"x": 0}})
            bandit.learn(decision, int((decision.action == "a") == (number < 400)))
            played.append(decision.action)
        late[memory] = played[450:].count("b")
    assert late[50] > 140
    assert late[None] < 100
    assert bandit.model_.gram[0, 0] / bandit.model_.growth == pytest.approx(50, rel=0.01)


def test_actions_appear_and_vanish_and_share_what_their_features_say():
    bandit = ContextualBandit(random_state=0)
    play(bandit, meal_rounds(300))
    cake = {"id": "cake", "taste": "sweet", "price": 4.5}
    soup = {"id": "soup", "taste": "salty", "price": 5.0}
    at_night = bandit.predict({"time": "night", "age": 40}, [cake, soup])
    assert at_night[0] > at_night[1] + 0.3
    before = bandit.model_.weights.tobytes()
    assert bandit.predict({"time": "dawn"}, [{"taste": "odd", "new": 3.0}]).shape == (1,)
    assert bandit.model_.weights.tobytes() == before


def test_per_action_weights_tell_actions_with_equal_features_apart():
    offered = {"a": {"kind": "same"}, "b": {"kind": "same"}}
    shared, hybrid = ContextualBandit(random_state=0), ContextualBandit(per_action=True, random_state=0)
    for bandit in (shared, hybrid):
        for _ in range(200):
            decision = bandit.decide(None, offered)
            bandit.learn(decision, int(decision.action == "b"))
    assert abs(np.diff(shared.predict(None, offered))) < 1e-9
    assert np.diff(hybrid.predict(None, offered)) > 0.3


def test_without_interactions_contexts_shift_all_actions_alike():
    bandit = ContextualBandit(interactions=None, random_state=0)
    play(bandit, meal_rounds(100))
    noon, night = (bandit.predict({"time": time, "age": 40}, MEALS) for time in ("noon", "night"))
    np.testing.assert_allclose(noon - noon[0], night - night[0], atol=1e-9)


def test_every_form_of_the_same_features_gives_the_same_scores(rng):
    contexts, rows = rng.normal(size=(30, 2)), rng.normal(size=(30, 3))
    rewards = rng.random(30)
    names, offered = ["0", "1", "2"], rng.normal(size=(4, 3))
    forms = [
        (contexts, rows, offered),
        (contexts.tolist(), rows.tolist(), offered.tolist()),
        (sp.csr_array(contexts), sp.csr_array(rows), sp.csr_array(offered)),
        (
            pd.DataFrame(contexts, columns=["0", "1"]),
            pd.DataFrame(rows, columns=names),
            pd.DataFrame(offered, columns=names),
        ),
        (
            pl.DataFrame(contexts, schema=["0", "1"]),
            pl.DataFrame(rows, schema=names),
            pl.DataFrame(offered, schema=names),
        ),
    ]
    scores = []
    for given, played, offer in forms:
        bandit = ContextualBandit().learn_logged(given, played, rewards)
        one = given[:1] if hasattr(given, "shape") else given[0]
        scores.append(bandit.predict(one, offer))
    for other in scores[1:]:
        np.testing.assert_allclose(other, scores[0], atol=1e-10)


def test_frames_name_actions_by_their_id():
    frame = pd.DataFrame(MEALS[:2])
    decision = ContextualBandit(random_state=0).decide(pd.Series({"time": "noon"}), frame)
    assert decision.action in ("pasta", "tart")
    assert ContextualBandit().decide({}, pl.DataFrame(MEALS[:2])).action in ("pasta", "tart")
    assert ContextualBandit().decide({}, frame.set_index("id")).action in ("pasta", "tart")


def test_what_a_frame_does_not_know_is_left_out():
    columns = {"id": ["tart", "soup"], "taste": ["sweet", None], "stars": [None, 4], "new": [None, True]}
    known = [{"id": "tart", "taste": "sweet"}, {"id": "soup", "stars": 4, "new": True}]
    pandas_frame = pd.DataFrame(columns).astype({"taste": "category", "stars": "Int64", "new": "boolean"})
    expected = as_offer(known).features
    for frame in (pandas_frame, pd.DataFrame(columns).astype({"stars": "Int64"}), pl.DataFrame(columns)):
        found = as_offer(frame).features
        assert [{name: one for name, one in record.items() if one is not None} for record in found] == expected
        assert ContextualBandit().decide({}, frame).action in ("tart", "soup")
    with pytest.raises(ValueError, match="feature 'stars' of the action is nan; drop it or fill it in"):
        ContextualBandit().decide({}, pd.DataFrame(columns))


def test_slots_hold_different_actions_and_are_learnt_from_one_by_one():
    bandit = ContextualBandit(random_state=0)
    ranked = bandit.decide({"time": "noon"}, MEALS, slots=3)
    assert sorted(one.action for one in ranked) == ["curry", "pasta", "tart"]
    assert [one.id for one in ranked] == [0, 1, 2]
    for one in reversed(ranked):
        bandit.learn(one, 0.5)
    assert bandit.n_rounds_ == 3
    assert "slot=2" in bandit.encoder_.contexts.columns


def test_decisions_may_be_stored_as_json():
    bandit, other = ContextualBandit(random_state=0), ContextualBandit(random_state=0)
    for context, meals in meal_rounds(20):
        decision = bandit.decide(context, meals)
        text = json.dumps(decision._asdict(), default=np.ndarray.tolist)
        bandit.learn(ActionDecision(**json.loads(text)), 1)
        other.learn(other.decide(context, meals), 1)
    assert bandit.model_.weights.tobytes() == other.model_.weights.tobytes()


def test_missing_rewards_leave_a_decision_open():
    bandit = ContextualBandit(random_state=0)
    decision = bandit.decide(None, MEALS)
    for missing in (None, float("nan"), pd.NA):
        assert bandit.learn(decision, missing).n_rounds_ == 0
    bandit.learn(decision, 1)
    with pytest.raises(ValueError, match="has been learnt from already"):
        bandit.learn(decision, 1)
    lowest = ContextualBandit(missing="no", rewards=(-1, 1), random_state=0)
    lowest.learn(lowest.decide(None, MEALS), None)
    assert lowest.model_.moment[0] == 0.0
    assert lowest.n_rounds_ == 1


def test_ten_thousand_actions_are_decided_among():
    bandit = ContextualBandit(random_state=0)
    decision = bandit.decide([1.0, 2.0], np.random.default_rng(0).normal(size=(10_000, 8)))
    bandit.learn(decision, 1)
    assert decision.probabilities.sum() == pytest.approx(1)


def test_many_products_have_a_diagonal_covariance_with_a_warning():
    bandit = ContextualBandit(random_state=0)
    bandit.learn(bandit.decide({"a": 1.0}, [{"b": 1.0}]), 1)
    before = bandit.predict({"a": 1.0}, [{"b": 1.0}])
    with pytest.warns(UserWarning, match="covariance is diagonal"):
        bandit.decide({f"word{n}": 1 for n in range(40)}, [{f"tag{n}": 1 for n in range(40)}])
    np.testing.assert_allclose(bandit.predict({"a": 1.0}, [{"b": 1.0}]), before, atol=1e-12)
    with pytest.raises(ValueError, match="a full covariance has at most 4096"):
        ContextualBandit(covariance="full").decide(np.ones(100), np.ones((2, 100)))


@pytest.mark.parametrize("options", [{"covariance": "diagonal"}, {"hash_bits": 16}])
def test_a_diagonal_covariance_learns_too(options):
    bandit = ContextualBandit(random_state=0, **options)
    play(bandit, meal_rounds(400))
    night = bandit.predict({"time": "night", "age": 40}, MEALS)
    assert night[1] > max(night[0], night[2]) + 0.3
