"""Writes the store that later versions of the service must open, and the outputs of its models when they go on.

The store in `earlier_stores` is that of version 0.1.0 as it was first kept, and stays as it is. It was written in the
root of the project by

    PYTHONPATH=src:tests python tests/serve/write_earlier_store.py tests/serve/earlier_stores

into an empty folder: three runs of the service, of which the last one is cut off, so that the newest states lie behind
the log.
"""

import gzip
import json
import sqlite3
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from earlier_models import plain
from earlier_stores import OLDER, ROUNDS, SPECS, go_on, good, play, play_ranking
from noisewise.serve import ModelSpec, Store
from serve_app import serving


def main(folder):
    """Write the log in three runs, keep it as it is in the last one, and let a copy of it go on."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if list(folder.iterdir()):
        raise SystemExit(f"{folder} is not empty; stores of earlier versions are not written again")
    with tempfile.TemporaryDirectory() as temporary:
        first, kept = Path(temporary, "log.db"), Path(temporary, "kept.db")
        write_log(first, kept)
        (folder / "store.db.gz").write_bytes(gzip.compress(kept.read_bytes(), mtime=0))
        with serving(f"sqlite:///{kept}", state_seconds=1e6) as client:
            outputs = {name: plain(value) for name, value in go_on(client).items()}
    lines = (f"{json.dumps(name)}: {json.dumps(value, allow_nan=False)}" for name, value in outputs.items())
    (folder / "expected.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


def write_log(path, kept):
    """Decisions and feedback in three runs; `kept` is the store before the last one ends."""
    for run, (start, end) in enumerate(((0.0, 0.5), (0.5, 0.8), (0.8, 1.0))):
        with serving(f"sqlite:///{path}", state_seconds=1e6) as client:
            if run == 0:
                make_models(client, path)
            for name, n in ROUNDS.items():
                play(client, name, range(int(start * n), int(end * n)))
            play_ranking(client, range(int(start * 40), int(end * 40)))
            wait_until_closed(client)
            if run == 2:
                with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(kept)) as target:
                    source.backup(target)
                    target.execute("VACUUM")


def make_models(client, path):
    for name, spec in SPECS.items():
        assert client.put(f"/models/{name}", json=spec).status_code == 201
    store = Store(f"sqlite:///{path}")
    for name, spec in OLDER.items():
        store.add_model(name, ModelSpec.model_validate(spec).model_dump_json())
    store.close()


def wait_until_closed(client):
    """Until all decisions have feedback of the model that gives its own after a while; what comes then is late."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        counts = good(client.get("/models/closing"))["counts"]
        if counts["decisions"] == counts["answers"] + counts["missing"]:
            return
        time.sleep(0.1)
    raise SystemExit("decisions that nobody gave feedback on were not closed")


if __name__ == "__main__":
    main(sys.argv[1])
