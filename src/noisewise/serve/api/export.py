"""Export of the log (DSJSON, Parquet), and off-policy evaluation on it."""

from __future__ import annotations

import asyncio
import io
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Literal

import numpy as np
from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

from noisewise._words import counted
from noisewise.online import (
    Choice,
    FeedbackLog,
    LoggedRound,
    off_policy_action_value,
    off_policy_value,
    rates_as_noise,
    write_dsjson,
)
from noisewise.serve.api.models import ModelName, service_of
from noisewise.serve.api.schemas import OffPolicyReport
from noisewise.serve.log.events import MISSING, Event, effective_feedback
from noisewise.serve.log.store import Store
from noisewise.serve.models.model import ServedModel
from noisewise.serve.models.offer_log import Rounds, offer_columns, offer_policies, offer_round
from noisewise.serve.models.offer_model import OfferModel, known_noise
from noisewise.serve.models.ranking import propensities

router = APIRouter(tags=["log"])
TYPES = {"dsjson": "application/x-ndjson", "parquet": "application/vnd.apache.parquet"}
PAGE = 1000  # rounds read and written at a time
FEW_ROUNDS = 500  # below, an interval is often wider than what policies differ by
MAX_ROUNDS = 20_000  # of the off-policy report: the newest ones
MAX_OFFERS = 2_000  # the same, where each action on offer is scored by its features
_recording = threading.Lock()  # warnings are recorded for all threads of a process at once


@router.get(
    "/models/{name}/export",
    response_class=Response,
    responses={200: {"content": {media: {"schema": {"type": "string"}} for media in TYPES.values()}}},
)
async def export_log(name: ModelName, request: Request, format: Literal["dsjson", "parquet"] = "dsjson") -> Response:
    """All activated decisions with feedback: DSJSON lines, as Personalizer logs them, or a Parquet table.

    Of a model with action features, lines have these features; names that begin with _ are left out.
    """
    service = service_of(request)
    model = await service.model(name)
    if format == "dsjson":
        return StreamingResponse(dsjson(service.store, model), media_type=TYPES[format])
    return Response(await asyncio.to_thread(parquet, service.store, model), media_type=TYPES[format])


@router.get("/models/{name}/off-policy", response_model=OffPolicyReport)
async def value_policies(
    name: ModelName, request: Request, method: Literal["dr", "snips", "ips"] = "dr"
) -> dict[str, Any]:
    """Off-policy values of the model's greedy policy, a uniform policy, and each action alone or the first on offer."""
    service = service_of(request)
    model = await service.model(name)
    return await asyncio.to_thread(off_policy_report, service.store, model, method)


def logged_rounds(store: Store, model: ServedModel) -> Iterator[tuple[Event, Event]]:
    """Decisions with their feedback, in the order they were learnt from; only activated ones."""
    position = 0
    while rows := store.read(position, PAGE, model.id):
        pairs = store.with_decisions([row for row in rows if row.is_about_decision])
        deferred: dict[str, list[Event]] = {made.decision_id: [] for _, made in pairs if made.active == 0}
        for one in store.about(deferred):
            if one.model == model.id:
                deferred[one.decision_id].append(one)
        for event, decision in pairs:
            feedback = effective_feedback(event, decision, deferred.get(decision.decision_id, ()))
            if feedback is not None and feedback.answer != MISSING:
                yield decision, feedback
        position = rows[-1].position


def dsjson(store: Store, model: ServedModel) -> Iterator[str]:
    """The logged rounds as lines of DSJSON, a page at a time."""
    page: list[LoggedRound] = []
    for decision, feedback in logged_rounds(store, model):
        page.append(_round(model, decision, feedback))
        if len(page) == PAGE:
            yield _lines(page, model)
            page = []
    yield _lines(page, model) if page else ""


def parquet(store: Store, model: ServedModel) -> bytes:
    """The logged rounds as a table with a column for each feature."""
    import polars as pl

    rounds = list(logged_rounds(store, model))
    if isinstance(model, OfferModel):
        return _as_parquet(pl.DataFrame(offer_columns(model, rounds)))
    X = np.array([decision.row for decision, _ in rounds]).reshape(len(rounds), model.spec.features.width)
    frame = pl.DataFrame(
        {
            "decision_id": [decision.decision_id for decision, _ in rounds],
            "time": [decision.time for decision, _ in rounds],
            "action": [model.spec.actions[decision.code or 0] for decision, _ in rounds],
            "probability": [decision.probability for decision, _ in rounds],
            "right": [feedback.right for _, feedback in rounds],
            "person": pl.Series([feedback.person for _, feedback in rounds], dtype=pl.String),
            "answered": [feedback.time for _, feedback in rounds],
            "position": [feedback.position for _, feedback in rounds],
            **{f"x.{name}": X[:, column] for column, name in enumerate(model.spec.features.columns)},
        }
    )
    return _as_parquet(frame)


