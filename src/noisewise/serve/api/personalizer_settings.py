"""Azure Personalizer's management calls: configuration, model, logs, learning settings and offline evaluations."""

from __future__ import annotations

import asyncio
import json
import time
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal, get_args

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from noisewise.serve.api.export import off_policy_report
from noisewise.serve.api.models import service_of
from noisewise.serve.log.store import Store
from noisewise.serve.models import lifecycle
from noisewise.serve.models.changes import SpecChange
from noisewise.serve.models.model import ServedModel
from noisewise.serve.models.offer_model import OfferModel
from noisewise.serve.models.offer_report import importances
from noisewise.serve.models.offer_spec import OfferSpec, PolicyName
from noisewise.serve.models.service import Conflict, NotFound, Service
from noisewise.serve.models.spec import Identifier

router = APIRouter(tags=["personalizer"])
NO_RANK = "there has been no rank yet; the first one makes a model"
NOTE = "personalizer configuration"  # before there is a model that has it
EVALUATION = "personalizer evaluation "  # and an id
IMPORTANCE = "personalizer feature importance "  # and an id
SOURCES = {"greedy": "Custom", "online": "Online", "uniform": "Random"}  # of Personalizer's policies, by ours
FIRST_POLICY = OfferSpec(actions="features").policy  # of a model that the first rank makes
MODES = {"Online": "online", "Apprentice": "apprentice", "LoggingOnly": "logging"}
APPLIED: dict[str, dict[str, Any]] = {  # changes that make a model decide as a policy of an evaluation
    "online": {"mode": "online"},
    "greedy": {"mode": "online", "policy": "greedy", "exploration": 0.0},
    "uniform": {"mode": "online", "exploration": 1.0},
    "baseline": {"mode": "apprentice"},
}
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


class EvaluationRequest(BaseModel):
    """An offline evaluation, or feature importances; of the whole log."""

    model_config = ConfigDict(extra="ignore")

    name: str = Field(max_length=256)
    startTime: datetime
    endTime: datetime


class PolicyReference(BaseModel):
    """A policy of an evaluation."""

    evaluationId: Identifier
    policyName: str


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


@router.post("/configurations/applyFromEvaluation", status_code=204, response_class=Response)
async def apply_from_evaluation(body: PolicyReference, request: Request) -> Response:
    """Decide as one of the policies of an evaluation from now on."""
    service = service_of(request)
    model, found = _model(service), await _note(service, EVALUATION, body.evaluationId)
    names = [one["name"] for one in found["content"]["value"]]
    if body.policyName not in names or _kind(model) != "features":
        raise Conflict(f"{body.policyName!r} can't be applied; the evaluation has {', '.join(names)}")
    await lifecycle.update(service, model, SpecChange.model_validate(APPLIED[body.policyName]))
    return Response(status_code=204)


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
    content = {"value": [_evaluated(one) for one in report["policies"]]}
    made = _job(evaluationId, body) | {"evaluationType": "Manual", "content": content}
    await asyncio.to_thread(service.store.keep_note, EVALUATION + evaluationId, json.dumps(made))
    return made


@router.get("/evaluations/{evaluationId}")
async def show_evaluation(evaluationId: Identifier, request: Request) -> Any:
    """An offline evaluation."""
    return await _note(service_of(request), EVALUATION, evaluationId)


@router.delete("/evaluations/{evaluationId}", status_code=204, response_class=Response)
async def delete_evaluation(evaluationId: Identifier, request: Request) -> Response:
    """Delete an offline evaluation."""
    await asyncio.to_thread(service_of(request).store.keep_note, EVALUATION + evaluationId, None)
    return Response(status_code=204)


@router.get("/featureImportances")
async def list_importances(request: Request) -> dict[str, Any]:
    """All feature importances."""
    found = await asyncio.to_thread(service_of(request).store.notes, IMPORTANCE)
    return {"value": [json.loads(text) for text in found.values()]}


@router.put("/featureImportances/{featureImportanceId}")
async def make_importance(featureImportanceId: Identifier, body: EvaluationRequest, request: Request) -> dict[str, Any]:
    """How much features of contexts and actions matter to the model as it is now, from 0 to 100."""
    service = service_of(request)
    model = _model(service)
    if not isinstance(model, OfferModel):
        raise Conflict("a model with a fixed set of actions has weights in its report, and no feature importances")
    scores = await asyncio.to_thread(importances, model)
    made = _job(featureImportanceId, body) | {"featureScores": scores}
    await asyncio.to_thread(service.store.keep_note, IMPORTANCE + featureImportanceId, json.dumps(made))
    return made


@router.get("/featureImportances/{featureImportanceId}")
async def show_importance(featureImportanceId: Identifier, request: Request) -> Any:
    """Feature importances that were computed before."""
    return await _note(service_of(request), IMPORTANCE, featureImportanceId)


@router.delete("/featureImportances/{featureImportanceId}", status_code=204, response_class=Response)
async def delete_importance(featureImportanceId: Identifier, request: Request) -> Response:
    """Delete feature importances."""
    await asyncio.to_thread(service_of(request).store.keep_note, IMPORTANCE + featureImportanceId, None)
    return Response(status_code=204)


async def _note(service: Service, what: str, name: str) -> Any:
    found = await asyncio.to_thread(service.store.note, what + name)
    if found is None:
        raise NotFound(f"there is no {what.removeprefix('personalizer ').strip()} {name!r}; PUT makes one")
    return json.loads(found)


def _job(name: str, body: EvaluationRequest) -> dict[str, Any]:
    """What an evaluation and feature importances have in common."""
    return {
        "id": name,
        "name": body.name,
        "startTime": body.startTime.isoformat(),
        "endTime": body.endTime.isoformat(),
        "creationTime": _moment(time.time()),
        "status": "Succeeded",
    }


def _existing(service: Service) -> ServedModel | None:
    return service.models.get(service.settings.personalizer)


def _model(service: Service) -> ServedModel:
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
        return LearningSettings(
            name="noisewise", arguments=OfferSpec(actions="features").policy if model is None else model.spec.policy
        )
    return LearningSettings(name="noisewise", arguments=model.spec.recipe)


def _evaluated(one: dict[str, Any]) -> dict[str, Any]:
    summary = {"expectedReward": one["value"], "confidenceInterval": [one["low"], one["high"]]}
    return {"name": one["policy"], "policySource": SOURCES.get(one["policy"], "Baseline"), "summary": summary}


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()
