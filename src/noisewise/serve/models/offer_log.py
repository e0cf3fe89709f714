"""The log of a model of offers for others: rounds with features, columns of a table, policies to be judged by it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from noisewise._typing import Floats
from noisewise.online import ActionDecision, LoggedRound, logged_round
from noisewise.serve.log.events import Event
from noisewise.serve.models.offer_model import OfferModel
from noisewise.serve.models.offers import logged_offer, logged_scores

Rounds = list[tuple[Event, Event]]  # decisions with their feedback


def offer_round(model: OfferModel, decision: Event, feedback: Event) -> LoggedRound:
    """A decision among actions with features and its reward, as Vowpal Wabbit's formats hold it."""
    context, offer, positions = logged_offer(decision)
    index, probability = positions.index(decision.code or 0), decision.probability or 1.0
    known = logged_scores(decision)[2]
    known[index] = probability  # to the last bit
    nothing = np.zeros(0)
    made = ActionDecision(offer.names[index], probability, 0, index, nothing, nothing, known, None, 0)
    value = feedback.probability or 0.0
    features = [_readable(one) for one in offer.features]
    one = logged_round(made, _readable(context), features, -value if model.spec.costs else value, offer.names)
    return one._replace(id=decision.decision_id)


def offer_columns(model: OfferModel, rounds: Rounds) -> dict[str, list[Any]]:
    """Columns of a table of the rounds; contexts and what was on offer as JSON."""
    offers = [json.loads(decision.allowed or "{}") for decision, _ in rounds]
    return {
        "decision_id": [decision.decision_id for decision, _ in rounds],
        "time": [decision.time for decision, _ in rounds],
        "action": [str(model.action_of(decision)) for decision, _ in rounds],
        "probability": [decision.probability for decision, _ in rounds],
        "reward": [feedback.probability for _, feedback in rounds],
        "person": [feedback.person for _, feedback in rounds],
        "answered": [feedback.time for _, feedback in rounds],
        "position": [feedback.position for _, feedback in rounds],
        "context": [json.dumps(offer.get("context") or {}) for offer in offers],
        "actions": [json.dumps(offer["actions"]) for offer in offers],
    }


def offer_policies(rounds: Rounds) -> dict[str, Callable[[LoggedRound], Any]]:
    """Policies by name, each from a round to a position or to probabilities of what was on offer.

    The greedy one plays what the state that decided a round held best: it had not learnt from it.
    """
    decisions = {decision.decision_id: decision for decision, _ in rounds}

    def greedy(one: LoggedRound) -> int:
        decision = decisions[one.id or ""]
        return logged_offer(decision)[2].index(decision.best or 0)

    def online(one: LoggedRound) -> Floats:
        known = np.array([choice.probability for choice in one.offered])
        return np.asarray(known / known.sum())

    def uniform(one: LoggedRound) -> Floats:
        return np.full(len(one.offered), 1 / len(one.offered))

    return {"online": online, "greedy": greedy, "uniform": uniform, "baseline": lambda one: 0}


def _readable(record: Any) -> Any:
    """Features without those that Vowpal Wabbit's JSON leaves out: names that begin with _."""
    if isinstance(record, dict):
        return {name: _readable(value) for name, value in record.items() if not name.startswith("_")}
    return [_readable(part) for part in record] if isinstance(record, list) else record
