"""Decisions whose wait is over are closed at any rate, whatever the clock does."""

import asyncio
import time

import pytest

from noisewise.serve import replay
from noisewise.serve.models.open_decisions import OpenDecisions
from serve_app import make, service, situation

WAITING = {"wait_seconds": 0.3, "default_right": False}


async def until(check, seconds=20):
    end = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < end, "it did not get there"
        await asyncio.sleep(0.02)


def run(tmp_path, test, **settings):
    async def inside():
        async with service(f"sqlite:///{tmp_path}/log.db", **settings) as one:
            return await test(one)

    return asyncio.run(inside())


def test_thousands_of_decisions_are_closed_within_seconds(tmp_path):
    async def test(one):
        model = await make(one, **WAITING)
        await asyncio.gather(*(one.decide(model, situation([1, 0, 0, 0])) for _ in range(3000)))
        began = time.monotonic()
        await until(lambda: model.progress.n_defaults == 3000)
        assert time.monotonic() - began < 8  # 220 a second would take 14
        assert replay(one.store, "m").model_file() == model.model_file()

    run(tmp_path, test)


def test_decisions_of_a_clock_that_was_set_back_are_closed(tmp_path, monkeypatch):
    ahead, real = 3600.0, time.time

    async def test(one):
        model = await make(one, **WAITING)
        monkeypatch.setattr(time, "time", lambda: real() + ahead)
        await one.decide(model, situation([1, 0, 0, 0], decision_id="of the future"))
        monkeypatch.setattr(time, "time", real)
        await one.decide(model, situation([1, 0, 0, 0], decision_id="of today"))
        await until(lambda: model.progress.n_defaults == 2)

    run(tmp_path, test)


def test_a_clock_that_is_set_forward_closes_nothing_early(monkeypatch):
    found, now = OpenDecisions(), time.time()
    found.made["a"] = time.monotonic()
    monkeypatch.setattr(time, "time", lambda: now + 1e6)
    assert found.expired(60.0) == []
    assert found.expired(0.0) == ["a"]


def test_decisions_that_waited_before_a_restart_are_closed_after_it(tmp_path):
    async def before(one):
        model = await make(one, wait_seconds=1.0, default_right=False)
        for number in range(3):
            await one.decide(model, situation([1, 0, 0, 0], decision_id=f"d{number}"))
        await one.feedback(model, "d1", True)

    async def after(one):
        model = await one.model("m")
        await until(lambda: model.progress.n_defaults == 2)
        assert model.progress.n_right == 1

    run(tmp_path, before)
    run(tmp_path, after)


@pytest.mark.parametrize("probability", [0.0, 1.0])
def test_a_default_may_be_a_probability(tmp_path, probability):
    async def test(one):
        model = await make(one, wait_seconds=0.1, default_right=probability)
        await asyncio.gather(*(one.decide(model, situation([1, 0, 0, 0])) for _ in range(10)))
        await until(lambda: model.progress.n_defaults == 10)
        assert model.progress.n_right == 10 * probability

    run(tmp_path, test)
