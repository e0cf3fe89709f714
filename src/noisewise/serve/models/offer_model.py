"""A model whose actions come with each decision, with features, and whose feedback is a reward."""

from __future__ import annotations

import json
from contextlib import suppress
from copy import copy
from functools import partial
from typing import Any

import numpy as np

from noisewise.noise import FlipMatrix, GaussianNoise
from noisewise.online import (
    MOST_GROWTH,
    TABLE_BITS,
    ContextualBandit,
    Greedy,
    InverseGapWeighting,
    JointModel,
    ThompsonSampling,
    UpperConfidence,
    decision_of,
    know_offer,
    policy_parameters,
    rank_offer,
)
from noisewise.serve.log.events import BY_ANNOTATOR, BY_DEFAULT, GRADED, MISSING, RIGHT, WRONG, Event
from noisewise.serve.models.model import SLOW_REFIT, ServedModel
from noisewise.serve.models.offer_progress import OfferProgress
from noisewise.serve.models.offer_spec import GroupNoise, OfferRequest, OfferSpec, ParsedOffer, Variance
from noisewise.serve.models.offers import Question, logged_offer, logged_play, played_name, read_request
from noisewise.serve.models.ranking import next_uniform
from noisewise.serve.models.spec import Rates

POLICIES = {
    "thompson_sampling": (ThompsonSampling, ("width_in_std",)),
    "inverse_gap_weighting": (InverseGapWeighting, ("gamma_scale", "exponent")),
    "upper_confidence": (UpperConfidence, ("width_in_std",)),
    "greedy": (Greedy, ()),
}
LONG_TEXT = 60_000  # characters of an offer, which take more than some milliseconds to be scored
GROWN_WEIGHTS = {"auto": 1024, "full": 4096, "diagonal": 0}  # of a full covariance, as features become known


class OfferModel(ServedModel):
    """A model that knows actions by their features, and may never have seen those that are on offer."""

    spec: OfferSpec
    progress: OfferProgress

    def question(self, request: Any) -> Question:
        """The context of a request and the actions that may be played."""
        if not isinstance(request, OfferRequest | ParsedOffer):
            raise ValueError(
                f"model {self.name!r} has no actions of its own; it needs a context and actions to choose from"
            )
        return read_request(request)

    def choose(self, question: Question) -> dict[str, Any]:
        """Decide: the fields of the decision in the log; the lock must be held.

        The baseline plays while the model is an apprentice. One whose feedback would mislead it decides uniformly.
        """
        learner, version = self.current
        draw = next_uniform(self.rng_state) if self.spec.mode == "online" else None
        exploration = 1.0 if self.progress.is_misleading else self.spec.exploration or 0.0
        ranked = rank_offer(learner, [question.context], question.offer, draw or 0.0, exploration)
        index, probabilities = ranked.position, ranked.probabilities
        if draw is None:
            index, probabilities = question.baseline, np.arange(len(probabilities)) == question.baseline
        return {
            "code": question.positions[index],
            "best": question.positions[ranked.best],
            "probability": float(probabilities[index]),
            "draw": draw,
            "version": version,
            "features": question.played(index),
            "scores": np.concatenate([ranked.means, ranked.stds, probabilities]).astype("<f4").tobytes(),
            "allowed": question.text,
            "source": int(ranked.is_new),
        }

    def takes_long(self, question: Question) -> bool:
        """Whether a single decision takes so long that other requests would feel it."""
        return len(question.text) > LONG_TEXT

    def action_of(self, decision: Event) -> str | int:
        """The id of the action that a decision played, or its position."""
        return played_name(decision)

    def feedback_fields(self, given: Any, annotator: str | None) -> dict[str, Any]:
        """Fields of a row of the log with a reward: a number, counts of outcomes, right or wrong, or None."""
        reader = self.learner.reader_
        value = reader.scale.given(float(given)) if isinstance(given, bool) else given
        if reader.noise_by == "person":
            reader.read(value, annotator)
        else:
            reader.scale.unit(value, self._is_bounded)
        outcomes = json.dumps(given) if isinstance(given, dict) else None
        total = None if value is None else reader.scale.total(value)
        return {**self._reward(total), "allowed": outcomes, "source": BY_ANNOTATOR}

    def reward_fields(self, value: float) -> dict[str, Any]:
        """The same of a reward that counts by itself; what is beyond the ends counts as the nearer one."""
        return {**self._reward(self._clipped(value)), "source": BY_ANNOTATOR}

    def closing_fields(self, total: float | None) -> dict[str, Any]:
        """The same when the wait is over: of the sum of the rewards, or, without any, the default."""
        if total is None:
            return {**self._reward(self.spec.default_reward), "source": BY_DEFAULT}
        return self.reward_fields(total)

    @property
    def n_bytes(self) -> int:
        """Memory of the model when its features are known; of a full covariance, those it may have."""
        options = self.spec.options
        full = 0 if options.hash_bits else GROWN_WEIGHTS[options.covariance]
        table = 2 ** (options.hash_bits or TABLE_BITS)
        return int(8 * (2 * full**2 + (2 if options.hash_bits is None else 14) * table))  # of hashed ones, scales too

    def is_slow(self, event: Event) -> bool:
        """Whether applying the next row takes, or waits, so long that other requests would feel it."""
        widens = bool(event.source) and len(event.allowed or "") > LONG_TEXT
        return super().is_slow(event) or widens or self._n_full**2 > SLOW_REFIT

    @property
    def _n_full(self) -> int:
        """Weights with a full covariance."""
        return len(self.learner.model_.weights) if isinstance(self.learner.model_, JointModel) else 0

    @property
    def _is_bounded(self) -> bool:
        noise = self.spec.noise
        noises = noise.groups.values() if isinstance(noise, GroupNoise) else (noise,)
        return not any(isinstance(one, Variance) or one == "additive" for one in noises)

    def _clipped(self, value: float) -> float:
        low, high = self.spec.reward_range
        return min(max(value, low), high)

    def _reward(self, value: float | None) -> dict[str, Any]:
        """A reward as a row of the log has it."""
        if value is None:
            return {"answer": MISSING}
        unit = self.learner.reader_.scale.units(value)
        return {"answer": RIGHT if unit >= 1 else WRONG if unit <= 0 else GRADED, "probability": float(value)}

    def _new_learner(self) -> ContextualBandit:
        return new_bandit(self.spec)

    def _new_progress(self) -> OfferProgress:
        return OfferProgress()

    def _standby(self) -> ContextualBandit:
        made: ContextualBandit = copy(self.learner)
        made.model_ = copy(made.model_)
        for name in ("weights", "sigma", "precisions", "contexts", "actions"):
            if hasattr(made.model_, name):
                setattr(made.model_, name, getattr(made.model_, name).copy())
        return made

    def _use_spec(self) -> None:
        self.learner.policy = new_policy(self.spec)
        self.learner.policy_ = policy_parameters(self.learner.policy)

    def _note_decision(self, event: Event) -> None:
        if event.source:  # it brings features that the state which decided did not know
            context, offer, _ = logged_offer(event)
            with self.lock, suppress(ValueError):  # a decision made meanwhile may have the same name for another kind
                know_offer(self.learner, [context], offer)
        seen = self.action_of(event), _agreed(event), event.time
        self.unwatched.append(partial(self.progress.add_decision, *seen))

    def _refit_cost(self) -> int:
        model = self.learner.model_
        if not self._n_full:
            return 0
        n, memory = model.n_rounds + 1, model.memory
        forgets = self.learner.memory_seconds_ is not None  # when it solves then depends on the time of the feedback
        forgets |= memory is not None and model.growth / (1 - 1 / memory) > MOST_GROWTH
        return self._n_full**3 if forgets or n & (n - 1) == 0 else 0

    def _learn_from(self, event: Event, decision: Event, time: float) -> None:
        reward = None if event.answer == MISSING else event.probability
        count = partial(self._count_feedback, event.source == BY_DEFAULT, reward is None)
        context, action = logged_play(decision)
        if self.spec.mode != "logging":
            try:
                with self.lock:
                    made = decision_of(
                        self.learner, [context], action, decision.probability or 1.0, decision.number or 0
                    )
                self._teach(made, reward, event.person, time)
            except ValueError:
                self.unwatched.append(partial(count, refused=True))  # refused in every replay
                return
        self.unwatched.append(count)
        if reward is not None:
            seen = action.names[0], reward, event.answer == RIGHT, _agreed(decision), time
            self.unwatched.append(partial(self.progress.add_feedback, *seen))


