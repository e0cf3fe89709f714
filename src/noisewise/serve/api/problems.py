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

from noisewise.serve.api.schemas import NAME, Problem
from noisewise.serve.log.group_commit import Busy, Unwritten
from noisewise.serve.models.service import Conflict, Missing

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
        found = [{"where": _place(one), "what": _fault(one)} for one in error.errors()[:20]]
        first = found[0] if found else {"where": "body", "what": "invalid"}
        return problem(422, f"{first['where']}: {first['what']}"[:500], found)

    def http(_request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        more = ""
        if error.detail == HTTPStatus(error.status_code).phrase:  # no sentence of our own
            allowed = (error.headers or {}).get("Allow")
            more = f": this path takes {allowed}" if allowed else ": /openapi.json lists the calls there are"
        return problem(error.status_code, f"{error.detail}{more}", headers=error.headers)

    def unforeseen(request: Request, error: Exception) -> JSONResponse:
        log.error("unforeseen error in %s %s", request.method, request.url.path, exc_info=error)
        return problem(500, "something went wrong here; the log of the service has the details")

    for kind in STATUSES:
        app.add_exception_handler(kind, refused)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, http)
    app.add_exception_handler(Exception, unforeseen)


def _place(error: Any) -> str:
    """Where a request is wrong: names of fields, without those of the functions that checked them."""
    parts = error["loc"][:1] if error["type"] == "json_invalid" else error["loc"]
    return ".".join(str(part) for part in parts if "[" not in str(part))


def _fault(error: Any) -> str:
    """What is wrong there, and what would do."""
    kind, reason = error["type"], error.get("ctx", {})
    if kind == "json_invalid":
        return f"this is no JSON ({reason.get('error', 'it ends early')}, at character {error['loc'][-1]})"
    if kind == "model_attributes_type" and isinstance(error.get("input"), bytes | str):
        return "it was not read as JSON; send the header Content-Type: application/json"
    if kind == "extra_forbidden":
        return "there is no such field; /openapi.json lists those there are"
    if kind == "string_pattern_mismatch" and reason.get("pattern") == NAME:
        return "a name has letters, digits, points, hyphens and underscores, 64 at most, a letter or digit first"
    return str(error["msg"]).removeprefix("Value error, ")


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
