"""What the service says about a model: accuracy, noise, weights, people, counts."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from noisewise._loops import state as codes
from noisewise._typing import Floats
from noisewise.serve.models.model import ServedModel

MOST_PEOPLE, MOST_WEIGHTS = 200, 200


def summary(model: ServedModel, ignored: Counter[tuple[str, str]]) -> dict[str, Any]:
    """The headline numbers of a model."""
    progress = model.progress
    counts = {
        "decisions": progress.decisions,
        "answers": progress.answers,
        "right": progress.right,
        "missing": progress.missing,
        "defaults": progress.defaults,
        "refused": progress.refused,
        **{status: ignored[model.name, status] for status in ("duplicate", "late", "unknown")},
    }
    return {
        "name": model.name,
        "recipe": model.spec.recipe,
        "n_actions": len(model.spec.actions),
        "n_features": model.spec.features.width,
        "people": model.spec.people,
        "position": model.position,
        "decisions_per_second": model.pace.now(),
        "counts": counts,
        "accuracy": progress.accuracy(),
        "noise": noise_of(model),
    }


def report(model: ServedModel, ignored: Counter[tuple[str, str]]) -> dict[str, Any]:
    """All that is known about a model."""
    with model.lock:
        learner, actions = model.learner, model.spec.actions
        policy = {
            "share": float(learner.parameters_[codes.EXPLORATION]),
            "width_in_std": float(learner.parameters_[codes.WIDTH]),
        }
        by_action = [{"action": action, **one} for action, one in zip(actions, model.progress.by_action())]
        return {
            **summary(model, ignored),
            "spec": model.spec.model_dump(mode="json"),
            "exploration": policy,
            "actions": by_action,
            "coefficients": coefficients(model),
            "people_rates": people_of(model),
        }


def noise_of(model: ServedModel) -> dict[str, Any]:
    """Flip rates of the answers: those given, those estimated and corrected for, or those merely watched."""
    found = model.progress.estimate
    nothing = {"value": 0.0, "low": 0.0, "high": 1.0}
    watched = found or {
        "false_positive": nothing,
        "false_negative": nothing,
        "identified": False,
        "reason": "too few answers yet",
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
    return {"source": source, **watched, "by_action": by_action}


def coefficients(model: ServedModel) -> list[dict[str, Any]]:
    """Weights of each feature for all actions, the features that matter most first."""
    weights = model.learner._weights()[:, : len(model.spec.actions)]
    order = np.argsort(-np.square(weights).sum(axis=1), kind="stable")[:MOST_WEIGHTS]
    columns = model.spec.features.columns
    return [{"feature": columns[place], "weights": weights[place].tolist()} for place in order]


def people_of(model: ServedModel) -> list[dict[str, Any]]:
    """Who can be believed: flip rates of each person with intervals, those with most answers first."""
    tracker = getattr(model.learner, "weigher_", None)
    if not model.spec.people or tracker is None:
        return []
    order = np.argsort(-tracker.answers, kind="stable")[:MOST_PEOPLE]
    found = tracker.report()
    return [
        {
            "person": str(found.people[place]),
            "answers": int(found.answers[place]),
            "settled": bool(tracker.settled),
            "false_positive": _measure(found.false_positive[place], found.false_positive_interval[place]),
            "false_negative": _measure(found.false_negative[place], found.false_negative_interval[place]),
            "signal": float(found.signal[place]),
        }
        for place in order
    ]


def _measure(rate: float, interval: Floats) -> dict[str, float]:
    return {"value": float(rate), "low": float(interval[0]), "high": float(interval[1])}
