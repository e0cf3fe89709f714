"""Throughput and latency of decisions and feedback that are on disk, as ratios to an endpoint that does nothing.

Two processes of one worker each listen on this machine: the service on SQLite (or with --postgres), and a FastAPI
application with one empty endpoint, both under uvicorn with the same settings. A third one asks them in turn, in short
slices, over connections that stay open. The median of the slices counts, of each against the no-op slice beside it,
because a machine is never alone. Afterwards every acknowledged decision and feedback must be in the log once.
"""

import argparse
import asyncio
import contextlib
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import numpy as np

from noisewise.serve import Store

CONNECTIONS = 32
SERVER = """
import sys, uvicorn
from fastapi import FastAPI
if sys.argv[1] == "noop":
    app = FastAPI()
    @app.post("/noop")
    async def noop():
        return {}
else:
    from noisewise.serve import Settings, create_app
    app = create_app(Settings(sys.argv[1]))
uvicorn.run(app, port=int(sys.argv[2]), log_level="error", access_log=False, ws="none", timeout_keep_alive=600)
"""


class Connection(asyncio.Protocol):
    """One request at a time over a connection that stays open, with as little work as possible."""

    def connection_made(self, transport):
        """Keep the transport."""
        self.transport, self.buffer, self.waiting = transport, b"", None

    def data_received(self, data):
        """Read a response."""
        self.buffer += data
        head, mark, rest = self.buffer.partition(b"\r\n\r\n")
        if not mark:
            return
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        if len(rest) >= length:
            self.buffer = rest[length:]
            self.waiting.set_result((int(head[9:12]), rest[:length]))

    def connection_lost(self, _error):
        """Say so to whoever waits."""
        if self.waiting is not None and not self.waiting.done():
            self.waiting.set_exception(ConnectionError("the server closed the connection"))

    def ask(self, path, body, method="POST"):
        """Send a request; the future is its status and body."""
        self.waiting = asyncio.get_running_loop().create_future()
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        self.transport.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        return self.waiting


async def slice_of_load(connections, path, bodies, seconds):
    """Ask for some seconds; requests a second, latencies, and the responses."""
    until, latencies, responses = time.perf_counter() + seconds, [], []

    async def client(connection):
        while time.perf_counter() < until:
            body = next(bodies, None)
            if body is None:
                return
            began = time.perf_counter()
            status, response = await connection.ask(path, body)
            latencies.append(time.perf_counter() - began)
            if status != 200:
                raise RuntimeError(f"{path} returned {status}: {response!r}")
            responses.append(response)

    began = time.perf_counter()
    await asyncio.gather(*(client(connection) for connection in connections))
    return len(latencies) / (time.perf_counter() - began), latencies, responses


class Rows:
    """Models with a fixed set of actions."""

    def __init__(self, features, actions, options):
        self.features = features
        spec = {"actions": list(range(actions)), "features": {"count": features}, "exploration": 0.05}
        self.spec, self.says = spec | {"options": options}, f"{features} features, {actions} actions"

    def situation(self, rng):
        """What is asked."""
        return {"features": rng.normal(size=self.features).round(4).tolist()}

    def feedback(self, right):
        """What is answered."""
        return {"right": bool(right)}


class Offers:
    """Models whose actions come with features: some of a catalogue of 500, in a context of ten features."""

    def __init__(self, actions, features, options):
        self.actions, rng = actions, np.random.default_rng(1)
        self.catalogue = [{"id": f"item {n}", **record(rng, "item", features)} for n in range(500)]
        self.spec = {"actions": "features", "options": options}
        self.says = f"{actions} actions on offer with {features} features each, 10 of the context"

    def situation(self, rng):
        """What is asked."""
        offered = rng.choice(len(self.catalogue), self.actions, replace=False)
        return {"context": record(rng, "user", 10), "actions": [self.catalogue[n] for n in offered]}

    def feedback(self, right):
        """What is answered."""
        return {"reward": float(right)}


def record(rng, name, features):
    """Features, a fifth of which are words."""
    words = features // 5
    numbers = {f"{name} number {n}": round(float(rng.normal()), 4) for n in range(features - words)}
    return numbers | {f"{name} word {n}": f"word {rng.integers(4)}" for n in range(words)}


def situations(rng, world):
    """Bodies of requests without end; a few hundred are made beforehand, so that making them is not measured."""
    return itertools.cycle([json.dumps(world.situation(rng)).encode() for _ in range(300)])


async def connect(port, connections=CONNECTIONS):
    loop = asyncio.get_running_loop()
    return [(await loop.create_connection(Connection, "127.0.0.1", port))[1] for _ in range(connections)]


