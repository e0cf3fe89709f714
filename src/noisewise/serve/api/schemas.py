"""What may be said to the service, and what it answers: strict, so that a wrong request never reaches the log."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints, model_validator

MOST_ACTIONS, MOST_FEATURES = 1000, 10_000
MOST_BYTES = 256_000_000  # of a model's covariances
NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"

Name = Annotated[str, StringConstraints(pattern=NAME)]
Identifier = Annotated[str, StringConstraints(pattern=r"^[!-~]{1,64}$")]
Person = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{1,128}$")]
ActionName = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{1,128}$")]
ActionNumber = Annotated[int, Field(ge=-(2**53), le=2**53)]
Actions = list[ActionName] | list[ActionNumber]
Number = Annotated[float, Field(ge=-1e100, le=1e100)]
Share = Annotated[float, Field(ge=0, le=1)]
Recipe = Literal["linucb", "ucwl", "confidit", "corrected_ucwl", "rcnbf", "rcine", "banditron", "bandit_pa", "soba"]


class Strict(BaseModel):
    """No field that is not named, no number that is not finite, no text in the place of a number."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class Features(Strict):
    """How a situation is described: by named numbers, by a vector, or by any JSON object whose parts are hashed."""

    names: list[ActionName] | None = Field(
        default=None, min_length=1, max_length=MOST_FEATURES, description="Named numbers."
    )
    count: int | None = Field(default=None, ge=1, le=MOST_FEATURES, description="Length of a vector.")
    hashed: int | None = Field(
        default=None, ge=8, le=MOST_FEATURES, description="Columns that any JSON object is hashed to."
    )
    unit_norm: bool = Field(default=False, description="Divide each row by its length.")
    constant: Number = Field(default=0.0, description="A further feature that is always this; 0 is none.")

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if sum(kind is not None for kind in (self.names, self.count, self.hashed)) != 1:
            raise ValueError("features need exactly one of names, count and hashed")
        if self.names is not None and len(set(self.names)) != len(self.names):
            raise ValueError("two features have the same name")
        return self

    @property
    def width(self) -> int:
        """Columns of a row."""
        return len(self.columns)

    @property
    def columns(self) -> list[str]:
        """A name for each column."""
        named = self.names or [str(column) for column in range(self.count or self.hashed or 0)]
        return [*named, "(constant)"] if self.constant else list(named)


class Rates(Strict):
    """Known flip rates: false praise of wrong actions and false blame of right ones."""

    false_positive: Share
    false_negative: Share

    @model_validator(mode="after")
    def _tells_something(self) -> Self:
        if self.false_positive + self.false_negative >= 0.99:
            raise ValueError("the rates sum to 0.99 or more; below, the feedback still carries information")
        return self


class Options(Strict):
    """Settings of a recipe; what is left out is as the recipe has it."""

    width_in_std: Annotated[float, Field(ge=0, le=100)] | None = None
    ridge: Annotated[float, Field(ge=1e-6, le=1e6)] | None = None
    confidence: Annotated[float, Field(ge=0.5, le=0.999)] | None = None
    C: Annotated[float, Field(ge=1e-6, le=1e6)] | None = None
    covariance: Literal["diagonal", "full"] | None = None
    block: Annotated[int, Field(ge=100, le=1_000_000)] | None = None


class ModelSpec(Strict):
    """What a model is; fixed when it is made, because its state is a function of this and of the log."""

    actions: Actions = Field(min_length=2, max_length=MOST_ACTIONS, description="What can be chosen.")
    features: Features
    recipe: Recipe = "linucb"
    options: Options = Options()
    noise: Rates | list[Rates] | Literal["estimate"] | None = Field(
        default=None, description="Known flip rates, for all actions or one for each; or to be estimated; or none."
    )
    exploration: Share | None = Field(default=None, description="Share of decisions drawn uniformly.")
    people: bool = Field(default=False, description="Learn who can be believed; linucb without noise only.")
    missing: Literal["drop", "no", "auto"] = Field(default="drop", description="What no answer means.")
    wait_seconds: Annotated[float, Field(gt=0, le=1e9)] | None = Field(
        default=None, description="How long an answer is waited for; null is for ever."
    )
    default_right: bool | None = Field(default=None, description="The answer when the wait is over; null is no answer.")
    seed: int = Field(default=0, ge=0, le=2**63 - 1, description="What the exploration draws from.")

    @model_validator(mode="after")
    def _different_actions(self) -> Self:
        if len(set(self.actions)) != len(self.actions):
            raise ValueError("two actions have the same name")
        if isinstance(self.noise, list) and len(self.noise) != len(self.actions):
            raise ValueError(f"{len(self.noise)} noises for {len(self.actions)} actions; give one, or one for each")
        return self


class DecideRequest(Strict):
    """A situation to act in."""

    features: list[Number] | dict[str, JsonValue] = Field(
        max_length=MOST_FEATURES, description="A vector, or values by name, as the model's features say."
    )
    actions: Actions | None = Field(default=None, max_length=MOST_ACTIONS, description="The only actions allowed now.")
    excluded: Actions | None = Field(default=None, max_length=MOST_ACTIONS, description="Actions not allowed now.")
    decision_id: Identifier | None = Field(
        default=None, description="Your own name for the decision; sent twice, the first decision is given back."
    )


class DecideResponse(BaseModel):
    """What to do."""

    decision_id: str
    action: str | int
    probability: float
    version: int = Field(description="Log position of the state that decided.")


class FeedbackRequest(Strict):
    """Whether a decision was right; null says that no answer came."""

    decision_id: Identifier
    right: bool | None
    person: Person | None = None


class FeedbackResponse(BaseModel):
    """What became of an answer: `accepted`, or not counted because it was a `duplicate` or `late`."""

    decision_id: str
    status: Literal["accepted", "duplicate", "late"]
    right: bool | None = Field(description="The answer that counts.")


class Problem(BaseModel):
    """What went wrong and what would do (RFC 9457)."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    errors: list[dict[str, Any]] | None = None
