"""Routes of the feedback loop: decide, give feedback, explain."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request

from noisewise.serve.api.models import ModelName, service_of
from noisewise.serve.api.problems import Unavailable
from noisewise.serve.api.schemas import DecideResponse, EventList, Explanation, FeedbackRequest, FeedbackResponse
from noisewise.serve.models.offer_model import OfferModel
from noisewise.serve.models.offer_spec import AnyRequest, OfferRequest, ParsedOffer
from noisewise.serve.models.report import event_entry, explain
from noisewise.serve.models.service import Service
from noisewise.serve.models.spec import DecideRequest

router = APIRouter(tags=["decisions"])


def deciding_service(request: Request) -> Service:
    """The service behind a request, if this process makes decisions."""
    service = service_of(request)
    if service.settings.role == "learner":
        raise Unavailable("this process learns only; ask one that decides")
    return service


@router.post("/models/{name}/decide", response_model=DecideResponse)
async def decide(name: ModelName, body: AnyRequest, request: Request) -> Any:
    """Choose an action; the response is sent when the decision is in the log."""
    return await decide_response(deciding_service(request), name, body)


@router.post("/models/{name}/feedback", response_model=FeedbackResponse, response_model_exclude_unset=True)
async def feedback(name: ModelName, body: FeedbackRequest, request: Request) -> Any:
    """Give feedback on a decision; the response is sent when it is in the log. The first feedback counts."""
    return await feedback_response(deciding_service(request), name, body)


@router.get(
    "/models/{name}/decisions/{decision_id:path}", response_model=Explanation, response_model_exclude_unset=True
)
async def explain_decision(name: ModelName, decision_id: str, request: Request) -> Any:
    """Why an action was played, and its feedback."""
    service = service_of(request)
    model = await service.model(name)
    rows = await service.decision(model, decision_id)
    return await asyncio.to_thread(explain, model, rows)


@router.get("/models/{name}/events", response_model=EventList)
async def show_events(
    name: ModelName, request: Request, limit: Annotated[int, Query(ge=1, le=1000, description="How many.")] = 50
) -> Any:
    """The newest rows of the log, the newest first."""
    service = service_of(request)
    model = await service.model(name)
    rows = await asyncio.to_thread(service.store.newest, model.id, limit)
    return {"events": [event_entry(model, row) for row in rows]}


async def decide_response(
    service: Service, name: str, body: DecideRequest | OfferRequest | ParsedOffer
) -> dict[str, Any]:
    """The response to `decide`."""
    model = service.models.get(name) or await service.model(name)
    made = await service.decide(model, body)
    return {
        "decision_id": made.decision_id,
        "action": model.action_of(made),
        "probability": made.probability,
        "version": made.version,
    }


async def feedback_response(service: Service, name: str, body: FeedbackRequest) -> dict[str, Any]:
    """The response to `feedback`."""
    model = service.models.get(name) or await service.model(name)
    outcome = await service.feedback(model, body.decision_id, body.given, body.person)
    made = {"decision_id": body.decision_id, "status": outcome.status, "right": outcome.event.right}
    return made | {"reward": outcome.event.probability} if isinstance(model, OfferModel) else made
