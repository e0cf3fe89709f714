"""A service for tests: the real one, on a free port of this machine."""

import contextlib
import socket
import threading
import time

import httpx
import uvicorn

from noisewise.serve import Settings, create_app


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@contextlib.contextmanager
def serving(store, **settings):
    """A client of a service in a thread of this process; it shuts down gracefully at the end."""
    port = free_port()
    config = uvicorn.Config(
        create_app(Settings(store=store, **settings)), port=port, log_level="error", access_log=False, ws="none"
    )
    server = uvicorn.Server(config)
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
