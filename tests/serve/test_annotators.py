"""Annotators of different reliability are told apart, and the model is the better for it."""

import asyncio

import numpy as np
import pytest
from sklearn.datasets import load_digits

from noisewise.serve import ModelSpec
from noisewise.serve.models.report import annotator_rates, report
from noisewise.serve.models.row_model import RowModel
from noisewise.serve.page.demo import CAREFUL, CARELESS, NO, SPEC, SPITEFUL, YES, Crowd, run_demo
from serve_app import service, situation


async def teach(one, model, crowd, rounds):
    async def annotator():
        while model.progress.n_feedback < rounds:
            image, truth, who = crowd.situation()
            made = await one.decide(model, situation(image))
            right = crowd.feedback(made.code == truth, who)
            await one.feedback(model, made.decision_id, right, crowd.annotators[who])

    await asyncio.gather(*(annotator() for _ in range(8)))


def error_of(model):
    X, y = load_digits(return_X_y=True)
    rows = np.hstack([X / np.linalg.norm(X, axis=1, keepdims=True), np.full((len(X), 1), 0.3)])
    return float(np.mean(model.learner.predict(rows) != y))


@pytest.mark.slow
def test_noise_rates_are_estimated_after_three_thousand_rounds(tmp_path):
    async def run():
        async with service(f"sqlite:///{tmp_path}/log.db") as one:
            spec = ModelSpec.model_validate(SPEC | {"people": False, "exploration": 0.05})
            model, _ = await one.create("one-teacher", spec)
            await teach(one, model, Crowd([CARELESS], seed=1), 3000)
            return report(model, one.counts)["noise"]

    noise = asyncio.run(run())
    print(noise)
    assert abs(noise["false_positive"]["value"] - 0.3) < 0.05
    assert abs(noise["false_negative"]["value"] - 0.3) < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_rates_by_annotator_beat_trusting_all_feedback(seed, tmp_path):
    kinds = [CAREFUL] * 4 + [CARELESS] * 10 + [YES] * 3 + [NO] * 3

    async def run():
        async with service(f"sqlite:///{tmp_path}/log.db") as one:
            errors = {}
            for by_annotator in (True, False):
                spec = ModelSpec.model_validate(SPEC | {"people": by_annotator})
                model, _ = await one.create(f"by-annotator-{by_annotator}".lower(), spec)
                await teach(one, model, Crowd(kinds, seed=seed), 5000)
                errors[by_annotator] = error_of(model)
            crowd = Crowd(kinds)
            known = {name: sum(rates) for name, rates in zip(crowd.annotators, crowd.rates)}
            found = {one["person"]: 1 - one["signal"] for one in annotator_rates(one.models["by-annotator-true"])}
            often = [one["person"] for one in annotator_rates(one.models["by-annotator-true"]) if one["answers"] >= 150]
            return errors, max(abs(found[name] - known[name]) for name in often)

    errors, worst = asyncio.run(run())
    print(errors, worst)
    assert errors[True] < errors[False]
    assert worst < 0.2


def test_a_new_annotator_is_judged_after_a_few_rounds():
    """With a prior learnt from the crowd, thirty rounds tell a careful newcomer from a careless and a spiteful one."""
    model = RowModel(1, "digits", ModelSpec.model_validate(SPEC))
    crowd, learner = Crowd(seed=3), model.learner
    order = np.random.default_rng(0)

    def one_round(name, rates):
        image, truth, _ = crowd.situation()
        x = np.append(image / np.linalg.norm(image), 0.3)
        decision = learner.decide(x)
        right = decision.action == truth
        observed = order.random() < (1 - rates[1] if right else rates[0])
        learner.learn(decision, observed, name)

    for _ in range(1500):
        who = crowd.situation()[2]
        one_round(crowd.annotators[who], crowd.rates[who])
    for name, rates in (("careful", CAREFUL), ("careless", CARELESS), ("spiteful", SPITEFUL)):
        for _ in range(30):
            one_round(name, rates)
    signal = {one["person"]: one["signal"] for one in annotator_rates(model)}
    assert signal["spiteful"] < signal["careless"] < 0.7 < signal["careful"]


def test_the_demonstration_simulates_annotators(tmp_path):
    async def run():
        async with service(f"sqlite:///{tmp_path}/log.db") as one:
            demo = asyncio.create_task(run_demo(one, first=200, pause=0.01))
            while "digits" not in one.models or one.models["digits"].progress.n_feedback < 205:
                await asyncio.sleep(0.05)
                assert not demo.done()
            demo.cancel()
            return report(one.models["digits"], one.counts)

    found = asyncio.run(run())
    assert len(found["people_rates"]) > 10
    assert found["counts"]["decisions"] >= 205
