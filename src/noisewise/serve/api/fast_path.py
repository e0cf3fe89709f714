"""The two calls that come by the thousand, without the detours of a framework."""

from __future__ import annotations

import json
import re
from typing import Any

from pydantic import ValidationError
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from noisewise.serve.api.decisions import decided, heard
from noisewise.serve.api.problems import STATUSES, refusal
from noisewise.serve.api.schemas import NAME, DecideRequest, FeedbackRequest
from noisewise.serve.settings import Settings


def again(body: bytes, receive: Receive) -> Receive:
    """Give the body first, and then whatever comes after it."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


PATH = re.compile(rf"/models/({NAME[1:-1]})/(decide|feedback)")
REFUSALS = tuple(STATUSES)


class Route:
    """What was called, for the one who counts."""

    def __init__(self, path: str) -> None:
        self.path = path


ROUTES = {name: Route(f"/models/{{name}}/{name}") for name in ("decide", "feedback")}


class FastLane:
    """Answers `decide` and `feedback` as the application behind it would, which is still asked about odd requests."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app = app
        self.decides = settings.role != "learner"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        found = PATH.fullmatch(scope["path"]) if scope["type"] == "http" and scope["method"] == "POST" else None
        if found is None or not self.decides or scope["query_string"]:
            await self.app(scope, receive, send)
            return
        body: bytes = (await receive()).get("body", b"")  # the guard has gathered it
        name, call = found.groups()
        try:
            request = (DecideRequest if call == "decide" else FeedbackRequest).model_validate_json(body)
        except ValidationError:
            request = None
        if request is None or (b"content-type", b"application/json") not in scope["headers"]:
            await self.app(scope, again(body, receive), send)
            return
        scope["route"] = ROUTES[call]
        service = scope["app"].state.service
        try:
            if isinstance(request, DecideRequest):
                said: dict[str, Any] = await decided(service, name, request)
            else:
                said = await heard(service, name, request)
        except REFUSALS as error:
            await refusal(error)(scope, receive, send)
            return
        content = json.dumps(said).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(content))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": content})