def _as_parquet(frame: Any) -> bytes:
    file = io.BytesIO()
    frame.write_parquet(file)
    return file.getvalue()


def off_policy_report(store: Store, model: ServedModel, method: str) -> dict[str, Any]:
    """Off-policy values of the model's greedy policy, a uniform policy, and each action alone.

    The greedy policy plays what the state that decided a round held best: it had not learnt from that round, so its
    value is that of the states as they were (progressive validation [1]_), not of the last one on its own log.

    References
    ----------
    .. [1] Blum, A., Kalai, A., Langford, J. (1999). Beating the hold-out: bounds for k-fold and progressive
       cross-validation. COLT 1999.
    """
    rounds = deque(logged_rounds(store, model), maxlen=MAX_OFFERS if isinstance(model, OfferModel) else MAX_ROUNDS)
    if len(rounds) < 2:
        raise ValueError(f"the log has {counted(len(rounds), 'decision')} with feedback; two or more are needed")
    made = list(rounds)
    return {
        "rounds": len(rounds),
        "method": method,
        "warning": model.progress.one_kind() or _few_rounds(len(rounds)),
        "policies": _offer_values(model, made, method)
        if isinstance(model, OfferModel)
        else _row_values(model, made, method),
    }


def _offer_values(model: OfferModel, rounds: Rounds, method: str) -> list[dict[str, Any]]:
    logged = [offer_round(model, *pair) for pair in rounds]
    policies, (low, high) = offer_policies(rounds), model.spec.reward_range
    rewards = (-high, -low) if model.spec.costs else (low, high)
    return [
        _value(name, partial(off_policy_action_value, logged, policy, rewards, known_noise(model.spec), method))
        for name, policy in policies.items()
    ]


def _row_values(model: ServedModel, rounds: Rounds, method: str) -> list[dict[str, Any]]:
    actions = list(model.spec.actions)
    X = np.array([decision.row for decision, _ in rounds])
    greedy = np.array([actions[decision.best or 0] for decision, _ in rounds])
    with model.lock:
        rates = model.current[0].flip_rates_.copy()
    found = model.progress.estimate
    if model.spec.noise is None and found is not None and found["identified"]:
        rates[:] = found["false_positive"]["value"], found["false_negative"]["value"]
    log = FeedbackLog(
        X,
        np.array([actions[decision.code or 0] for decision, _ in rounds]),
        np.array([feedback.answer for _, feedback in rounds]),
        np.array([decision.probability for decision, _ in rounds]),
        actions,
    )
    noise, n = rates_as_noise(rates), len(rounds)
    policies: dict[str, Any] = {"greedy": greedy, "uniform": np.full((n, len(actions)), 1 / len(actions))}
    policies |= {f"always {action}": np.full(n, action) for action in actions[:20]}
    return [_value(name, partial(off_policy_value, log, policy, noise, method)) for name, policy in policies.items()]


def _few_rounds(n: int) -> str | None:
    """A warning of a log that is too short to compare policies by."""
    return f"{counted(n, 'round', 'are')} few: differences between policies may be chance" if n < FEW_ROUNDS else None


def _value(name: str, estimate: Callable[[], Any]) -> dict[str, Any]:
    with _recording, warnings.catch_warnings(record=True) as recorded:
        warnings.simplefilter("always")
        try:
            value = estimate()
        except ValueError as error:
            return {"policy": name, "value": None, "low": None, "high": None, "warning": str(error)}
    warning = str(recorded[0].message) if recorded else None
    return {"policy": name, "value": float(value), "low": value.low, "high": value.high, "warning": warning}


def _round(model: ServedModel, decision: Event, feedback: Event) -> LoggedRound:
    if isinstance(model, OfferModel):
        return offer_round(model, decision, feedback)
    return _row_round(model, decision, feedback)


def _row_round(model: ServedModel, decision: Event, feedback: Event) -> LoggedRound:
    actions, columns = model.spec.actions, model.spec.features.columns
    features = {name: value for name, value in zip(columns, decision.row.tolist()) if value}
    known = propensities(decision, len(actions))  # an action's own feature tells it apart, so that others can learn it
    offered = tuple(Choice(actions[code], {f"action^id={actions[code]}": 1.0}, value) for code, value in known.items())
    action, right = actions[decision.code or 0], int(bool(feedback.answer))
    return LoggedRound(features, action, right, decision.probability or 1.0, offered, decision.decision_id)


def _lines(rounds: list[LoggedRound], model: ServedModel) -> str:
    file = io.StringIO()
    write_dsjson(rounds, file, classes=None if isinstance(model, OfferModel) else list(model.spec.actions))
    return file.getvalue()
