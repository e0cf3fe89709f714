"""The files of `deploy/`: the unit starts on a read-only system, the dashboard asks for metrics there are."""

import configparser
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from serve_app import free_port, serving, wait_until_ready

DEPLOY = Path(__file__).parents[2] / "deploy"
# what the unit's hardening amounts to: nothing is writable but its own folders, and there is no home
HARDENED = """
set -e
mount --make-rprivate /
mount --bind / /
mount -o remount,ro,bind /
for folder in /var/lib /var/cache /tmp; do mount -t tmpfs tmpfs $folder; done
mkdir -p /var/lib/noisewise /var/cache/noisewise
cd /
exec "$@"
"""


def unit():
    parser = configparser.RawConfigParser(strict=False, comment_prefixes="#")
    parser.optionxform = str
    parser.read_string((DEPLOY / "noisewise.service").read_text().replace("\\\n", " "))
    return parser


def can_unshare():
    allowed = os.geteuid() == 0 and shutil.which("unshare")
    return bool(allowed) and subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode == 0


@pytest.mark.slow
@pytest.mark.skipif(not can_unshare(), reason="a mount namespace can't be made here")
@pytest.mark.parametrize("cached", [True, False])
def test_the_unit_starts_where_nothing_else_is_writable(cached):
    section, port = unit()["Service"], free_port()
    program, *arguments = shlex.split(section["ExecStart"])
    assert program == "/opt/noisewise/bin/noisewise"
    index = arguments.index("--keys")
    del arguments[index : index + 2]  # a file of this machine
    source = Path(__file__).parents[2] / "src"
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"}
    if cached:
        environment |= dict([section["Environment"].split("=", 1)])
    command = ["unshare", "--mount", "sh", "-c", HARDENED, "sh", sys.executable, "-m", "noisewise.cli", *arguments]
    process = subprocess.Popen([*command, "--port", str(port)], env=environment, stderr=subprocess.PIPE, text=True)
    try:
        wait_until_ready(port, seconds=300)
    finally:
        process.kill()  # a process that compiles ends when that is done
        _, err = process.communicate(timeout=60)
    assert f"serves on http://127.0.0.1:{port}" in err
    assert "could not start" not in err


def test_the_unit_reloads_keys_and_keeps_its_folders():
    section = unit()["Service"]
    assert section["ExecReload"] == "/bin/kill -HUP $MAINPID"
    assert (section["ProtectSystem"], section["StateDirectory"], section["CacheDirectory"]) == (
        "strict",
        "noisewise",
        "noisewise",
    )


def test_the_dashboard_asks_for_metrics_that_the_service_has(tmp_path):
    dashboard = json.loads((DEPLOY / "grafana.json").read_text())
    asked = {
        name
        for panel in dashboard["panels"]
        for one in panel["targets"]
        for name in re.findall(r"\w+_\w+", one["expr"])
    }
    asked = {name for name in asked if name.startswith(("noisewise_", "process_"))}
    with serving(f"sqlite:///{tmp_path}/log.db") as client:
        client.put("/models/m", json={"actions": [0, 1], "features": {"count": 2}}).raise_for_status()
        client.get("/models")
        offered = set(re.findall(r"^# TYPE (\S+)", client.get("/metrics").text, flags=re.M))
    assert {re.sub(r"_(bucket)$", "", name) for name in asked} <= offered
