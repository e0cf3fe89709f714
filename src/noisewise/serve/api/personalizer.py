"""Azure Personalizer's calls (v1.0), so that its clients go on working: rank, reward, activate."""

from __future__ import annotations

import random
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from noisewise._loops.state import EXPLORATION
from noisewise.serve.api.decisions import deciding_service
from noisewise.serve.models.model import ServedModel
from noisewise.serve.models.service import NotFound, Service
from noisewise.serve.models.spec import MAX_ACTIONS, ActionName, DecideRequest, Identifier, ModelSpec

router = APIRouter(prefix="/personalizer/v1.0", tags=["personalizer"])
EventName = Annotated[str, Path(pattern=r"^[!-~]{1,64}$")]
HASHED = 64  # columns of a model that is created by its first call


class Lenient(BaseModel):
    """Unknown fields are ignored, as Personalizer did."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)


class RankableAction(Lenient):
    """An action that may be chosen. Its own features are not used: each action has weights of its own."""

    id: ActionName
    features: list[dict[str, JsonValue]] = []


class RankRequest(Lenient):
    """A context and the actions to choose from."""

    contextFeatures: list[dict[str, JsonValue]] = Field(default=[], max_length=1000)
    actions: list[RankableAction] = Field(min_length=1, max_length=MAX_ACTIONS)
    excludedActions: list[ActionName] = Field(default=[], max_length=MAX_ACTIONS)
    eventId: Identifier | None = None
    deferActivation: bool = False


class RankedAction(BaseModel):
    """An action and the probability with which it is ranked first."""

    id: str
    probability: float


class RankResponse(BaseModel):
    """The actions, the chosen one first."""

    ranking: list[RankedAction]
    eventId: str
    rewardActionId: str


class RewardRequest(Lenient):
    """Reward of the chosen action: 1 is right, 0 is wrong."""

    value: Annotated[float, Field(ge=0, le=1)]


@router.post("/rank", response_model=RankResponse, status_code=201)
async def rank_actions(body: RankRequest, request: Request) -> Any:
    """Choose one of the actions."""
    service = deciding_service(request)
    ids = [action.id for action in body.actions]
    if len(set(ids)) != len(ids):
        raise ValueError("two actions have the same id")
    model = await _model(service, ids)
    decide_request = DecideRequest(
        features={"context": list(body.contextFeatures)},
        actions=ids,
        excluded=body.excludedActions or None,
        decision_id=body.eventId,
    )
    made = await service.decide(model, decide_request, active=not body.deferActivation)
    chosen = str(model.spec.actions[made.code or 0])
    allowed = [name for name in ids if name not in body.excludedActions]
    each = float(model.learner.parameters_[EXPLORATION]) / max(len(allowed), 1)  # exploration probability of one action
    best = str(model.spec.actions[made.best or 0])
    propensities = {name: each + (1 - each * len(allowed)) * (name == best) for name in allowed}
    propensities[chosen] = made.probability or 1.0
    order = [chosen, *(name for name in ids if name != chosen)]
    ranking = [{"id": name, "probability": propensities.get(name, 0.0)} for name in order]
    return {"ranking": ranking, "eventId": made.decision_id, "rewardActionId": chosen}


@router.post("/events/{eventId}/reward", status_code=204, response_class=Response)
async def reward_event(eventId: EventName, body: RewardRequest, request: Request) -> Response:
    """Reward the chosen action; a reward between 0 and 1 is "right" with that probability."""
    service = deciding_service(request)
    model = await _model(service, None)
    right = random.random() < body.value  # unbiased: the same mean; the draw is in the log
    await service.feedback(model, eventId, right)
    return Response(status_code=204)


@router.post("/events/{eventId}/activate", status_code=204, response_class=Response)
async def activate_event(eventId: EventName, request: Request) -> Response:
    """Activate a decision with deferred activation; it is learnt from once it has feedback."""
    service = deciding_service(request)
    await service.activate(await _model(service, None), eventId)
    return Response(status_code=204)


async def _model(service: Service, ids: list[str] | None) -> ServedModel:
    """The model behind these calls; created from the actions of the first one unless it exists."""
    name = service.settings.personalizer
    try:
        model = await service.model(name)
    except NotFound:
        if ids is None or len(ids) < 2:
            raise
        spec = ModelSpec.model_validate(
            {"actions": ids, "features": {"hashed": HASHED, "unit_norm": True, "constant": 1.0}, "exploration": 0.1}
        )
        model, _ = await service.create(name, spec)
    if model.spec.features.hashed is None or not isinstance(model.spec.actions[0], str):
        raise ValueError(f"model {name!r} must have features hashed and actions named by text for these calls")
    return model
