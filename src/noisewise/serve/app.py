"""The ASGI application: routes, page, access control and monitoring."""

from __future__ import annotations

import asyncio
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
from noisewise.serve.api.problems import install_handlers, openapi_document
from noisewise.serve.api.security import AccessControl
from noisewise.serve.models.service import Service
from noisewise.serve.page import teach
from noisewise.serve.page.demo import run_demo
from noisewise.serve.settings import Settings

STATIC = Path(__file__).parent / "page" / "static"
ROUTERS = (models, lifecycle, decisions, export, teach, monitoring)


def create_app(settings: Settings | None = None) -> FastAPI:
    """The decision service as an ASGI application."""
    chosen = settings or Settings()
    registry = CollectorRegistry()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        service = Service(chosen)
        app.state.service, app.state.registry = service, registry
        registry.register(monitoring.ServiceMetrics(service))
        demo: asyncio.Task[None] | None = None
        try:
            await asyncio.to_thread(service.start, asyncio.get_running_loop())
            if chosen.demo:
                demo = asyncio.create_task(run_demo(service))
            yield
        except ValueError as error:
            app.state.refusal = str(error)  # shown by the command line; the server only reports that startup failed
            raise
        finally:
            if demo is not None:
                demo.cancel()
                with suppress(asyncio.CancelledError):
                    await demo
            await service.close()

    app = FastAPI(
        title="noisewise",
        version=noisewise.__version__,
        description="Decisions that learn from noisy right/wrong feedback.",
        lifespan=lifespan,
        docs_url=None,  # its page loads scripts from another origin
        redoc_url=None,
    )
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
    app.add_middleware(AccessControl, settings=chosen)
    app.add_middleware(monitoring.RequestMetrics, registry=registry)  # outermost: refusals are counted too

    def openapi() -> dict[str, Any]:
        return openapi_document(app)

    app.openapi = openapi  # type: ignore[method-assign]
    return app
