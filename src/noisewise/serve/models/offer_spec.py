"""Specification of a model whose actions come with each request, with features, and the request of a decision."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import Discriminator, Field, JsonValue, PrivateAttr, Tag, model_validator

from noisewise.serve.models.known_objects import KnownObject
from noisewise.serve.models.spec import (
    MAX_ACTIONS,
    ActionName,
    ActionNumber,
    AnnotatorName,
    CommonSpec,
    DecideRequest,
    Identifier,
    ModelSpec,
    Number,
    Rates,
    Strict,
)

FEATURES: Literal["features"] = "features"  # `actions` of a specification without any: they come with their features
PolicyName = Literal["thompson_sampling", "inverse_gap_weighting", "upper_confidence", "greedy"]
Mode = Literal["online", "apprentice", "logging"]
Record = dict[str, JsonValue]
OBJECTS: set[Any] = {dict, KnownObject}  # types of an action as parsed


class Variance(Strict):
    """Additive noise of the rewards."""

    variance: Annotated[float, Field(gt=0, le=1e12)]


RewardNoise = Rates | Variance


class GroupNoise(Strict):
    """Noise of the rewards of each group, which `noise_by` names."""

    groups: dict[str, RewardNoise] = Field(min_length=1, max_length=10_000)


class OfferOptions(Strict):
    """Settings of the learner; the library's own defaults where they are absent."""

    interactions: Literal["context*action"] | None = Field(
        default="context*action", description="Whether products of context and action features have weights."
    )
    per_action: bool = Field(default=False, description="Whether each action has weights of its own, by its id.")
    covariance: Literal["auto", "full", "diagonal"] = "auto"
    ridge: Annotated[float, Field(ge=1e-6, le=1e6)] = 0.3
    hash_bits: Annotated[int, Field(ge=8, le=22)] | None = Field(
        default=None, description="Features have one of 2^n columns by hash, so that memory is bounded."
    )
    width_in_std: Annotated[float, Field(ge=0, le=100)] | None = Field(
        default=None, description="Of thompson_sampling and upper_confidence."
    )
    gamma_scale: Annotated[float, Field(gt=0, le=1e6)] | None = Field(
        default=None, description="Of inverse_gap_weighting."
    )
    exponent: Annotated[float, Field(ge=0, le=1)] | None = Field(default=None, description="Of inverse_gap_weighting.")


class OfferSpec(CommonSpec):
    """Specification of a model whose actions come with each decision, with features; and whose rewards are numbers."""

    actions: Literal["features"] = Field(description="Each decision brings the actions on offer, with their features.")
    policy: PolicyName = "thompson_sampling"
    options: OfferOptions = OfferOptions()
    reward_range: list[Number] = Field(
        default=[0.0, 1.0], min_length=2, max_length=2, description="Lowest and highest reward."
    )
    costs: bool = Field(default=False, description="Whether rewards are costs, of which less is better.")
    outcomes: dict[ActionName, Number] | None = Field(
        default=None, min_length=1, max_length=100, description="Weights of outcomes, whose counts make the reward."
    )
    noise: RewardNoise | GroupNoise | Literal["estimate", "additive"] | None = Field(
        default=None,
        description='Noise of the rewards, for all or for each group; "estimate" (flips) or "additive" to estimate it.',
    )
    noise_by: AnnotatorName = Field(
        default="person", description='What a group is: "person", "action", or a feature of the action.'
    )
    memory: Annotated[float, Field(gt=1, le=1e12)] | Annotated[str, Field(max_length=40)] | None = Field(
        default=None, description='How many rounds are remembered, or how long, as "7d" or "12h"; null is all.'
    )
    missing: Literal["drop", "no", "auto"] = Field(default="drop", description="Meaning of a missing reward.")
    watch: bool = Field(default=False, description="Whether a change of the rewards' noise is looked for.")
    default_reward: Number | None = Field(
        default=None, description="Reward recorded when the wait is over; null is missing."
    )
    mode: Mode = Field(
        default="online",
        description="online; apprentice: the first action on offer is played, and learnt from; logging: not learnt.",
    )
    revision: Literal[3] = 3

    @property
    def reopens(self) -> bool:
        """Whether a reward may follow a missing one, which is dropped."""
        return self.missing == "drop"

    @model_validator(mode="after")
    def _is_an_interval(self) -> Self:
        low, high = self.reward_range
        if not low < high:
            raise ValueError(f"reward_range is {self.reward_range}; it is an interval such as [0, 1] or [-1, 1]")
        if self.default_reward is not None and not low <= self.default_reward <= high:
            raise ValueError(f"default_reward is {self.default_reward:g}; it lies between {low:g} and {high:g}")
        return self


