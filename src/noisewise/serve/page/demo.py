"""A simulated crowd, so that there is something to see: digits, judged by twenty people of whom some are careless."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from noisewise._typing import Floats
from noisewise.serve.api.schemas import DecideRequest, ModelSpec
from noisewise.serve.models.model import ServedModel
from noisewise.serve.models.service import Service

CAREFUL, CARELESS, SPITEFUL, YES, NO = (0.02, 0.02), (0.3, 0.3), (0.8, 0.8), (0.97, 0.03), (0.03, 0.97)
CROWD = [CAREFUL] * 11 + [CARELESS] * 5 + [SPITEFUL] * 1 + [YES] * 2 + [NO] * 1
WORDS = {CAREFUL: "careful", CARELESS: "careless", SPITEFUL: "spiteful", YES: "yes-sayer", NO: "no-sayer"}
SPEC = {
    "actions": list(range(10)),
    "features": {"count": 64, "unit_norm": True, "constant": 0.3},
    "recipe": "linucb",
    "exploration": 0.01,
    "people": True,
}
AT_ONCE = 32  # people who are asked at the same time
log = logging.getLogger("noisewise.serve.demo")


@dataclass
class Crowd:
    """People who look at a digit and say whether the guess is right, each with flip rates (false praise, false blame).

    The more a person's place in the list, the less often it is asked, as in real crowds.
    """

    rates: list[tuple[float, float]] = field(default_factory=lambda: list(CROWD))
    seed: int = 0

    def __post_init__(self) -> None:
        from sklearn.datasets import load_digits

        self.images, self.truth = load_digits(return_X_y=True)
        self.rng = np.random.default_rng(self.seed)
        order = np.random.default_rng(7).permutation(len(self.rates))  # kinds of people of all activities
        self.rates = [self.rates[place] for place in order]
        self.people = [f"{WORDS.get(rate, 'person')} {number}" for number, rate in enumerate(self.rates, start=1)]
        activity = 1 / np.arange(1, len(self.rates) + 1)
        self.activity = activity / activity.sum()

    def situation(self) -> tuple[Floats, int, int]:
        """A digit, what it truly is, and who is asked."""
        place = int(self.rng.integers(len(self.images)))
        person = int(self.rng.choice(len(self.rates), p=self.activity))
        return self.images[place], int(self.truth[place]), person

    def says(self, right: bool, person: int) -> bool:
        """What a person says about a guess that is right or wrong."""
        false_praise, false_blame = self.rates[person]
        return bool(self.rng.random() < (1 - false_blame if right else false_praise))


async def run_demo(service: Service, first: int = 3000, pause: float = 0.25) -> None:
    """Teach the model `digits`: the first answers as fast as they go, then a few a second, until cancelled."""
    model, _ = await service.create("digits", ModelSpec.model_validate(SPEC))
    crowd = Crowd()
    while model.progress.answers < first:
        await asyncio.gather(*(_one_round(service, model, crowd) for _ in range(AT_ONCE)))
    log.info("the crowd has given %d answers", model.progress.answers)
    while True:
        await _one_round(service, model, crowd)
        await asyncio.sleep(pause)


async def _one_round(service: Service, model: ServedModel, crowd: Crowd) -> Any:
    image, truth, person = crowd.situation()
    made = await service.decide(model, DecideRequest(features=image.tolist()))
    said = crowd.says(made.code == truth, person)
    return await service.feedback(model, made.decision_id, said, crowd.people[person])
