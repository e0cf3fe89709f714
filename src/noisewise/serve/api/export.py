"""Calls that give the log away, or value other policies on it."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

from noisewise.serve.api.models import ModelName, service_of
from noisewise.serve.api.responses import OffPolicyReport
from noisewise.serve.log.export import dsjson, off_policy_report, parquet

router = APIRouter(tags=["log"])
TYPES = {"dsjson": "application/x-ndjson", "parquet": "application/vnd.apache.parquet"}


@router.get(
    "/models/{name}/export",
    response_class=Response,
    responses={200: {"content": {media: {"schema": {"type": "string"}} for media in TYPES.values()}}},
)
async def export_log(name: ModelName, request: Request, format: Literal["dsjson", "parquet"] = "dsjson") -> Response:
    """All answered decisions that were activated: DSJSON lines, as Personalizer logs them, or a Parquet table."""
    service = service_of(request)
    model = await service.model(name)
    if format == "dsjson":
        return StreamingResponse(dsjson(service.store, model), media_type=TYPES[format])
    return Response(await asyncio.to_thread(parquet, service.store, model), media_type=TYPES[format])


@router.get("/models/{name}/off-policy", response_model=OffPolicyReport)
async def value_policies(
    name: ModelName, request: Request, method: Literal["dr", "snips", "ips"] = "dr"
) -> dict[str, Any]:
    """What the model as it is, a uniform choice, and each action alone would have been worth on the log."""
    service = service_of(request)
    model = await service.model(name)
    return await asyncio.to_thread(off_policy_report, service.store, model, method)
