"""The service as an operator sees it: start, readiness, keys, hosts, slow clients, secrets."""

import contextlib
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import httpx
import pytest
import sqlalchemy as sa
import uvicorn
from typer.testing import CliRunner

from noisewise.cli import app
from noisewise.serve import Settings, Store, create_app, new_key_in, read_keys
from noisewise.serve.connections import LimitedConnection
from serve_app import QUIET, free_port, serving, wait_until_ready

SPEC = {"actions": ["a", "b"], "features": {"count": 2}}


@contextlib.contextmanager
def listening(settings, **config):
    """The address of a service that listens, ready or not."""
    port = free_port()
    made = create_app(settings)
    server = uvicorn.Server(uvicorn.Config(made, port=port, **QUIET, **config))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{port}", made
    finally:
        server.should_exit = True
        thread.join()


def until(check, seconds=30):
    end = time.monotonic() + seconds
    while not (found := check()):
        assert time.monotonic() < end, "it did not get there"
        time.sleep(0.02)
    return found


def test_it_listens_at_once_and_says_how_far_it_is(tmp_path, monkeypatch):
    compiled = threading.Event()
    monkeypatch.setattr("noisewise.serve.models.service.warm_up", lambda: compiled.wait(30))
    monkeypatch.setattr("noisewise.serve.api.monitoring.START_PATIENCE", 0.1)
    with listening(Settings(f"sqlite:///{tmp_path}/log.db")) as (address, made):
        assert httpx.get(f"{address}/healthz").text == "alive\n"
        until(lambda: "compiling" in httpx.get(f"{address}/readyz").text)
        assert httpx.get(f"{address}/readyz").status_code == 503
        refused = httpx.get(f"{address}/models")
        assert (refused.status_code, refused.json()["detail"]) == (503, "not ready yet: compiling")
        assert httpx.get(f"{address}/").status_code == 200
        service = made.state.service
        service._phase, service.applier.replayed = "replaying", 0.404
        assert "replaying 40 %" in httpx.get(f"{address}/readyz").text
        compiled.set()
        until(lambda: httpx.get(f"{address}/readyz").text == "ready, learning\n")


COMPILES_LONG = """
import sys, time
from noisewise.serve.models import service
service.warm_up = lambda: time.sleep(60)
from noisewise.cli import main
sys.argv = ["noisewise", "serve", "--store", sys.argv[1], "--port", sys.argv[2]]
main()
"""


def test_a_process_that_compiles_stops_at_once(tmp_path):
    port = free_port()
    command = [sys.executable, "-c", COMPILES_LONG, f"sqlite:///{tmp_path}/log.db", str(port)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, env=os.environ | {"OMP_NUM_THREADS": "1"})

    def compiles():
        with contextlib.suppress(httpx.HTTPError):
            return "compiling" in httpx.get(f"http://127.0.0.1:{port}/readyz", timeout=5).text

    until(compiles, seconds=60)
    process.terminate()
    assert process.wait(20) in (0, -signal.SIGTERM)


def test_a_request_waits_for_a_short_start(tmp_path):
    with listening(Settings(f"sqlite:///{tmp_path}/log.db")) as (address, _):
        assert httpx.put(f"{address}/models/m", json=SPEC, timeout=30).status_code == 201


def test_a_service_that_can_not_start_says_why_and_ends(tmp_path):
    store = f"sqlite:///{tmp_path}/log.db"
    with serving(store):
        command = [sys.executable, "-c", "import sys, noisewise.serve.models.service as s; s.LOCK_TIMEOUT = 0.2\n"
                   "from noisewise.cli.__main__ import *\nfrom noisewise.cli import main\nmain()"]  # fmt: skip
        command += ["serve", "--store", store, "--port", str(free_port()), "--log-level", "error"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2, done.stderr
    assert "another process learns from this store; start this one with --role api" in done.stderr


def test_readiness_follows_the_last_write(tmp_path):
    with listening(Settings(f"sqlite:///{tmp_path}/log.db")) as (address, made):
        client = httpx.Client(base_url=address, timeout=30)
        client.put("/models/m", json=SPEC).raise_for_status()
        engine = made.state.service.store.engine

        def fill(connection, _record, _proxy):
            connection.execute("PRAGMA max_page_count = 1")  # the disk is full

        sa.event.listen(engine, "checkout", fill)
        statuses = {client.post("/models/m/decide", json={"features": [1.0, k]}).status_code for k in range(60)}
        assert 503 in statuses
        ready = client.get("/readyz")
        assert (ready.status_code, "database or disk is full" in ready.json()["detail"]) == (503, True)
        assert 'noisewise_store_errors_total{while="writing"} 0.0' not in client.get("/metrics").text
        large = {"actions": [f"an action with a long name, number {n}" for n in range(900)], "features": {"count": 2}}
        refused = client.put("/models/large", json=large)
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "1")
        assert refused.json()["detail"] == "the store can't be used now: database or disk is full"
        sa.event.remove(engine, "checkout", fill)
        sa.event.listen(
            engine, "checkout", lambda connection, *_: connection.execute("PRAGMA max_page_count = 1000000")
        )
        until(lambda: client.get("/readyz").status_code == 200)
        assert client.post("/models/m/decide", json={"features": [1.0, 2.0]}).status_code == 200
        client.close()


