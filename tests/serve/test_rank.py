"""Decisions of the service are those of the library, and the explained scores are those that were compared."""

import numpy as np
import pytest

from noisewise.serve import ModelSpec
from noisewise.serve.models.ranking import MAX_SKIPPED, move_past, next_uniform, rank
from noisewise.serve.models.recipes import new_learner

BY_ACTION = [{"false_positive": 0.1 * action, "false_negative": 0.2} for action in range(3)]
SPECS = [
    {"recipe": "linucb", "exploration": 0.3},
    {"recipe": "linucb", "noise": BY_ACTION},
    {"recipe": "ucwl"},
    {"recipe": "confidit"},
    {"recipe": "banditron", "exploration": 0.5},
    {"recipe": "soba"},
    {"recipe": "bandit_pa"},
]


def learner_of(spec):
    return new_learner(ModelSpec.model_validate({"actions": ["a", "b", "c"], "features": {"count": 5}, **spec}))


def states_of(learner):
    return [learner.table_.copy(), learner.sigma_.copy(), learner.parameters_.copy(), learner.counters_.copy()]


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_ranking_is_deciding_and_leaves_the_learner_unchanged(spec, rng):
    learner, twin = learner_of(spec), learner_of(spec)
    rng_state = learner.rng_state_.copy()
    for x in rng.normal(size=(60, 5)):
        before = states_of(learner)
        found, decision = rank(learner, x, None, rng_state), twin.decide(x)
        assert (found.code, found.best, found.probability) == (decision.code, decision.best, decision.probability)
        assert all(np.array_equal(old, new) for old, new in zip(before, states_of(learner)))
        assert learner.n_decisions_ == twin.n_decisions_ - 1
        assert np.argmax(found.scores + found.widths) == found.best
        if found.code != found.best:
            assert found.draw < spec["exploration"]
        own = learner.decide(x)
        for one, made in ((learner, own), (twin, decision)):
            one.learn(made, int(np.argmax(x[:3]) == made.code))


def test_scores_are_those_of_the_decision_function(rng):
    learner = learner_of({"noise": BY_ACTION})
    for x in rng.normal(size=(40, 5)):
        learner.learn(learner.decide(x), int(x[0] > 0))
    x = rng.normal(size=5)
    found = rank(learner, x, None, learner.rng_state_.copy())
    assert found.scores == pytest.approx(learner.decision_function(x[None])[0])
    x = np.append(x, 1.0)  # the intercept
    widths = [np.sqrt(x @ sigma @ x) / (1 - 0.1 * action - 0.2) for action, sigma in enumerate(learner.sigma_)]
    assert found.widths == pytest.approx(widths)


def test_draws_are_those_of_numpy():
    stream = np.random.SFC64(7)
    rng_state = np.array(stream.state["state"]["state"], dtype=np.uint64)
    drawn = [next_uniform(rng_state) for _ in range(1000)]
    assert drawn == np.random.Generator(stream).random(1000).tolist()


def test_a_stream_moves_past_a_draw_of_its_own_and_stays_for_others():
    ours = np.array(np.random.SFC64(1).state["state"]["state"], dtype=np.uint64)
    ahead = ours.copy()
    drawn = [next_uniform(ahead) for _ in range(3)]
    start = ours.copy()
    move_past(ours, 0.123)
    assert (ours == start).all()
    move_past(ours, drawn[2])
    assert (ours == ahead).all()
    for _ in range(MAX_SKIPPED + 1):
        far = next_uniform(ahead)
    move_past(ours, far)
    assert next_uniform(ours) != far


def test_scores_that_are_not_finite_are_refused():
    learner = learner_of({"recipe": "ucwl"})
    with pytest.raises(ValueError, match="smaller numbers"):
        rank(learner, np.full(5, np.inf), None, learner.rng_state_.copy())


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("rates", [None, (0.2, 0.1), (0.5, 0.48)], ids=str)  # of one action
@pytest.mark.parametrize("recipe", ["linucb", "corrected_ucwl", "rcnbf"])
def test_of_many_actions_the_highest_have_the_scores_that_all_have(recipe, rates, masked, rng):
    noise = [dict(zip(("false_positive", "false_negative"), one)) for one in [rates or (0.0, 0.0), *[(0.1, 0.1)] * 39]]
    learner = learner_of({"actions": list(range(40)), "recipe": recipe, "exploration": 0.3, "noise": noise})
    for x in rng.normal(size=(80, 5)):
        learner.learn(learner.decide(x), int(rng.random() < 0.3))
    allowed = rng.random(40) < 0.6 if masked else None
    for x in rng.normal(size=(20, 5)):
        every = rank(learner, x, allowed, learner.rng_state_.copy())
        some = rank(learner, x, allowed, learner.rng_state_, most=16)
        assert (some.code, some.best, some.probability, some.draw) == every[:4]
        np.testing.assert_array_equal(some.scores, every.scores[some.codes])
        np.testing.assert_array_equal(some.widths, every.widths[some.codes])
        bounds = every.scores + every.widths
        left = np.setdiff1d(np.arange(40) if allowed is None else np.flatnonzero(allowed), some.codes)
        kept = np.setdiff1d(some.codes, [some.code, some.best])
        assert bounds[left].max() <= np.sort(bounds[kept])[-14:].min() + 1e-9
        assert {some.code, some.best} <= set(some.codes.tolist())
