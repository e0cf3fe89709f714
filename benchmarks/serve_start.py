"""Seconds until a service is ready: from a snapshot, and by a replay of the whole log."""

import argparse
import asyncio
import resource
import tempfile
import time

import numpy as np

from noisewise.serve import ModelSpec, Settings, Store
from noisewise.serve.log.events import BY_ANNOTATOR, DECISION, FEEDBACK, Event
from noisewise.serve.models.service import Service, warm_up

SPEC = {"actions": ["a", "b", "c", "d", "e"], "features": {"count": 20}, "exploration": 0.05}
PAGE = 10_000


def fill(url, events):
    """A log of decisions, each with its feedback."""
    store, rng = Store(url), np.random.default_rng(0)
    store.create()
    model, _ = store.add_model("m", ModelSpec.model_validate(SPEC).model_dump_json())
    scores = np.zeros(10).tobytes()
    for start in range(0, events // 2, PAGE):
        rows, n = [], min(PAGE, events // 2 - start)
        X, codes, right = rng.normal(size=(n, 20)), rng.integers(5, size=n), rng.integers(2, size=n)
        for index in range(n):
            number, code, name = start + index, int(codes[index]), f"d{start + index}"
            made = {"number": number, "code": code, "best": code, "probability": 0.96, "version": 2 * number}
            features = {"features": X[index].tobytes(), "scores": scores, "active": 1}
            rows.append(Event(2 * number + 1, model, DECISION, name, float(number), **made, **features))
            given = {"answer": int(right[index]), "source": BY_ANNOTATOR}
            rows.append(Event(2 * number + 2, model, FEEDBACK, name, float(number), **given))
        with store.writing() as connection:
            store.append(connection.exec_driver_sql, rows)
    store.close()


async def seconds_to_start(url):
    service = Service(Settings(url))
    began = time.perf_counter()
    await asyncio.to_thread(service.start, asyncio.get_running_loop())
    spent = time.perf_counter() - began
    position = (await service.model("m")).position
    await service.close()  # which stores a snapshot
    return spent, position


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    options = parser.parse_args()
    warm_up()
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/log.db"
        fill(url, options.events)
        for what in ("a replay of all", "a snapshot"):
            before = time.process_time()
            spent, position = asyncio.run(seconds_to_start(url))
            used, memory = time.process_time() - before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(
                f"{position:,} events, from {what}: ready after {spent:.1f} s, "
                f"{used:.1f} s of processor with the stop, at most {memory:.0f} MB",
                flush=True,
            )


if __name__ == "__main__":
    main()
