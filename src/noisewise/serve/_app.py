"""The web application."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI

import noisewise
from noisewise.serve import _routes_decisions, _routes_models
from noisewise.serve._problems import answer_problems, describe_problems
from noisewise.serve._service import Service
from noisewise.serve._settings import Settings


def create_app(settings: Settings | None = None) -> FastAPI:
    """The decision service as an application that any ASGI server runs."""
    chosen = settings or Settings()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        service = Service(chosen)
        app.state.service = service
        try:
            await asyncio.to_thread(service.start, asyncio.get_running_loop())
            yield
        finally:
            await asyncio.to_thread(service.close)

    app = FastAPI(
        title="noisewise",
        version=noisewise.__version__,
        description="Decisions that learn from right/wrong feedback that may itself be wrong.",
        lifespan=lifespan,
    )
    for router in (_routes_models.router, _routes_decisions.router):
        app.include_router(router)
    answer_problems(app)

    def openapi() -> dict[str, Any]:
        return describe_problems(app)

    app.openapi = openapi  # type: ignore[method-assign]
    return app