def test_a_snapshot_that_can_not_be_stored_is_said_once_and_the_service_is_not_ready(tmp_path, monkeypatch, caplog):
    full = sa.exc.OperationalError("INSERT", None, Exception("database or disk is full"))

    def refuse(*_):
        raise full

    with listening(Settings(f"sqlite:///{tmp_path}/log.db", state_seconds=0.1)) as (address, _):
        client = httpx.Client(base_url=address, timeout=30)
        client.put("/models/m", json=SPEC).raise_for_status()
        monkeypatch.setattr(Store, "add_snapshot", refuse)
        monkeypatch.setattr(Store, "check_writing", refuse)
        client.post("/models/m/decide", json={"features": [1.0, 2.0]}).raise_for_status()
        until(lambda: client.get("/readyz").status_code == 503)
        time.sleep(1.0)  # of five attempts
        assert caplog.text.count("the store can't be used now: database or disk is full") == 1
        monkeypatch.undo()
        until(lambda: client.get("/readyz").status_code == 200)
        client.close()


def test_a_log_that_lost_its_end_is_said(tmp_path, caplog):
    with serving(f"sqlite:///{tmp_path}/log.db") as client:
        client.put("/models/m", json=SPEC).raise_for_status()
        (tmp_path / "copy").mkdir()
        for number in range(5):
            client.post("/models/m/decide", json={"features": [1.0, number]}).raise_for_status()
        for name in ("log.db", "log.db.mark"):  # without log.db-wal
            shutil.copy(tmp_path / name, tmp_path / "copy" / name)
    with serving(f"sqlite:///{tmp_path}/copy/log.db") as client:
        until(lambda: "noisewise_log_lost_rows 5.0" in client.get("/metrics").text)  # which responds during the start
    assert "the last 5 acknowledged rows are not in the log" in caplog.text
    caplog.clear()
    with serving(f"sqlite:///{tmp_path}/copy/log.db"):
        assert "acknowledged rows are not" not in caplog.text  # said once
    with serving(f"sqlite:///{tmp_path}/log.db") as client:
        until(lambda: client.get("/readyz").status_code == 200)
        assert "noisewise_log_lost_rows 0.0" in client.get("/metrics").text
    assert "acknowledged rows are not" not in caplog.text


def test_roles_of_keys(tmp_path):
    path = tmp_path / "keys"
    keys = {role: new_key_in(path, f"{role}-key", role) for role in ("admin", "decide", "teach", "read")}
    with serving(f"sqlite:///{tmp_path}/log.db", keys=read_keys(path)) as client:

        def status(role, method, path, **body):
            return client.request(method, path, headers={"X-API-Key": keys[role]}, **body).status_code

        assert status("read", "PUT", "/models/m", json=SPEC) == status("decide", "PUT", "/models/m", json=SPEC) == 403
        assert status("admin", "PUT", "/models/m", json=SPEC) == 201
        decide = {"json": {"features": [1.0, 2.0]}}
        assert [status(role, "POST", "/models/m/decide", **decide) for role in keys] == [200, 200, 403, 403]
        made = client.post("/models/m/decide", headers={"X-API-Key": keys["decide"]}, **decide).json()["decision_id"]
        feedback = {"json": {"decision_id": made, "right": True}}
        assert [status(role, "POST", "/models/m/feedback", **feedback) for role in keys] == [200, 200, 200, 403]
        assert [status(role, "GET", "/models/m") for role in keys] == [200, 403, 403, 200]
        assert [status(role, "GET", "/metrics") for role in keys] == [200, 403, 403, 200]
        roles = ("decide", "teach", "read", "admin")
        assert [status(role, "DELETE", "/models/m") for role in roles] == [403, 403, 403, 204]
        refused = client.delete("/models/m", headers={"X-API-Key": keys["read"]}).json()["detail"]
        assert refused == "the key 'read-key' is for role 'read', which may not do this"


