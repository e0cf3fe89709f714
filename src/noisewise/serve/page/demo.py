"""Demonstration: twenty simulated annotators of different reliability give feedback on digits."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from noisewise._typing import Floats
from noisewise.serve.models.model import ServedModel
from noisewise.serve.models.service import Service
from noisewise.serve.models.spec import DecideRequest, ModelSpec

# flip rates (rho0, rho1) of five kinds of annotators
CAREFUL, CARELESS, SPITEFUL, YES, NO = (0.02, 0.02), (0.3, 0.3), (0.8, 0.8), (0.97, 0.03), (0.03, 0.97)
CROWD = [CAREFUL] * 11 + [CARELESS] * 5 + [SPITEFUL] * 1 + [YES] * 2 + [NO] * 1
NAMES = {CAREFUL: "careful", CARELESS: "careless", SPITEFUL: "spiteful", YES: "yes-sayer", NO: "no-sayer"}
SPEC = {
    "actions": list(range(10)),
    "features": {"count": 64, "unit_norm": True, "constant": 0.3},
    "recipe": "linucb",
    "exploration": 0.01,
    "people": True,
}
CONCURRENT = 32  # annotators who are asked at the same time
log = logging.getLogger("noisewise.serve.demo")


@dataclass
class Crowd:
    """Annotators who give feedback on guesses at digits, each with flip rates (rho0, rho1).

    The i-th annotator is asked with a probability proportional to 1/i (Zipf's law), as in real crowds.
    """

    rates: list[tuple[float, float]] = field(default_factory=lambda: list(CROWD))
    seed: int = 0

    def __post_init__(self) -> None:
        from sklearn.datasets import load_digits

        self.images, self.truth = load_digits(return_X_y=True)
        self.rng = np.random.default_rng(self.seed)
        order = np.random.default_rng(7).permutation(len(self.rates))  # kinds of annotators at all levels of activity
        self.rates = [self.rates[index] for index in order]
        self.annotators = [
            f"{NAMES.get(rate, 'annotator')} {number}" for number, rate in enumerate(self.rates, start=1)
        ]
        activity = 1 / np.arange(1, len(self.rates) + 1)
        self.activity = activity / activity.sum()

    def situation(self) -> tuple[Floats, int, int]:
        """A digit, its true class, and the annotator who is asked."""
        index = int(self.rng.integers(len(self.images)))
        annotator = int(self.rng.choice(len(self.rates), p=self.activity))
        return self.images[index], int(self.truth[index]), annotator

    def feedback(self, right: bool, annotator: int) -> bool:
        """Noisy feedback of an annotator on a guess that is right or wrong."""
        false_positive, false_negative = self.rates[annotator]
        return bool(self.rng.random() < (1 - false_negative if right else false_positive))


async def run_demo(service: Service, first: int = 3000, pause: float = 0.25) -> None:
    """Teach the model `digits`: the first rounds as fast as possible, then a few a second, until cancelled."""
    model, _ = await service.create("digits", ModelSpec.model_validate(SPEC))
    crowd = Crowd()
    while model.progress.n_feedback < first:
        await asyncio.gather(*(_one_round(service, model, crowd) for _ in range(CONCURRENT)))
    log.info("the simulated annotators have given feedback on %d decisions", model.progress.n_feedback)
    while True:
        await _one_round(service, model, crowd)
        await asyncio.sleep(pause)


async def _one_round(service: Service, model: ServedModel, crowd: Crowd) -> Any:
    image, truth, annotator = crowd.situation()
    made = await service.decide(model, DecideRequest(features=image.tolist()))
    right = crowd.feedback(made.code == truth, annotator)
    return await service.feedback(model, made.decision_id, right, crowd.annotators[annotator])
