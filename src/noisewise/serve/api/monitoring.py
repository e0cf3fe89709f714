"""What can be seen from outside: health, Prometheus numbers, and logs in JSON."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import time
from collections.abc import Iterator
from typing import Any

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from noisewise.serve.api.models import service_of
from noisewise.serve.api.problems import NotNow
from noisewise.serve.models.service import Service

router = APIRouter(tags=["operation"])
PLAIN: dict[int | str, dict[str, Any]] = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}
METHODS = ("GET", "PUT", "POST", "HEAD", "OPTIONS", "DELETE", "PATCH")
log = logging.getLogger("noisewise.serve.requests")


class Observer:
    """Wraps an application and times each request."""

    def __init__(self, app: ASGIApp, registry: CollectorRegistry) -> None:
        self.app = app
        labels = ["method", "route"]
        self.seconds = Histogram("noisewise_request_seconds", "Time to answer", labels, registry=registry)
        self.requests = Counter("noisewise_requests", "Answers by status", [*labels, "status"], registry=registry)
        self._known: dict[tuple[str, str, str], tuple[Any, Any]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request and count it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500

        async def sending(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self.app(scope, receive, sending)
        finally:
            route = getattr(scope.get("route"), "path", "other")
            spent = time.perf_counter() - began
            seconds, requests = self._children(scope["method"], route, str(status))
            seconds.observe(spent)
            requests.inc()
            level = logging.ERROR if status >= 500 else logging.DEBUG
            if log.isEnabledFor(level):
                said = {"method": scope["method"], "path": scope["path"], "status": status, "seconds": round(spent, 6)}
                log.log(level, "request", extra={"fields": said})

    def _children(self, method: str, route: str, status: str) -> tuple[Any, Any]:
        known = method if method in METHODS else "other"  # anything may be asked, and each name would be kept
        place = known, route, status
        if place not in self._known:
            self._known[place] = self.seconds.labels(known, route), self.requests.labels(*place)
        return self._known[place]


class ServiceNumbers:
    """Numbers of the service and its models, found when they are asked for."""

    def __init__(self, service: Service) -> None:
        self.service = service

    def collect(self) -> Iterator[Any]:
        """All numbers, as Prometheus wants them."""
        service = self.service
        yield GaugeMetricFamily("noisewise_log_waiting", "Entries not yet on disk", service.committer.waiting)
        yield CounterMetricFamily("noisewise_log_batches", "Transactions of the log", service.committer.batches)
        made = CounterMetricFamily("noisewise_model_decisions", "Decisions", labels=["model"])
        heard = CounterMetricFamily("noisewise_model_answers", "Answers learnt from", labels=["model"])
        position = GaugeMetricFamily("noisewise_model_position", "Log position of the state", labels=["model"])
        accuracy = GaugeMetricFamily("noisewise_model_accuracy", "Share of right decisions of late", labels=["model"])
        for name, model in list(service.models.items()):
            made.add_metric([name], model.progress.decisions)
            heard.add_metric([name], model.progress.answers)
            position.add_metric([name], model.position)
            found = model.progress.accuracy()
            if found is not None:
                accuracy.add_metric([name], found["value"])
        yield from (made, heard, position, accuracy)
        taken = CounterMetricFamily("noisewise_feedback", "Answers by what became of them", labels=["model", "status"])
        for (name, status), count in list(service.counts.items()):
            taken.add_metric([name, status], count)
        yield taken


@router.get("/healthz", response_class=Response, responses=PLAIN)
async def healthz() -> Response:
    """Whether the process lives."""
    return Response("alive\n", media_type="text/plain")


@router.get("/readyz", response_class=Response, responses=PLAIN)
async def readyz(request: Request) -> Response:
    """Whether the process can do its part: the store answers and the log is being written."""
    service = service_of(request)
    try:
        await asyncio.to_thread(service.store.check)
    except Exception as error:
        raise NotNow(f"the store can't be reached: {type(error).__name__}") from None
    if not service.committer.alive:
        raise NotNow("the log is not being written; restart this process")
    part = "learning" if service.learning else "waiting to learn" if service.learner else "deciding"
    return Response(f"ready, {part}\n", media_type="text/plain")


@router.get("/metrics", response_class=Response, responses=PLAIN)
async def metrics(request: Request) -> Response:
    """Numbers for Prometheus."""
    return Response(generate_latest(request.app.state.registry), media_type=CONTENT_TYPE_LATEST)


class JsonLines(logging.Formatter):
    """A log record as a line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        said = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            said["error"] = self.formatException(record.exc_info)
        return json.dumps(said)


def log_as_json(level: str = "info") -> None:
    """Send all logs of this process to stderr, a line of JSON each."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
