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
from noisewise.serve.models.offer_model import OfferModel
from noisewise.serve.models.offer_spec import OfferRequest, OfferSpec
from noisewise.serve.models.offers import logged_offer, logged_scores
from noisewise.serve.models.ranking import propensities
from noisewise.serve.models.row_model import RowModel
from noisewise.serve.models.service import NotFound, Service
from noisewise.serve.models.spec import MAX_ACTIONS, ActionName, DecideRequest, Identifier

router = APIRouter(tags=["personalizer"])
PREFIXES = ("/personalizer/v1.0", "/personalizer")
EventName = Annotated[str, Path(pattern=r"^[^\x00-\x1f\x7f]{1,256}$")]
SPEC = {"actions": "features", "reward_range": [-1.0, 1.0]}  # of a model that is created by its first call
MAX_SLOTS = 50


class Lenient(BaseModel):
    """Unknown fields are ignored, as Personalizer did."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)


class RankableAction(Lenient):
    """An action that may be chosen, with its features; one without any is known by its id."""

    id: ActionName
    features: list[dict[str, JsonValue]] | None = None


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
    """Reward of the chosen action, from -1 to 1; what lies outside counts as the nearer one."""

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
    model = await personalizer_model(service, body)
    made = await _decide(service, model, body, None, excluded, body.eventId)
    chosen, known = str(model.action_of(made)), _propensities(model, made)
    order = [chosen, *(name for name in ids if name not in (chosen, *excluded))]
    for place, name in enumerate(ids):  # excluded ones stay where they were
        if name in excluded:
            order.insert(place, name)
    ranking = [{"id": name, "probability": known.get(name, 0.0)} for name in order]
    return {"ranking": ranking, "eventId": made.decision_id, "rewardActionId": chosen}


@router.post("/events/{eventId:path}/reward", status_code=204, response_class=Response)
async def reward_event(eventId: EventName, body: RewardRequest, request: Request) -> Response:
    """Reward the chosen action; the reward may precede the rank."""
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
    model = await personalizer_model(service, body)
    slots: list[dict[str, str]] = []
    for slot in body.slots:
        taken = [one["rewardActionId"] for one in slots]
        excluded = [*taken, *(name for name in slot.excludedActions or [] if name not in taken)]
        made = await _decide(service, model, body, slot, excluded, _slot_event(event, slot.id))
        slots.append({"id": slot.id, "rewardActionId": str(model.action_of(made))})
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


async def personalizer_model(service: Service, body: RankRequest | None = None) -> ServedModel:
    """The model behind these calls; the first rank creates it, with action features, unless it exists."""
    name = service.settings.personalizer
    try:
        model = await service.model(name)
    except NotFound:
        if body is None:
            raise NotFound(NO_RANK) from None
        settings = await asyncio.to_thread(stored_settings, service.store)
        model, _ = await service.create(name, OfferSpec.model_validate(SPEC | settings.as_spec("features")))
    if isinstance(model, RowModel) and (
        model.spec.features.hashed is None or not isinstance(model.spec.actions[0], str)
    ):
        raise ValueError(f"model {name!r} must have action features, or features hashed and actions named by text")
    return model


async def _decide(
    service: Service, model: ServedModel, body: RankRequest, slot: Slot | None, excluded: list[str], event: str | None
) -> Event:
    """A decision of a rank, or of one of its slots."""
    request: Any
    if isinstance(model, RowModel):
        features: dict[str, Any] = {"context": body.contextFeatures or []}
        if slot is not None:
            features |= {"slot": slot.features or [], "slot id": slot.id}
        ids = _ids(body)
        request = DecideRequest(features=features, actions=ids, excluded=excluded or None, decision_id=event)
    else:
        context = merged(body.contextFeatures)
        if slot is not None:
            context |= {"slot": {**merged(slot.features), "slot id": slot.id}}
        actions = [_offered(action) for action in body.actions]
        left_out = [name for name in _ids(body) if name in excluded]
        baseline = None if slot is None or slot.baselineAction in excluded else slot.baselineAction
        request = OfferRequest(
            context=context, actions=actions, excluded=left_out or None, baseline=baseline, decision_id=event
        )
    return await service.decide(model, request, active=not body.deferActivation)


def merged(features: list[dict[str, JsonValue]] | None) -> dict[str, JsonValue]:
    """Personalizer's list of objects as one; of two with the same name the later one stays, objects are joined.

    >>> merged([{"user": {"age": 30}}, {"user": {"city": "Rome"}, "day": "Monday"}])
    {'user': {'age': 30, 'city': 'Rome'}, 'day': 'Monday'}
    """
    made: dict[str, Any] = {}
    for part in features or []:
        for name, value in part.items():
            earlier = made.get(name)
            made[name] = earlier | value if isinstance(earlier, dict) and isinstance(value, dict) else value
    return made


def _offered(action: RankableAction) -> dict[str, JsonValue]:
    """An action with its features; a feature that is called id, as the name of the action is, gets another name."""
    features = merged(action.features) or {"action": action.id}
    if "id" in features:
        features["features"] = {"id": features["id"]}
    return features | {"id": action.id}


def _propensities(model: ServedModel, made: Event) -> dict[str, float]:
    """The probability of each action by its id."""
    if isinstance(model, OfferModel):
        names = logged_offer(made)[1].names
        known = dict(zip(map(str, names), logged_scores(made)[2].tolist()))
        return known | {str(model.action_of(made)): made.probability or 0.0}  # to the last bit
    actions = model.spec.actions
    return {str(actions[code]): value for code, value in propensities(made, len(actions)).items()}


def _ids(body: RankRequest) -> list[str]:
    ids = [action.id for action in body.actions]
    if len(set(ids)) != len(ids):
        raise ValueError("two actions have the same id")
    return ids


def _slot_event(event: str, slot: str) -> str:
    """The decision id of a slot of an event."""
    return f"{event}/slot/{slot}"
