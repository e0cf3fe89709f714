"""Azure Personalizer's management calls: configuration, model, logs, learning settings and offline evaluations."""

from __future__ import annotations

import asyncio
import json
import time
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from noisewise.serve.api.export import off_policy_report
from noisewise.serve.api.models import service_of
from noisewise.serve.log.store import Store
from noisewise.serve.models import lifecycle
from noisewise.serve.models.changes import SpecChange
from noisewise.serve.models.model import ServedModel
from noisewise.serve.models.service import Conflict, NotFound, Service
from noisewise.serve.models.spec import Identifier

router = APIRouter(tags=["personalizer"])
NO_RANK = "there has been no rank yet; the first one, with two or more actions, makes a model"
NOTE = "personalizer configuration"  # before there is a model that has it
EVALUATION = "personalizer evaluation "  # and an id
SOURCES = {"greedy": "Online", "uniform": "Random"}  # of Personalizer's policies, by ours
LARGEST_EXPLORATION = 1.0
Wait = Annotated[timedelta, Field(ge=timedelta(seconds=5), le=timedelta(days=2))]


class ServiceConfiguration(BaseModel):
    """Personalizer's configuration with its defaults; fields without a meaning here are accepted, and ignored."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)

    rewardWaitTime: Wait = timedelta(minutes=10)
    defaultReward: Annotated[float, Field(ge=0, le=1)] = 0.0
    rewardAggregation: Literal["earliest", "sum"] = "earliest"
    explorationPercentage: Annotated[float, Field(ge=0, le=LARGEST_EXPLORATION)] = 0.2
    logRetentionDays: Annotated[int, Field(ge=-1, le=36_500)] = 90
    modelExportFrequency: timedelta = timedelta(seconds=1)
    modelRetrainDays: int = 0
    learningMode: Literal["Online"] = "Online"

    def as_spec(self) -> dict[str, Any]:
        """The same as fields of a specification."""
        return {
            "wait_seconds": self.rewardWaitTime.total_seconds(),
            "default_right": self.defaultReward,
            "rewards": self.rewardAggregation,
            "exploration": self.explorationPercentage,
            "keep_days": float(self.logRetentionDays) if self.logRetentionDays > 0 else None,
        }


class LearningSettings(BaseModel):
    """Personalizer's learning settings: the recipe of the model."""

    name: str
    arguments: str


class EvaluationRequest(BaseModel):
    """An offline evaluation; the whole log is evaluated."""

    model_config = ConfigDict(extra="ignore")

    name: str = Field(max_length=256)
    startTime: datetime
    endTime: datetime


def stored_settings(store: Store) -> ServiceConfiguration:
    """The configuration for a model that does not exist yet."""
    return ServiceConfiguration.model_validate_json(store.note(NOTE) or "{}")


@router.get("/configurations/service", response_model=ServiceConfiguration)
async def show_configuration(request: Request) -> Any:
    """Wait, default and aggregation of rewards, exploration and retention."""
    service = service_of(request)
    settings = await asyncio.to_thread(stored_settings, service.store)
    model = _existing(service)
    return settings if model is None else _with_spec(settings, model)


@router.put("/configurations/service", response_model=ServiceConfiguration)
async def change_configuration(body: ServiceConfiguration, request: Request) -> Any:
    """Change the configuration, of the model or of the one that the first rank will make."""
    service = service_of(request)
    model = _existing(service)
    if model is not None:
        await lifecycle.update(service, model, SpecChange.model_validate(body.as_spec()))
    await asyncio.to_thread(service.store.keep_note, NOTE, body.model_dump_json())
    return body


@router.get("/configurations/policy", response_model=LearningSettings)
async def show_policy(request: Request) -> Any:
    """The learning settings, which are those of the model."""
    return _learning_settings(service_of(request))


@router.put("/configurations/policy", response_model=LearningSettings)
async def change_policy(body: LearningSettings, request: Request) -> Any:
    """Accepted if they are those of the model; others have no meaning here."""
    present = _learning_settings(service_of(request))
    if body != present:
        raise Conflict(f"the learning settings are {present.arguments!r}; a model made by PUT /models can have others")
    return present


@router.delete("/configurations/policy", response_model=LearningSettings)
async def reset_policy(request: Request) -> Any:
    """The learning settings, which can't be changed."""
    return _learning_settings(service_of(request))


