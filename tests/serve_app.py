"""Services for tests: over HTTP on a free port of this machine, or without HTTP."""

import asyncio
import contextlib
import socket
import threading
import time

import httpx
import uvicorn

from noisewise.serve import ModelSpec, Settings, create_app
from noisewise.serve.models.service import Service
from noisewise.serve.models.spec import DecideRequest

QUIET = {"log_level": "error", "access_log": False, "ws": "none"}


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@contextlib.contextmanager
def serving(store, **settings):
    """A client of a service in a thread of this process, which is shut down gracefully at the end."""
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(create_app(Settings(store=store, **settings)), port=port, **QUIET))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        deadline = time.monotonic() + 60
        while not server.started:
            assert thread.is_alive(), "the service did not start"
            assert time.monotonic() < deadline, "the service takes too long to start"
            time.sleep(0.01)
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join()


@contextlib.asynccontextmanager
async def service(store, **settings):
    """A service without HTTP."""
    one = Service(Settings(store=store, **settings))
    try:
        await asyncio.to_thread(one.start, asyncio.get_running_loop())
        yield one
    finally:
        await one.close()


async def make(one, name="m", **spec):
    """A model with 3 actions and 4 features, unless specified otherwise."""
    chosen = {"actions": ["a", "b", "c"], "features": {"count": 4}, **spec}
    return (await one.create(name, ModelSpec.model_validate(chosen)))[0]


def situation(x, **more):
    return DecideRequest(features=[float(value) for value in x], **more)


async def settled(model):
    """Wait until a model has learnt all that is in the log: on a busy machine a thread does it, in a while."""
    while model.pending or model.unwatched:
        await asyncio.sleep(0.005)


def wait_until_ready(port, seconds=90):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        with contextlib.suppress(httpx.HTTPError):
            if httpx.get(f"http://127.0.0.1:{port}/readyz", timeout=5).status_code == 200:
                return
        time.sleep(0.05)
    raise AssertionError("the service did not become ready")
