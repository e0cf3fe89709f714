"""Azure Personalizer's management calls: configuration, learning settings, model and logs."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal, get_args

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from noisewise.serve.api.models import service_of
from noisewise.serve.log.store import Store
from noisewise.serve.models import lifecycle
from noisewise.serve.models.changes import SpecChange
from noisewise.serve.models.model import ServedModel
from noisewise.serve.models.offer_model import OfferModel
from noisewise.serve.models.offer_spec import OfferSpec, PolicyName
from noisewise.serve.models.service import Conflict, NotFound, Service

router = APIRouter(tags=["personalizer"])
NO_RANK = "there has been no rank yet; the first one makes a model"
NOTE = "personalizer configuration"  # before there is a model that has it
FIRST_POLICY = OfferSpec(actions="features").policy  # of a model that the first rank makes
MODES = {"Online": "online", "Apprentice": "apprentice", "LoggingOnly": "logging"}
LARGEST_EXPLORATION = 1.0
Wait = Annotated[timedelta, Field(ge=timedelta(seconds=5), le=timedelta(days=2))]


class ServiceConfiguration(BaseModel):
    """Personalizer's configuration with its defaults; fields without a meaning here are accepted, and ignored."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)

    rewardWaitTime: Wait = timedelta(minutes=10)
    defaultReward: Annotated[float, Field(ge=-1, le=1)] = 0.0
    rewardAggregation: Literal["earliest", "sum"] = "earliest"
    explorationPercentage: Annotated[float, Field(ge=0, le=LARGEST_EXPLORATION)] = 0.2
    logRetentionDays: Annotated[int, Field(ge=-1, le=36_500)] = 90
    modelExportFrequency: timedelta = timedelta(seconds=1)
    modelRetrainDays: int = 0
    latestApprenticeModeMetrics: dict[str, Any] | None = None
    learningMode: Literal["Online", "Apprentice", "LoggingOnly"] = "Online"

    def as_spec(self, kind: str) -> dict[str, Any]:
        """The same as fields of a specification of a kind of model."""
        if kind == "features":
            own: dict[str, Any] = {"default_reward": self.defaultReward, "mode": MODES[self.learningMode]}
        elif self.learningMode == "Online":
            own = {"default_right": max(self.defaultReward, 0.0)}
        else:
            raise Conflict(
                f"a model with a fixed set of actions is no {self.learningMode}; one that a rank makes can be"
            )
        return own | {
            "wait_seconds": self.rewardWaitTime.total_seconds(),
            "rewards": self.rewardAggregation,
            "exploration": self.explorationPercentage,
            "keep_days": float(self.logRetentionDays) if self.logRetentionDays > 0 else None,
        }


class LearningSettings(BaseModel):
    """Personalizer's learning settings: the recipe of the model."""

    name: str
    arguments: str


def stored_settings(store: Store) -> ServiceConfiguration:
    """The configuration for a model that does not exist yet."""
    return ServiceConfiguration.model_validate_json(store.note(NOTE) or "{}")


@router.get("/configurations/service", response_model=ServiceConfiguration, response_model_exclude_none=True)
async def show_configuration(request: Request) -> Any:
    """Wait, default and aggregation of rewards, exploration and retention."""
    service = service_of(request)
    settings = await asyncio.to_thread(stored_settings, service.store)
    model = _existing(service)
    return settings if model is None else _with_spec(settings, model)


@router.put("/configurations/service", response_model=ServiceConfiguration, response_model_exclude_none=True)
async def change_configuration(body: ServiceConfiguration, request: Request) -> Any:
    """Change the configuration, of the model or of the one that the first rank will make."""
    service = service_of(request)
    model = _existing(service)
    if model is not None:
        await lifecycle.update(service, model, SpecChange.model_validate(body.as_spec(_kind(model))))
    await asyncio.to_thread(service.store.keep_note, NOTE, body.model_dump_json())
    return body


@router.get("/configurations/policy", response_model=LearningSettings)
async def show_policy(request: Request) -> Any:
    """The learning settings, which are those of the model."""
    return _learning_settings(service_of(request))


@router.put("/configurations/policy", response_model=LearningSettings)
async def change_policy(body: LearningSettings, request: Request) -> Any:
    """Change the policy of a model with action features; arguments of Vowpal Wabbit have no meaning here."""
    service = service_of(request)
    present, model = _learning_settings(service), _existing(service)
    if body.arguments == present.arguments:
        return present
    if model is None or _kind(model) != "features" or body.arguments not in get_args(PolicyName):
        known = ", ".join(get_args(PolicyName))
        raise Conflict(f"the learning settings are {present.arguments!r}; after a rank they can be {known}")
    await lifecycle.update(service, model, SpecChange.model_validate({"policy": body.arguments}))
    return _learning_settings(service)


