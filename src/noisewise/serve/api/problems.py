"""Errors as problem+json (RFC 9457): what is wrong and how to correct it."""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse
from sqlalchemy.exc import OperationalError
from starlette.exceptions import HTTPException
from starlette.types import Scope

from noisewise.serve.api.schemas import Problem
from noisewise.serve.log.database import reason_of
from noisewise.serve.log.group_commit import Busy, Unwritten
from noisewise.serve.models.service import Conflict, Full, NotFound
from noisewise.serve.models.spec import NAME

MEDIA_TYPE = "application/problem+json"
ANY_CALL = (400, 401, 403, 408, 413, 421, 422, 429, 503)  # statuses that every call may have
log = logging.getLogger("noisewise.serve")


class Unavailable(Exception):
    """The request can't be served by this process, or not now."""


STATUSES: dict[type[Exception], int] = {
    NotFound: 404,
    Conflict: 409,
    ValueError: 422,
    Unavailable: 503,
    Busy: 503,
    Unwritten: 503,
    OperationalError: 503,  # of the store: a full disk, a database that is gone
    Full: 507,
}


def problem(status: int, detail: str, errors: Any = None, headers: Any = None) -> JSONResponse:
    """An error as a response."""
    found = Problem(title=HTTPStatus(status).phrase, status=status, detail=detail, errors=errors)
    later = {"Retry-After": "1"} if status in (429, 503) else {}
    content = found.model_dump(exclude_none=True)
    return JSONResponse(content, status, headers={**later, **(headers or {})}, media_type=MEDIA_TYPE)


def refusal(error: Exception) -> JSONResponse:
    """An error of the service as a response."""
    status = next(status for kind, status in STATUSES.items() if isinstance(error, kind))
    if isinstance(error, OperationalError):
        return problem(status, f"the store can't be used now: {reason_of(error)}")
    return problem(status, str(error))


def unforeseen(scope: Scope, error: Exception) -> JSONResponse:
    """An error of the program as a response, which is logged."""
    log.error("unforeseen error in %s %s", scope["method"], scope["path"], exc_info=error)
    return problem(500, "something went wrong here; the log of the service has the details")


def install_handlers(app: FastAPI) -> None:
    """Respond to every error of the app with a problem."""

    def refused(request: Request, error: Exception) -> JSONResponse:
        if isinstance(error, OperationalError):
            request.app.state.service.committer.last_error = error  # readiness follows every write
        return refusal(error)

    def invalid(_request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)
        found = [{"where": _field(one), "what": _fault(one)} for one in error.errors()[:20]]
        first = found[0] if found else {"where": "body", "what": "invalid"}
        return problem(422, f"{first['where']}: {first['what']}"[:500], found)

    def http(_request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        more = ""
        if error.detail == HTTPStatus(error.status_code).phrase:  # the framework's own text
            allowed = (error.headers or {}).get("Allow")
            more = f": this path takes {allowed}" if allowed else ": /openapi.json lists the calls there are"
        return problem(error.status_code, f"{error.detail}{more}", headers=error.headers)

    def bug(request: Request, error: Exception) -> JSONResponse:
        return unforeseen(request.scope, error)

    for kind in STATUSES:
        app.add_exception_handler(kind, refused)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, http)
    app.add_exception_handler(Exception, bug)


def _field(error: Any) -> str:
    """Path of the invalid field, without the names of validators."""
    parts = error["loc"][:1] if error["type"] == "json_invalid" else error["loc"]
    return ".".join(str(part) for part in parts if "[" not in str(part))


def _fault(error: Any) -> str:
    """What is wrong with the field, and what would be valid."""
    kind, reason = error["type"], error.get("ctx", {})
    if kind == "json_invalid":
        return f"this is no JSON ({reason.get('error', 'it ends early')}, at character {error['loc'][-1]})"
    if kind == "model_attributes_type" and isinstance(error.get("input"), bytes | str):
        return "it was not read as JSON; send the header Content-Type: application/json"
    if kind == "dict_type":
        return "an object is needed, as {...}"
    if kind == "extra_forbidden":
        return "there is no such field; /openapi.json lists those there are"
    if kind == "string_pattern_mismatch" and reason.get("pattern") == NAME:
        return "a name has letters, digits, points, hyphens and underscores, 64 at most, a letter or digit first"
    return str(error["msg"]).removeprefix("Value error, ")


def openapi_document(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document, with problems among the responses of every call."""
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        schemas["Problem"] = Problem.model_json_schema()
        for unused in ("HTTPValidationError", "ValidationError"):
            schemas.pop(unused, None)
        shape = {"content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}}
        for path, calls in document["paths"].items():
            for call in calls.values():
                own = ("404", "409", "507") if "{" in path or "personalizer" in path else ()
                for status in (*map(str, ANY_CALL), *own):
                    call["responses"][status] = {"description": HTTPStatus(int(status)).phrase, **shape}
        app.openapi_schema = document
    return app.openapi_schema
