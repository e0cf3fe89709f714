"""What of a model can be changed after it has been created, and what a change does to its learner."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from noisewise._loops.state import EXPLORATION
from noisewise.serve.models.recipes import exploring
from noisewise.serve.models.spec import DefaultFeedback, ModelSpec, Probability, Strict, WaitSeconds


class SpecChange(Strict):
    """The fields of a specification that can be changed; those that are absent stay as they are."""

    exploration: Probability | None = Field(default=None, description="Exploration rate from now on.")
    wait_seconds: WaitSeconds | None = Field(
        default=None, description="How long feedback is waited for; null is for ever."
    )
    default_right: DefaultFeedback | None = Field(default=None, description="Feedback recorded when the wait is over.")
    rewards: Literal["earliest", "sum"] = Field(default="earliest", description="Which of several rewards count.")
    keep_days: Annotated[float, Field(gt=0, le=36_500)] | None = Field(
        default=None, description="Days for which the log is kept; null is for ever."
    )

    def given(self) -> dict[str, Any]:
        """The fields that are present."""
        return self.model_dump(exclude_unset=True)


def changed_spec(spec: ModelSpec, change: dict[str, Any]) -> ModelSpec:
    """A specification with some fields changed.

    >>> spec = ModelSpec(actions=["tea", "coffee"], features={"count": 3})
    >>> changed_spec(spec, {"exploration": 0.2}).exploration
    0.2
    """
    return ModelSpec.model_validate(spec.model_dump() | change)


def use_exploration(learner: Any, spec: ModelSpec) -> None:
    """Explore at the specification's rate from now on."""
    if spec.exploration is not None:
        learner.policy = exploring(learner._policy(), spec.exploration)
        learner.parameters_[EXPLORATION] = learner.policy.exploration_rate
