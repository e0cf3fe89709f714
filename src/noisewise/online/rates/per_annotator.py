"""Right/wrong feedback from people: who is careful, careless, spiteful, and how much each answer should count."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from noisewise._numerics.ridge import RidgeFit, fit_per_action, leave_one_out_per_action
from noisewise._typing import Codes, Floats
from noisewise.noise import with_interval
from noisewise.online.rates.refit import Refitter

GRID = np.linspace(0.02, 0.98, 14)
FALSE_POSITIVE, FALSE_NEGATIVE = (side.ravel() for side in np.meshgrid(GRID, GRID, indexing="ij"))
SIGNAL = 1 - FALSE_POSITIVE - FALSE_NEGATIVE
# three people, rather honest than not: what is believed of a crowd before it has spoken
HOPE = 3 * np.exp(4 * SIGNAL) / np.exp(4 * SIGNAL).sum()
SHARPNESS = 10.0  # scores times this, through a softmax, are probabilities
BINS = 400  # probabilities are counted in so many steps
PRIOR_TURNS = 20


@dataclass(frozen=True)
class PeopleReport:
    """What is believed of each person: flip rates, signal (1 less both), and the answers this rests on.

    Intervals, of shape (n_people, 2), hold a rate with 95 %, as far as the kinds of people there are go. `used` says
    whether answers are weighed by these rates; the first ones count as they are.
    """

    people: list[Hashable]
    answers: Codes
    false_positive: Floats
    false_negative: Floats
    signal: Floats
    false_positive_interval: Floats
    false_negative_interval: Floats
    used: bool

    def columns(self) -> dict[str, Any]:
        """All that is believed, one entry for each person."""
        return {
            "person": self.people,
            "answers": self.answers,
            **with_interval("false_positive", self.false_positive, *self.false_positive_interval.T),
            **with_interval("false_negative", self.false_negative, *self.false_negative_interval.T),
            "signal": self.signal,
            "used": np.full(len(self.people), self.used),
        }


class PeopleTracker(Refitter):
    """Learns who can be believed, and turns each answer into a target and a weight for a regression of each action.

    The first rounds count as they are. At ``first`` rounds, and each time the log has grown by ``growth``, all rounds
    are judged again with the rates then believed, under a prior over kinds of people that is learnt as well.

    Parameters
    ----------
    n_classes : int
        Number of actions.
    ridge : float, default=1.0
        Penalty of the regression.

    Examples
    --------
    >>> tracker = PeopleTracker(n_classes=2)
    >>> tracker.weigh([1.0, 0.0], action=0, feedback=1, person="ann", scores=[0.5, 0.1])
    (1.0, 1.0)
    >>> tracker.report().answers
    array([1])
    """

    def __init__(self, n_classes: int, ridge: float = 1.0, first: int = 1000, growth: float = 1.4) -> None:
        super().__init__(n_classes, ridge, first, growth)
        self.settled = False
        self.usual_lead = 0.0
        self.prior = HOPE / HOPE.sum()
        self.people: list[Hashable] = []
        self.codes: dict[Hashable, int] = {}
        self.answers = np.zeros(0, dtype=np.int64)
        self.evidence = np.zeros((0, len(SIGNAL)))

    def weigh(
        self, x: ArrayLike, action: int, feedback: int, person: Hashable, scores: ArrayLike
    ) -> tuple[float, float]:
        """Record an answer; the target to learn and the weight to give it.

        ``scores`` are the learner's scores of all actions for x, without any width.
        """
        row = np.asarray(x, dtype=np.float64)
        code = self._code(person)
        self.answers[code] += 1
        target, importance = float(feedback), 1.0
        if self.settled:
            values, played = np.asarray(scores, dtype=np.float64)[None, :], np.array([action])
            chance = chance_right(values, played)
            if informative(values, played, self.usual_lead)[0]:
                self.evidence[code] += log_likelihoods(likely_is_sure(chance))[int(feedback), 0]
            wrong, right = posterior_rates(self.evidence[code : code + 1], self.prior)
            targets, weights = weighted_targets(np.array([target]), chance, wrong, right)
            target, importance = float(targets[0]), float(weights[0])
        self._keep(row, action, feedback, code, target, importance)
        return target, importance

    def refit(self) -> RidgeFit:
        """Judge all rounds again; the regression to go on with."""
        if self.log is None:
            raise ValueError("there are no rounds to go over yet")
        log, n = self.log, self.log.n
        feedback, people = log.answers[:n].astype(np.float64), log.groups[:n]
        for _ in range(1 if self.settled else 3):
            fit = self._fit()
            scores, _ = leave_one_out_per_action(fit, log.X, log.actions, log.targets[:n], log.importance[:n])
            if not self.settled:
                scores = on_one_scale(scores)
            self.usual_lead = float(np.median(lead(scores)))
            chance = chance_right(scores, log.actions)
            used = informative(scores, log.actions, self.usual_lead)
            sure = likely_is_sure(chance[used])
            self.evidence = person_evidence(sure, feedback[used], people[used], len(self.people))
            self.prior = learnt_prior(self.evidence)
            wrong, right = posterior_rates(self.evidence, self.prior)
            log.targets[:n], log.importance[:n] = weighted_targets(feedback, chance, wrong[people], right[people])
            self.settled = True
        self.next_refit = int(self.growth * n)
        return self._fit()

    def report(self) -> PeopleReport:
        """What is believed of each person now."""
        joint = _posterior(self.evidence, self.prior).reshape(-1, len(GRID), len(GRID))
        by_rate = joint.sum(axis=2), joint.sum(axis=1)
        wrong, right = (shares @ GRID for shares in by_rate)
        near_wrong, near_right = (credible_interval(shares) for shares in by_rate)
        people, answers, signal = list(self.people), self.answers.copy(), 1 - wrong - right
        return PeopleReport(people, answers, wrong, right, signal, near_wrong, near_right, self.settled)

    def _fit(self) -> RidgeFit:
        assert self.log is not None
        log, n = self.log, self.log.n
        return fit_per_action(log.X, log.actions, log.targets[:n], self.n_classes, self.ridge, log.importance[:n])

    def _code(self, person: Hashable) -> int:
        if person not in self.codes:
            self.codes[person] = len(self.people)
            self.people.append(person)
            self.answers = np.append(self.answers, 0)
            self.evidence = np.vstack([self.evidence, np.zeros((1, len(SIGNAL)))])
        return self.codes[person]


def chance_right(scores: Floats, actions: Codes) -> Floats:
    """Probability that the played action is right."""
    shares = np.exp(SHARPNESS * (scores - scores.max(axis=1, keepdims=True)))
    return np.asarray(shares[np.arange(len(actions)), actions] / shares.sum(axis=1))


def lead(scores: Floats) -> Floats:
    """By how much the best action leads the second."""
    top = np.partition(scores, (scores.shape[1] - 2, scores.shape[1] - 1), axis=1)
    return np.asarray(top[:, -1] - top[:, -2])


def informative(scores: Floats, actions: Codes, usual_lead: float) -> NDArray[np.bool_]:
    """Rounds that tell about a person: the guess had a clear lead, or what was played is not among the two best."""
    own = scores[np.arange(len(actions)), actions]
    better = np.sum(scores > own[:, None], axis=1)
    return np.asarray((lead(scores) >= usual_lead) | (better >= 2))


def likely_is_sure(chance: Floats) -> Floats:
    """Chances of informative rounds, where a likely right one is right: doubt would look like praise for the wrong."""
    return np.where(chance > 0.5, 1.0, chance)


def on_one_scale(scores: Floats) -> Floats:
    """Scores of raw feedback, moved and stretched so that wrong is about 0 and right about 1."""
    middle = np.quantile(scores, (1 - 1 / scores.shape[1]) / 2)  # of the wrong ones, all but one in each row
    return np.asarray((scores - middle) / max(float(np.median(scores.max(axis=1)) - middle), 1e-6))


def log_likelihoods(chance: Floats) -> Floats:
    """Log P(answer | kind of person) for chances of being right; shape (2 answers, n, kinds)."""
    yes = (1 - FALSE_NEGATIVE) * chance[:, None] + FALSE_POSITIVE * (1 - chance[:, None])
    return np.log(np.stack([1 - yes, yes]))


def person_evidence(chance: Floats, feedback: Floats, people: Codes, n_people: int) -> Floats:
    """Log-likelihood of each person's answers for every kind of person; shape (n_people, kinds)."""
    step = np.minimum((chance * BINS).astype(np.int64), BINS)  # the last one for those that are sure
    typical = np.append((np.arange(BINS) + 0.5) / BINS, 1.0)
    column = feedback.astype(np.int64) * len(typical) + step
    counts = sparse.coo_array((np.ones(len(people)), (people, column)), shape=(n_people, 2 * len(typical))).tocsr()
    return np.asarray(counts @ log_likelihoods(typical).reshape(2 * len(typical), -1))


