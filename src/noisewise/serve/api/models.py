"""Routes that create models and report on them."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response

from noisewise.serve.api.schemas import ModelList, ModelReport, ModelSummary, PeopleReport, PointList
from noisewise.serve.models.offer_spec import AnySpec
from noisewise.serve.models.report import annotator_rates, report, summary
from noisewise.serve.models.service import Service
from noisewise.serve.models.spec import NAME

router = APIRouter(tags=["models"])
KEY = "noisewise key"  # of a request's scope: the name of its API key, if it has one
ModelName = Annotated[str, Path(pattern=NAME, description="Letters, digits, and _ . - after the first.")]


def service_of(request: Request) -> Service:
    """The service behind a request."""
    found: Service = request.app.state.service
    return found


@router.put("/models/{name}", response_model=ModelSummary, responses={201: {"model": ModelSummary}})
async def make_model(name: ModelName, spec: AnySpec, request: Request, response: Response) -> Any:
    """Create a model; the same again changes nothing, another specification under the same name is refused."""
    service = service_of(request)
    model, new = await service.create(name, spec, request.scope.get(KEY))
    response.status_code = 201 if new else 200
    return summary(model, service.counts)


@router.get("/models", response_model=ModelList)
async def list_models(request: Request) -> Any:
    """Summaries of all models."""
    service = service_of(request)
    return {"models": [summary(model, service.counts) for model in await service.all_models()]}


@router.get("/models/{name}", response_model=ModelReport, response_model_exclude_unset=True)
async def show_model(name: ModelName, request: Request) -> Any:
    """Report of a model: accuracy, noise, weights by feature, exploration, annotators, counters."""
    service = service_of(request)
    model = await service.model(name)
    return await asyncio.to_thread(report, model, service.counts)


@router.get("/models/{name}/history", response_model=PointList, response_model_exclude_unset=True)
async def show_history(name: ModelName, request: Request) -> Any:
    """The learning curve: fraction of right decisions along the log, as observed and corrected for noise."""
    model = await service_of(request).model(name)
    unknown = {} if model.progress.one_kind() is None else {"accuracy": None}  # nobody can tell
    return {"points": [one | unknown for one in model.progress.history()]}


@router.get("/models/{name}/people", response_model=PeopleReport)
async def show_people(name: ModelName, request: Request) -> Any:
    """Estimated flip rates of each annotator with intervals, those with most feedback first."""
    model = await service_of(request).model(name)
    return {"people": annotator_rates(model)}


@router.get(
    "/models/{name}/file",
    response_class=Response,
    responses={200: {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}},
)
async def download_model(name: ModelName, request: Request) -> Response:
    """The model as a data-only file, which `noisewise.load` reads."""
    model = await service_of(request).model(name)
    data = await asyncio.to_thread(model.model_file)
    return Response(
        data,
        media_type="application/octet-stream",
        headers={"Content-Disposition": f'attachment; filename="{name}.nw"', "Noisewise-Position": str(model.position)},
    )
