"""What is on offer in a decision: as a request brings it, and as the log keeps it."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np
from pydantic_core import from_json, to_json

from noisewise._typing import Floats
from noisewise.online import Offer
from noisewise.serve.log.events import Event
from noisewise.serve.models.known_objects import KnownObject
from noisewise.serve.models.offer_spec import OfferRequest, ParsedOffer
from noisewise.serve.models.rows import shortened
from noisewise.serve.models.spec import MAX_ACTIONS

ID = "id"  # the entry of an action that is its name, and no feature
LONGEST_ID = 256


class Question(NamedTuple):
    """A context and the actions that may be played, with the position of each in the request, whose text is kept."""

    context: dict[str, Any]
    offer: Offer
    positions: list[int]
    text: str
    baseline: int  # index among those that may be played

    def played(self, index: int) -> bytes:
        """The context, the features and the name of an action that may be played: all that is learnt from."""
        return to_json([self.context, self.offer.features[index], self.offer.names[index]])


def read_request(request: OfferRequest | ParsedOffer) -> Question:
    """A request as a question, which takes its actions over; `excluded` ones are left out.

    >>> request = OfferRequest(actions=[{"id": "tart", "price": 4}, {"id": "soup", "price": 6}], excluded=["tart"])
    >>> read_request(request).offer
    Offer(names=['soup'], features=[{'price': 6}])
    """
    text, names = request.text, _names(request.actions)
    positions, baseline = list(range(len(names))), 0
    if request.excluded:
        unknown = [str(name) for name in request.excluded if name not in names]
        if unknown:
            raise ValueError(f"{shortened(unknown)} is excluded, and not on offer")
        left_out = set(request.excluded)
        positions = [position for position, name in enumerate(names) if name not in left_out]
        if not positions:
            raise ValueError("no action is left to choose from; exclude all but one at most")
    if request.baseline is not None:
        if request.baseline not in names or names.index(request.baseline) not in positions:
            raise ValueError(f"the baseline {request.baseline!r:.60} is not among the actions that may be played")
        baseline = positions.index(names.index(request.baseline))
    return Question(request.context, _offer(names, request.actions, positions), positions, text, baseline)


def logged_offer(decision: Event) -> tuple[dict[str, Any], Offer, list[int]]:
    """The context, what could be played, and its positions, as the log has them."""
    given = json.loads(decision.allowed or "{}")
    names, left_out = _names(given["actions"]), set(given.get("excluded") or ())
    positions = [position for position, name in enumerate(names) if name not in left_out]
    return given.get("context") or {}, _offer(names, given["actions"], positions), positions


def logged_play(decision: Event) -> tuple[dict[str, Any], Offer]:
    """The context and the action that was played, as the log has them."""
    context, features, name = json.loads(decision.features or b"[]")
    return context, Offer([name], [features])


def played_name(decision: Event) -> str | int:
    """The name of the action that was played, as the log has it.

    >>> played_name(Event(1, 1, 0, "id", 0.0, features=b'[{"hour": 9}, {"price": 4}, "tart},5"]'))
    'tart},5'
    """
    text = decision.features or b"[]"
    try:
        name: str | int = from_json(text[text.rindex(b"},") + 2 : -1])  # what is cut within a text is no JSON
    except ValueError:
        name = logged_play(decision)[1].names[0]
    return name


def logged_scores(decision: Event) -> Floats:
    """Means, standard deviations and propensities of the actions that could be played, in three rows."""
    values = np.frombuffer(decision.scores or b"", dtype="<f4").astype(np.float64)
    return values.reshape(3, -1)


def _names(actions: list[dict[str, Any]]) -> list[Any]:
    """Ids of actions, or their positions if none has one."""
    if not actions:
        raise ValueError("there are no actions; at least one must be on offer")
    if len(actions) > MAX_ACTIONS:
        raise ValueError(f"there are {len(actions):,} actions; at most {MAX_ACTIONS:,} can be on offer in a decision")
    names: list[Any] = [one.get(ID) for one in actions]
    if set(map(type, names)) == {str} and max(map(len, names)) <= LONGEST_ID and len(set(names)) == len(names):
        return names  # nearly always
    if all(name is None for name in names):
        return list(range(len(actions)))
    for name in names:
        if isinstance(name, bool) or not isinstance(name, str | int) or len(str(name)) > LONGEST_ID:
            raise ValueError(
                f"an action's id is {name!r:.60}; all or none have one, a text of up to {LONGEST_ID} letters"
            )
    if len(set(names)) != len(names):
        raise ValueError(f"two actions have the same id, {next(one for one in names if names.count(one) > 1)!r}")
    return names


def _offer(names: list[Any], actions: list[dict[str, Any]], positions: list[int]) -> Offer:
    features = [one.without(ID) if type(one) is KnownObject else _without_id(one) for one in actions]
    if len(positions) == len(names):
        return Offer(names, features)
    return Offer([names[position] for position in positions], [features[position] for position in positions])


def _without_id(action: dict[str, Any]) -> dict[str, Any]:
    action.pop(ID, None)
    return action