def test_wrong_keys_are_limited_and_right_ones_are_not(tmp_path):
    key = new_key_in(tmp_path / "keys", "ann")
    with serving(f"sqlite:///{tmp_path}/log.db", keys=read_keys(tmp_path / "keys")) as client:
        statuses = [client.get("/models", headers={"X-API-Key": f"wrong {n}"}).status_code for n in range(60)]
        assert statuses[:30] == [401] * 30
        assert 429 in statuses[30:]
        assert client.get("/models", headers={"X-API-Key": key}).status_code == 200


def test_a_key_can_have_a_limit_of_its_own(tmp_path):
    path = tmp_path / "keys"
    key = new_key_in(path, "slow")
    path.write_text(path.read_text().rstrip() + " admin 1\n")
    with serving(f"sqlite:///{tmp_path}/log.db", keys=read_keys(path)) as client:
        statuses = {client.get("/models", headers={"X-API-Key": key}).status_code for _ in range(5)}
    assert statuses == {200, 429}


def test_a_key_makes_only_so_many_models(tmp_path):
    keys = {name: new_key_in(tmp_path / "keys", name) for name in ("ann", "bob")}
    with serving(f"sqlite:///{tmp_path}/log.db", keys=read_keys(tmp_path / "keys"), max_models_per_key=2) as client:

        def status(name, method, model):
            return client.request(method, f"/models/{model}", headers={"X-API-Key": keys[name]}, json=SPEC).status_code

        assert [status("ann", "PUT", model) for model in ("m1", "m2", "m3", "m1")] == [201, 201, 507, 200]
        assert status("bob", "PUT", "m3") == 201
        assert status("ann", "DELETE", "m1") == 204
        assert status("ann", "PUT", "m4") == 201


def test_keys_are_read_again_on_sighup(tmp_path):
    path, port = tmp_path / "keys", free_port()
    first = new_key_in(path, "first")
    command = [sys.executable, "-m", "noisewise.cli", "serve", "--store", f"sqlite:///{tmp_path}/log.db"]
    command += ["--port", str(port), "--keys", str(path)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, env=os.environ | {"OMP_NUM_THREADS": "1"})

    def status(key):
        return httpx.get(f"http://127.0.0.1:{port}/models", headers={"X-API-Key": key}, timeout=30).status_code

    try:
        wait_until_ready(port)
        assert status(first) == 200
        path.unlink()
        second = new_key_in(path, "second")
        process.send_signal(signal.SIGHUP)
        until(lambda: status(second) == 200)
        assert status(first) == 401
        path.write_text("nonsense\n")
        process.send_signal(signal.SIGHUP)
        time.sleep(0.3)
        assert (process.poll(), status(second)) == (None, 200)  # a file that can't be read changes nothing
    finally:
        process.terminate()
        process.wait(60)


def test_a_page_of_another_site_can_not_call_it_by_a_name_of_its_own(tmp_path):
    with serving(f"sqlite:///{tmp_path}/log.db") as client:
        rebound = client.get("/models", headers={"Host": "evil.example:8000"})
        assert (rebound.status_code, "--allow-host" in rebound.json()["detail"]) == (421, True)
        for host in ("localhost:8000", "127.0.0.1", "[::1]:8000"):
            assert client.get("/models", headers={"Host": host}).status_code == 200
    with serving(f"sqlite:///{tmp_path}/log.db", hosts=("noisewise.example",)) as client:
        assert client.get("/models", headers={"Host": "noisewise.example"}).status_code == 200
        assert client.get("/models", headers={"Host": "evil.example"}).status_code == 421


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ('{"decision_id": "d", "right": true, "right": false}', 422),
        ('{"decision_id": "d", "right": true, "righ\\u0074": false}', 422),
        ('{"features": [1, 2], "features": [2, 1]}', 422),
        ('{"decision_id": "d", "right": true}', 404),
    ],
)
def test_a_name_that_is_there_twice_is_refused(tmp_path, body, status):
    with serving(f"sqlite:///{tmp_path}/log.db") as client:
        client.put("/models/m", json=SPEC).raise_for_status()
        sent = client.post("/models/m/feedback", content=body, headers={"Content-Type": "application/json"})
        assert sent.status_code == status, sent.text
        assert ("twice" in sent.text) == (status == 422)


