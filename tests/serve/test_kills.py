"""Processes are killed under load; nothing acknowledged is lost or duplicated."""

import os

import pytest

from serve_kills import Offers, Rows, kills_of_many_processes, kills_of_one_process
from serve_processes import Nursery, has_postgres

needs_postgres = pytest.mark.skipif(not has_postgres(), reason="PostgreSQL's programs are not installed here")


@pytest.fixture(scope="module")
def nursery():
    one = Nursery()
    yield one
    one.close()


@pytest.mark.parametrize("world", [Rows(), Offers()], ids=["rows", "offers"])
def test_five_kills_lose_nothing(nursery, tmp_path, world):
    written, load = kills_of_one_process(nursery, f"sqlite:///{tmp_path}/log.db", 5, seed=0, world=world)
    assert written >= 25
    assert load.failures > 0  # requests failed during the kills


@pytest.mark.slow
@pytest.mark.parametrize("world", [Rows(), Offers()], ids=["rows", "offers"])
def test_two_hundred_kills_lose_nothing(nursery, tmp_path, world):
    rounds = int(os.environ.get("NOISEWISE_KILLS", "200"))
    written, load = kills_of_one_process(nursery, f"sqlite:///{tmp_path}/log.db", rounds, seed=1, world=world)
    print(f"{written} rows, {len(load.decided)} decisions and {len(load.given)} feedbacks acknowledged")
    assert written >= 5 * rounds


@needs_postgres
@pytest.mark.slow
@pytest.mark.parametrize("world", [Rows(), Offers()], ids=["rows", "offers"])
def test_killing_servers_learners_and_postgres_two_hundred_times_loses_nothing(nursery, world):
    rounds = int(os.environ.get("NOISEWISE_KILLS", "200"))
    written, load, victims = kills_of_many_processes(nursery, rounds, seed=2, world=world)
    print(f"{dict(victims)}: {written} rows, {len(load.decided)} decisions, {len(load.given)} feedbacks acknowledged")
    assert written >= 5 * rounds
