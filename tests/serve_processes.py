"""Processes that tests may kill: services made by forking one that has loaded everything, and a PostgreSQL."""

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from serve_app import free_port

NURSERY = """
import os, signal, sys
import uvicorn
from noisewise.serve import Settings, create_app
from noisewise.serve.models.kinds import warm_up_offers
from noisewise.serve.models.service import warm_up
warm_up()
warm_up_offers()
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
print("ready", flush=True)
children = []
for line in sys.stdin:
    store, port, role, seconds = line.split()
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        app = create_app(Settings(store, role, state_seconds=float(seconds)))
        uvicorn.run(app, port=int(port), log_level="critical", access_log=False, ws="none")
        os._exit(0)
    children.append(child)
    print(child, flush=True)
for child in children:  # the test process is gone
    try:
        os.kill(child, signal.SIGKILL)
    except ProcessLookupError:
        pass
"""


class Nursery:
    """Forks services in a tenth of a second; they are real processes, and die as such."""

    def __init__(self):
        environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen([sys.executable, "-c", NURSERY], env=environment, text=True, **pipes)
        assert self.process.stdout.readline() == "ready\n"
        self.children = set()

    def start(self, store, port, role="all", seconds=0.5):
        """A service; its process number."""
        print(store, port, role, seconds, file=self.process.stdin, flush=True)
        child = int(self.process.stdout.readline())
        self.children.add(child)
        return child

    def kill(self, child, how=signal.SIGKILL):
        """End a service, and wait until it is gone."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, how)
        until = time.monotonic() + 30
        while time.monotonic() < until:
            try:
                os.kill(child, 0)
            except ProcessLookupError:
                break
            time.sleep(0.005)
        self.children.discard(child)

    def close(self):
        for child in list(self.children):
            self.kill(child)
        self.process.stdin.close()
        self.process.wait(30)
        self.process.stdout.close()


def postgres_binaries():
    """The folder of PostgreSQL's programs, or None."""
    found = shutil.which("postgres")
    folders = [Path(found).resolve().parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in folders if (folder / "pg_isready").exists()), None)


class Postgres:
    """A PostgreSQL of our own on the loopback, with all its syncs; it refuses to run as root, so it does not."""

    def __init__(self):
        self.binaries = postgres_binaries()
        self.user = "postgres" if os.geteuid() == 0 else None
        self.folder = Path(tempfile.mkdtemp(prefix="noisewise-pg-"))
        if self.user:
            shutil.chown(self.folder, self.user)
        self.port = free_port()
        command = [self.binaries / "initdb", "-D", self.folder / "data", "-A", "trust", "-U", "noisewise", "-E", "UTF8"]
        subprocess.run(command, check=True, user=self.user, cwd="/", capture_output=True, env={"LC_ALL": "C"})
        self.process = None
        self.url = f"postgresql://noisewise@127.0.0.1:{self.port}/postgres"
        self.start()

    def start(self):
        until = time.monotonic() + 60
        while True:  # the children of a killed server clean up after it, in a while
            command = [self.binaries / "postgres", "-D", self.folder / "data", "-p", str(self.port), "-k", self.folder]
            command += ["-c", "listen_addresses=127.0.0.1"]
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            self.process = subprocess.Popen(command, user=self.user, cwd="/", start_new_session=True, **quiet)
            while self.process.poll() is None and time.monotonic() < until:
                ready = [self.binaries / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]
                if subprocess.run(ready, check=False).returncode == 0:
                    return
                time.sleep(0.05)
            assert time.monotonic() < until, "PostgreSQL did not start"
            time.sleep(0.1)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait(30)
        shutil.rmtree(self.folder, ignore_errors=True)


def has_postgres():
    """Whether a PostgreSQL can be started here."""
    if postgres_binaries() is None:
        return False
    if os.geteuid() != 0:
        return True
    try:
        pwd.getpwnam("postgres")
    except KeyError:
        return False
    return True
