"""The ASGI application: routes, page, access control and monitoring."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles
from prometheus_client import CollectorRegistry

import noisewise
from noisewise.serve.api import (
    decisions,
    export,
    lifecycle,
    models,
    monitoring,
    personalizer,
    personalizer_settings,
)
from noisewise.serve.api.fast_path import FastPath
from noisewise.serve.api.keys import KeyRing
from noisewise.serve.api.problems import install_handlers, openapi_document
from noisewise.serve.api.security import AccessControl
from noisewise.serve.models.service import Service
from noisewise.serve.page import teach
from noisewise.serve.page.demo import run_demo
from noisewise.serve.settings import Settings

log = logging.getLogger("noisewise.serve")
STATIC = Path(__file__).parent / "page" / "static"
ROUTERS = (models, lifecycle, decisions, export, teach, monitoring)


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
            if service.activity is None:
                task.cancel()  # the demonstration
            with suppress(asyncio.CancelledError):
                await task
            await service.close()

    app = FastAPI(
        title="noisewise",
        version=noisewise.__version__,
        description="Decisions that learn from noisy right/wrong feedback.",
        lifespan=lifespan,
        docs_url=None,  # its page loads scripts from another origin
        redoc_url=None,
    )
    app.state.refusal, app.state.stop_server, app.state.reload_keys = None, None, keys.reload
    for part in ROUTERS:
        app.include_router(part.router)
    for prefix in personalizer.PREFIXES:
        app.include_router(personalizer.router, prefix=prefix)
        app.include_router(personalizer_settings.router, prefix=prefix)
    if (STATIC / "index.html").exists():
        app.mount("/static", StaticFiles(directory=STATIC), name="static")

        @app.get("/", include_in_schema=False)
        async def page() -> FileResponse:
            return FileResponse(STATIC / "index.html")

    install_handlers(app)
    app.add_middleware(FastPath, settings=chosen)
    app.add_middleware(monitoring.UntilReady)
    app.add_middleware(AccessControl, settings=chosen, keys=keys)
    app.add_middleware(monitoring.RequestMetrics, registry=registry, traces=chosen.traces)  # refusals are counted too

    def openapi() -> dict[str, Any]:
        return openapi_document(app)

    app.openapi = openapi  # type: ignore[method-assign]
    return app


async def _start(app: FastAPI, service: Service) -> None:
    """Start the service while the server responds already; a server that was told how is stopped if that fails."""
    try:
        await asyncio.to_thread(service.start, asyncio.get_running_loop())
    except Exception as error:
        app.state.refusal = service.refusal = str(error)
        if not isinstance(error, ValueError):
            log.exception("the service could not start")
        if app.state.stop_server is not None:
            app.state.stop_server()
        return
    if service.settings.demo:
        await run_demo(service)
