"""Azure Personalizer's calls, so that its clients go on working: rank, reward and activate, for one or several slots.

The older client calls them under /personalizer/v1.0, the newer one under /personalizer with an api-version.
"""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from noisewise.serve.api.decisions import deciding_service
from noisewise.serve.api.personalizer_settings import NO_RANK, stored_settings
from noisewise.serve.log.events import Event, new_id
from noisewise.serve.models.model import ServedModel
from noisewise.serve.models.ranking import propensities
from noisewise.serve.models.service import NotFound, Service
from noisewise.serve.models.spec import MAX_ACTIONS, ActionName, DecideRequest, Identifier, ModelSpec

router = APIRouter(tags=["personalizer"])
PREFIXES = ("/personalizer/v1.0", "/personalizer")
EventName = Annotated[str, Path(pattern=r"^[^\x00-\x1f\x7f]{1,256}$")]
HASHED = 64  # columns of a model that is created by its first call
MAX_SLOTS = 50


class Lenient(BaseModel):
    """Unknown fields are ignored, as Personalizer did."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)


class RankableAction(Lenient):
    """An action that may be chosen. Its own features are not used: each action has weights of its own."""

    id: ActionName
    features: list[dict[str, JsonValue]] = []


class RankRequest(Lenient):
    """A context and the actions to choose from."""

    contextFeatures: list[dict[str, JsonValue]] | None = Field(default=None, max_length=1000)
    actions: list[RankableAction] = Field(min_length=1, max_length=MAX_ACTIONS)
    excludedActions: list[ActionName] | None = Field(default=None, max_length=MAX_ACTIONS)
    eventId: Identifier | None = None
    deferActivation: bool | None = False


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
    """Reward of the chosen action: 1 is right, 0 is wrong; what lies outside counts as the nearer one."""

    value: float


class Slot(Lenient):
    """A place on the page that one of the actions is to be chosen for."""

    id: ActionName
    baselineAction: ActionName | None = None
    excludedActions: list[ActionName] | None = None
    features: list[dict[str, JsonValue]] | None = None


class SlotsRankRequest(RankRequest):
    """A context, actions, and the slots they are chosen for; an action is chosen for one slot at most."""

    slots: list[Slot] = Field(min_length=1, max_length=MAX_SLOTS)


class SlotResponse(BaseModel):
    """The action of a slot."""

    id: str
    rewardActionId: str


class SlotsRankResponse(BaseModel):
    """The action of each slot."""

    slots: list[SlotResponse]
    eventId: str


class SlotReward(RewardRequest):
    """Reward of the action of a slot."""

    slotId: ActionName


class SlotsRewardRequest(Lenient):
    """Rewards of some slots."""

    reward: list[SlotReward] = Field(max_length=MAX_SLOTS)


@router.post("/rank", response_model=RankResponse, status_code=201)
async def rank_actions(body: RankRequest, request: Request) -> Any:
    """Choose one of the actions."""
    service = deciding_service(request)
    ids, excluded = _ids(body), body.excludedActions or []
    model = await personalizer_model(service, ids)
    made = await _decide(service, model, body, {"context": body.contextFeatures or []}, ids, excluded, body.eventId)
    actions, chosen = model.spec.actions, str(model.spec.actions[made.code or 0])
    known = {str(actions[code]): value for code, value in propensities(made, len(actions)).items()}
    order = [chosen, *(name for name in ids if name not in (chosen, *excluded))]
    for place, name in enumerate(ids):  # excluded ones stay where they were
        if name in excluded:
            order.insert(place, name)
    ranking = [{"id": name, "probability": known.get(name, 0.0)} for name in order]
    return {"ranking": ranking, "eventId": made.decision_id, "rewardActionId": chosen}


@router.post("/events/{eventId:path}/reward", status_code=204, response_class=Response)
async def reward_event(eventId: EventName, body: RewardRequest, request: Request) -> Response:
    """Reward the chosen action; a reward between 0 and 1 is "right" with that probability. It may precede the rank."""
    service = deciding_service(request)
    await service.reward(await personalizer_model(service), eventId, body.value)
    return Response(status_code=204)


@router.post("/events/{eventId:path}/activate", status_code=204, response_class=Response)
async def activate_event(eventId: EventName, request: Request) -> Response:
    """Activate a decision with deferred activation; it is learnt from once it has feedback."""
    service = deciding_service(request)
    await service.activate(await personalizer_model(service), eventId)
    return Response(status_code=204)


@router.post("/multislot/rank", response_model=SlotsRankResponse, status_code=201)
async def rank_slots(body: SlotsRankRequest, request: Request) -> Any:
    """Choose an action for each slot, from the first to the last, each from those that are left."""
    service = deciding_service(request)
    ids, event = _ids(body), body.eventId or new_id()
    if len({slot.id for slot in body.slots}) != len(body.slots):
        raise ValueError("two slots have the same id")
    if len(body.slots) > len(ids):
        raise ValueError(f"there are {len(body.slots)} slots for {len(ids)} actions; one action for each is needed")
    model = await personalizer_model(service, ids)
    slots: list[dict[str, str]] = []
    for slot in body.slots:
        taken = [one["rewardActionId"] for one in slots]
        features = {"context": body.contextFeatures or [], "slot": slot.features or [], "slot id": slot.id}
        excluded = [*taken, *(name for name in slot.excludedActions or [] if name not in taken)]
        made = await _decide(service, model, body, features, ids, excluded, _slot_event(event, slot.id))
        slots.append({"id": slot.id, "rewardActionId": str(model.spec.actions[made.code or 0])})
    return {"slots": slots, "eventId": event}


@router.post("/multislot/events/{eventId:path}/reward", status_code=204, response_class=Response)
async def reward_slots(eventId: EventName, body: SlotsRewardRequest, request: Request) -> Response:
    """Reward the actions of some slots."""
    service = deciding_service(request)
    model = await personalizer_model(service)
    for one in body.reward:
        await service.reward(model, _slot_event(eventId, one.slotId), one.value)
    return Response(status_code=204)


@router.post("/multislot/events/{eventId:path}/activate", status_code=204, response_class=Response)
async def activate_slots(eventId: EventName, request: Request) -> Response:
    """Activate the decisions of all slots."""
    service = deciding_service(request)
    model = await personalizer_model(service)
    ids = await asyncio.to_thread(service.store.decisions_beginning, model.id, _slot_event(eventId, ""))
    if not ids:
        raise NotFound(f"there was no rank for the slots of event {eventId!r}")
    for decision_id in ids:
        await service.activate(model, decision_id)
    return Response(status_code=204)


async def personalizer_model(service: Service, ids: list[str] | None = None) -> ServedModel:
    """The model behind these calls; created from the actions of the first rank unless it exists."""
    name = service.settings.personalizer
    try:
        model = await service.model(name)
    except NotFound:
        if ids is None or len(ids) < 2:
            raise NotFound(NO_RANK) from None
        features = {"hashed": HASHED, "unit_norm": True, "constant": 1.0}
        settings = await asyncio.to_thread(stored_settings, service.store)
        spec = ModelSpec.model_validate({"actions": ids, "features": features, **settings.as_spec()})
        model, _ = await service.create(name, spec)
    if model.spec.features.hashed is None or not isinstance(model.spec.actions[0], str):
        raise ValueError(f"model {name!r} must have features hashed and actions named by text for these calls")
    return model


async def _decide(
    service: Service,
    model: ServedModel,
    body: RankRequest,
    features: dict[str, Any],
    ids: list[str],
    excluded: list[str],
    event: str | None,
) -> Event:
    request = DecideRequest(features=features, actions=ids, excluded=excluded or None, decision_id=event)
    return await service.decide(model, request, active=not body.deferActivation)


def _ids(body: RankRequest) -> list[str]:
    ids = [action.id for action in body.actions]
    if len(set(ids)) != len(ids):
        raise ValueError("two actions have the same id")
    return ids


def _slot_event(event: str, slot: str) -> str:
    """The decision id of a slot of an event."""
    return f"{event}/slot/{slot}"
