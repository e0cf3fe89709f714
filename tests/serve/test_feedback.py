"""Feedback that is duplicate, late, missing or about no decision, and decisions requested twice."""

import asyncio

import pytest

from noisewise.serve import replay
from noisewise.serve.api.export import logged_rounds
from noisewise.serve.log.group_commit import ACCEPTED, DUPLICATE, LATE
from noisewise.serve.models.report import explain
from noisewise.serve.models.service import NotFound
from serve_app import make, service, situation


def run(tmp_path, test, **spec):
    async def inside():
        async with service(f"sqlite:///{tmp_path}/log.db") as one:
            await test(one, await make(one, **spec))

    asyncio.run(inside())


def test_the_first_feedback_counts(tmp_path):
    async def test(one, model):
        made = await one.decide(model, situation([1, 0, 0, 0]))
        first, second = await asyncio.gather(
            one.feedback(model, made.decision_id, True), one.feedback(model, made.decision_id, False)
        )
        assert (first.status, second.status) == (ACCEPTED, DUPLICATE)
        assert second.event.right is True
        assert model.progress.n_feedback == model.progress.n_right == 1
        assert one.counts["m", DUPLICATE] == 1

    run(tmp_path, test)


def test_feedback_may_follow_missing_feedback_and_then_counts(tmp_path):
    async def test(one, model):
        made = await one.decide(model, situation([1, 0, 0, 0]))
        said = [(await one.feedback(model, made.decision_id, right)) for right in (None, None, True, False, None)]
        assert [outcome.status for outcome in said] == [ACCEPTED, DUPLICATE, ACCEPTED, DUPLICATE, DUPLICATE]
        assert said[3].event.right is said[4].event.right is True
        assert (model.progress.n_missing, model.progress.n_feedback, model.learner.n_rounds_) == (1, 1, 1)
        explained = explain(model, await one.decision(model, made.decision_id))
        assert explained["answer"]["right"] is True
        assert [feedback.right for _, feedback in logged_rounds(one.store, model)] == [True]
        assert replay(one.store, "m").model_file() == model.model_file()

    run(tmp_path, test)


def test_deferred_decisions_are_learnt_from_feedback_after_missing_feedback(tmp_path):
    async def test(one, model):
        before, after = [await one.decide(model, situation([1, 0, 0, 0]), active=False) for _ in range(2)]
        for made in (before, after):
            await one.feedback(model, made.decision_id, None)
        await one.activate(model, after.decision_id)
        for made in (before, after):
            await one.feedback(model, made.decision_id, True)
        assert model.learner.n_rounds_ == 1
        await one.activate(model, before.decision_id)
        assert model.learner.n_rounds_ == 2
        assert replay(one.store, "m").model_file() == model.model_file()

    run(tmp_path, test)


@pytest.mark.parametrize("spec", [{"missing": "no"}, {"missing": "auto"}, {"revision": 1}])
def test_missing_feedback_that_is_learnt_from_is_the_last(spec, tmp_path):
    async def test(one, model):
        made = await one.decide(model, situation([1, 0, 0, 0]))
        said = [(await one.feedback(model, made.decision_id, right)).status for right in (None, True)]
        assert said == [ACCEPTED, DUPLICATE]

    run(tmp_path, test, **spec)


def test_feedback_on_no_decision_is_refused_and_counted(tmp_path):
    async def test(one, model):
        with pytest.raises(NotFound, match="no decision 'nothing'"):
            await one.feedback(model, "nothing", True)
        assert one.counts["m", "unknown"] == 1
        assert one.store.read() == []

    run(tmp_path, test)


def test_a_decision_requested_twice_is_made_once(tmp_path):
    async def test(one, model):
        first = await one.decide(model, situation([1, 0, 0, 0], decision_id="mine"))
        again = await one.decide(model, situation([0, 5, 0, 0], decision_id="mine"))
        assert again == first
        assert model.progress.n_decisions == 1

    run(tmp_path, test, exploration=0.5)


def test_the_same_id_in_two_models_is_two_decisions(tmp_path):
    async def test(one, model):
        other = await make(one, "other")
        for where in (model, other):
            await one.decide(where, situation([1, 0, 0, 0], decision_id="mine"))
            await one.feedback(where, "mine", True)
        assert model.progress.n_feedback == other.progress.n_feedback == 1

    run(tmp_path, test)


@pytest.mark.parametrize(("default", "counted"), [(True, 1), (False, 1), (None, 0)])
def test_a_decision_without_feedback_gets_the_default(default, counted, tmp_path):
    async def test(one, model):
        made = await one.decide(model, situation([1, 0, 0, 0]))
        for _ in range(200):
            if model.progress.n_defaults:
                break
            await asyncio.sleep(0.05)
        with model.lock:  # until the default has been learnt from
            assert (model.progress.n_defaults, model.progress.n_feedback) == (1, counted)
        late = await one.feedback(model, made.decision_id, True)
        assert (late.status, late.event.right) == (LATE, default)
        assert model.progress.n_feedback == counted

    run(tmp_path, test, wait_seconds=0.2, default_right=default)


def test_missing_feedback_is_dropped_unless_it_means_wrong(tmp_path):
    async def test(one, model):
        strict = await make(one, "strict", missing="no")
        for where in (model, strict):
            made = await one.decide(where, situation([1, 0, 0, 0]))
            await one.feedback(where, made.decision_id, None)
        assert model.learner.n_rounds_ == 0
        assert strict.learner.n_rounds_ == 1

    run(tmp_path, test)


def test_a_deferred_decision_is_learnt_from_once_it_is_activated_and_has_feedback(tmp_path):
    async def test(one, model):
        early = await one.decide(model, situation([1, 0, 0, 0]), active=False)
        await one.feedback(model, early.decision_id, True)
        assert model.learner.n_rounds_ == 0
        await one.activate(model, early.decision_id)
        assert model.learner.n_rounds_ == 1
        other = await one.decide(model, situation([1, 0, 0, 0]), active=False)
        await one.activate(model, other.decision_id)
        await one.feedback(model, other.decision_id, True)
        assert model.learner.n_rounds_ == 2

    run(tmp_path, test)


def test_excluded_actions_are_never_played(tmp_path, rng):
    async def test(one, model):
        for x in rng.normal(size=(30, 4)):
            made = await one.decide(model, situation(x, excluded=["a"]))
            assert made.code != 0
            assert (await one.decide(model, situation(x, actions=["b"]))).code == 1
        with pytest.raises(ValueError, match="no action 'z'"):
            await one.decide(model, situation([0, 0, 0, 1], excluded=["z"]))
        with pytest.raises(ValueError, match="no action is left"):
            await one.decide(model, situation([0, 0, 0, 1], actions=["a"], excluded=["a"]))

    run(tmp_path, test, exploration=0.5)
