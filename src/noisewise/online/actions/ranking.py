"""Decisions of a `ContextualBandit` whose log is kept elsewhere: the learner changes only as the log is followed.

What a service decides must be in its log before it counts, and may be decided by a copy of the learner. So `rank_offer`
leaves no trace; features that were new are known from `know_offer` on, which the log calls in its order, and
`decision_of` encodes a decision when its reward comes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from noisewise._loops.action_state import MATCHING
from noisewise._typing import Floats
from noisewise.online.actions.bandit import ContextualBandit
from noisewise.online.actions.bandit_state import policy_loops
from noisewise.online.actions.decision import ActionDecision
from noisewise.online.actions.encoder import PairEncoder
from noisewise.online.actions.feature_rows import Rows
from noisewise.online.actions.features import FeatureIndex
from noisewise.online.actions.hashed import hashed_loops
from noisewise.online.actions.joint import JointModel, loops
from noisewise.online.actions.offers import Offer

MOST_REASONS = 20  # products of features that an explanation lists


class RankedOffer(NamedTuple):
    """The position of the action played and of the one expected to be best, and what is known of each action.

    `means` are expected rewards in the units of the rewards, `stds` their standard deviations; `is_new` says that the
    offer has features that the learner did not know.
    """

    position: int
    best: int
    probabilities: Floats
    means: Floats
    stds: Floats
    is_new: bool


def rank_offer(bandit: ContextualBandit, context: Any, offer: Offer, u: float, exploration: float = 0.0) -> RankedOffer:
    """Decide as `ContextualBandit.decide` does, by a uniform draw `u`; the learner is unchanged.

    A fraction `exploration` of the decisions is drawn uniformly, whatever the policy.

    >>> from noisewise.online.actions.offers import as_offer
    >>> bandit = ContextualBandit(random_state=0)
    >>> ranked = rank_offer(bandit, [{"time": "noon"}], as_offer([{"price": 4.0}, {"price": 9.5}]), 0.7)
    >>> ranked.probabilities.tolist(), ranked.position, ranked.is_new
    ([0.5, 0.5], 1, True)
    """
    with bandit._lock:
        bandit._begin()
        bandit._groups(offer)  # refuse actions without the feature that the noise depends on
        model, one, rows, is_new = bandit._peek(context, offer)
        means, variances = model.score(one.row(0), rows, bandit.policy_[0] == MATCHING)
        if not np.isfinite(means).all():
            raise ValueError("the scores of these features are not finite; smaller numbers would do")
        probabilities = np.empty(len(means))
        policy_loops().fill_probabilities(*bandit.policy_, model.n_rounds, means, variances, probabilities)
        if exploration:
            probabilities = (1 - exploration) * probabilities + exploration / len(probabilities)
        scale = bandit.reader_.scale
        position, best = int(policy_loops().draw(probabilities, u)), int(means.argmax())
        stds = np.sqrt(np.maximum(variances, 0.0)) * (scale.high - scale.low)
        return RankedOffer(position, best, probabilities, np.asarray(scale.given(means)), stds, is_new)


def know_offer(bandit: ContextualBandit, context: Any, offer: Offer) -> None:
    """Give new features of an offer their columns."""
    with bandit._lock, bandit._all_or_nothing():
        bandit._begin()
        bandit.model_ = bandit._widened(bandit.model_, *bandit.encoder_.encode(context, offer), quietly=True)


def decision_of(
    bandit: ContextualBandit, context: Any, action: Offer, probability: float, number: int
) -> ActionDecision:
    """A decision as `learn` takes it, from the context and the action that was played, alone on offer."""
    with bandit._lock:
        know_offer(bandit, context, action)
        one, rows = bandit.encoder_.encode(context, action)
        groups = bandit._groups(action)
        group, nothing = None if groups is None else groups[0], np.zeros(0)
        features = one.row(0), rows.row(0), nothing
        return ActionDecision(action.names[0], probability, number, 0, *features, group, bandit.n_rounds_)


def reasons(bandit: ContextualBandit, context: Any, offer: Offer, position: int) -> list[tuple[str, str, float]]:
    """What speaks for an action, compared with the mean of those on offer: features of context and action, and how
    much their product adds to the expected reward (or cost); the largest first. An empty name is the constant.

    >>> from noisewise.online.actions.offers import as_offer
    >>> meals = as_offer([{"taste": "sweet"}, {"taste": "salty"}])
    >>> bandit = ContextualBandit(random_state=0)
    >>> for reward, taste in ((1, "sweet"), (0, "salty")) * 20:
    ...     bandit = bandit.learn(bandit.decide({}, [{"taste": taste}]), reward)
    >>> [(name, round(value, 1)) for _, name, value in reasons(bandit, [{}], meals, 0)]
    [('taste=sweet', 0.2), ('taste=salty', 0.2)]
    """
    with bandit._lock:
        bandit._begin()
        model, one, rows, _ = bandit._peek(context, offer)
        plain = FeatureIndex("context"), FeatureIndex("action")  # with names, where the learner has hashes
        named = PairEncoder(*plain, bandit.encoder_.products, bandit.encoder_.per_action)
        names = [_names(index, made) for index, made in zip(plain, named.encode(context, offer))]
        columns, values = one.row(0)
        shared = loops().standardised(model.contexts, columns, values)
        own = loops().standardised(model.actions, rows.columns, rows.values)
        scale = bandit.reader_.scale
        found: dict[tuple[str, str], float] = {}
        for k in range(len(rows)):
            factor = (k == position) - 1 / len(rows)
            for j in range(rows.starts.item(k), rows.starts.item(k + 1)):
                for i, value in enumerate(shared.tolist()):
                    pair = names[0][i], names[1][j]
                    weight = _weight(model, columns.item(i), rows.columns.item(j))
                    found[pair] = found.get(pair, 0.0) + factor * value * own.item(j) * weight
        span = (scale.low - scale.high) if scale.costs else (scale.high - scale.low)
        found.pop(("", ""), None)  # the same for all actions
        listed = [(*pair, span * value) for pair, value in found.items() if value]
        return sorted(listed, key=lambda reason: -abs(reason[2]))[:MOST_REASONS]


def _names(index: FeatureIndex, rows: Rows) -> list[str]:
    names = ["", *index.columns]
    return [names[column] for column in rows.columns.tolist()]


def _weight(model: Any, i: int, j: int) -> float:
    if isinstance(model, JointModel):
        return float(model.weights[i * model.actions.shape[1] + j])
    return float(model.weights[hashed_loops().slot_of(i, j, len(model.weights))])
