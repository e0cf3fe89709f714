"""The fast path: `decide` and `feedback`, the two frequent calls, without the overhead of the web framework."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from noisewise.serve.api.decisions import decide_response, feedback_response
from noisewise.serve.api.json_bodies import parsed
from noisewise.serve.api.problems import STATUSES, refusal
from noisewise.serve.api.schemas import FeedbackRequest
from noisewise.serve.api.security import replay_body
from noisewise.serve.models.offer_model import OfferModel
from noisewise.serve.models.offer_spec import OfferRequest, read_offer
from noisewise.serve.models.spec import NAME, DecideRequest
from noisewise.serve.settings import Settings

PATH = re.compile(rf"/models/({NAME[1:-1]})/(decide|feedback)")
REFUSALS = tuple(STATUSES)


ROUTES = {name: SimpleNamespace(path=f"/models/{{name}}/{name}") for name in ("decide", "feedback")}  # for the metrics


class FastPath:
    """Middleware: responds to well-formed `decide` and `feedback` calls as the application would, passes others on."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app = app
        self.decides = settings.role != "learner"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        found = PATH.fullmatch(scope["path"]) if scope["type"] == "http" and scope["method"] == "POST" else None
        if found is None or not self.decides or scope["query_string"]:
            await self.app(scope, receive, send)
            return
        body: bytes = (await receive()).get("body", b"")  # `AccessControl` has read it whole
        name, call = found.groups()
        service = scope["app"].state.service
        offers = isinstance(service.models.get(name), OfferModel)
        kind: Any = FeedbackRequest if call == "feedback" else OfferRequest if offers else DecideRequest
        try:
            request: Any = read_offer(parsed(body), body.decode()) if kind is OfferRequest else None
            if request is None:
                request = kind.model_validate_json(body)
        except ValueError:
            request = None
        if request is None or (b"content-type", b"application/json") not in scope["headers"]:
            await self.app(scope, replay_body(body, receive), send)
            return
        scope["route"] = ROUTES[call]
        if isinstance(request, OfferRequest):
            request._text = body.decode()
        try:
            if call == "decide":
                content: dict[str, Any] = await decide_response(service, name, request)
            else:
                content = await feedback_response(service, name, request)
        except REFUSALS as error:
            await refusal(error)(scope, receive, send)
            return
        encoded = json.dumps(content).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(encoded))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": encoded})
