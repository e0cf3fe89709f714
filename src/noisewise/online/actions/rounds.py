"""Decisions among actions with features as rounds of a log, which Vowpal Wabbit's text and DSJSON can hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from noisewise.online.actions.decision import ActionDecision
from noisewise.online.actions.features import FeatureIndex
from noisewise.online.actions.offers import as_context, as_offer
from noisewise.online.logs.logged_round import Choice, Features, LoggedRound, checked_round


def logged_round(
    decision: ActionDecision, context: Any, actions: Any, reward: float, names: Sequence[Any] | None = None
) -> LoggedRound:
    """A decision, what it was made from and its reward, as `write_vw` (layout "adf") and `write_dsjson` take it.

    Features are named as the learner names them: a number by its name, a word ``name=word``. `ContextualBandit.
    learn_rounds` learns the same from the round as `learn` did from the decision.

    >>> from noisewise.online import ContextualBandit
    >>> meals = [{"id": "tart", "taste": "sweet", "price": 4.0}]
    >>> decision = ContextualBandit().decide({"time": "noon"}, meals)
    >>> one = logged_round(decision, {"time": "noon"}, meals, reward=0.5)
    >>> one.features, one.offered[0].features
    ({'time=noon': 1.0}, {'taste=sweet': 1.0, 'price': 4.0})
    """
    offer = as_offer(actions, names)
    if decision.position >= len(offer) or offer.names[decision.position] != decision.action:
        raise ValueError(f"{decision.action!r} was played, which is not action {decision.position} of this offer")
    shared, own = _named(as_context(context), "context")[0], _named(offer.features, "action")
    choices = [
        Choice(name, features, float(probability))
        for name, features, probability in zip(offer.names, own, decision.probabilities)
    ]
    return checked_round(shared, decision.action, float(reward), decision.probability, tuple(choices), None)


def _named(given: Any, whose: str) -> list[Features]:
    """Features in any form by name, zeros left out."""
    index = FeatureIndex(whose)
    rows, names = index.rows(given), ["", *index.columns]
    pairs = ((columns[1:].tolist(), values[1:].tolist()) for columns, values in map(rows.row, range(len(rows))))
    return [{names[column]: value for column, value in zip(*pair) if value} for pair in pairs]


def played_features(one: LoggedRound) -> Features:
    """Features of the action that a round played."""
    for choice in one.offered:
        if choice.action == one.action:
            return choice.features
    raise ValueError(
        f"the round does not say what was on offer, with {one.action!r} among it; a log in ADF layout does"
    )
