"""Kills of processes under load: nothing acknowledged is lost or doubled, and a replay equals what was learnt live.

Over SQLite one process that does all, over PostgreSQL two that decide, two that learn, and the database itself, by
SIGKILL; with models of a fixed set of actions, and with such whose actions come with features. A store lives through a
few dozen kills and is then checked, row by row. With --record the count goes on where an earlier run has ended.
"""

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from serve_kills import Offers, Rows, kills_of_many_processes, kills_of_one_process
from serve_processes import Nursery, has_postgres


def kills_on_sqlite(nursery, rounds, seed, world):
    with tempfile.TemporaryDirectory() as folder:
        written, load = kills_of_one_process(nursery, f"sqlite:///{folder}/log.db", rounds, seed, world)
    return written, load, Counter({"sqlite": rounds})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--each", type=int, default=25, help="kills that a store lives through")
    parser.add_argument("--record", type=Path, help="file of what has been done, a line of JSON for each store")
    options = parser.parse_args()
    lines = options.record.read_text().splitlines() if options.record and options.record.exists() else []
    done, nursery = [json.loads(line) for line in lines], Nursery()
    ways = [kills_on_sqlite, *([kills_of_many_processes] if has_postgres() else [])]
    try:
        while sum(one["kills"] for one in done) < options.kills:
            began, n = time.monotonic(), len(done)
            way, world = ways[n % len(ways)], (Rows, Offers)[n // len(ways) % 2]()
            written, load, victims = way(nursery, options.each, n, world)  # raises if anything is lost
            acknowledged = load.acknowledged
            one = {"kills": options.each, "victims": victims, "rows": written, "acknowledged": acknowledged}
            done.append(one | {"failed requests": load.failures, "seconds": round(time.monotonic() - began)})
            if options.record:
                with options.record.open("a") as record:
                    record.write(json.dumps(done[-1]) + "\n")
            print(json.dumps(done[-1]), flush=True)
    finally:
        nursery.close()
    victims = sum((Counter(one["victims"]) for one in done), Counter())
    names = ", ".join(f"{name} {n}" for name, n in sorted(victims.items()))
    rows, acknowledged = (sum(one[name] for one in done) for name in ("rows", "acknowledged"))
    print(f"{victims.total():,} kills ({names}): {rows:,} rows, {acknowledged:,} acknowledged, lost or doubled: 0")


if __name__ == "__main__":
    main()
