"""Routes of a model's lifecycle: change, reset, versions, export and import of its state, erasure, deletion."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from noisewise.serve.api.models import ModelName, service_of
from noisewise.serve.api.schemas import ModelSummary, Removed, RollBackRequest, VersionList
from noisewise.serve.log.lifecycle import list_versions
from noisewise.serve.models import lifecycle
from noisewise.serve.models.changes import SpecChange
from noisewise.serve.models.report import summary
from noisewise.serve.models.service import Service

router = APIRouter(tags=["lifecycle"])
BYTES = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
UPLOAD: Any = {"requestBody": {"required": True, "content": BYTES}}


@router.patch("/models/{name}", response_model=ModelSummary)
async def change_model(name: ModelName, change: SpecChange, request: Request) -> Any:
    """Change exploration, wait and default of feedback, or retention; what has been learnt stays."""
    service = service_of(request)
    model = await service.model(name)
    await lifecycle.update(service, model, change)
    return summary(model, service.counts)


@router.delete("/models/{name}", status_code=204, response_class=Response)
async def delete_model(name: ModelName, request: Request) -> Response:
    """Delete a model with its log. This can't be undone."""
    service = service_of(request)
    await lifecycle.delete(service, await service.model(name))
    return Response(status_code=204)


@router.post("/models/{name}/reset", response_model=ModelSummary)
async def reset_model(name: ModelName, request: Request) -> Any:
    """Forget all that has been learnt; the log stays, and a version is stored first."""
    service = service_of(request)
    model = await service.model(name)
    await lifecycle.reset(service, model)
    return summary(model, service.counts)


@router.get("/models/{name}/versions", response_model=VersionList)
async def show_versions(name: ModelName, request: Request) -> Any:
    """Versions that are stored; a model can go back to them at once, and to any other position by a replay."""
    return await _versions(service_of(request), name)


@router.post("/models/{name}/versions", response_model=VersionList)
async def store_version(name: ModelName, request: Request) -> Any:
    """Store the present state as a version."""
    service = service_of(request)
    await lifecycle.save_version(service, await service.model(name))
    return await _versions(service, name)


@router.post("/models/{name}/rollback", response_model=ModelSummary)
async def roll_back(name: ModelName, body: RollBackRequest, request: Request) -> Any:
    """Go on from the state at an earlier position of the log."""
    service = service_of(request)
    model = await service.model(name)
    await lifecycle.roll_back(service, model, body.position)
    return summary(model, service.counts)


@router.get("/models/{name}/state", response_class=Response, responses={200: {"content": BYTES}})
async def export_state(name: ModelName, request: Request) -> Response:
    """The whole state of a model with its specification, which another service can import."""
    model = await service_of(request).model(name)
    data, position = await asyncio.to_thread(model.to_bytes)
    headers = {"Content-Disposition": f'attachment; filename="{name}.state"', "Noisewise-Position": str(position)}
    return Response(data, media_type="application/octet-stream", headers=headers)


@router.put("/models/{name}/state", response_model=ModelSummary, openapi_extra=UPLOAD)
async def import_state(name: ModelName, request: Request) -> Any:
    """Create a model from an exported state, or let one of the same specification go on from it."""
    service = service_of(request)
    model = await lifecycle.import_model(service, name, await request.body())
    return summary(model, service.counts)


@router.delete("/models/{name}/people/{person:path}", response_model=Removed)
async def erase_person(
    name: ModelName,
    person: str,
    request: Request,
    forget_base: Annotated[
        bool, Query(description="Rebuild from what is left of a log that was removed in part.")
    ] = False,
) -> Any:
    """Erase the feedback of a person from the log, and from the model, which is rebuilt without it."""
    service = service_of(request)
    model = await service.model(name)
    return {"removed": await lifecycle.erase_person(service, model, person, forget_base)}


@router.delete("/models/{name}/log", response_model=Removed)
async def remove_log(name: ModelName, request: Request) -> Any:
    """Remove the log; the model goes on from its present state, on which replays are then based."""
    service = service_of(request)
    return {"removed": await lifecycle.remove_log(service, await service.model(name))}


async def _versions(service: Service, name: str) -> dict[str, Any]:
    model = await service.model(name)
    found = await asyncio.to_thread(list_versions, service.store, model.id)
    return {"position": model.position, "versions": [one._asdict() for one in found]}
