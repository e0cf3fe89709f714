"""The fast path: `decide` and `feedback`, the two frequent calls, without the overhead of the web framework."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

from pydantic_core import to_json
from starlette.types import Scope

from noisewise.serve.api.decisions import decide_response, feedback_response
from noisewise.serve.api.json_bodies import parsed
from noisewise.serve.api.schemas import FeedbackRequest
from noisewise.serve.models.offer_model import OfferModel
from noisewise.serve.models.offer_spec import OfferRequest, read_offer
from noisewise.serve.models.service import Service
from noisewise.serve.models.spec import NAME, DecideRequest

PATH = re.compile(rf"/models/({NAME[1:-1]})/(decide|feedback)")
ROUTES = {name: SimpleNamespace(path=f"/models/{{name}}/{name}") for name in ("decide", "feedback")}  # for the metrics


async def fast_response(service: Service, scope: Scope, headers: dict[bytes, bytes], body: bytes) -> bytes | None:
    """The response to a well-formed `decide` or `feedback` call, as the application would give it; else None."""
    found = PATH.fullmatch(scope["path"])
    if found is None or scope["query_string"] or headers.get(b"content-type") != b"application/json":
        return None
    name, call = found.groups()
    offers = isinstance(service.models.get(name), OfferModel)
    kind: Any = FeedbackRequest if call == "feedback" else OfferRequest if offers else DecideRequest
    try:
        request: Any = read_offer(parsed(body), body.decode()) if kind is OfferRequest else None
        if request is None:
            request = kind.model_validate_json(body)
    except ValueError:
        return None
    if isinstance(request, OfferRequest):
        request._text = body.decode()
    scope["route"] = ROUTES[call]
    respond: Any = decide_response if call == "decide" else feedback_response
    return to_json(await respond(service, name, request))
