"""JSON schemas of the HTTP interface: feedback requests, all responses, and problems."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from noisewise.serve.models.spec import AnnotatorName, Identifier, ModelSpec, Strict


class DecideResponse(BaseModel):
    """The chosen action and its propensity."""

    decision_id: str
    action: str | int
    probability: float = Field(description="Propensity: probability with which the action was chosen.")
    version: int = Field(description="Log position of the state that decided.")


class FeedbackRequest(Strict):
    """Feedback on a decision: right, wrong, or null for missing feedback."""

    decision_id: Identifier
    right: bool | None
    person: AnnotatorName | None = None


class FeedbackResponse(BaseModel):
    """Status of the feedback: `accepted`, or not counted because it was a `duplicate` or `late`."""

    decision_id: str
    status: Literal["accepted", "duplicate", "late"]
    right: bool | None = Field(description="The feedback that counts.")


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
    recipe: str
    n_actions: int
    n_features: int
    people: bool
    position: int = Field(description="Log position up to which the model has learnt.")
    decisions_per_second: float
    counts: Counts
    accuracy: Interval | None = Field(
        description="Fraction of right decisions among the last 1,000 with feedback, corrected for the noise."
    )
    warning: str | None = Field(description="What is wrong with the feedback, if it is all of one kind.")
    covariance: str = Field(description="Covariance of the weights: full, diagonal or none; by size unless specified.")
    lag: int = Field(description="Rows of the log that are yet to be learnt from.")
    noise: Noise


class ModelList(BaseModel):
    """All models."""

    models: list[ModelSummary]


class ActionReport(BaseModel):
    """Counters and recent accuracy of one action."""

    action: str | int
    decisions: int
    answers: int
    right: int
    accuracy: Interval | None


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


class ModelReport(ModelSummary):
    """Full report of a model."""

    spec: ModelSpec
    exploration: Exploration
    actions: list[ActionReport]
    coefficients: list[Coefficients]
    people_rates: list[PersonRates]


class PeopleReport(BaseModel):
    """Estimated flip rates of the annotators."""

    people: list[PersonRates]


class Point(BaseModel):
    """A point of the learning curve; `decisions` and `answers` (rounds with feedback) are cumulative."""

    time: float
    decisions: int
    answers: int
    heard_right: float
    accuracy: float | None
    false_positive: float
    false_negative: float


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


class Answer(BaseModel):
    """Feedback on a decision; `person` is the annotator who gave it."""

    right: bool | None
    person: str | None
    time: float
    by_default: bool


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
    features: list[float]
    scores: list[ActionScore]
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
    right: bool | None
    person: str | None
    by_default: bool
    change: dict[str, Any] | None


class EventList(BaseModel):
    """Rows of the log, the newest first."""

    events: list[EventEntry]
