"""Untrained learners from the specification of a model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from noisewise.noise import FlipMatrix
from noisewise.online import BanditClassifier, UniformExploration, recipes
from noisewise.serve.models.spec import MAX_BYTES, ModelSpec, Rates

ESTIMATING = {  # the recipe that estimates the flip rates of its feedback
    "linucb": "linucb",
    "ucwl": "corrected_ucwl",
    "corrected_ucwl": "corrected_ucwl",
    "banditron": "rcine",
    "rcnbf": "rcine",
    "rcine": "rcine",
}
MAX_FULL = 1_000_000  # values of full covariances, all read by every decision; beyond, they are diagonal unless asked
CORRECTING = ("corrected_ucwl", "rcine")  # recipes that always correct for noise


def new_learner(spec: ModelSpec) -> BanditClassifier:
    """An untrained learner for a specification, with its arrays allocated; what can't be combined is refused.

    >>> spec = ModelSpec(actions=["tea", "coffee"], features={"count": 3}, recipe="ucwl")
    >>> new_learner(spec).classes_.tolist()
    ['tea', 'coffee']
    """
    options: dict[str, Any] = _defaults(spec) | spec.options.model_dump(exclude_none=True)
    recipe: str = spec.recipe
    if spec.noise == "estimate":
        if recipe not in ESTIMATING:
            raise ValueError(f"noise can't be estimated with {recipe}; it can with {', '.join(ESTIMATING)}")
        recipe = ESTIMATING[recipe]
        if recipe == "linucb":
            options["rates"] = "action"
    elif spec.noise is not None:
        options["noise"] = _flips(spec.noise)
    elif recipe in CORRECTING:
        raise ValueError(f'{recipe} corrects for noise: give its rates, or noise="estimate"')
    if recipe == "linucb":
        options["missing"] = spec.missing
    elif spec.missing == "auto" or spec.people:
        raise ValueError(f"people and missing='auto' need the recipe linucb; this is {recipe}")
    if spec.people and spec.missing == "auto":
        raise ValueError('missing=\'auto\' ignores who gave the feedback; with people, "drop" or "no" is needed')
    if (spec.people or spec.missing == "auto") and (spec.noise is not None or options.get("covariance") == "diagonal"):
        raise ValueError("people and missing='auto' need noise=null and a full covariance: they estimate the noise")
    _check_size(spec, recipe, options)
    try:
        learner: BanditClassifier = getattr(recipes, recipe)(
            classes=list(spec.actions), random_state=spec.seed, **options
        )
    except TypeError as error:
        raise ValueError(f"{recipe} does not take all of these options: {error}") from None
    if recipe != "linucb":
        learner.missing = spec.missing
    if spec.exploration is not None:
        learner.policy = exploring(learner.policy, spec.exploration)
    learner._start(spec.features.width, np.float64)
    return learner


def stored_learner(spec: ModelSpec) -> BanditClassifier:
    """`new_learner` for a model that is in the store already, perhaps of an earlier version that refused less.

    With people, missing="auto" used to drop missing feedback; such a model goes on doing so.
    """
    earlier = {"missing": "drop"} if spec.people and spec.missing == "auto" else {}
    return new_learner(spec.model_copy(update=earlier))


def n_bytes(learner: BanditClassifier) -> int:
    """Memory of what a learner decides with."""
    return int(learner.table_.nbytes + learner.sigma_.nbytes)


def _defaults(spec: ModelSpec) -> dict[str, Any]:
    """Options that depend on the revision and on size; a constant feature of the rows is an intercept already."""
    if spec.recipe == "linucb":
        intercept = spec.revision > 1 and not spec.features.constant
        large = len(spec.actions) * (spec.features.width + intercept) ** 2 > MAX_FULL
        diagonal = large and spec.revision > 2 and not spec.people and spec.missing != "auto"
        return {"intercept": intercept} | ({"covariance": "diagonal"} if diagonal else {})
    return {"variant": "recursive"} if spec.recipe == "soba" and spec.revision == 1 else {}


def _flips(noise: Rates | list[Rates]) -> Any:
    if isinstance(noise, list):
        return [FlipMatrix.binary(one.false_positive, one.false_negative) for one in noise]
    return FlipMatrix.binary(noise.false_positive, noise.false_negative)


def exploring(policy: Any, exploration: float) -> Any:
    """A policy with another exploration rate."""
    if isinstance(policy, UniformExploration):
        return UniformExploration(exploration)
    return replace(policy, exploration=exploration, first_exploration=None)


def _check_size(spec: ModelSpec, recipe: str, options: dict[str, Any]) -> None:
    full = options.get("covariance", "full" if recipe == "linucb" else "diagonal") == "full"
    joint = recipe == "soba" and options.get("variant") != "recursive"
    width, actions = spec.features.width + bool(options.get("intercept")), len(spec.actions)
    size = 8 * actions * width * ((actions if joint else 1) * width if full else 4)
    if size > MAX_BYTES:
        hint = '; options {"covariance": "diagonal"} or fewer features would do' if full else ""
        raise ValueError(f"{actions} actions with {width} features need {size / 1e6:,.0f} MB{hint}")