@router.get("/model", response_class=Response)
async def export_model(request: Request) -> Response:
    """The state of the model, for an import."""
    data, _ = await asyncio.to_thread(_model(service_of(request)).to_bytes)
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
    await lifecycle.reset(service, _model(service))
    return Response(status_code=204)


@router.get("/model/properties")
async def show_model(request: Request) -> dict[str, Any]:
    """When the model was made, and when it last learnt."""
    service = service_of(request)
    model = _model(service)
    created = await asyncio.to_thread(service.store.created, model.id)
    known = await asyncio.to_thread(service.store.time_range, model.id)
    return {"creationTime": _moment(created), "lastModifiedTime": _moment(known[1] if known else created)}


@router.get("/logs/properties")
async def show_log(request: Request) -> dict[str, Any]:
    """From when to when the log reaches."""
    service = service_of(request)
    known = await asyncio.to_thread(service.store.time_range, _model(service).id)
    return {"dateRange": {"from": _moment(known[0]), "to": _moment(known[1])} if known else {}}


@router.delete("/logs", status_code=204, response_class=Response)
async def delete_log(request: Request) -> Response:
    """Remove the log; the model goes on from its present state."""
    service = service_of(request)
    await lifecycle.remove_log(service, _model(service))
    return Response(status_code=204)


@router.get("/evaluations")
async def list_evaluations(request: Request) -> dict[str, Any]:
    """All offline evaluations."""
    found = await asyncio.to_thread(service_of(request).store.notes, EVALUATION)
    return {"value": [json.loads(text) for text in found.values()]}


@router.put("/evaluations/{evaluationId}")
async def make_evaluation(evaluationId: Identifier, body: EvaluationRequest, request: Request) -> dict[str, Any]:
    """Evaluate the policies of the model on its log; the result is there at once."""
    service = service_of(request)
    model = _model(service)
    report = await asyncio.to_thread(off_policy_report, service.store, model, "dr")
    made = {
        "id": evaluationId,
        "name": body.name,
        "startTime": body.startTime.isoformat(),
        "endTime": body.endTime.isoformat(),
        "creationTime": _moment(time.time()),
        "evaluationType": "Manual",
        "status": "Succeeded",
        "content": {"value": [_evaluated(one) for one in report["policies"]]},
    }
    await asyncio.to_thread(service.store.keep_note, EVALUATION + evaluationId, json.dumps(made))
    return made


@router.get("/evaluations/{evaluationId}")
async def show_evaluation(evaluationId: Identifier, request: Request) -> Any:
    """An offline evaluation."""
    found = await asyncio.to_thread(service_of(request).store.note, EVALUATION + evaluationId)
    if found is None:
        raise NotFound(f"there is no evaluation {evaluationId!r}; PUT makes one")
    return json.loads(found)


@router.delete("/evaluations/{evaluationId}", status_code=204, response_class=Response)
async def delete_evaluation(evaluationId: Identifier, request: Request) -> Response:
    """Delete an offline evaluation."""
    await asyncio.to_thread(service_of(request).store.keep_note, EVALUATION + evaluationId, None)
    return Response(status_code=204)


def _existing(service: Service) -> ServedModel | None:
    return service.models.get(service.settings.personalizer)


def _model(service: Service) -> ServedModel:
    found = _existing(service)
    if found is None:
        raise NotFound(NO_RANK)
    return found


def _with_spec(settings: ServiceConfiguration, model: ServedModel) -> ServiceConfiguration:
    """The configuration as the model has it."""
    spec = model.spec
    known = {
        "rewardWaitTime": timedelta(seconds=spec.wait_seconds or 0.0),
        "defaultReward": float(spec.default_right or 0.0),
        "rewardAggregation": spec.rewards,
        "explorationPercentage": spec.exploration or 0.0,
        "logRetentionDays": -1 if spec.keep_days is None else int(spec.keep_days),
    }
    return settings.model_copy(update=known)


def _learning_settings(service: Service) -> LearningSettings:
    model = _existing(service)
    return LearningSettings(name="noisewise", arguments="linucb" if model is None else model.spec.recipe)


def _evaluated(one: dict[str, Any]) -> dict[str, Any]:
    summary = {"expectedReward": one["value"], "confidenceInterval": [one["low"], one["high"]]}
    return {"name": one["policy"], "policySource": SOURCES.get(one["policy"], "Baseline"), "summary": summary}


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()
