"""Age of the state that API processes on PostgreSQL decide with, and how long /healthz takes meanwhile.

Two processes decide, one learns, and clients ask for decisions and give feedback without a pause. The age of a state is
how long the earliest feedback that it has not learnt from had been in the log when it decided; the log says so itself.
"""

import argparse
import asyncio
import itertools
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from noisewise.serve import Store
from noisewise.serve.log.events import DECISION, FEEDBACK
from serve import Rows, connect, free_port, situations, wait_for
from serve_processes import Postgres

SERVER = """
import sys, uvicorn
from noisewise.serve import Settings, create_app
app = create_app(Settings(sys.argv[1], sys.argv[3]))
uvicorn.run(app, port=int(sys.argv[2]), log_level="error", access_log=False, ws="none", timeout_keep_alive=600)
"""
ROLES = ("api", "api", "learner")


def call(port, path, **request):
    urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}{path}", **request)).close()


async def clients(ports, connections, seconds, world, rng):
    """Ask for decisions and give feedback for some seconds; how long /healthz took in each process."""
    until, bodies, health = time.perf_counter() + seconds, situations(rng, world), []

    async def client(connection):
        while time.perf_counter() < until:
            status, response = await connection.ask("/models/load/decide", next(bodies))
            assert status == 200, response
            given = {"decision_id": json.loads(response)["decision_id"], "right": bool(rng.random() < 0.5)}
            status, response = await connection.ask("/models/load/feedback", json.dumps(given).encode())
            assert status == 200, response

    async def probe():
        for port in itertools.cycle(ports):
            if time.perf_counter() > until:
                return
            began = time.perf_counter()
            await asyncio.to_thread(call, port, "/healthz")
            health.append(time.perf_counter() - began)
            await asyncio.sleep(0.02)

    both = await connect(ports[0], connections) + await connect(ports[1], connections)
    await asyncio.gather(probe(), *(client(one) for one in both))
    for one in both:
        one.transport.close()
    return health


def state_ages(store):
    """For each decision, how long the earliest feedback after its state had been in the log."""
    times, made, position = {}, [], 0
    while rows := store.read(position, 5000):
        times |= {row.position: row.time for row in rows if row.kind == FEEDBACK}
        made += [(row.version, row.time) for row in rows if row.kind == DECISION]
        position = rows[-1].position
    positions = np.array(sorted(times))
    ages = []
    for version, decided in made:
        index = np.searchsorted(positions, version, side="right")
        ages.append(max(0.0, decided - times[positions[index]]) if index < len(positions) else 0.0)
    return ages


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", default="784x10", help="features x actions")
    parser.add_argument("--connections", type=int, default=8, help="to each process that decides")
    parser.add_argument("--seconds", type=float, default=20.0)
    options = parser.parse_args()
    world = Rows(*map(int, options.size.split("x")), {})
    postgres, ports = Postgres(), [free_port() for _ in ROLES]
    command = [sys.executable, "-c", SERVER, postgres.url]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    servers = [subprocess.Popen([*command, str(port), role], env=environment) for port, role in zip(ports, ROLES)]
    try:
        for port in ports:
            wait_for(port, "/readyz")
        headers = {"Content-Type": "application/json"}
        address = f"http://127.0.0.1:{ports[0]}/models/load"
        urllib.request.urlopen(
            urllib.request.Request(address, json.dumps(world.spec).encode(), headers, method="PUT")
        ).close()
        rng = np.random.default_rng(0)
        health = asyncio.run(clients(ports, options.connections, options.seconds, world, rng))
        store = Store(postgres.url)
        ages = state_ages(store)
        store.close()
    finally:
        for server in servers:
            server.send_signal(signal.SIGTERM)
        for server in servers:
            server.wait(30)
        postgres.close()
    for name, values in (("state age", ages), ("/healthz", health)):
        p50, p99, most = np.quantile(values, [0.5, 0.99, 1.0])
        print(
            f"{world.says}, {len(ages) / options.seconds:,.0f} decisions a second: "
            f"{name} median {1e3 * p50:.0f} ms, p99 {1e3 * p99:.0f} ms, most {1e3 * most:.0f} ms of {len(values):,}"
        )


if __name__ == "__main__":
    main()
