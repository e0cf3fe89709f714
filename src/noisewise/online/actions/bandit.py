"""The contextual bandit whose actions have features: decide among what is on offer, learn from rewards."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy, deepcopy
from functools import cache
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from noisewise._frames import frame_like
from noisewise._loops.action_state import MATCHING
from noisewise._typing import Floats, RandomState
from noisewise._validation import check_number
from noisewise.online.actions.decision import ActionDecision, new_decision, stored_row
from noisewise.online.actions.encoder import PairEncoder
from noisewise.online.actions.estimated_noise import NoiseEstimates
from noisewise.online.actions.features import FeatureIndex, Rows, as_features
from noisewise.online.actions.forgetting import elapsed_since, memory_in_seconds, seconds_of
from noisewise.online.actions.hashed import HashedModel
from noisewise.online.actions.joint import JointModel, Row
from noisewise.online.actions.offers import Offer, as_context, as_offer, n_rows, take_rows
from noisewise.online.actions.policies import ThompsonSampling, policy_parameters
from noisewise.online.actions.rewards import Channel, Reading, RewardReader, RewardScale, is_absent
from noisewise.online.actions.rounds import played_features
from noisewise.online.learners.base import seeded_rng
from noisewise.online.learners.record import DecisionRecord, Lock
from noisewise.online.logs.logged_round import LoggedRound
from noisewise.online.rates.change import Change, ChangeWatch

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


class ContextualBandit(DecisionRecord, BaseEstimator):
    """A contextual bandit whose actions have features, and may appear and vanish at any time.

    Rewards are regressed on the features of context and action and their products, by ridge regression with the
    covariance of its weights (LinUCB, with shared and per-action weights). Columns of numbers are standardised inside.
    Contexts are dicts, rows of a frame or arrays; actions a list of dicts, a dict by name, a frame, an array or sparse
    rows. Threads may share a learner: each call is atomic, in the order in which they come.

    Parameters
    ----------
    policy : policy, default=ThompsonSampling()
        The exploration policy: `ThompsonSampling`, `InverseGapWeighting` (SquareCB), `UpperConfidence`,
        `UniformExploration` (epsilon-greedy) or `Greedy`.
    interactions : {"context*action", None}, default="context*action"
        Whether every product of a context and an action feature has a weight, or only the features themselves.
    per_action : bool, default=False
        Whether each action, known by its name, has weights of its own beside those of its features (hybrid LinUCB).
    covariance : {"auto", "full", "diagonal"}, default="auto"
        Covariance of the weights. "auto": full up to 1024 weights, then diagonal, with a warning.
    rewards : (low, high), default=(0, 1)
        The interval of the rewards; right or wrong is 1 or 0.
    costs : bool, default=False
        Whether `learn` is given costs, in this interval, of which less is better.
    outcomes : dict of weights or None
        Weights of several outcomes: `learn` may be given their counts, as ``{"click": 1, "purchase": 0}``.
    noise : FlipMatrix, GaussianNoise, dict of these, {"estimate", "additive"} or None
        The noise of the rewards that `learn` is given: flips of low (0) and high (1) reward, or additive noise of one
        variance; a dict has one for each group. "estimate": how the rewards of each group follow what all of them
        together expect. "additive": by how much the rewards of each group vary around that; they may lie outside their
        interval, and rounds of a group that varies more count less. `report` shows the estimates.
    noise_by : str, default="person"
        What a group is: "person", given to `learn`; "action", by name; or a feature of the action.
    memory : float, str or None
        How many rounds are remembered: a round's weight decays by 1 - 1 / memory with each later one. Or how long, as
        "7d", "12h" or "30min": a round that is older than the latest one by t counts exp(-t / memory) times. None: all,
        for ever.
    missing : {"drop", "no", "auto"}, default="drop"
        How a missing reward (None) is read: not at all, so that it may still come; or as the lowest. "auto": as the
        lowest once rewards are shown to be missing more often where less is expected, else not at all; either way it
        is final.
    ridge : float, default=0.3
        Penalty of the weights, in units of the mean squared length of a row.
    hash_bits : int or None
        Features have one of 2^hash_bits columns by the hash of their name, with a diagonal covariance, so that memory
        is bounded whatever comes. None: each new feature has a column of its own.
    random_state : int, Generator or None
        Seed of the policy's random state.
    watch : bool, default=False
        Whether `change` finds the round from which on rewards follow what is expected in another way; each round is
        then scored once more when it is learnt from.

    References
    ----------
    .. [1] Li, L., Chu, W., Langford, J., Schapire, R. E. (2010). A contextual-bandit approach to personalized news
       article recommendation. WWW 19, 661-670. Algorithm 2.

    Examples
    --------
    >>> meals = [{"id": "pasta", "taste": "salty", "price": 9.5}, {"id": "tart", "taste": "sweet", "price": 4.0}]
    >>> bandit = ContextualBandit(random_state=0)
    >>> for evening in range(20):
    ...     decision = bandit.decide({"time": "evening"}, meals)
    ...     bandit = bandit.learn(decision, reward=1 if decision.action == "tart" else 0)
    >>> bandit.predict({"time": "evening"}, meals).round(1).tolist()
    [0.0, 1.0]
    >>> cake = {"id": "cake", "taste": "sweet", "price": 4.5}  # was never on offer before
    >>> bandit.predict({"time": "evening"}, [cake]).round(1).tolist()
    [0.9]
    """

    _not_saved_ = ("_maker", "_signed_from", "_lock", "_last")
    _last: ActionDecision | None = None  # made in this process, so that nothing is to be checked
    model_: JointModel | HashedModel
    encoder_: PairEncoder
    reader_: RewardReader
    policy_: tuple[int, float, float]
    memory_seconds_: float | None = None  # files of before have none
    latest_time_: float | None = None
    watch_: ChangeWatch | None = None

    def __init__(
        self,
        policy: Any = None,
        interactions: str | None = "context*action",
        per_action: bool = False,
        covariance: str = "auto",
        rewards: tuple[float, float] = (0.0, 1.0),
        costs: bool = False,
        outcomes: Mapping[str, float] | None = None,
        noise: Any = None,
        noise_by: str = "person",
        memory: float | str | None = None,
        missing: str = "drop",
        ridge: float = 0.3,
        hash_bits: int | None = None,
        random_state: RandomState = None,
        watch: bool = False,
    ) -> None:
        self.policy = policy
        self.interactions = interactions
        self.per_action = per_action
        self.covariance = covariance
        self.rewards = rewards
        self.costs = costs
        self.outcomes = outcomes
        self.noise = noise
        self.noise_by = noise_by
        self.memory = memory
        self.missing = missing
        self.ridge = ridge
        self.hash_bits = hash_bits
        self.random_state = random_state
        self.watch = watch
        self._lock = Lock()

    def decide(self, context: Any, actions: Any, names: Sequence[Any] | None = None, slots: int | None = None) -> Any:
        """Play one of the actions on offer in a context; nothing is learnt yet.

        Actions are called by `names`, or by the keys of a dict, or by their entry "id" if all have one, else by their
        position. With `slots`, a list of that many decisions is returned, for a ranked list: each is played among the
        actions that are left, and may be learnt from by itself; from the second on, the slot is a feature of the
        context.
        """
        with self._lock, self._all_or_nothing():
            self._begin()
            offer, given = as_offer(actions, names), as_context(context)
            if slots is None:
                return self._decide(given, offer)
            check_number("slots", slots, lambda n: n == int(n) and 1 <= n <= len(offer), f"of {len(offer)} actions")
            decisions: list[ActionDecision] = []
            for slot in range(int(slots)):
                decided = self._decide(given, offer, None if slot == 0 else f"slot={slot + 1}")
                decisions.append(decided)
                offer = offer.without(decided.position)
            return decisions

    def learn(
        self, decision: ActionDecision, reward: Any, person: Hashable | None = None, time: Any = None
    ) -> ContextualBandit:
        """Learn what a decision was worth; late or out of order does not matter, twice is refused.

        `reward` lies in the interval of the rewards (or costs), or is a dict of counts of the outcomes; None, NaN and
        NA are missing: where they are dropped, the decision stays open. `person` is who gave it, where the noise
        depends on that. `time` is when, where memory is a time: seconds since 1970 or a date and time; by default now.
        """
        with self._lock:
            context, row, mark = self._check_decision(decision)
            group = person if self.reader_.noise_by == "person" else decision.group
            reading = self._read(context, row, reward, group)
            if reading is None and self.reader_.missing == "drop":
                return self
            if reading is not None:
                self._learn(context, row, reading, group, time)
            self._mark_learnt(*mark)
            return self

    def learn_logged(
        self,
        contexts: Any,
        actions: Any,
        rewards: Any,
        names: Sequence[Any] | None = None,
        people: Sequence[Any] | None = None,
        times: Sequence[Any] | None = None,
    ) -> ContextualBandit:
        """Learn from the log of another policy: a row of `contexts` and of `actions` (those played) for each reward.

        All rounds in one exact solution, the same as round by round up to rounding and the scale of the columns; with
        a diagonal covariance, in order. Missing rewards are left out, or the lowest. No propensities are needed: the
        regression is right for any policy that looked at no more than these features. `names` are those of the actions,
        where they have weights of their own, `people` those who gave the rewards, where the noise depends on them, and
        `times` when, where memory is a time.
        """
        with self._lock, self._all_or_nothing():
            self._begin()
            shared, played = as_features(contexts, "context"), as_features(actions, "action")
            others = {"contexts": shared, "rewards": rewards, "names": names, "people": people, "times": times}
            for what, more in others.items():
                if more is not None and n_rows(more) != n_rows(played):
                    raise ValueError(f"{n_rows(played)} actions have {n_rows(more)} {what}; each needs one")
            named = [None] * n_rows(played) if names is None else list(names)
            groups = self._groups(Offer(named, played)) if people is None else list(people)
            self.model_, self.reader_ = deepcopy(self.model_), deepcopy(self.reader_)
            when = self._times(times, len(named))
            if isinstance(self.reader_.channels, NoiseEstimates) or self.reader_.missing == "auto":
                self._learn_one_by_one(shared, Offer(named, played), list(rewards), groups, when)
                return self
            scales, targets = self.reader_.read_all(rewards, groups)
            kept = np.flatnonzero(scales)
            for start in range(0, len(kept), BLOCK):
                block = kept[start : start + BLOCK]
                rows = self._rows(shared, Offer(named, played), block)
                elapsed = None if when is None else self._elapsed(when[block])
                self.model_.add(*rows, scales[block], targets[block], elapsed)
            self.model_.solve()
            return self

    def learn_rounds(self, rounds: Iterable[LoggedRound]) -> ContextualBandit:
        """Learn from rounds of a log, as ``iter_vw(path, layout="adf", rewards=...)`` and `iter_dsjson` give them."""
        kept = list(rounds)
        contexts, actions = [one.features for one in kept], [played_features(one) for one in kept]
        rewards = np.array([one.feedback for one in kept])
        if self.costs:
            rewards = -rewards  # a log has rewards, minus the costs
        return self.learn_logged(contexts, actions, rewards, names=[one.action for one in kept])

    def predict(self, context: Any, actions: Any, names: Sequence[Any] | None = None) -> Floats:
        """Expected reward of each action, in the units of the rewards (or costs)."""
        with self._lock:
            means, _ = self._scores(context, as_offer(actions, names))
            return np.asarray(self.reader_.scale.given(means))

    def probabilities(self, context: Any, actions: Any, names: Sequence[Any] | None = None) -> Floats:
        """The probability with which the policy would now play each action; nothing is drawn."""
        with self._lock:
            means, variances = self._scores(context, as_offer(actions, names))
            made = np.empty(len(means))
            policy_loops().fill_probabilities(*self.policy_, self.model_.n_rounds, means, variances, made)
            return made

    def report(self, backend: str | None = None) -> Any:
        """Estimates of the noise by group, as a frame: rounds, and offset and signal relative to all groups.

        Of additive noise the variance around what was expected, and how much a round counts.
        """
        with self._lock:
            estimates = self.reader_.channels if "reader_" in self.__dict__ else None
            if not isinstance(estimates, NoiseEstimates):
                raise ValueError(
                    "there are no estimates of the noise; with noise='estimate' or 'additive' there will be"
                )
            groups = list(estimates.groups)
            span = self.reader_.scale.high - self.reader_.scale.low
            described = [estimates.described(group, span) for group in groups]
            named = np.empty(len(groups), dtype=object)
            named[:] = groups
            columns = {self.noise_by: named}
            columns["rounds"] = np.array([int(estimates.groups[group][0]) for group in groups])
            columns |= {name: np.array([one[name] for one in described]) for name in estimates.described(None, span)}
            return frame_like(columns, backend=backend)

    def change(self) -> Change | None:
        """The round from which on rewards follow what was expected in another way, if there is one: see `ChangeWatch`.

        Their noise has changed then, or what they depend on; rounds of `learn` count, not those of whole logs.
        """
        with self._lock:
            if self.watch_ is None:
                raise ValueError("changes are found with watch=True, from the first round on")
            return self.watch_.change()

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
