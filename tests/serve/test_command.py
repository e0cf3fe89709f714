"""`noisewise serve` from the command line."""

import json
import os
import signal
import socket
import subprocess
import sys

import httpx
import pytest
from typer.testing import CliRunner

from noisewise.cli import app
from serve_app import free_port, wait_until_ready


def test_it_serves_until_it_is_told_to_stop(tmp_path):
    store, port = f"sqlite:///{tmp_path}/log.db", free_port()
    command = [sys.executable, "-m", "noisewise.cli", "serve", "--store", store, "--port", str(port), "--json"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(command, env=os.environ | {"OMP_NUM_THREADS": "1"}, **pipes)
    try:
        wait_until_ready(port)
        spec = {"actions": [0, 1], "features": {"count": 2}}
        httpx.put(f"http://127.0.0.1:{port}/models/m", json=spec, timeout=30).raise_for_status()
    finally:
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    assert process.returncode in (0, -signal.SIGTERM), err
    assert json.loads(out) == {"url": f"http://127.0.0.1:{port}", "store": store, "role": "all"}
    lines = [json.loads(line) for line in err.splitlines() if line.startswith("{")]
    assert {"time", "level", "logger", "message"} <= set(lines[0])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--host", "0.0.0.0"], "give --keys FILE"),
        (["--role", "boss"], "all, api or learner"),
        (["--store", "mysql://somewhere/x"], "sqlite:///file"),
        (["--store", "sqlite:////nowhere/at/all.db"], "can't be used"),
        (["--store", "postgresql://nobody@127.0.0.1:1/x"], "can't be used"),
        (["--new-key", "ann"], "--new-key needs --keys"),
    ],
)
def test_what_can_not_be_served_is_refused_in_a_sentence(options, words):
    result = CliRunner().invoke(app, ["serve", *options])
    assert isinstance(result.exception, ValueError)
    assert words in str(result.exception)


def test_a_key_is_shown_once_and_kept_as_a_hash(tmp_path):
    keys = tmp_path / "keys"
    result = CliRunner().invoke(app, ["serve", "--keys", str(keys), "--new-key", "ann"])
    name, kept = keys.read_text().split()
    assert (name, len(kept)) == ("ann", 64)
    assert len(result.stdout.strip()) == 43
    assert keys.stat().st_mode & 0o077 == 0


def test_a_port_in_use_is_reported(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        command = [sys.executable, "-m", "noisewise.cli", "serve", "--port", str(port), "--log-level", "error"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert f"noisewise: 127.0.0.1:{port} can't be listened on (Address already in use); --port takes" in done.stderr