class OfferRequest(Strict):
    """A context and the actions on offer, with features: numbers, words, true or false, and lists or objects of these.

    An action is called by its `id`, or by its position if none has one.
    """

    context: Record = Field(default_factory=dict, description="Features of the context.")
    actions: list[Record] = Field(
        description="The actions on offer, each with its features and, if it has one, its id."
    )
    excluded: list[ActionName] | list[ActionNumber] | None = Field(
        default=None, max_length=MAX_ACTIONS, description="Ids (or positions) of actions that may not be played."
    )
    baseline: ActionName | ActionNumber | None = Field(
        default=None, description="What is played while the model is an apprentice; the first one, unless named."
    )
    decision_id: Identifier | None = Field(
        default=None, description="Your own id of the decision; sent twice, the first decision is returned."
    )
    _text: str | None = PrivateAttr(default=None)

    @property
    def text(self) -> str:
        """The request as JSON, for the log: as it came, or written anew; text that is no Unicode is refused."""
        if self._text is None:
            self._text = json.dumps(self.model_dump(include={"context", "actions", "excluded"}), ensure_ascii=False)
            try:
                self._text.encode()
            except UnicodeEncodeError:
                raise ValueError("a text of the request holds half of a character; send whole ones") from None
        return self._text


class ParsedOffer(NamedTuple):
    """An `OfferRequest` in the making: as parsed, without the checks of each feature, which encoding makes."""

    context: Any
    actions: Any
    text: str
    excluded: None = None
    baseline: None = None
    decision_id: None = None


def read_offer(given: Any, text: str) -> ParsedOffer | None:
    """A request from parsed JSON that has a context and actions, and no more; None if it needs other checks."""
    if type(given) is not dict or not given.keys() <= {"context", "actions"}:
        return None
    context, actions = given.get("context", {}), given.get("actions")
    if type(context) is not dict or type(actions) is not list or not set(map(type, actions)) <= OBJECTS:
        return None
    return ParsedOffer(context, actions, text)


def _kind_of_spec(given: Any) -> str:
    actions = given.get("actions") if isinstance(given, dict) else getattr(given, "actions", None)
    return "[features]" if actions == FEATURES else "[rows]"


def _kind_of_request(given: Any) -> str:
    if not isinstance(given, dict):
        return "[features]" if isinstance(given, OfferRequest) else "[rows]"
    actions = given.get("actions")
    offered = isinstance(actions, list) and any(isinstance(one, dict) for one in actions)
    return "[features]" if "context" in given or (offered and "features" not in given) else "[rows]"


# brackets keep the tags out of what is said of an error
AnySpec = Annotated[
    Annotated[ModelSpec, Tag("[rows]")] | Annotated[OfferSpec, Tag("[features]")], Discriminator(_kind_of_spec)
]
AnyRequest = Annotated[
    Annotated[DecideRequest, Tag("[rows]")] | Annotated[OfferRequest, Tag("[features]")],
    Discriminator(_kind_of_request),
]


def stored_spec(text: str) -> ModelSpec | OfferSpec:
    """The specification of a model in the store.

    >>> stored_spec('{"actions": "features"}').policy
    'thompson_sampling'
    """
    given = json.loads(text)
    return OfferSpec.model_validate(given) if _kind_of_spec(given) == "[features]" else ModelSpec.stored(text)