def _agreed(decision: Event) -> bool | None:
    """Whether the model would have played what the baseline did; None where it decided itself, by a draw."""
    return decision.code == decision.best if decision.draw is None else None


def new_bandit(spec: OfferSpec) -> ContextualBandit:
    """An untrained learner for a specification; what can't be combined is refused.

    >>> new_bandit(OfferSpec(actions="features", policy="greedy")).policy
    Greedy()
    """
    options = spec.options
    made = ContextualBandit(
        policy=new_policy(spec),
        interactions=options.interactions,
        per_action=options.per_action,
        covariance=options.covariance,
        rewards=(spec.reward_range[0], spec.reward_range[1]),
        costs=spec.costs,
        outcomes=spec.outcomes,
        noise=_noise(spec),
        noise_by=spec.noise_by,
        memory=spec.memory,
        missing=spec.missing,
        watch=spec.watch,
        ridge=options.ridge,
        hash_bits=options.hash_bits,
        random_state=spec.seed,
    )
    made._begin()
    return made


def new_policy(spec: OfferSpec) -> Any:
    """The exploration policy of a specification; settings of other policies are refused."""
    policy, names = POLICIES[spec.policy]
    every = {name for _, known in POLICIES.values() for name in known}
    given = spec.options.model_dump(include=every, exclude_none=True)
    unknown = [name for name in given if name not in names]
    if unknown:
        raise ValueError(f"{spec.policy} has no {unknown[0]}; it has {', '.join(names) or 'no options'}")
    return policy(**given)


def known_noise(spec: OfferSpec) -> Any:
    """The noise of all rewards, if it is known and the same for all groups."""
    return None if isinstance(spec.noise, GroupNoise | str) else _one_noise(spec.noise)


def _noise(spec: OfferSpec) -> Any:
    if isinstance(spec.noise, GroupNoise):
        return {group: _one_noise(one) for group, one in spec.noise.groups.items()}
    return _one_noise(spec.noise)


def _one_noise(noise: Any) -> Any:
    if isinstance(noise, Rates):
        return FlipMatrix.binary(noise.false_positive, noise.false_negative)
    return GaussianNoise(np.array(noise.variance)) if isinstance(noise, Variance) else noise
