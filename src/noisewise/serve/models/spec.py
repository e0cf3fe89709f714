"""Specification of a model and decision request, validated strictly so that a malformed one never reaches the log."""

from __future__ import annotations

import json
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints, model_validator

MAX_ACTIONS, MAX_FEATURES = 1000, 10_000  # every decision scores all actions on all features
MAX_BYTES = 256_000_000  # memory of a model's covariances
NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"

Identifier = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{1,256}$")]
AnnotatorName = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{1,128}$")]
ActionName = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{1,128}$")]
ActionNumber = Annotated[int, Field(ge=-(2**53), le=2**53)]
Actions = list[ActionName] | list[ActionNumber]
Number = Annotated[float, Field(ge=-1e100, le=1e100)]
Probability = Annotated[float, Field(ge=0, le=1)]
WaitSeconds = Annotated[float, Field(gt=0, le=1e9)]
DefaultFeedback = bool | Probability  # a number is the probability that it is right
Recipe = Literal["linucb", "ucwl", "confidit", "corrected_ucwl", "rcnbf", "rcine", "banditron", "bandit_pa", "soba"]


class Strict(BaseModel):
    """Unknown fields, numbers that are not finite and texts where a number is due are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class Features(Strict):
    """Encoding of the context: named numbers, a vector, or any JSON object by feature hashing."""

    names: list[ActionName] | None = Field(
        default=None, min_length=1, max_length=MAX_FEATURES, description="Named numbers."
    )
    count: int | None = Field(default=None, ge=1, le=MAX_FEATURES, description="Length of a vector.")
    hashed: int | None = Field(
        default=None, ge=8, le=MAX_FEATURES, description="Columns of the feature hashing of any JSON object."
    )
    unit_norm: bool = Field(default=False, description="Divide each row by its Euclidean norm.")
    constant: Number = Field(default=0.0, description="Value of an additional constant feature (intercept); 0 is none.")

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if sum(kind is not None for kind in (self.names, self.count, self.hashed)) != 1:
            raise ValueError("features need exactly one of names, count and hashed")
        if self.names is not None and len(set(self.names)) != len(self.names):
            raise ValueError("two features have the same name")
        return self

    @property
    def width(self) -> int:
        """Number of columns of a row."""
        return len(self.columns)

    @property
    def columns(self) -> list[str]:
        """A name for each column."""
        named = self.names or [str(column) for column in range(self.count or self.hashed or 0)]
        return [*named, "(constant)"] if self.constant else list(named)


class Rates(Strict):
    """Known flip rates of the feedback: rho0 = P(right | wrong action), rho1 = P(wrong | right action)."""

    false_positive: Probability
    false_negative: Probability

    @model_validator(mode="after")
    def _is_informative(self) -> Self:
        if self.false_positive + self.false_negative >= 0.99:
            raise ValueError("the rates sum to 0.99 or more; below, the feedback still carries information")
        return self


class Options(Strict):
    """Settings of a recipe; the recipe's own defaults where they are absent."""

    width_in_std: Annotated[float, Field(ge=0, le=100)] | None = None
    ridge: Annotated[float, Field(ge=1e-6, le=1e6)] | None = None
    confidence: Annotated[float, Field(ge=0.5, le=0.999)] | None = None
    C: Annotated[float, Field(ge=1e-6, le=1e6)] | None = None
    covariance: Literal["diagonal", "full"] | None = None
    variant: Literal["published", "recursive"] | None = None
    intercept: bool | None = None
    block: Annotated[int, Field(ge=100, le=1_000_000)] | None = None


class CommonSpec(Strict):
    """What models of all kinds have: waits, aggregation of rewards, retention, a seed."""

    exploration: Probability | None = Field(
        default=None, description="Exploration rate: fraction of decisions drawn uniformly."
    )
    wait_seconds: WaitSeconds | None = Field(
        default=None, description="How long feedback is waited for; null is for ever."
    )
    rewards: Literal["earliest", "sum"] = Field(
        default="earliest", description="Of several rewards: the earliest counts, or their sum when the wait is over."
    )
    keep_days: Annotated[float, Field(gt=0, le=36_500)] | None = Field(
        default=None, description="Days for which the log is kept; null is for ever."
    )
    seed: int = Field(default=0, ge=0, le=2**63 - 1, description="Seed of the exploration's random draws.")

    @model_validator(mode="after")
    def _sums_after_a_wait(self) -> Self:
        if self.rewards == "sum" and self.wait_seconds is None:
            raise ValueError('rewards are summed when the wait is over; rewards "sum" needs wait_seconds')
        return self


class ModelSpec(CommonSpec):
    """Specification of a model; fixed when it is created, because its state is a function of this and of the log."""

    actions: Actions = Field(min_length=2, max_length=MAX_ACTIONS, description="The actions (classes) to choose from.")
    features: Features
    recipe: Recipe = "linucb"
    options: Options = Options()
    noise: Rates | list[Rates] | Literal["estimate"] | None = Field(
        default=None,
        description='Known flip rates, for all actions or one pair each; "estimate" to estimate them; null for none.',
    )
    people: bool = Field(
        default=False, description="Estimate the flip rates of each annotator; linucb without noise only."
    )
    missing: Literal["drop", "no", "auto"] = Field(default="drop", description="Meaning of missing feedback.")
    default_right: DefaultFeedback | None = Field(
        default=None,
        description="Feedback recorded when the wait is over: right or wrong, right with this probability, or missing.",
    )
    revision: Literal[1, 2, 3] = Field(
        default=3,
        description="Of the defaults: 1 for linucb without an intercept, recursive soba, no second feedback; "
        "2 for full covariances of any size.",
    )

    @classmethod
    def stored(cls, text: str) -> Self:
        """The specification of a model in the store; those of the first version do not say which revision they are.

        >>> spec = ModelSpec(actions=["tea", "coffee"], features={"count": 3})
        >>> ModelSpec.stored(spec.model_dump_json()) == spec
        True
        >>> ModelSpec.stored('{"actions": [1, 2], "features": {"count": 3}}').revision
        1
        """
        return cls.model_validate({"revision": 1} | json.loads(text))

    @property
    def reopens(self) -> bool:
        """Whether feedback may follow missing feedback, which is dropped."""
        return self.revision > 1 and self.missing == "drop"

    @model_validator(mode="after")
    def _different_actions(self) -> Self:
        if len(set(self.actions)) != len(self.actions):
            raise ValueError("two actions have the same name")
        if isinstance(self.noise, list) and len(self.noise) != len(self.actions):
            raise ValueError(
                f"noise has {len(self.noise)} entries, and actions has {len(self.actions)}; give one, or one for each"
            )
        return self


class DecideRequest(Strict):
    """A context to decide in."""

    features: list[Number] | dict[str, JsonValue] = Field(
        max_length=MAX_FEATURES, description="A vector, or values by name, as the model's features specify."
    )
    actions: Actions | None = Field(default=None, max_length=MAX_ACTIONS, description="The only actions allowed now.")
    excluded: Actions | None = Field(default=None, max_length=MAX_ACTIONS, description="Actions not allowed now.")
    decision_id: Identifier | None = Field(
        default=None, description="Your own id of the decision; sent twice, the first decision is returned."
    )
