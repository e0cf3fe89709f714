"""Monitoring: health checks, Prometheus metrics, and logs in JSON."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

from fastapi import APIRouter, Request, Response
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from starlette.types import Scope

from noisewise.serve.api.models import service_of
from noisewise.serve.api.problems import Unavailable, problem
from noisewise.serve.log.database import reason_of
from noisewise.serve.log.events import new_id
from noisewise.serve.models.offer_model import OfferModel
from noisewise.serve.models.offer_report import change
from noisewise.serve.models.service import Service

router = APIRouter(tags=["operation"])
PLAIN: dict[int | str, dict[str, Any]] = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}
MEANWHILE = ("/healthz", "/readyz", "/metrics", "/", "/openapi.json")  # paths that respond while the service starts
START_PATIENCE = 10.0  # seconds that a request waits for the service to start
REQUEST_ID = re.compile(rb"[\w.:-]{1,128}")
METHODS = ("GET", "PUT", "POST", "HEAD", "OPTIONS", "DELETE", "PATCH")
log = logging.getLogger("noisewise.serve.requests")


class RequestMetrics:
    """Times and counts requests, and makes each a span if traces are wanted."""

    def __init__(self, registry: CollectorRegistry, traces: bool = False) -> None:
        labels = ["method", "route"]
        self.seconds = Histogram("noisewise_request_seconds", "Time to respond", labels, registry=registry)
        self.requests = Counter("noisewise_requests", "Responses by status", [*labels, "status"], registry=registry)
        self._tracer = _tracer() if traces else None
        self._known: dict[tuple[str, str, int], tuple[Any, Any]] = {}

    def span(self, scope: Scope) -> Any:
        """A span for a request; None if none is wanted."""
        return nullcontext() if self._tracer is None else self._tracer(f"{scope['method']} {scope['path']}")

    def count(self, scope: Scope, status: int, spent: float, name: bytes) -> None:
        """Count a request."""
        route = getattr(scope.get("route"), "path", "other")
        seconds, requests = self._children(scope["method"], route, status)
        seconds.observe(spent)
        requests.inc()
        level = logging.ERROR if status >= 500 and route != "/readyz" else logging.DEBUG
        if log.isEnabledFor(level):
            fields = {"method": scope["method"], "path": scope["path"], "status": status, "request": name.decode()}
            log.log(level, "request", extra={"fields": {**fields, "seconds": round(spent, 6)}})

    def _children(self, method: str, route: str, status: int) -> tuple[Any, Any]:
        known = method if method in METHODS else "other"  # clients may send any method, and each would be a label
        labels = known, route, status
        if labels not in self._known:
            self._known[labels] = self.seconds.labels(known, route), self.requests.labels(known, route, str(status))
        return self._known[labels]


async def until_ready(service: Service, path: str) -> Any:
    """Wait for a moment while the service starts; a response that says how far it is, if that is not enough."""
    if path in MEANWHILE or path.startswith("/static/"):
        return None
    until = time.monotonic() + START_PATIENCE
    while service.activity is not None:
        if time.monotonic() > until or service.refusal is not None:
            return problem(503, f"not ready yet: {service.activity}")
        await asyncio.sleep(0.02)
    return None


def request_id(headers: dict[bytes, bytes]) -> bytes:
    """The id that a request brings in X-Request-Id, or a new one."""
    given = headers.get(b"x-request-id")
    return given if given is not None and REQUEST_ID.fullmatch(given) else new_id().encode()


def register_collectors(registry: CollectorRegistry, service: Service) -> None:
    """Metrics of the service, of its models, and of the process."""
    registry.register(ServiceMetrics(service))
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    GCCollector(registry=registry)


def _tracer() -> Any:
    try:
        from opentelemetry import trace
    except ImportError:
        raise ValueError("traces need OpenTelemetry: pip install opentelemetry-sdk") from None
    return trace.get_tracer("noisewise.serve").start_as_current_span


class ServiceMetrics:
    """Prometheus collector of the service and its models."""

    def __init__(self, service: Service) -> None:
        self.service = service

    def collect(self) -> Iterator[Any]:
        """All metric families."""
        service = self.service
        yield GaugeMetricFamily("noisewise_log_waiting", "Entries not yet on disk", service.committer.queued)
        yield CounterMetricFamily("noisewise_log_batches", "Transactions of the log", service.committer.batches)
        made = CounterMetricFamily("noisewise_model_decisions", "Decisions", labels=["model"])
        feedback = CounterMetricFamily("noisewise_model_answers", "Feedback learnt from", labels=["model"])
        position = GaugeMetricFamily("noisewise_model_position", "Log position of the state", labels=["model"])
        accuracy = GaugeMetricFamily("noisewise_model_accuracy", "Recent accuracy", labels=["model"])
        reward = GaugeMetricFamily("noisewise_model_reward", "Mean recent reward", labels=["model"])
        one_kind = GaugeMetricFamily(
            "noisewise_model_one_kind", "Whether all feedback is of one kind", labels=["model"]
        )
        changed = GaugeMetricFamily(
            "noisewise_model_changed", "Whether a change of the rewards' noise was found", labels=["model"]
        )
        lag = GaugeMetricFamily("noisewise_model_lag", "Rows of the log that are yet to be learnt", labels=["model"])
        age = GaugeMetricFamily(
            "noisewise_snapshot_age_seconds", "Since the last snapshot was stored", labels=["model"]
        )
        rates = GaugeMetricFamily("noisewise_model_noise_rate", "Estimated flip rate", labels=["model", "rate"])
        for name, model in list(service.models.items()):
            one_kind.add_metric([name], model.progress.one_kind() is not None)
            if isinstance(model, OfferModel) and model.spec.watch:
                changed.add_metric([name], change(model) is not None)
            lag.add_metric([name], len(model.pending))
            if model.id in service.applier.saved_at:
                age.add_metric([name], time.time() - service.applier.saved_at[model.id])
            estimate = model.progress.estimate
            if estimate is not None and estimate["identified"]:
                for rate in ("false_positive", "false_negative"):
                    rates.add_metric([name, rate], estimate[rate]["value"])
            made.add_metric([name], model.progress.n_decisions)
            feedback.add_metric([name], model.progress.n_feedback)
            position.add_metric([name], model.position)
            for family, found in ((accuracy, model.progress.accuracy()), (reward, model.progress.reward())):
                if found is not None:
                    family.add_metric([name], found["value"])
        yield from (made, feedback, position, accuracy, reward, one_kind, changed, lag, age, rates)
        errors = CounterMetricFamily("noisewise_store_errors", "Failures of the store", labels=["while"])
        errors.add_metric(["writing"], service.committer.failures)
        errors.add_metric(["following"], service.store_errors)
        yield errors
        yield GaugeMetricFamily("noisewise_log_lost_rows", "Acknowledged rows missing at the start", service.lost_rows)
        statuses = CounterMetricFamily("noisewise_feedback", "Feedback by status", labels=["model", "status"])
        for (name, status), count in list(service.counts.items()):
            statuses.add_metric([name, status], count)
        yield statuses


@router.get("/healthz", response_class=Response, responses=PLAIN)
async def healthz() -> Response:
    """Whether the process lives."""
    return Response("alive\n", media_type="text/plain")


@router.get("/readyz", response_class=Response, responses=PLAIN)
async def readyz(request: Request) -> Response:
    """Whether the process can do its work: the log has been read, and the last write to it succeeded."""
    service = service_of(request)
    if service.activity is not None:
        raise Unavailable(f"not ready yet: {service.activity}")
    try:
        if service.committer.last_error is None:
            await asyncio.to_thread(service.store.check)
        else:
            await asyncio.to_thread(service.store.check_writing)  # without requests nothing else would
            service.committer.last_error = None
    except Exception as error:
        raise Unavailable(f"the store can't be used: {reason_of(error)}") from None
    if not service.committer.alive:
        raise Unavailable("the log is not being written; restart this process")
    activity = "learning" if service.learning else "deciding" if service.following else "waiting to learn"
    return Response(f"ready, {activity}\n", media_type="text/plain")


@router.get("/metrics", response_class=Response, responses=PLAIN)
async def metrics(request: Request) -> Response:
    """Metrics for Prometheus."""
    return Response(generate_latest(request.app.state.registry), media_type=CONTENT_TYPE_LATEST)


class JsonLines(logging.Formatter):
    """A log record as a line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """One line of JSON."""
        fields = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            fields["error"] = self.formatException(record.exc_info)
        return json.dumps(fields)


def log_as_json(level: str = "info") -> None:
    """Send all logs of this process to stderr, a line of JSON each."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
