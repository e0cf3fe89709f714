"""Why an action was played, from what the log recorded when it was."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from noisewise.serve.api.schemas import ModelSpec
from noisewise.serve.log.events import ACTIVATION, ANSWER, BY_DEFAULT, DECISION, Event


def explain(spec: ModelSpec, rows: dict[int, Event]) -> dict[str, Any]:
    """The explanation of a decision from the rows of the log about it, by kind."""
    made, answer = rows[DECISION], rows.get(ANSWER)
    numbers = np.frombuffer(made.scores or b"", dtype="<f8").tolist()
    n = len(spec.actions)
    return {
        "decision_id": made.decision_id,
        "action": spec.actions[made.code or 0],
        "best": spec.actions[made.best or 0],
        "probability": made.probability,
        "explored": made.code != made.best,
        "draw": made.draw,
        "version": made.version,
        "position": made.position,
        "time": made.time,
        "active": made.active != 0 or ACTIVATION in rows,
        "features": made.row.tolist(),
        "scores": [
            {"action": action, "score": score, "width": width, "allowed": code in allowed_codes(made, n)}
            for code, (action, score, width) in enumerate(zip(spec.actions, numbers[:n], numbers[n:]))
        ],
        "answer": None
        if answer is None
        else {
            "right": answer.right,
            "person": answer.person,
            "time": answer.time,
            "by_default": answer.source == BY_DEFAULT,
        },
    }


def allowed_codes(decision: Event, n_actions: int) -> list[int]:
    """Which actions could be played, as places among the model's."""
    return list(range(n_actions)) if decision.allowed is None else list(json.loads(decision.allowed))
