"""What of a model can be changed after it has been created, and what a change does to its learner."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field

from noisewise._loops.state import EXPLORATION
from noisewise.serve.models.offer_spec import Mode, PolicyName
from noisewise.serve.models.recipes import exploring
from noisewise.serve.models.spec import CommonSpec, DefaultFeedback, ModelSpec, Number, Probability, Strict, WaitSeconds

Spec = TypeVar("Spec", bound=CommonSpec)


class SpecChange(Strict):
    """The fields of a specification that can be changed; those that are absent stay as they are."""

    exploration: Probability | None = Field(default=None, description="Exploration rate from now on.")
    wait_seconds: WaitSeconds | None = Field(
        default=None, description="How long feedback is waited for; null is for ever."
    )
    default_right: DefaultFeedback | None = Field(default=None, description="Feedback recorded when the wait is over.")
    default_reward: Number | None = Field(default=None, description="Reward recorded when the wait is over.")
    policy: PolicyName = Field(default="thompson_sampling", description="Policy of a model of offers from now on.")
    mode: Mode = Field(default="online", description="Whether a model of offers decides, or a baseline does.")
    rewards: Literal["earliest", "sum"] = Field(default="earliest", description="Which of several rewards count.")
    keep_days: Annotated[float, Field(gt=0, le=36_500)] | None = Field(
        default=None, description="Days for which the log is kept; null is for ever."
    )

    def given(self) -> dict[str, Any]:
        """The fields that are present."""
        return self.model_dump(exclude_unset=True)


def changed_spec(spec: Spec, change: dict[str, Any]) -> Spec:
    """A specification with some fields changed.

    >>> spec = ModelSpec(actions=["tea", "coffee"], features={"count": 3})
    >>> changed_spec(spec, {"exploration": 0.2}).exploration
    0.2
    """
    unknown = [name for name in change if name not in type(spec).model_fields]
    if unknown:
        raise ValueError(f"there is no {unknown[0]} in a model of this kind; its specification has what can be changed")
    return type(spec).model_validate(spec.model_dump() | change)


def use_exploration(learner: Any, spec: ModelSpec) -> None:
    """Explore at the specification's rate from now on."""
    if spec.exploration is not None:
        learner.policy = exploring(learner._policy(), spec.exploration)
        learner.parameters_[EXPLORATION] = learner.policy.exploration_rate