@router.delete("/configurations/policy", response_model=LearningSettings)
async def reset_policy(request: Request) -> Any:
    """Go back to the policy that a model begins with."""
    service = service_of(request)
    model = _existing(service)
    if isinstance(model, OfferModel):
        await lifecycle.update(service, model, SpecChange.model_validate({"policy": FIRST_POLICY}))
    return _learning_settings(service)


@router.get("/model", response_class=Response)
async def export_model(request: Request) -> Response:
    """The state of the model, for an import."""
    data, _ = await asyncio.to_thread(personalizer_model(service_of(request)).to_bytes)
    return Response(data, media_type="application/octet-stream")


@router.put("/model", status_code=204, response_class=Response)
async def import_model(request: Request) -> Response:
    """Go on from an exported state."""
    service = service_of(request)
    await lifecycle.import_model(service, service.settings.personalizer, await request.body())
    return Response(status_code=204)


@router.delete("/model", status_code=204, response_class=Response)
async def reset_model(request: Request) -> Response:
    """Forget all that has been learnt."""
    service = service_of(request)
    await lifecycle.reset(service, personalizer_model(service))
    return Response(status_code=204)


@router.get("/model/properties")
async def show_model(request: Request) -> dict[str, Any]:
    """When the model was made, and when it last learnt."""
    service = service_of(request)
    model = personalizer_model(service)
    created = await asyncio.to_thread(service.store.created, model.id)
    known = await asyncio.to_thread(service.store.time_range, model.id)
    return {"creationTime": moment(created), "lastModifiedTime": moment(known[1] if known else created)}


@router.get("/logs/properties")
async def show_log(request: Request) -> dict[str, Any]:
    """From when to when the log reaches."""
    service = service_of(request)
    known = await asyncio.to_thread(service.store.time_range, personalizer_model(service).id)
    return {"dateRange": {"from": moment(known[0]), "to": moment(known[1])} if known else {}}


@router.delete("/logs", status_code=204, response_class=Response)
async def delete_log(request: Request) -> Response:
    """Remove the log; the model goes on from its present state."""
    service = service_of(request)
    await lifecycle.remove_log(service, personalizer_model(service))
    return Response(status_code=204)


def _existing(service: Service) -> ServedModel | None:
    return service.models.get(service.settings.personalizer)


def personalizer_model(service: Service) -> ServedModel:
    """The model that Personalizer's calls are about; refused before the first rank."""
    found = _existing(service)
    if found is None:
        raise NotFound(NO_RANK)
    return found


def _kind(model: ServedModel) -> str:
    return "features" if isinstance(model, OfferModel) else "rows"


def _with_spec(settings: ServiceConfiguration, model: ServedModel) -> ServiceConfiguration:
    """The configuration as the model has it."""
    spec = model.spec
    known = {
        "rewardWaitTime": timedelta(seconds=spec.wait_seconds or 0.0),
        "rewardAggregation": spec.rewards,
        "explorationPercentage": spec.exploration or 0.0,
        "logRetentionDays": -1 if spec.keep_days is None else int(spec.keep_days),
    }
    if isinstance(model, OfferModel):
        known |= {"defaultReward": float(spec.default_reward or 0.0)}
        known |= {"learningMode": next(name for name, mode in MODES.items() if mode == spec.mode)}
        known |= {"latestApprenticeModeMetrics": _imitation(model)} if model.progress.n_compared else {}
    else:
        known |= {"defaultReward": float(spec.default_right or 0.0)}
    return settings.model_copy(update=known)


def _imitation(model: OfferModel) -> dict[str, Any]:
    """How often a model would have played what the baseline did, and what that earned."""
    progress, (rewards, imitated) = model.progress, model.progress.baseline_rewards.tolist()
    sums = {"sumOfRewards": rewards, "sumOfImitatedRewards": imitated}
    return {"numberOfEvents": progress.n_compared, "numberOfImitatedEvents": progress.n_agreed, **sums}


def _learning_settings(service: Service) -> LearningSettings:
    model = _existing(service)
    if model is None or isinstance(model, OfferModel):
        return LearningSettings(name="noisewise", arguments=FIRST_POLICY if model is None else model.spec.policy)
    return LearningSettings(name="noisewise", arguments=model.spec.recipe)


def moment(seconds: float) -> str:
    """A time as Personalizer writes it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat()
