"""Azure Personalizer's offline evaluations and feature importances, and the policy that is applied from them."""

from __future__ import annotations

import asyncio
import json
import time
from datetime import datetime
from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from noisewise.serve.api.export import off_policy_report
from noisewise.serve.api.models import service_of
from noisewise.serve.api.personalizer_settings import moment, personalizer_model
from noisewise.serve.models import lifecycle
from noisewise.serve.models.changes import SpecChange
from noisewise.serve.models.offer_model import OfferModel
from noisewise.serve.models.offer_report import importances
from noisewise.serve.models.service import Conflict, NotFound, Service
from noisewise.serve.models.spec import Identifier

router = APIRouter(tags=["personalizer"])
EVALUATION = "personalizer evaluation "  # and an id
IMPORTANCE = "personalizer feature importance "  # and an id
SOURCES = {"greedy": "Custom", "online": "Online", "uniform": "Random"}  # of Personalizer's policies, by ours
APPLIED: dict[str, dict[str, Any]] = {  # changes that make a model decide as a policy of an evaluation
    "online": {"mode": "online"},
    "greedy": {"mode": "online", "policy": "greedy", "exploration": 0.0},
    "uniform": {"mode": "online", "exploration": 1.0},
    "baseline": {"mode": "apprentice"},
}


class EvaluationRequest(BaseModel):
    """An offline evaluation of the newest rounds, or feature importances of the model as it is; whatever the times."""

    model_config = ConfigDict(extra="ignore")

    name: str = Field(max_length=256)
    startTime: datetime
    endTime: datetime


class PolicyReference(BaseModel):
    """A policy of an evaluation."""

    evaluationId: Identifier
    policyName: str


@router.post("/configurations/applyFromEvaluation", status_code=204, response_class=Response)
async def apply_from_evaluation(body: PolicyReference, request: Request) -> Response:
    """Decide as one of the policies of an evaluation from now on."""
    service = service_of(request)
    model, found = personalizer_model(service), await _note(service, EVALUATION, body.evaluationId)
    names = [one["name"] for one in found["content"]["value"]]
    if body.policyName not in names or not isinstance(model, OfferModel):
        raise Conflict(f"{body.policyName!r} can't be applied; the evaluation has {', '.join(names)}")
    await lifecycle.update(service, model, SpecChange.model_validate(APPLIED[body.policyName]))
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
    model = personalizer_model(service)
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
    model = personalizer_model(service)
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
        "creationTime": moment(time.time()),
        "status": "Succeeded",
    }


def _evaluated(one: dict[str, Any]) -> dict[str, Any]:
    summary = {"expectedReward": one["value"], "confidenceInterval": [one["low"], one["high"]]}
    return {"name": one["policy"], "policySource": SOURCES.get(one["policy"], "Baseline"), "summary": summary}