def cpu_seconds(pid):
    """Processor time a process has used, where the system tells."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return float("nan")
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def measure(ports, pids, slices, seconds, world):
    noop_port, service_port = ports
    rng = np.random.default_rng(0)
    noop, service = await connect(noop_port), await connect(service_port)
    put = "PUT /models/load HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
    body = json.dumps(world.spec).encode()
    service[0].waiting = asyncio.get_running_loop().create_future()
    service[0].transport.write(f"{put}{len(body)}\r\n\r\n".encode() + body)
    assert (await service[0].waiting)[0] == 201
    rates = {"noop": [], "decide": [], "feedback": []}
    tails = {"noop": [], "decide": [], "feedback": []}
    spent = {"noop": [], "decide": [], "feedback": []}
    decided, acknowledged, bodies = [], [], situations(rng, world)
    for number in range(slices + 1):  # the first one warms up
        parts, clock = {}, [cpu_seconds(pids[0])]
        parts["noop"] = await slice_of_load(noop, "/noop", bodies, seconds)
        clock += [cpu_seconds(pids[0]), cpu_seconds(pids[1])]
        parts["decide"] = await slice_of_load(service, "/models/load/decide", bodies, seconds)
        clock.append(cpu_seconds(pids[1]))
        new = [json.loads(response) for response in parts["decide"][2]]
        right = rng.random(len(new)) < 0.5
        given = (
            json.dumps({"decision_id": one["decision_id"], **world.feedback(yes)}).encode()
            for one, yes in zip(new, right)
        )
        parts["feedback"] = await slice_of_load(service, "/models/load/feedback", given, seconds)
        clock.append(cpu_seconds(pids[1]))
        used = {"noop": clock[1] - clock[0], "decide": clock[3] - clock[2], "feedback": clock[4] - clock[3]}
        decided += [one["decision_id"] for one in new]
        acknowledged += [json.loads(response)["decision_id"] for response in parts["feedback"][2]]
        if number:
            for name, (rate, latencies, _) in parts.items():
                rates[name].append(rate)
                tails[name].append(float(np.quantile(latencies, 0.99)))
                spent[name].append((used[name], len(latencies)))
    for connection in noop + service:
        connection.transport.close()
    return rates, tails, spent, decided, acknowledged


def lost(url, decided, acknowledged):
    """Acknowledged decisions and feedback that are not in the log exactly once."""
    store, position, found = Store(url), 0, [[], []]
    while rows := store.read(position, 5000):
        for row in rows:
            found[row.kind].append(row.decision_id)
        position = rows[-1].position
    store.close()
    return sum(sorted(had) != sorted(said) for had, said in zip(found, (decided, acknowledged)))


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def start(what, port):
    return subprocess.Popen([sys.executable, "-c", SERVER, what, str(port)], env=os.environ | {"OMP_NUM_THREADS": "1"})


def wait_for(port, path, seconds=300):
    """Wait until a server is ready."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5).close()
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("a server did not start")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--slices", type=int, default=25)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--sizes", default="20x5", help="features x actions, e.g. 20x5,784x10,20x1000")
    parser.add_argument(
        "--offers", help="actions x features of models with action features, e.g. 50x20; no others then"
    )
    parser.add_argument("--covariance", choices=["full", "diagonal"], help="by default as the service chooses")
    parser.add_argument("--postgres", action="store_true", help="on a PostgreSQL of its own; by default an SQLite file")
    options = parser.parse_args()
    chosen, kind = {"covariance": options.covariance} if options.covariance else {}, Offers if options.offers else Rows
    for size in (options.offers or options.sizes).split(","):
        with a_store(options.postgres) as url:
            measure_size(options, url, kind(*map(int, size.split("x")), chosen))


@contextlib.contextmanager
def a_store(postgres):
    """The address of an empty store."""
    if postgres:
        sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
        from serve_processes import Postgres

        server = Postgres()
        try:
            yield server.url
        finally:
            server.close()
    else:
        with tempfile.TemporaryDirectory() as folder:
            yield f"sqlite:///{Path(folder, 'load.db')}"


def measure_size(options, url, world):
    """Print the rows of one size."""
    ports = [free_port(), free_port()]
    servers = [start("noop", ports[0]), start(url, ports[1])]
    try:
        for port, path in zip(ports, ("/openapi.json", "/readyz")):
            wait_for(port, path)
        pids = [server.pid for server in servers]
        found = asyncio.run(measure(ports, pids, options.slices, options.seconds, world))
        rates, tails, spent, decided, acknowledged = found
    finally:
        for server in servers:
            server.send_signal(signal.SIGTERM)
            server.wait(30)
    wrong = lost(url, decided, acknowledged)
    median = {name: float(np.median(one)) for name, one in rates.items()}
    ratio = {name: float(np.median(np.divide(one, rates["noop"]))) for name, one in rates.items()}
    tail = {name: float(np.median(one)) for name, one in tails.items()}
    slower = {name: float(np.median(np.divide(one, tails["noop"]))) for name, one in tails.items()}
    cpu = {name: 1e6 * sum(used for used, _ in parts) / sum(n for _, n in parts) for name, parts in spent.items()}
    print(f"{CONNECTIONS} connections, {world.says}; medians of {options.slices} slices")
    for name in rates:
        print(
            f"{name:<9} {median[name]:8,.0f} a second ({ratio[name]:.2f} of no-op)   "
            f"p99 {1e3 * tail[name]:6.1f} ms ({slower[name]:.2f} of no-op)   "
            f"{cpu[name]:5.0f} us of processor ({cpu[name] / cpu['noop']:.2f})"
        )
    print(
        f"{len(decided):,} decisions and {len(acknowledged):,} feedback events acknowledged; lost or doubled: {wrong}",
        flush=True,
    )


if __name__ == "__main__":
    main()
