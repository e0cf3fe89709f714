"""Reports of a model of offers: rewards, weights by features, groups, and the features that spoke for a decision."""

from __future__ import annotations

from math import isnan
from typing import Any

import numpy as np

from noisewise._loops.action_state import INVERSE_GAP
from noisewise.online import JointModel, NoiseEstimates, reasons
from noisewise.serve.log.events import Event
from noisewise.serve.models.offer_model import OfferModel
from noisewise.serve.models.offers import logged_offer, logged_scores

MAX_WEIGHTS, MAX_ACTIONS, MAX_GROUPS = 200, 1000, 200  # rows of a report


def offer_summary(model: OfferModel) -> dict[str, Any]:
    """What a summary has of a model of offers alone."""
    learner, progress = model.learner, model.progress
    encoder = learner.encoder_
    return {
        "kind": "features",
        "recipe": model.spec.policy,
        "n_actions": len(progress.actions),
        "n_features": len(encoder.contexts.columns) + len(encoder.actions.columns),
        "people": False,
        "accuracy": None,
        "reward": progress.reward(),
        "agreement": progress.agreement(),
        "covariance": "full" if isinstance(learner.model_, JointModel) else "diagonal",
        "noise": None,
        "change": change(model),
    }


def change(model: OfferModel) -> str | None:
    """What is known of a change of the rewards' noise, if it is looked for and there is one."""
    watch = model.learner.watch_  # without the learner's lock, which a refit would hold
    found = None if watch is None else watch.change()
    return None if found is None else str(found)


def offer_report(model: OfferModel) -> dict[str, Any]:
    """What a report has of a model of offers, beyond its summary."""
    with model.lock:
        kind, width, _ = model.learner.policy_
        return {
            "spec": model.spec.model_dump(mode="json"),
            "exploration": {
                "share": model.spec.exploration or 0.0,
                "width_in_std": 0.0 if kind == INVERSE_GAP else width,
            },
            "actions": model.progress.by_action()[:MAX_ACTIONS],
            "coefficients": coefficients(model),
            "people_rates": [],
            "groups": groups(model),
        }


def coefficients(model: OfferModel) -> list[dict[str, Any]]:
    """Weights of products of context and action features, the largest first; of a full covariance.

    In the units of the rewards, by standardised features; 1 stands for the constant.
    """
    learned, (low, high) = model.learner.model_, model.spec.reward_range
    if not isinstance(learned, JointModel):
        return []
    span = low - high if model.spec.costs else high - low
    contexts, actions = (
        ["1", *side.columns] for side in (model.learner.encoder_.contexts, model.learner.encoder_.actions)
    )
    order = np.argsort(-np.abs(learned.weights), kind="stable")[:MAX_WEIGHTS].tolist()
    width = learned.actions.shape[1]
    return [
        {
            "feature": f"{contexts[index // width]} * {actions[index % width]}",
            "weights": [float(span * learned.weights[index])],
        }
        for index in order
    ]


def importances(model: OfferModel) -> list[dict[str, Any]]:
    """Root sum of squared weights of each feature's products, from 0 to 100; of a full covariance."""
    learned = model.learner.model_
    if not isinstance(learned, JointModel):
        raise ValueError(
            "there are too many features; importances need a full covariance, as up to 1,024 products have"
        )
    with model.lock:
        encoder = model.learner.encoder_
        weights = np.square(learned.weights).reshape(learned.contexts.shape[1], learned.actions.shape[1])
    weights[0, 0] = 0.0  # the mean reward
    sides = ("context", encoder.contexts, weights.sum(axis=1)), ("action", encoder.actions, weights.sum(axis=0))
    found = [
        {"namespace": side, "featureName": name, "score": float(np.sqrt(totals[column]))}
        for side, index, totals in sides
        for name, column in index.columns.items()
    ]
    highest = max((one["score"] for one in found), default=0.0) or 1.0
    ranked = [one | {"score": 100 * one["score"] / highest} for one in found]
    return sorted(ranked, key=lambda one: -one["score"])[:MAX_WEIGHTS]


def groups(model: OfferModel) -> list[dict[str, Any]]:
    """Estimated noise of each group, those with most rounds first, where it is estimated."""
    estimates = model.learner.reader_.channels
    if not isinstance(estimates, NoiseEstimates):
        return []
    order = sorted(estimates.groups, key=lambda group: -estimates.groups[group][0])[:MAX_GROUPS]
    low, high = model.spec.reward_range
    return [
        {
            "group": None if group is None else str(group),
            "rounds": int(estimates.groups[group][0]),
            **{name: None if isnan(value) else value for name, value in estimates.described(group, high - low).items()},
        }
        for group in order
    ]


def offer_reasons(model: OfferModel, made: Event) -> dict[str, Any]:
    """What a decision was made from and by, and which features speak for its action, by the present state."""
    context, offer, positions = logged_offer(made)
    index, best = positions.index(made.code or 0), positions.index(made.best or 0)
    with model.lock:
        learner = model.current[0]
        try:
            found = reasons(learner, [context], offer, index)
        except ValueError:  # the model was reset since, and has learnt a feature as another kind
            found = []
    scores = zip(offer.names, *logged_scores(made).tolist())
    return {
        "best": offer.names[best],
        "context": context,
        "scores": [
            {
                "action": name,
                "score": mean,
                "width": std,
                "probability": probability,
                "allowed": True,
                "recomputed": False,
            }
            for name, mean, std, probability in scores
        ],
        "reasons": [
            {"context": shared or None, "action": own or None, "contribution": value} for shared, own, value in found
        ],
    }
