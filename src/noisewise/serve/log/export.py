"""The log in formats that others read, and what other policies would have been worth on it."""

from __future__ import annotations

import io
import threading
import warnings
from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np

from noisewise.online import Choice, FeedbackLog, LoggedRound, off_policy_value, write_dsjson
from noisewise.online.rates.flip_rates import rates_as_noise
from noisewise.serve.log.events import DECISION, NONE, Event, counted_answer
from noisewise.serve.log.explain import allowed_codes
from noisewise.serve.log.store import Store
from noisewise.serve.models.learner import with_decisions
from noisewise.serve.models.model import ServedModel

PAGE = 1000
MOST_ROUNDS = 20_000  # for the off-policy report: the newest ones
_recording = threading.Lock()  # Python keeps one list of warnings for all threads


def answered_rounds(store: Store, model: ServedModel) -> Iterator[tuple[Event, Event]]:
    """Decisions with their answers as they are learnt from: in that order, and once they have been activated."""
    position = 0
    while rows := store.read(position, PAGE, model.id):
        said = with_decisions([row for row in rows if row.kind != DECISION], store)
        held: dict[str, list[Event]] = {decision.decision_id: [] for _, decision in said if decision.active == 0}
        for one in store.about(held):
            if one.model == model.id:
                held[one.decision_id].append(one)
        for event, decision in said:
            answer = counted_answer(event, decision, held.get(decision.decision_id, ()))
            if answer is not None and answer.answer != NONE:
                yield decision, answer
        position = rows[-1].position


def dsjson(store: Store, model: ServedModel) -> Iterator[str]:
    """The answered rounds as lines of DSJSON, in pieces."""
    piece: list[LoggedRound] = []
    for decision, answer in answered_rounds(store, model):
        piece.append(_logged(model, decision, answer))
        if len(piece) == PAGE:
            yield _lines(piece, model)
            piece = []
    yield _lines(piece, model) if piece else ""


def parquet(store: Store, model: ServedModel) -> bytes:
    """The answered rounds as a table: a row each, and a column for each feature."""
    try:
        import polars as pl
    except ImportError:
        raise ValueError("Parquet needs polars: pip install 'noisewise[cli]', or ask for format=dsjson") from None
    rounds = list(answered_rounds(store, model))
    X = np.array([decision.row for decision, _ in rounds]).reshape(len(rounds), model.spec.features.width)
    frame = pl.DataFrame(
        {
            "decision_id": [decision.decision_id for decision, _ in rounds],
            "time": [decision.time for decision, _ in rounds],
            "action": [model.spec.actions[decision.code or 0] for decision, _ in rounds],
            "probability": [decision.probability for decision, _ in rounds],
            "right": [answer.right for _, answer in rounds],
            "person": pl.Series([answer.person for _, answer in rounds], dtype=pl.String),
            "answered": [answer.time for _, answer in rounds],
            "position": [answer.position for _, answer in rounds],
            **{f"x.{name}": X[:, column] for column, name in enumerate(model.spec.features.columns)},
        }
    )
    file = io.BytesIO()
    frame.write_parquet(file)
    return file.getvalue()


def off_policy_report(store: Store, model: ServedModel, method: str) -> dict[str, Any]:
    """What the model as it is now, a uniform choice and each action alone would have been worth."""
    rounds = deque(answered_rounds(store, model), maxlen=MOST_ROUNDS)
    if len(rounds) < 2:
        raise ValueError(f"the log has {len(rounds)} answered decisions; two or more are needed")
    actions = list(model.spec.actions)
    with model.lock:
        X = np.array([decision.row for decision, _ in rounds])
        greedy = model.learner.predict(X)
        rates = model.learner.flip_rates_.copy()
    found = model.progress.estimate
    if model.spec.noise is None and found is not None and found["identified"]:
        rates[:] = found["false_positive"]["value"], found["false_negative"]["value"]
    log = FeedbackLog(
        X,
        np.array([actions[decision.code or 0] for decision, _ in rounds]),
        np.array([answer.answer for _, answer in rounds]),
        np.array([decision.probability for decision, _ in rounds]),
        actions,
    )
    noise, n = rates_as_noise(rates), len(rounds)
    policies: dict[str, Any] = {"greedy": greedy, "uniform": np.full((n, len(actions)), 1 / len(actions))}
    policies |= {f"always {action}": np.full(n, action) for action in actions[:20]}
    return {
        "rounds": n,
        "method": method,
        "policies": [_value(name, log, policy, noise, method) for name, policy in policies.items()],
    }


def _value(name: str, log: FeedbackLog, policy: Any, noise: Any, method: str) -> dict[str, Any]:
    with _recording, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            value = off_policy_value(log, policy, noise, method)
        except ValueError as error:
            return {"policy": name, "value": None, "low": None, "high": None, "warning": str(error)}
    warning = str(said[0].message) if said else None
    return {"policy": name, "value": float(value), "low": value.low, "high": value.high, "warning": warning}


def _logged(model: ServedModel, decision: Event, answer: Event) -> LoggedRound:
    actions, columns = model.spec.actions, model.spec.features.columns
    features = {name: value for name, value in zip(columns, decision.row.tolist()) if value}
    offered = tuple(Choice(actions[code]) for code in allowed_codes(decision, len(actions)))
    action, right = actions[decision.code or 0], int(bool(answer.answer))
    return LoggedRound(features, action, right, decision.probability or 1.0, offered, decision.decision_id)


def _lines(rounds: list[LoggedRound], model: ServedModel) -> str:
    file = io.StringIO()
    write_dsjson(rounds, file, classes=list(model.spec.actions))
    return file.getvalue()
