"""The shapes of what the service tells about its models."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from noisewise.serve.api.schemas import ModelSpec


class Interval(BaseModel):
    """A number found from the log, and the interval that holds it with 95 %."""

    value: float
    low: float
    high: float


class Counts(BaseModel):
    """How often things happened. The last three are counted by each process for itself."""

    decisions: int
    answers: int
    right: int = Field(description="Answers that said right.")
    missing: int = Field(description="Times it was said that no answer came.")
    defaults: int = Field(description="Decisions closed by the default answer.")
    refused: int = Field(description="Answers the learner could not use.")
    duplicate: int
    late: int
    unknown: int


class ActionNoise(BaseModel):
    """Flip rates that are corrected for, of one action."""

    action: str | int
    false_positive: float
    false_negative: float


class Noise(BaseModel):
    """How often answers are flipped; `identified` is false while the log can't tell, and `reason` says why."""

    source: Literal["given", "estimated", "watched"]
    false_positive: Interval
    false_negative: Interval
    identified: bool
    reason: str
    by_action: list[ActionNoise] | None


class ModelSummary(BaseModel):
    """The headline numbers of a model."""

    name: str
    recipe: str
    n_actions: int
    n_features: int
    people: bool
    position: int = Field(description="How far the model has read the log.")
    decisions_per_second: float
    counts: Counts
    accuracy: Interval | None = Field(description="Share of the last 1,000 answered decisions that were right.")
    noise: Noise


class ModelList(BaseModel):
    """All models."""

    models: list[ModelSummary]


class ActionReport(BaseModel):
    """How one action is doing."""

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
    """What is believed of a person; `signal` is 1 less both rates, and `settled` is false before the first look."""

    person: str
    answers: int
    settled: bool
    false_positive: Interval
    false_negative: Interval
    signal: float


class Exploration(BaseModel):
    """Share of uniform decisions, and the bonus for doubt in standard deviations."""

    share: float
    width_in_std: float


class ModelReport(ModelSummary):
    """All that is known about a model."""

    spec: ModelSpec
    exploration: Exploration
    actions: list[ActionReport]
    coefficients: list[Coefficients]
    people_rates: list[PersonRates]


class PeopleReport(BaseModel):
    """Who can be believed."""

    people: list[PersonRates]


class Point(BaseModel):
    """A stretch of the learning curve; `decisions` and `answers` are counted from the beginning."""

    time: float
    decisions: int
    answers: int
    heard_right: float
    accuracy: float
    false_positive: float
    false_negative: float


class PointList(BaseModel):
    """A learning curve."""

    points: list[Point]


class ActionScore(BaseModel):
    """What spoke for an action when it was decided."""

    action: str | int
    score: float
    width: float
    allowed: bool


class Answer(BaseModel):
    """The answer to a decision."""

    right: bool | None
    person: str | None
    time: float
    by_default: bool


class Explanation(BaseModel):
    """Why an action was played: scores, widths, and the draw if there was one."""

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
    """How often a policy would have been right; `warning` says why that should not be trusted."""

    policy: str
    value: float | None
    low: float | None
    high: float | None
    warning: str | None


class OffPolicyReport(BaseModel):
    """What policies would have been worth on the rounds of the log."""

    rounds: int
    method: str
    policies: list[PolicyValue]
