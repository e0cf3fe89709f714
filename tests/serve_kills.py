"""Processes under load that are killed: what was acknowledged, what is in the log, and what was learnt from it."""

import asyncio
import contextlib
import json
import random
import uuid
from collections import Counter
from typing import ClassVar

import httpx

from noisewise.serve import Store, replay
from noisewise.serve.log.events import DECISION, FEEDBACK
from serve_app import free_port, wait_until_ready
from serve_processes import Postgres

CLIENTS = 6


class Rows:
    """Decisions among a fixed set of actions; feedback is right or wrong."""

    spec: ClassVar = {"actions": ["a", "b", "c"], "features": {"count": 4}, "exploration": 0.1}

    def question(self, rng):
        return {"features": [rng.gauss(0, 1) for _ in range(4)]}

    def feedback(self, rng):
        return {"right": rng.random() < 0.5}

    def action(self, row):
        return self.spec["actions"][row.code]


class Offers:
    """Decisions among actions with features, of which some are always new; feedback is a reward."""

    spec: ClassVar = {"actions": "features", "exploration": 0.1}

    def question(self, rng):
        first = rng.randrange(10**6)
        kinds = [{"id": f"item {first + k}", "kind": f"k{rng.randrange(40)}", "price": rng.random()} for k in range(5)]
        return {"context": {"user": f"u{rng.randrange(12)}", "hour": rng.random()}, "actions": kinds}

    def feedback(self, rng):
        return {"reward": round(rng.random(), 3)}

    def action(self, row):
        return json.loads(row.allowed)["actions"][row.code]["id"]


class Load:
    """Clients that request decisions and give feedback until stopped, and record what was acknowledged."""

    def __init__(self, ports, seed, world):
        self.ports, self.world = ports, world
        self.rng = random.Random(seed)
        self.decided, self.given, self.open = {}, {}, []
        self.failures = 0

    @property
    def acknowledged(self):
        return len(self.decided) + len(self.given)

    async def run(self):
        self.going = True
        async with httpx.AsyncClient(timeout=5) as client:
            await asyncio.gather(*(self.client(client) for _ in range(CLIENTS)))

    async def client(self, client):
        while self.going:
            with contextlib.suppress(httpx.HTTPError):
                await self.step(client, f"http://127.0.0.1:{self.rng.choice(self.ports)}/models/m")
                continue
            self.failures += 1
            await asyncio.sleep(0.02)

    async def step(self, client, address):
        if self.open and self.rng.random() < 0.5:  # feedback, perhaps on an early decision
            name = self.open.pop(self.rng.randrange(len(self.open)))
            given = self.world.feedback(self.rng)
            response = await client.post(f"{address}/feedback", json={"decision_id": name, **given})
            if response.status_code == 200:
                self.given[name] = {key: response.json()[key] for key in given}
                if response.json()["status"] == "accepted":
                    assert self.given[name] == given
            else:
                self.open.append(name)
                self.failures += 1
        else:
            name = uuid.uuid4().hex
            body = {**self.world.question(self.rng), "decision_id": name}
            response = await client.post(f"{address}/decide", json=body)
            if response.status_code == 200:
                self.decided[name] = response.json()
                self.open.append(name)
            else:
                self.failures += 1


def check_log(store, load):
    """Every acknowledged decision and feedback is in the log once, as it was acknowledged."""
    rows, position = [], 0
    while page := store.read(position):
        rows += page
        position = page[-1].position
    assert [row.position for row in rows] == list(range(1, len(rows) + 1))
    times = Counter((row.decision_id, row.kind) for row in rows)
    assert set(times.values()) <= {1}
    logged = {(row.decision_id, row.kind): row for row in rows}
    for name, response in load.decided.items():
        row = logged[name, DECISION]
        assert (load.world.action(row), row.probability) == (response["action"], response["probability"])
    for name, given in load.given.items():
        row = logged[name, FEEDBACK]
        assert {"right": row.right, "reward": row.probability}.items() >= given.items()
    return len(rows)


async def a_round(load, kill):
    """Kill after some requests have been acknowledged, while others are on their way."""
    enough = load.acknowledged + load.rng.randint(5, 40)
    loading = asyncio.create_task(load.run())
    until = asyncio.get_running_loop().time() + 30
    while load.acknowledged < enough:
        assert asyncio.get_running_loop().time() < until, "hardly anything is acknowledged"
        await asyncio.sleep(load.rng.uniform(0, 0.01))
    await asyncio.to_thread(kill)
    await asyncio.sleep(0.05)
    load.going = False
    await loading


def kills_of_one_process(nursery, url, rounds, seed, world):
    """Load and SIGKILL a single process on SQLite; lost, duplicate or differently learnt entries would show."""
    port = free_port()
    load = Load([port], seed, world)
    for number in range(rounds):
        child = nursery.start(url, port)
        wait_until_ready(port)
        if number == 0:
            httpx.put(f"http://127.0.0.1:{port}/models/m", json=world.spec, timeout=30).raise_for_status()
        asyncio.run(a_round(load, lambda child=child: nursery.kill(child)))
    child = nursery.start(url, port)
    wait_until_ready(port)
    live = httpx.get(f"http://127.0.0.1:{port}/models/m/file", timeout=30).content
    nursery.kill(child)
    store = Store(url)
    written = check_log(store, load)
    assert replay(store, "m").model_file() == live
    store.close()
    return written, load


def kills_of_many_processes(nursery, rounds, seed, world):
    """Two API processes, two learner processes, and a PostgreSQL; one of them is killed in each round."""
    postgres = Postgres()
    ports = {name: free_port() for name in ("api 1", "api 2", "learner 1", "learner 2")}
    children = {}

    def start(name):
        children[name] = nursery.start(postgres.url, ports[name], name.split()[0], 0.3)

    try:
        for name in ports:
            start(name)
        for port in ports.values():
            wait_until_ready(port)
        load, victims = Load([ports["api 1"], ports["api 2"]], seed, world), Counter()
        httpx.put(f"http://127.0.0.1:{ports['api 1']}/models/m", json=world.spec, timeout=30).raise_for_status()
        for _ in range(rounds):
            victim = load.rng.choice([*ports, "postgres"])
            victims[victim.split()[0]] += 1
            if victim == "postgres":
                asyncio.run(a_round(load, lambda: (postgres.kill(), postgres.start())))
            else:
                asyncio.run(a_round(load, lambda name=victim: nursery.kill(children[name])))
                start(victim)
            for port in ports.values():
                wait_until_ready(port)
        store = Store(postgres.url)
        written = check_log(store, load)
        live = caught_up(ports, written)
        assert replay(store, "m").model_file() == live
        store.close()
    finally:
        for child in list(children.values()):
            nursery.kill(child)
        postgres.close()
    return written, load, victims


def caught_up(ports, position):
    """The model as the learner has it, when it has read the whole log, and as an API process has read it since."""
    for _ in range(600):
        files = {}
        for name, port in ports.items():
            response = httpx.get(f"http://127.0.0.1:{port}/models/m/file", timeout=30)
            if response.status_code == 200 and int(response.headers["Noisewise-Position"]) == position:
                files[name.split()[0]] = response.content
        if set(files) == {"api", "learner"}:
            assert files["api"] == files["learner"]
            return files["api"]
        asyncio.run(asyncio.sleep(0.05))
    raise AssertionError("the learner did not read the whole log")