def learnt_prior(evidence: Floats) -> Floats:
    """Shares of the kinds of people that explain the evidence best, with three hopeful people thrown in."""
    prior = HOPE / HOPE.sum()
    for _ in range(PRIOR_TURNS):
        prior = _posterior(evidence, prior).sum(axis=0) + HOPE
        prior /= prior.sum()
    return np.asarray(prior)


def posterior_rates(evidence: Floats, prior: Floats) -> tuple[Floats, Floats]:
    """Mean rates [rho0, rho1] of each person."""
    posterior = _posterior(evidence, prior)
    return posterior @ FALSE_POSITIVE, posterior @ FALSE_NEGATIVE


def credible_interval(shares: Floats) -> Floats:
    """Ends of the intervals that hold a rate with 95 %, from the shares of its values in the grid; a row each."""
    edges = (np.concatenate([[0.0], GRID]) + np.concatenate([GRID, [1.0]])) / 2
    below = np.cumsum(shares, axis=1)
    ends = []
    for chance in (0.025, 0.975):
        cell = np.sum(below < chance, axis=1).clip(max=len(GRID) - 1)
        share, up_to = (np.take_along_axis(each, cell[:, None], axis=1)[:, 0] for each in (shares, below))
        part = np.clip((chance - up_to + share) / share, 0, 1)  # of the cell in which the end lies
        ends.append(edges[cell] + part * (edges[cell + 1] - edges[cell]))
    return np.stack(ends, axis=1)


def weighted_targets(feedback: Floats, chance: Floats, wrong: Floats, right: Floats) -> tuple[Floats, Floats]:
    """Unbiased target (f - rho0) / beta of each answer, and a weight that falls with what its noise hides."""
    signal = 1 - wrong - right
    signal = np.where(np.abs(signal) < 1e-3, 1e-3, signal)  # such an answer has next to no weight
    noise = np.maximum(wrong * (1 - wrong) * (1 - chance) + right * (1 - right) * chance, 0.001)
    return (feedback - wrong) / signal, 0.25 * signal**2 / (0.05 * signal**2 + noise)


def _posterior(evidence: Floats, prior: Floats) -> Floats:
    joint = evidence + np.log(prior)
    shares = np.exp(joint - joint.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))