def test_a_body_that_does_not_come_is_not_waited_for(tmp_path):
    with serving(f"sqlite:///{tmp_path}/log.db", body_seconds=0.3) as client:
        slow = socket.create_connection((client.base_url.host, client.base_url.port), timeout=10)
        slow.sendall(b"POST /models/m/decide HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
        assert slow.recv(100).startswith(b"HTTP/1.1 408")
        slow.close()


def test_slow_heads_are_cut_off_and_keep_nobody_out(tmp_path, monkeypatch):
    monkeypatch.setattr(LimitedConnection, "most", 40)
    monkeypatch.setattr(LimitedConnection, "head_seconds", 1.0)
    with listening(Settings(f"sqlite:///{tmp_path}/log.db"), http=LimitedConnection) as (address, _):
        port = int(address.rpartition(":")[2])
        slow = []
        for _ in range(100):
            slow.append(socket.create_connection(("127.0.0.1", port)))
            slow[-1].sendall(b"GET /models HTTP/1.1\r\nHost: loc")
        began = time.monotonic()
        assert httpx.get(f"{address}/healthz", timeout=5).status_code == 200
        assert time.monotonic() - began < 1
        last = slow[-1]
        last.settimeout(10)
        with contextlib.suppress(ConnectionResetError):
            assert last.recv(10) == b""  # its time is over
        assert time.monotonic() - began < 5
        for one in slow:
            one.close()
        with httpx.Client(base_url=address) as client:  # a connection that is used goes on
            for _ in range(3):
                assert client.get("/healthz").status_code == 200
                time.sleep(0.6)


@pytest.mark.slow
def test_eleven_hundred_slow_connections_do_not_stop_it(tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    port = free_port()
    command = [sys.executable, "-m", "noisewise.cli", "serve", "--store", f"sqlite:///{tmp_path}/log.db"]
    command += ["--port", str(port), "--log-level", "error"]
    files = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))  # noqa: E731
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, preexec_fn=files)
    slow = []
    try:
        wait_until_ready(port)
        for _ in range(1100):
            slow.append(socket.create_connection(("127.0.0.1", port)))
            slow[-1].sendall(b"POST /models HTTP/1.1\r\nHost: loc")
        for _ in range(5):
            assert httpx.get(f"http://127.0.0.1:{port}/healthz", timeout=2).status_code == 200
    finally:
        for one in slow:
            one.close()
        process.terminate()
        process.wait(60)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize(
    "store",
    [
        "postgresql://ann:verysecret@127.0.0.1:1/x",
        "postgresql://ann@127.0.0.1:1/x?password=verysecret",
        "mysql://ann:verysecret@somewhere/x",
        "postgresql://ann:verysecret@[oops/x",
    ],
)
def test_passwords_are_never_shown(store):
    result = CliRunner().invoke(app, ["serve", "--store", store, "--json"])
    assert isinstance(result.exception, ValueError)
    assert "verysecret" not in f"{result.exception} {result.output}"


def test_requests_have_ids(tmp_path):
    with serving(f"sqlite:///{tmp_path}/log.db") as client:
        assert client.get("/healthz", headers={"X-Request-Id": "mine-1"}).headers["x-request-id"] == "mine-1"
        first, second = (client.get("/healthz").headers["x-request-id"] for _ in range(2))
        assert first != second
        assert client.get("/healthz", headers={"X-Request-Id": "not one"}).headers["x-request-id"] != "not one"
        metrics = client.get("/metrics").text
        assert "process_resident_memory_bytes" in metrics
        assert "noisewise_log_waiting" in metrics


def test_requests_are_spans_where_traces_are_wanted(tmp_path, monkeypatch):
    trace = pytest.importorskip("opentelemetry.trace")
    names = []

    class Tracer:
        @contextlib.contextmanager
        def start_as_current_span(self, name):
            names.append(name)
            yield trace.INVALID_SPAN

    monkeypatch.setattr(trace, "get_tracer", lambda _: Tracer())
    with serving(f"sqlite:///{tmp_path}/log.db", traces=True) as client:
        client.get("/healthz")
    assert "GET /healthz" in names


def test_a_key_of_no_role_is_refused(tmp_path):
    result = CliRunner().invoke(app, ["serve", "--keys", str(tmp_path / "k"), "--new-key", "x", "--key-role", "boss"])
    assert "admin, decide, teach, read" in str(result.exception)
