"""The kinds of models: by the specification, a model of rows or one of offers."""

from __future__ import annotations

from functools import cache
from typing import Any

from noisewise.serve.models.model import ServedModel
from noisewise.serve.models.offer_model import OfferModel
from noisewise.serve.models.offer_spec import OfferOptions, OfferRequest, OfferSpec
from noisewise.serve.models.progress import tracked_bytes
from noisewise.serve.models.recipes import n_bytes, new_learner
from noisewise.serve.models.row_model import RowModel
from noisewise.serve.models.spec import CommonSpec, ModelSpec


def served_model(number: int, name: str, spec: CommonSpec, rng_state: Any = None) -> ServedModel:
    """A model of the kind that its specification describes."""
    if isinstance(spec, OfferSpec):
        return OfferModel(number, name, spec, rng_state)
    return RowModel(number, name, spec, rng_state)


@cache
def warm_up_offers() -> None:
    """Load or compile the loops of offers: those of the service's decisions, and of the learner's own."""
    request = OfferRequest(context={"hour": 9.0}, actions=[{"price": 4.0}, {"price": 6.0}])
    for covariance in ("full", "diagonal"):
        model = OfferModel(0, "", OfferSpec(actions="features", options=OfferOptions(covariance=covariance)))
        model.choose(model.question(request))
        model.learner.learn(model.learner.decide(request.context, request.actions), 1.0)


def needed_bytes(spec: CommonSpec) -> int:
    """Memory of a model that is to be made; an impossible specification is refused."""
    if isinstance(spec, ModelSpec):
        return n_bytes(new_learner(spec)) + tracked_bytes(len(spec.actions), spec.features.width)
    return served_model(0, "", spec).n_bytes
