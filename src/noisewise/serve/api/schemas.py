"""JSON schemas of the HTTP interface: feedback requests, all responses, and problems."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import BaseModel, Field, model_validator

from noisewise.serve.models.offer_spec import AnySpec
from noisewise.serve.models.spec import ActionName, AnnotatorName, Identifier, Number, Strict


class DecideResponse(BaseModel):
    """The chosen action and its propensity."""

    decision_id: str
    action: str | int
    probability: float = Field(description="Propensity: probability with which the action was chosen.")
    version: int = Field(description="Log position of the state that decided.")


class FeedbackRequest(Strict):
    """Feedback on a decision: right, wrong, or null for missing feedback; a reward, or counts of outcomes."""

    decision_id: Identifier
    right: bool | None = Field(default=None, description="Right or wrong; the highest or lowest reward.")
    reward: Number | None = Field(default=None, description="Of a model with action features; null is missing.")
    outcomes: dict[ActionName, Number] | None = Field(
        default=None, description="Counts of outcomes, of a model that has weights for them."
    )
    person: AnnotatorName | None = None

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if len(self.model_fields_set & {"right", "reward", "outcomes"}) != 1:
            raise ValueError("exactly one of right, reward and outcomes is needed; null where feedback is missing")
        return self

    @property
    def given(self) -> bool | float | dict[str, float] | None:
        """The feedback itself."""
        return self.right if "right" in self.model_fields_set else self.outcomes or self.reward


class FeedbackResponse(BaseModel):
    """Status of the feedback: `accepted`, or not counted because it was a `duplicate` or `late`."""

    decision_id: str
    status: Literal["accepted", "duplicate", "late"]
    right: bool | None = Field(description="The feedback that counts.")
    reward: float | None = Field(default=None, description="The reward that counts.")


class Problem(BaseModel):
    """An error and how to avoid it (RFC 9457)."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    errors: list[dict[str, Any]] | None = None


class Interval(BaseModel):
    """An estimate from the log with its 95 % interval."""

    value: float
    low: float
    high: float


class Counts(BaseModel):
    """Counters of a model. The last three are counted by each process for itself."""

    decisions: int
    answers: int = Field(description="Rounds with feedback.")
    right: int = Field(description="Positive feedback (right).")
    missing: int = Field(description="Rounds with missing feedback.")
    defaults: int = Field(description="Decisions closed by the default feedback.")
    refused: int = Field(description="Feedback the learner refused.")
    duplicate: int
    late: int
    unknown: int


class ActionNoise(BaseModel):
    """Flip rates of one action that are corrected for."""

    action: str | int
    false_positive: float
    false_negative: float


class Noise(BaseModel):
    """Estimated flip rates of the feedback; `identified` is false while the log can't tell, and `reason` says why."""

    source: Literal["given", "estimated", "watched"]
    false_positive: Interval
    false_negative: Interval
    identified: bool
    reason: str
    by_action: list[ActionNoise] | None


class ModelSummary(BaseModel):
    """Summary of a model."""

    name: str
    kind: Literal["rows", "features"] = Field(description="A fixed set of actions, or actions with features.")
    recipe: str = Field(description="The recipe, or the policy of a model with action features.")
    n_actions: int
    n_features: int
    people: bool
    position: int = Field(description="Log position up to which the model has learnt.")
    decisions_per_second: float
    counts: Counts
    accuracy: Interval | None = Field(
        description="Fraction of right decisions among the last 1,000 with feedback, corrected for the noise."
    )
    reward: Interval | None = Field(default=None, description="Mean reward of the last 1,000 decisions that have one.")
    agreement: Interval | None = Field(
        default=None, description="How often an apprentice would have played what the baseline did."
    )
    warning: str | None = Field(description="What is wrong with the feedback, if it is all of one kind.")
    change: str | None = Field(
        default=None, description="From when on rewards follow what is expected in another way, if watch finds that."
    )
    covariance: str = Field(description="Covariance of the weights: full, diagonal or none; by size unless specified.")
    lag: int = Field(description="Rows of the log that are yet to be learnt from.")
    noise: Noise | None


class ModelList(BaseModel):
    """All models."""

    models: list[ModelSummary]


class ActionReport(BaseModel):
    """Counters and recent accuracy of one action."""

    action: str | int
    decisions: int
    answers: int
    right: int | None = None
    accuracy: Interval | None = None
    reward: float | None = Field(default=None, description="Mean reward.")


