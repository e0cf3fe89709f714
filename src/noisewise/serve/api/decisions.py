"""The calls of the loop cut in two: decide, and learn whether it was right."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from noisewise.serve.api.models import ModelName, service_of
from noisewise.serve.api.problems import NotNow
from noisewise.serve.api.responses import Explanation
from noisewise.serve.api.schemas import DecideRequest, DecideResponse, FeedbackRequest, FeedbackResponse
from noisewise.serve.log.explain import explain
from noisewise.serve.models.service import Service

router = APIRouter(tags=["decisions"])


def deciding(request: Request) -> Service:
    """The service behind a request, if this process decides."""
    service = service_of(request)
    if service.settings.role == "learner":
        raise NotNow("this process learns only; ask one that decides")
    return service


@router.post("/models/{name}/decide", response_model=DecideResponse)
async def decide(name: ModelName, body: DecideRequest, request: Request) -> Any:
    """Choose an action; the answer comes when the decision is in the log."""
    return await decided(deciding(request), name, body)


@router.post("/models/{name}/feedback", response_model=FeedbackResponse)
async def feedback(name: ModelName, body: FeedbackRequest, request: Request) -> Any:
    """Say whether a decision was right; the answer comes when it is in the log. The first answer counts."""
    return await heard(deciding(request), name, body)


@router.get("/models/{name}/decisions/{decision_id}", response_model=Explanation)
async def explain_decision(name: ModelName, decision_id: str, request: Request) -> Any:
    """Why an action was played, and what was said about it."""
    service = service_of(request)
    model = await service.model(name)
    return explain(model.spec, await service.decision(model, decision_id))


async def decided(service: Service, name: str, body: DecideRequest) -> dict[str, Any]:
    """The answer to `decide`."""
    model = service.models.get(name) or await service.model(name)
    made = await service.decide(model, body)
    return {
        "decision_id": made.decision_id,
        "action": model.spec.actions[made.code or 0],
        "probability": made.probability,
        "version": made.version,
    }


async def heard(service: Service, name: str, body: FeedbackRequest) -> dict[str, Any]:
    """The answer to `feedback`."""
    model = service.models.get(name) or await service.model(name)
    outcome = await service.feedback(model, body.decision_id, body.right, body.person)
    return {"decision_id": body.decision_id, "status": outcome.status, "right": outcome.event.right}
