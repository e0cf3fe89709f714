"""The contextual bandit whose actions have features: decide among what is on offer, learn from rewards."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Any

import numpy as np

from noisewise._frames import frame_like
from noisewise._typing import Floats, RandomState
from noisewise._validation import check_number
from noisewise.online.actions.bandit_state import BLOCK, BanditState, policy_loops
from noisewise.online.actions.decision import ActionDecision
from noisewise.online.actions.estimated_noise import NoiseEstimates
from noisewise.online.actions.feature_rows import as_features
from noisewise.online.actions.offers import Offer, as_context, as_offer, n_rows
from noisewise.online.actions.rounds import played_features
from noisewise.online.learners.record import Lock
from noisewise.online.logs.logged_round import LoggedRound
from noisewise.online.rates.change import Change


class ContextualBandit(BanditState):
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
            check_number(
                "slots", slots, lambda n: n == int(n) and 1 <= n <= len(offer), f"1 to {len(offer)} can be filled"
            )
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
