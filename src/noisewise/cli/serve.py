"""`noisewise serve`: decisions that learn from unreliable feedback, over HTTP."""

from __future__ import annotations

import json
import os
import signal
import socket
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from noisewise.cli.talk import say

LOCAL = ("127.0.0.1", "localhost", "::1")
ROLES = ("all", "api", "learner")
IDLE_SECONDS = 30  # between two requests of a connection


def serve(
    store: Annotated[
        str | None, typer.Option(help="Where the log is: sqlite:///FILE or postgresql://USER@HOST/NAME.")
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.", min=1, max=65535)] = 8000,
    role: Annotated[
        str, typer.Option(help="all: decide and learn. api: decide, beside a learner. learner: learn.")
    ] = "all",
    keys: Annotated[
        Path | None, typer.Option(help="File with the hashes of API keys; without it, none is asked.")
    ] = None,
    new_key: Annotated[
        str | None, typer.Option("--new-key", help="Add a key of this name to the file, print it, and stop.")
    ] = None,
    key_role: Annotated[
        str,
        typer.Option("--key-role", help="Of the new key: admin, decide (and give feedback), teach, or read."),
    ] = "admin",
    allow_host: Annotated[
        list[str] | None,
        typer.Option("--allow-host", help="Name that the service may be called by; again for more, * for any."),
    ] = None,
    max_models: Annotated[int, typer.Option(help="Most models.", min=1)] = 100,
    max_models_per_key: Annotated[int, typer.Option(help="Most models that one key creates; 0 is any.", min=0)] = 0,
    max_memory: Annotated[float, typer.Option(help="Most memory of all models, in gigabytes.", min=0.001)] = 2.0,
    traces: Annotated[bool, typer.Option("--traces", help="Make each request a span of OpenTelemetry.")] = False,
    limit: Annotated[float, typer.Option(help="Most requests a second of one client; 0 is any.", min=0)] = 0.0,
    anybody: Annotated[
        bool, typer.Option("--anybody", help="Listen on an address others can reach without asking for keys.")
    ] = False,
    demo: Annotated[
        bool, typer.Option("--demo", help="Let a simulated crowd teach a model that reads digits.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the address and the store as JSON.")] = False,
    log_level: Annotated[str, typer.Option(help="debug, info, warning or error.")] = "info",
) -> None:
    """Serve decisions that learn from right/wrong feedback, and lose nothing.

    Decisions and feedback are on disk before they are acknowledged. With --role api and --role learner several machines
    share a PostgreSQL store.
    """
    from noisewise.serve import Settings, check_store, new_key_in, read_keys, without_password

    if new_key is not None:
        if keys is None:
            raise ValueError("--new-key needs --keys FILE, where its hash is kept")
        typer.echo(new_key_in(keys, new_key, key_role))
        say(f"the hash is in {keys}; the key itself is shown this once")
        return
    if role not in ROLES:
        raise ValueError(f"--role {role} is not known; it is all, api or learner")
    if host not in LOCAL and keys is None and not anybody:
        raise ValueError(f"--host {host} can be reached by others: give --keys FILE, or --anybody if that is meant")
    with TemporaryDirectory(prefix="noisewise-") as folder:
        database = store or (f"sqlite:///{folder}/demo.db" if demo else "sqlite:///noisewise.db")
        check_store(database)
        settings = Settings(
            database,
            role,  # type: ignore[arg-type]
            read_keys(keys) if keys else {},
            limit,
            demo=demo,
            keys_file=str(keys) if keys else None,
            hosts=tuple(allow_host) if allow_host else ("*",) if host not in LOCAL else None,
            max_models=max_models,
            max_bytes=int(1e9 * max_memory),
            traces=traces,
            max_models_per_key=max_models_per_key,
        )
        shown = without_password(database)
        if as_json:
            typer.echo(json.dumps({"url": f"http://{host}:{port}", "store": shown, "role": role}))
        _run(settings, host, port, log_level, f"{shown}{' (temporary)' if store is None and demo else ''}")


def _run(settings: Any, host: str, port: int, log_level: str, shown: str) -> None:
    import uvicorn

    from noisewise.serve import BACKLOG, connection_class, create_app, log_as_json

    log_as_json(log_level)
    app = create_app(settings)
    connections = connection_class()
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        http=connections,
        log_config=None,
        access_log=False,
        ws="none",
        server_header=False,
        backlog=BACKLOG,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=10,
    )

    class Server(uvicorn.Server):
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            if self.started:
                say(f"noisewise serves on http://{host}:{port} with {shown}; stop it with Ctrl-C")

    server = Server(config)
    app.state.stop_server = lambda: setattr(server, "should_exit", True)
    signal.signal(signal.SIGHUP, lambda *_: app.state.reload_keys())
    with suppress(SystemExit):  # by a signal, or because it could not start
        server.run()
    if not server.started or app.state.refusal is not None:
        raise ValueError(app.state.refusal or _why_not(host, port))


def _why_not(host: str, port: int) -> str:
    """A sentence about an address on which nothing could be served."""
    try:
        socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        return f"{host}:{port} can't be listened on ({reason}); --port takes another one, --host another address"
    return f"the service could not start on port {port}"
