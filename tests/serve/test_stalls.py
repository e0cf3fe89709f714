"""Refits, rate estimates and snapshots of large models leave the service to others."""

import asyncio
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from noisewise.serve import replay
from noisewise.serve.models.progress import Progress
from noisewise.serve.models.report import explain
from serve_app import make, service, settled, situation

WORST = 0.25  # seconds: several times what is measured on a busy machine, a tenth of the stall of a refit on the loop


class Pulse:
    """The longest time for which the event loop did nothing else."""

    async def __aenter__(self):
        self.worst, self.going = 0.0, True
        self.task = asyncio.create_task(self.beat())
        return self

    async def beat(self):
        while self.going:
            before = time.perf_counter()
            await asyncio.sleep(0.005)
            self.worst = max(self.worst, time.perf_counter() - before)

    async def __aexit__(self, *_):
        self.going = False
        await self.task


async def rounds(one, model, n, width, rng, people=1):
    for start in range(0, n, 50):
        X = rng.normal(size=(min(50, n - start), width))
        made = await asyncio.gather(*(one.decide(model, situation(x)) for x in X))
        names = [f"p{number}" for number in rng.integers(people, size=len(X))]
        given = [one.feedback(model, m.decision_id, bool(rng.random() < 0.5), name) for m, name in zip(made, names)]
        await asyncio.gather(*given)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("width", "spec", "n"),
    [(200, {"actions": list(range(100))}, 600), (400, {"people": True}, 1100)],
)
def test_a_refit_of_a_large_model_is_not_felt_by_others(tmp_path, rng, width, spec, n):
    async def run():
        async with service(f"sqlite:///{tmp_path}/log.db", state_seconds=0.5) as one:
            model = await make(one, features={"count": width}, **spec)
            await rounds(one, model, 200, width, rng, people=5)  # loops are compiled
            await settled(model)
            async with Pulse() as pulse:
                await rounds(one, model, n - 200, width, rng, people=5)
                await settled(model)
            assert pulse.worst < WORST
            assert replay(one.store, "m").model_file() == model.model_file()

    asyncio.run(run())


def test_decisions_go_on_while_the_learner_is_refitted(tmp_path, rng, monkeypatch):
    monkeypatch.setattr("noisewise.serve.models.model.SLOW_REFIT", 0)
    refitting, done = threading.Event(), threading.Event()

    async def run():
        async with service(f"sqlite:///{tmp_path}/log.db") as one:
            model = await make(one, people=True)
            await rounds(one, model, 999, 4, rng)
            await settled(model)
            tracker = model.learner.weigher_
            refit, position = tracker.refit, model.position

            def slow():
                refitting.set()
                assert done.wait(30)
                return refit()

            monkeypatch.setattr(tracker, "refit", slow)
            made = await one.decide(model, situation([1, 0, 0, 0]))
            await one.feedback(model, made.decision_id, True, "p0")  # acknowledged; the refit has begun
            await asyncio.to_thread(refitting.wait, 30)
            during = await one.decide(model, situation([1, 0, 0, 0]))
            assert during.version == position + 1
            late = await one.feedback(model, during.decision_id, True, "p0")
            assert model.progress.n_feedback < 1001
            done.set()
            await settled(model)
            assert model.position == late.event.position
            assert model.progress.n_feedback == 1001
            monkeypatch.undo()
            assert replay(one.store, "m").model_file() == model.model_file()

    asyncio.run(run())


def test_feedback_is_acknowledged_while_a_snapshot_is_written(tmp_path, rng):
    async def run():
        async with service(f"sqlite:///{tmp_path}/log.db") as one:
            model = await make(one)
            await rounds(one, model, 20, 4, rng)
            made = await one.decide(model, situation([1, 0, 0, 0]))
            held, release = threading.Event(), threading.Event()

            def save():
                with model.applying:
                    held.set()
                    release.wait(30)

            saving = asyncio.create_task(asyncio.to_thread(save))
            await asyncio.to_thread(held.wait, 30)
            await one.feedback(model, made.decision_id, True)
            await one.decide(model, situation([1, 0, 0, 0]))
            assert model.progress.n_feedback == 20
            release.set()
            await saving
            await settled(model)
            assert model.progress.n_feedback == 21
            assert replay(one.store, "m").model_file() == model.model_file()

    asyncio.run(run())


def test_a_stop_leaves_what_takes_long_to_the_next_start(tmp_path, rng, monkeypatch):
    url, count = f"sqlite:///{tmp_path}/log.db", Progress.add_feedback
    monkeypatch.setattr("noisewise.serve.models.log_applier.CLOSE_SECONDS", 0.2)

    async def run():
        async with service(url) as one:
            model = await make(one)
            await rounds(one, model, 20, 4, rng)
            await settled(model)
            with monkeypatch.context() as slow:
                slow.setattr(Progress, "add_feedback", lambda *seen: (time.sleep(0.1), count(*seen)))
                await rounds(one, model, 100, 4, rng)
                began = time.monotonic()
                await one.close()
            assert time.monotonic() - began < 5  # not 10: most of it is left
            assert model.progress.n_feedback < 100
        async with service(url) as one:
            again = await one.model("m")
            assert again.model_file() == replay(one.store, "m").model_file()
            assert again.progress.n_feedback == 120

    asyncio.run(run())


def test_the_stored_scores_of_many_actions_are_few(tmp_path, rng):
    async def run():
        async with service(f"sqlite:///{tmp_path}/log.db") as one:
            model = await make(one, actions=list(range(500)))
            made = await one.decide(model, situation(np.ones(4)))
            assert len(made.scores) < 500
            scores = explain(model, await one.decision(model, made.decision_id))["scores"]
            assert len(scores) == 500
            assert sum(not score["recomputed"] for score in scores) <= 18
            chosen = next(score for score in scores if score["action"] == made.code)
            assert not chosen["recomputed"]

    asyncio.run(run())


COMPILED_AFTER_THE_START = """
import asyncio, random, sys
from numba.core.dispatcher import Dispatcher
from noisewise.serve.models.service import warm_up
warm_up()

def compiled():
    modules = [module for name, module in sorted(sys.modules.items()) if name.startswith("noisewise._loops")]
    found = {(module.__name__, name): one for module in modules for name, one in vars(module).items()}
    return {where: len(one.signatures) for where, one in found.items() if isinstance(one, Dispatcher)}

before = compiled()
from offers import make_offers, play
from serve_app import make, service, situation

async def run():
    async with service(sys.argv[1]) as one:
        for number, covariance in enumerate(("full", "diagonal")):
            model = await make_offers(one, f"offers {number}", options={"covariance": covariance})
            await play(one, model, 10, random.Random(0))
        model = await make(one)
        for number in range(10):
            made = await one.decide(model, situation([1.0, 0.0, 0.0, number]))
            await one.feedback(model, made.decision_id, number % 2 == 0)

asyncio.run(run())
print({where for where, signatures in compiled().items() if signatures != before.get(where)})
"""


def test_no_decision_and_no_feedback_waits_for_a_compiler(tmp_path):
    command = [sys.executable, "-c", COMPILED_AFTER_THE_START, f"sqlite:///{tmp_path}/log.db"]
    folders = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": folders})
    assert done.stdout == "set()\n", done.stderr
