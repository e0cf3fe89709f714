"""The ASGI application: routes, page, access control and monitoring."""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.responses import FileResponse, JSONResponse
from fastapi.staticfiles import StaticFiles
from prometheus_client import CollectorRegistry
from starlette.types import Receive, Scope, Send

import noisewise
from noisewise.serve.api import (
    decisions,
    export,
    lifecycle,
    models,
    monitoring,
    personalizer,
    personalizer_evaluations,
    personalizer_settings,
)
from noisewise.serve.api.entrance import Entrance
from noisewise.serve.api.keys import KeyRing
from noisewise.serve.api.problems import install_handlers, openapi_document
from noisewise.serve.api.security import AccessControl
from noisewise.serve.models.service import Service
from noisewise.serve.page import teach
from noisewise.serve.page.demo import run_demo
from noisewise.serve.settings import Settings

log = logging.getLogger("noisewise.serve")
STATIC = Path(__file__).parent / "page" / "static"
SWITCH_SECONDS = 0.001  # that a thread which computes may keep the others waiting: five times, for one request
ROUTERS = (models, lifecycle, decisions, export, teach, monitoring)


class EnteredApp(FastAPI):
    """An application whose entrance is its outermost layer: frequent requests are answered before any other is met."""

    entrance: Entrance

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        scope["app"] = self
        await self.entrance(scope, receive, send)


def create_app(settings: Settings | None = None) -> FastAPI:
    """The decision service as an ASGI application.

    It responds at once: until the log has been read, `/readyz` says how far it is, and other requests wait or get 503.
    """
    chosen = settings or Settings()
    registry, keys = CollectorRegistry(), KeyRing(chosen.keys, chosen.keys_file)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        service = Service(chosen)
        app.state.service, app.state.registry = service, registry
        monitoring.register_collectors(registry, service)
        task = asyncio.create_task(_start(app, service))
        try:
            yield
        finally:
            service.stop()
            if service.activity is None or service.is_compiling:
                task.cancel()  # the demonstration; or the thread that compiles, which ends with the process
            with suppress(asyncio.CancelledError):
                await task
            await service.close()

    app = EnteredApp(
        title="noisewise",
        version=noisewise.__version__,
        description="Decisions that learn from noisy right/wrong feedback.",
        lifespan=lifespan,
        docs_url=None,  # its page loads scripts from another origin
        redoc_url=None,
        openapi_url=None,  # a route of ours, because making the document takes a second
    )
    app.state.refusal, app.state.stop_server, app.state.reload_keys = None, None, keys.reload
    for part in ROUTERS:
        app.include_router(part.router)
    for prefix in personalizer.PREFIXES:
        app.include_router(personalizer.router, prefix=prefix)
        app.include_router(personalizer_settings.router, prefix=prefix)
        app.include_router(personalizer_evaluations.router, prefix=prefix)
    if (STATIC / "index.html").exists():
        app.mount("/static", StaticFiles(directory=STATIC), name="static")

        @app.get("/", include_in_schema=False)
        async def page() -> FileResponse:
            return FileResponse(STATIC / "index.html")

    install_handlers(app)
    access, metrics = AccessControl(chosen, keys), monitoring.RequestMetrics(registry, chosen.traces)
    app.entrance = Entrance(super(EnteredApp, app).__call__, access, metrics, decides=chosen.role != "learner")

    def openapi() -> dict[str, Any]:
        return openapi_document(app)

    app.openapi = openapi  # type: ignore[method-assign]

    @app.get("/openapi.json", include_in_schema=False)
    def document() -> JSONResponse:  # in a thread
        return JSONResponse(app.openapi())

    return app


async def _start(app: FastAPI, service: Service) -> None:
    """Start the service while the server responds already; a server that was told how is stopped if that fails."""
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        await _in_daemon(partial(service.start, asyncio.get_running_loop()))
    except Exception as error:
        app.state.refusal = service.refusal = str(error)
        if not isinstance(error, ValueError):
            log.exception("the service could not start")
        if app.state.stop_server is not None:
            app.state.stop_server()
        return
    gc.freeze()  # hundreds of thousands of objects, for good: to look through them again stops all threads
    if service.settings.demo:
        await run_demo(service)


async def _in_daemon(function: Callable[[], None]) -> None:
    """Call a function in a thread that the end of the process does not wait for."""
    loop, done = asyncio.get_running_loop(), asyncio.Event()
    errors: list[BaseException] = []

    def run() -> None:
        try:
            function()
        except BaseException as error:
            errors.append(error)
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(done.set)

    threading.Thread(target=run, name="noisewise-start", daemon=True).start()
    await done.wait()
    if errors:
        raise errors[0]