class Coefficients(BaseModel):
    """Weights of a feature, one for each action."""

    feature: str
    weights: list[float]


class PersonRates(BaseModel):
    """Estimated flip rates of an annotator; `signal` is 1 - rho0 - rho1; `settled` means that they are estimates."""

    person: str
    answers: int
    settled: bool
    false_positive: Interval
    false_negative: Interval
    signal: float


class Exploration(BaseModel):
    """Exploration rate (`share` of uniform decisions), and the UCB width in standard deviations."""

    share: float
    width_in_std: float


class GroupNoise(BaseModel):
    """Estimated noise of a group's rewards.

    Flips relative to all groups: rewards follow offset + signal * expected reward. Or additive noise: their variance
    around what was expected, and how much a round counts.
    """

    group: str | None
    rounds: int
    offset: float | None = None
    signal: float | None = None
    variance: float | None = None
    weight: float | None = None


class ModelReport(ModelSummary):
    """Full report of a model."""

    spec: AnySpec
    exploration: Exploration
    actions: list[ActionReport]
    coefficients: list[Coefficients]
    people_rates: list[PersonRates]
    groups: list[GroupNoise] | None = Field(default=None, description="Of rewards whose noise is estimated.")


class PeopleReport(BaseModel):
    """Estimated flip rates of the annotators."""

    people: list[PersonRates]


class Point(BaseModel):
    """A point of the learning curve; `decisions` and `answers` (rounds with feedback) are cumulative."""

    time: float
    decisions: int
    answers: int
    heard_right: float | None = None
    accuracy: float | None = None
    false_positive: float | None = None
    false_negative: float | None = None
    reward: float | None = Field(default=None, description="Mean reward, of a model with action features.")


class PointList(BaseModel):
    """A learning curve."""

    points: list[Point]


class ActionScore(BaseModel):
    """Score and confidence width of an action at the time of the decision; `recomputed` if by the present state."""

    action: str | int
    score: float
    width: float
    allowed: bool
    recomputed: bool
    probability: float | None = Field(default=None, description="Its propensity, of a model with action features.")


class Reason(BaseModel):
    """How much a product of a context and an action feature adds to the expected reward, compared with the mean action.

    Null is the constant: a feature of the action, or of the context, alone.
    """

    context: str | None
    action: str | None
    contribution: float


class Answer(BaseModel):
    """Feedback on a decision; `person` is the annotator who gave it."""

    right: bool | None
    person: str | None
    time: float
    by_default: bool
    reward: float | None = None
    outcomes: dict[str, float] | None = None


class Explanation(BaseModel):
    """Why an action was played: scores, confidence widths, and the random draw if there was one."""

    decision_id: str
    action: str | int
    best: str | int
    probability: float
    explored: bool
    draw: float | None
    version: int
    position: int
    time: float
    active: bool
    features: list[float] | None = None
    context: dict[str, Any] | None = None
    scores: list[ActionScore]
    reasons: list[Reason] | None = Field(
        default=None, description="What speaks for the action by the present state, the most telling first."
    )
    answer: Answer | None


class PolicyValue(BaseModel):
    """Estimated accuracy of a policy; `warning` says why the estimate is unreliable."""

    policy: str
    value: float | None
    low: float | None
    high: float | None
    warning: str | None


class OffPolicyReport(BaseModel):
    """Off-policy values of policies on the rounds of the log; each round is judged by the state that decided it."""

    rounds: int
    method: str
    warning: str | None = Field(description="Why none of the values should be relied on.")
    policies: list[PolicyValue]


class RollBackRequest(Strict):
    """The position of the log to go back to."""

    position: int = Field(ge=0)


class VersionEntry(BaseModel):
    """A stored version; replays begin at the one that is a base."""

    position: int
    time: float
    note: str
    base: bool


class VersionList(BaseModel):
    """Stored versions, and the position of the present state."""

    position: int
    versions: list[VersionEntry]


class Removed(BaseModel):
    """How many rows of the log were removed."""

    removed: int


class EventEntry(BaseModel):
    """A row of the log: a decision, feedback, activation or reward of one, or a change of the model."""

    position: int
    time: float
    kind: Literal["decision", "feedback", "activation", "reward", "change"]
    decision_id: str | None
    action: str | int | None
    probability: float | None
    reward: float | None
    right: bool | None
    person: str | None
    by_default: bool
    change: dict[str, Any] | None


class EventList(BaseModel):
    """Rows of the log, the newest first."""

    events: list[EventEntry]
