"""How long /healthz takes while large models decide, learn, are refitted and saved, in one process on SQLite.

Clients ask for decisions and give feedback without a pause, a snapshot is stored every two seconds, and another client
asks for /healthz every ten milliseconds. With --compute another process computes on each core meanwhile.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

import numpy as np

from serve import Offers, Rows, connect, free_port, situations, wait_for

SERVER = """
import sys, uvicorn
from noisewise.serve import Settings, create_app
app = create_app(Settings(sys.argv[1], state_seconds=2.0))
uvicorn.run(app, port=int(sys.argv[2]), log_level="error", access_log=False, ws="none", timeout_keep_alive=600)
"""


def people(world):
    """The same model, which estimates the flip rates of each person."""
    world.spec["people"], world.says = True, f"{world.says}, people"
    given = world.feedback
    world.feedback = lambda right: {**given(right), "person": f"p{np.random.default_rng().integers(20)}"}
    return world


WORLDS = {
    "20x5": lambda: Rows(20, 5, {}),
    "784x10": lambda: Rows(784, 10, {}),
    "20x1000": lambda: Rows(20, 1000, {}),
    "255x1000": lambda: Rows(255, 1000, {}),
    "255x300 full": lambda: Rows(255, 300, {"covariance": "full"}),
    "784x10 people": lambda: people(Rows(784, 10, {})),
    "offers 50x20": lambda: Offers(50, 20, {}),
}


async def loaded(port, connections, seconds, world):
    """Seconds that /healthz took, and how many decisions were made meanwhile."""
    rng, health, made = np.random.default_rng(0), [], [0]
    until, bodies = time.perf_counter() + seconds, situations(rng, world)

    async def client(connection):
        while time.perf_counter() < until:
            status, response = await connection.ask("/models/load/decide", next(bodies))
            assert status == 200, response
            given = {"decision_id": json.loads(response)["decision_id"], **world.feedback(rng.random() < 0.5)}
            status, response = await connection.ask("/models/load/feedback", json.dumps(given).encode())
            assert status == 200, response
            made[0] += 1

    async def probe(connection):
        while time.perf_counter() < until:
            began = time.perf_counter()
            await connection.ask("/healthz", b"", "GET")
            health.append(time.perf_counter() - began)
            await asyncio.sleep(0.01)

    first, *others = await connect(port, connections + 1)
    await asyncio.gather(probe(first), *(client(one) for one in others))
    for one in (first, *others):
        one.transport.close()
    return health, made[0]


def busy():
    while True:
        pass


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--worlds", default=",".join(WORLDS), help=f"some of {', '.join(WORLDS)}")
    parser.add_argument("--connections", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--compute", action="store_true")
    options = parser.parse_args()
    others = [multiprocessing.Process(target=busy, daemon=True) for _ in range(options.compute * (os.cpu_count() or 1))]
    for other in others:
        other.start()
    for name in options.worlds.split(","):
        world, port = WORLDS[name](), free_port()
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-c", SERVER, f"sqlite:///{folder}/load.db", str(port)]
            server = subprocess.Popen(command, env=os.environ | {"OMP_NUM_THREADS": "1"})
            try:
                wait_for(port, "/readyz")
                request = urllib.request.Request(f"http://127.0.0.1:{port}/models/load", method="PUT")
                request.add_header("Content-Type", "application/json")
                urllib.request.urlopen(request, json.dumps(world.spec).encode()).close()
                health, made = asyncio.run(loaded(port, options.connections, options.seconds, world))
            finally:
                server.send_signal(signal.SIGTERM)
                server.wait(60)
        p50, p99, most = 1e3 * np.quantile(health, [0.5, 0.99, 1.0])
        took = f"median {p50:.0f} ms, p99 {p99:.0f}, most {most:.0f}"
        print(f"{world.says}, {made / options.seconds:,.0f} rounds a second: /healthz {took}", flush=True)


if __name__ == "__main__":
    main()
