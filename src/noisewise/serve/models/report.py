"""Reports of a model (accuracy, noise, weights, annotators, counters) and explanations of its decisions."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np

from noisewise._loops import state as codes
from noisewise._typing import Floats
from noisewise.serve.log.events import (
    ACTIVATION,
    BY_DEFAULT,
    CHANGE,
    DECISION,
    FEEDBACK,
    SECOND_FEEDBACK,
    Event,
    last_feedback,
)
from noisewise.serve.models.model import ServedModel
from noisewise.serve.models.offer_model import OfferModel
from noisewise.serve.models.offer_report import offer_reasons, offer_report, offer_summary
from noisewise.serve.models.ranking import rank, stored_scores
from noisewise.serve.models.row_model import RowModel

KINDS = {DECISION: "decision", ACTIVATION: "activation", CHANGE: "change"}
KINDS |= dict.fromkeys((FEEDBACK, SECOND_FEEDBACK), "feedback")
COVARIANCES = {codes.IDENTITY: "none", codes.DIAGONAL: "diagonal", codes.FULL: "full", codes.JOINT: "full"}
MAX_ANNOTATORS, MAX_WEIGHTS = 200, 200  # rows of a report


def summary(model: ServedModel, statuses: Counter[tuple[str, str]]) -> dict[str, Any]:
    """Summary of a model; `statuses` counts feedback by (model, status)."""
    progress = model.progress
    counts = {
        "decisions": progress.n_decisions,
        "answers": progress.n_feedback,
        "right": progress.n_right,
        "missing": progress.n_missing,
        "defaults": progress.n_defaults,
        "refused": progress.n_refused,
        **{status: statuses[model.name, status] for status in ("duplicate", "late", "unknown")},
    }
    common = {
        "name": model.name,
        "position": model.position,
        "decisions_per_second": model.decision_rate.per_second(),
        "counts": counts,
        "warning": progress.one_kind(),
        "lag": len(model.pending),
    }
    return common | (offer_summary(model) if isinstance(model, OfferModel) else _row_summary(_rows(model)))


def _row_summary(model: RowModel) -> dict[str, Any]:
    return {
        "kind": "rows",
        "recipe": model.spec.recipe,
        "n_actions": len(model.spec.actions),
        "n_features": model.spec.features.width,
        "people": model.spec.people,
        "accuracy": model.progress.accuracy(),
        "covariance": COVARIANCES[int(model.learner.counters_[codes.COVARIANCE])],
        "noise": noise_report(model),
    }


def report(model: ServedModel, statuses: Counter[tuple[str, str]]) -> dict[str, Any]:
    """Full report of a model."""
    if isinstance(model, OfferModel):
        return summary(model, statuses) | offer_report(model)
    model = _rows(model)
    with model.lock:
        learner, actions = model.learner, model.spec.actions
        policy = {
            "share": float(learner.parameters_[codes.EXPLORATION]),
            "width_in_std": float(learner.parameters_[codes.WIDTH]),
        }
        by_action = [{"action": action, **one} for action, one in zip(actions, model.progress.by_action())]
        return {
            **summary(model, statuses),
            "spec": model.spec.model_dump(mode="json"),
            "exploration": policy,
            "actions": by_action,
            "coefficients": coefficients(model),
            "people_rates": annotator_rates(model),
        }


def noise_report(model: RowModel) -> dict[str, Any]:
    """Flip rates of the feedback: given, estimated and corrected for, or only monitored (source "watched")."""
    found = model.progress.estimate
    unknown = {"value": 0.0, "low": 0.0, "high": 1.0}
    estimate = found or {
        "false_positive": unknown,
        "false_negative": unknown,
        "identified": False,
        "reason": "too little feedback yet",
    }
    given = model.spec.noise
    source = "watched" if given is None else "estimated" if given == "estimate" else "given"
    by_action = None
    if given is not None:
        rates = zip(model.spec.actions, model.learner.flip_rates_.tolist())
        by_action = [
            {"action": action, "false_positive": false_positive, "false_negative": false_negative}
            for action, (false_positive, false_negative) in rates
        ]
    return {"source": source, **estimate, "by_action": by_action}


def coefficients(model: RowModel) -> list[dict[str, Any]]:
    """Weights of each feature for all actions, features with the largest weights first."""
    weights = model.learner._weights()[:, : len(model.spec.actions)]
    order = np.argsort(-np.square(weights).sum(axis=1), kind="stable")[:MAX_WEIGHTS]
    columns = [*model.spec.features.columns, "(constant)"]  # the last where the learner adds an intercept
    return [{"feature": columns[index], "weights": weights[index].tolist()} for index in order]


def annotator_rates(model: ServedModel) -> list[dict[str, Any]]:
    """Estimated flip rates of each annotator with intervals, those with most feedback first."""
    tracker = getattr(model.learner, "weigher_", None)
    if tracker is None or not model.spec.people:
        return []
    order = np.argsort(-tracker.answers, kind="stable")[:MAX_ANNOTATORS]
    found = tracker.report()
    return [
        {
            "person": str(found.people[index]),
            "answers": int(found.answers[index]),
            "settled": bool(tracker.settled),
            "false_positive": _interval(found.false_positive[index], found.false_positive_interval[index]),
            "false_negative": _interval(found.false_negative[index], found.false_negative_interval[index]),
            "signal": float(found.signal[index]),
        }
        for index in order
    ]


def explain(model: ServedModel, rows: dict[int, Event]) -> dict[str, Any]:
    """The explanation of a decision from the rows of the log about it, by kind."""
    made, feedback = rows[DECISION], last_feedback(rows)
    common = {
        "decision_id": made.decision_id,
        "action": model.action_of(made),
        "probability": made.probability,
        "explored": made.code != made.best,
        "draw": made.draw,
        "version": made.version,
        "position": made.position,
        "time": made.time,
        "active": made.active != 0 or ACTIVATION in rows,
        "answer": None if feedback is None else _answer(model, feedback),
    }
    return common | (offer_reasons(model, made) if isinstance(model, OfferModel) else _row_scores(_rows(model), made))


def _row_scores(model: RowModel, made: Event) -> dict[str, Any]:
    """What a decision of a model of rows was made from and by."""
    actions = model.spec.actions
    stored = stored_scores(made, len(actions))
    scores = stored if len(stored) == len(actions) else present_scores(model, made) | stored
    allowed = made.allowed_codes(len(actions))
    return {
        "best": actions[made.best or 0],
        "features": made.row.tolist(),
        "scores": [
            {
                "action": actions[code],
                "score": score,
                "width": width,
                "allowed": code in allowed,
                "recomputed": code not in stored,
            }
            for code, (score, width) in scores.items()
        ],
    }


def _answer(model: ServedModel, feedback: Event) -> dict[str, Any]:
    made = {"person": feedback.person, "time": feedback.time, "by_default": feedback.source == BY_DEFAULT}
    graded = {"reward": feedback.probability, "outcomes": json.loads(feedback.allowed or "null")}
    return {"right": feedback.right, **made, **(graded if isinstance(model, OfferModel) else {})}


def present_scores(model: RowModel, made: Event) -> dict[int, tuple[float, float]]:
    """Score and width of every action by the present state, where a decision has not stored them all."""
    with model.lock:
        ranked = rank(model.current[0], made.row, None, model.rng_state.copy())
    return dict(enumerate(zip(ranked.scores.tolist(), ranked.widths.tolist())))


def event_entry(model: ServedModel, row: Event) -> dict[str, Any]:
    """A row of the log, as a view of it shows."""
    kind = KINDS.get(row.kind, "reward")
    return {
        "position": row.position,
        "time": row.time,
        "kind": kind,
        "decision_id": None if kind == "change" else row.decision_id,
        "action": model.action_of(row) if kind == "decision" else None,
        "probability": row.probability if kind == "decision" else None,
        "reward": row.probability if kind in ("feedback", "reward") else None,
        "right": row.right,
        "person": row.person,
        "by_default": row.source == BY_DEFAULT,
        "change": row.change if kind == "change" else None,
    }


def _rows(model: ServedModel) -> RowModel:
    """A model that is none of offers."""
    assert isinstance(model, RowModel)
    return model


def _interval(rate: float, interval: Floats) -> dict[str, float]:
    return {"value": float(rate), "low": float(interval[0]), "high": float(interval[1])}
