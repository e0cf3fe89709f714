"""The state of a contextual bandit: settings that are checked, rows that are encoded, scored and learnt from."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from functools import cache
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from noisewise._loops.action_state import MATCHING
from noisewise._typing import Floats, RandomState
from noisewise._validation import check_number
from noisewise.online.actions.decision import ActionDecision, new_decision, stored_row
from noisewise.online.actions.encoder import PairEncoder
from noisewise.online.actions.estimated_noise import NoiseEstimates
from noisewise.online.actions.feature_rows import Rows
from noisewise.online.actions.features import FeatureIndex
from noisewise.online.actions.forgetting import elapsed_since, memory_in_seconds, seconds_of
from noisewise.online.actions.hashed import HashedModel
from noisewise.online.actions.joint import JointModel, Row
from noisewise.online.actions.offers import Offer, as_context, take_rows
from noisewise.online.actions.policies import ThompsonSampling, policy_parameters
from noisewise.online.actions.rewards import Channel, Reading, RewardReader, RewardScale, is_absent
from noisewise.online.learners.base import seeded_rng
from noisewise.online.learners.record import DecisionRecord, Lock
from noisewise.online.rates.change import ChangeWatch

FULL_UP_TO = 1024  # weights: at more, an update of the full covariance takes milliseconds
MOST_FULL = 4096  # weights that a full covariance may have, 128 MiB for each of two matrices
BLOCK = 50_000  # rounds of a log that are encoded at a time
TABLE_BITS = 18  # of the table of hashed products, as Vowpal Wabbit's
INTERACTIONS = ("context*action", None)
COVARIANCES = ("auto", "full", "diagonal")


@cache
def policy_loops() -> Any:
    """The compiled policies, imported when the first one runs."""
    from noisewise._loops import action_policies

    return action_policies


class BanditState(DecisionRecord, BaseEstimator):
    """What a `ContextualBandit` has learnt, and how a round changes it; its parameters are those of the bandit."""

    policy: Any
    interactions: str | None
    per_action: bool
    covariance: str
    rewards: tuple[float, float]
    costs: bool
    outcomes: Mapping[str, float] | None
    noise: Any
    noise_by: str
    memory: float | str | None
    missing: str
    ridge: float
    hash_bits: int | None
    random_state: RandomState
    watch: bool

    _not_saved_ = ("_maker", "_signed_from", "_lock", "_last")
    _last: ActionDecision | None = None  # made in this process, so that nothing is to be checked
    _lock: Lock
    model_: JointModel | HashedModel
    encoder_: PairEncoder
    reader_: RewardReader
    policy_: tuple[int, float, float]
    memory_seconds_: float | None = None  # files of before have none
    latest_time_: float | None = None
    watch_: ChangeWatch | None = None

    @property
    def n_rounds_(self) -> int:
        """Rounds learnt from."""
        return self.model_.n_rounds if hasattr(self, "model_") else 0

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name not in self._not_saved_}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._lock = Lock()  # a copy has its own

    def _begin(self) -> None:
        """A model without rounds, before the first call; nothing is stored if a parameter is wrong."""
        if "model_" in self.__dict__:
            return
        if self.interactions not in INTERACTIONS:
            raise ValueError(f"interactions is {self.interactions!r:.40}; it is 'context*action' or None")
        if self.covariance not in COVARIANCES:
            raise ValueError(f"covariance is {self.covariance!r:.40}; it is 'auto', 'full' or 'diagonal'")
        check_number("ridge", self.ridge, lambda ridge: 0 < ridge < inf, "it is a number above 0")
        seconds, memory = memory_in_seconds(self.memory), None if isinstance(self.memory, str) else self.memory
        if memory is not None:
            check_number("memory", memory, lambda rounds: 1 < rounds < inf, "it is a number of rounds above 1")
        if self.hash_bits is not None:
            fits = "it is a whole number from 8 to 28"
            check_number("hash_bits", self.hash_bits, lambda bits: bits == int(bits) and 8 <= bits <= 28, fits)
            if self.covariance == "full":
                raise ValueError("hashed features have a diagonal covariance; covariance='full' needs hash_bits=None")
        scale = RewardScale.read(self.rewards, self.costs, self.outcomes)
        reader = RewardReader.of(scale, self.noise, self.noise_by, self.missing)
        policy = policy_parameters(ThompsonSampling() if self.policy is None else self.policy)
        sides = FeatureIndex("context", self.hash_bits), FeatureIndex("action", self.hash_bits)
        rng_state = seeded_rng(self.random_state)
        diagonal = self.covariance == "diagonal" or self.hash_bits is not None
        self.model_ = (
            HashedModel(float(self.ridge), self.hash_bits or TABLE_BITS, memory)
            if diagonal
            else JointModel(float(self.ridge), memory)
        )
        self.encoder_ = PairEncoder(*sides, self.interactions is not None, bool(self.per_action))
        self.reader_, self.policy_, self.rng_state_ = reader, policy, rng_state
        self.memory_seconds_, self.latest_time_ = seconds, None
        self.watch_ = ChangeWatch() if self.watch else None
        self.n_decisions_, self.learnt_ = 0, np.zeros(0, dtype=np.uint8)

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Restore the learner if input is refused."""
        before, encoder = dict(vars(self)), self.__dict__.get("encoder_")
        checkpoint = None if encoder is None else encoder.checkpoint()
        try:
            yield
        except Exception:
            self.__dict__ = before
            if encoder is not None:
                encoder.restore(checkpoint)
                encoder.forget_known()
            raise

    def _widened(
        self, model: JointModel | HashedModel, shared: Rows, rows: Rows, quietly: bool = False
    ) -> JointModel | HashedModel:
        """The model with weights for all columns; one with a diagonal covariance if they have become too many."""
        contexts, actions = self.encoder_.contexts, self.encoder_.actions
        n_weights = contexts.n_columns * actions.n_columns
        if isinstance(model, JointModel) and n_weights > FULL_UP_TO:
            if self.covariance == "auto":
                if not quietly:
                    warnings.warn(
                        f"there are {n_weights} products of features, so the covariance is diagonal from here on, "
                        f"which learns more slowly; covariance='full' goes up to {MOST_FULL}",
                        UserWarning,
                        stacklevel=5,
                    )
                model = HashedModel.from_joint(model, TABLE_BITS)
            elif n_weights > MOST_FULL:
                raise ValueError(
                    f"there are {n_weights} products of features; a full covariance has at most {MOST_FULL}, and "
                    "covariance='auto' or 'diagonal' any number"
                )
        model.widen(contexts.numeric, actions.numeric, shared, rows)
        return model

    def _rows(self, contexts: Any, offer: Offer, block: NDArray[np.intp]) -> tuple[Rows, Rows]:
        """Rows of some rounds of a log, for which the model has weights."""
        part = Offer([offer.names[index] for index in block], take_rows(offer.features, block))
        rows = self.encoder_.encode(take_rows(contexts, block), part)
        self.model_ = self._widened(self.model_, *rows)
        return rows

    def _times(self, times: Sequence[Any] | None, n_rounds: int) -> Floats | None:
        """When the rounds of a log were; None where memory is no time."""
        if self.memory_seconds_ is None:
            return None
        if times is None:
            raise ValueError(f"memory is {self.memory!r}, so times= is needed: when each round was")
        return np.array([seconds_of(time) for time in list(times)], dtype=np.float64).reshape(n_rounds)

    def _elapsed(self, times: Floats) -> Floats:
        """Since the latest round so far, in units of the memory; the latest of these is then the latest."""
        assert self.memory_seconds_ is not None
        elapsed = elapsed_since(self.latest_time_, times, self.memory_seconds_)
        self.latest_time_ = max(float(times.max()), -inf if self.latest_time_ is None else self.latest_time_)
        return elapsed

    def _learn_one_by_one(
        self,
        contexts: Any,
        offer: Offer,
        rewards: list[Any],
        groups: Sequence[Any] | None,
        when: Floats | None,
    ) -> None:
        """A log in order, where what is learnt of the noise changes what is learnt from the next round."""
        for start in range(0, len(offer), BLOCK):
            block = np.arange(start, min(start + BLOCK, len(offer)))
            shared, rows = self._rows(contexts, offer, block)
            for index in block.tolist():
                group = None if groups is None else groups[index]
                one = shared.row(index - start), rows.row(index - start)
                reading = self._read(*one, rewards[index], group)
                if reading is not None:
                    self._learn(*one, reading, group, None if when is None else float(when[index]))

    def _read(self, context: Row, row: Row, reward: Any, group: Any) -> Reading | None:
        """A reward as the model takes it; None if it is missing, and that tells nothing."""
        reading = self.reader_.read(reward, group)
        if self.reader_.missing == "auto":
            self.reader_.absent.observe(self._expected(context, row), is_absent(reward))
        return reading

    def _expected(self, context: Row, row: Row) -> float:
        """The reward, in [0, 1], that the model expects of a round."""
        alone = Rows(np.array([0, len(row[0])]), *row)
        return float(self.model_.score(context, alone, False)[0].item())

    def _learn(self, context: Row, row: Row, reading: Reading, group: Any, time: Any = None) -> None:
        """One round; nothing is learnt if the products of its features overflow."""
        estimates = self.reader_.channels if isinstance(self.reader_.channels, NoiseEstimates) else None
        if estimates is not None or self.watch_ is not None:
            predicted = self._expected(context, row)
        before, elapsed = self.latest_time_, None
        if self.memory_seconds_ is not None:
            elapsed = self._elapsed(np.array([seconds_of(time)])).item()
        if not self.model_.learn(context, row, reading.scale, reading.target, elapsed):
            self.latest_time_ = before
            raise ValueError("the features are too large; their squares overflow")
        if estimates is not None:
            estimates.observe(group, predicted, reading.unit)
        if self.watch_ is not None:
            self.watch_.observe(predicted, reading.unit)

    def _decide(self, context: Any, offer: Offer, slot: str | None = None) -> ActionDecision:
        groups = self._groups(offer)
        one, rows = self.encoder_.encode(context, offer, slot)
        self.model_ = model = self._widened(self.model_, one, rows)
        context_row = one.row(0)
        means, variances = model.score(context_row, rows, self.policy_[0] == MATCHING)
        probabilities = np.empty(len(means))
        position = policy_loops().choose(
            *self.policy_, model.n_rounds, means, variances, probabilities, self.rng_state_
        )
        number, maker = self.n_decisions_, self._maker or self._sign()
        self.n_decisions_ = number + 1
        group = None if groups is None else groups[position]
        played = offer.names[position], probabilities.item(position), number, position
        features = context_row, rows.row(position), probabilities
        self._last = new_decision((*played, *features, group, model.n_rounds, maker))
        return self._last

    def _scores(self, context: Any, offer: Offer) -> tuple[Floats, Floats]:
        """Mean and variance of the score of each action; features that are new leave no trace."""
        self._begin()
        model, one, rows, _ = self._peek(as_context(context), offer)
        return model.score(one.row(0), rows, self.policy_[0] == MATCHING)

    def _peek(self, context: Any, offer: Offer) -> tuple[JointModel | HashedModel, Rows, Rows, bool]:
        """Rows of an offer and a model that knows them, and whether the learner does not; nothing is changed."""
        before = self.encoder_.checkpoint()
        one, rows = self.encoder_.encode(context, offer)
        if self.encoder_.checkpoint() == before:
            return self.model_, one, rows, False
        try:
            return self._widened(copy(self.model_), one, rows, quietly=True), one, rows, True  # arrays are replaced
        finally:
            self.encoder_.restore(before)

    def _groups(self, offer: Offer) -> list[Any] | None:
        """What the noise of each action's reward depends on; None if it does not depend on actions."""
        by = self.reader_.noise_by
        return None if isinstance(self.reader_.channels, Channel) or by == "person" else offer.groups(by)

    def _check_decision(self, decision: ActionDecision) -> tuple[Row, Row, tuple[int, int]]:
        """Refuse a decision that is not this learner's, was damaged in storage, or has been learnt."""
        if decision is not None and decision is self._last:
            return decision.context, decision.features, self._check_unlearnt(decision.id)
        if not isinstance(decision, ActionDecision):
            raise ValueError(f"learn takes the ActionDecision that decide returned, not {decision!r:.60}")
        if not isinstance(decision.id, int | np.integer):
            raise ValueError(f"the decision's id is {decision.id!r}, not a whole number; keep decisions as they are")
        self._check_own(decision.id, decision.maker, "model_" in self.__dict__)
        context = stored_row(decision.context, self.model_.contexts.shape[1], "context")
        row = stored_row(decision.features, self.model_.actions.shape[1], "features")
        return context, row, self._check_unlearnt(decision.id)
