"""Errors as problem+json (RFC 9457): what is wrong and what would do."""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from noisewise.serve._commit import Busy, Unwritten
from noisewise.serve._schemas import Problem
from noisewise.serve._service import Conflict, Missing

MEDIA = "application/problem+json"
ALWAYS = (400, 401, 413, 422, 429, 503)
log = logging.getLogger("noisewise.serve")


class NotNow(Exception):
    """What is asked is not this process's part."""


STATUSES: dict[type[Exception], int] = {
    Missing: 404,
    Conflict: 409,
    ValueError: 422,
    NotNow: 503,
    Busy: 503,
    Unwritten: 503,
}


def problem(status: int, detail: str, errors: Any = None, headers: Any = None) -> JSONResponse:
    """An error as a response."""
    found = Problem(title=HTTPStatus(status).phrase, status=status, detail=detail, errors=errors)
    later = {"Retry-After": "1"} if status in (429, 503) else {}
    content = found.model_dump(exclude_none=True)
    return JSONResponse(content, status, headers={**later, **(headers or {})}, media_type=MEDIA)


def refusal(error: Exception) -> JSONResponse:
    """One of our own errors as a response."""
    status = next(status for kind, status in STATUSES.items() if isinstance(error, kind))
    return problem(status, str(error))


def answer_problems(app: FastAPI) -> None:
    """Let every error of the app be answered as a problem."""

    def refused(_request: Request, error: Exception) -> JSONResponse:
        return refusal(error)

    def invalid(_request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)
        found = [{"where": ".".join(map(str, one["loc"])), "what": one["msg"]} for one in error.errors()[:20]]
        first = found[0] if found else {"where": "body", "what": "invalid"}
        return problem(422, f"{first['where']}: {first['what']}"[:500], found)

    def http(_request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        return problem(error.status_code, str(error.detail), headers=error.headers)

    def unforeseen(request: Request, error: Exception) -> JSONResponse:
        log.error("unforeseen error in %s %s", request.method, request.url.path, exc_info=error)
        return problem(500, "something went wrong here; the log of the service has the details")

    for kind in STATUSES:
        app.add_exception_handler(kind, refused)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, http)
    app.add_exception_handler(Exception, unforeseen)


def describe_problems(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document, in which every call may answer with a problem."""
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        schemas["Problem"] = Problem.model_json_schema()
        for unused in ("HTTPValidationError", "ValidationError"):
            schemas.pop(unused, None)
        shape = {"content": {MEDIA: {"schema": {"$ref": "#/components/schemas/Problem"}}}}
        for path, calls in document["paths"].items():
            for call in calls.values():
                own = ("404", "409") if "{" in path else ("404",) if "personalizer" in path else ()
                for status in (*map(str, ALWAYS), *own):
                    call["responses"][status] = {"description": HTTPStatus(int(status)).phrase, **shape}
        app.openapi_schema = document
    return app.openapi_schema
