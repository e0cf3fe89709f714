"""Right/wrong feedback from several annotators: flip rates of each, and how much their feedback should count."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.special import softmax

from noisewise._numerics.ridge import RidgeFit, fit_per_action, leave_one_out_per_action
from noisewise._typing import Codes, Floats
from noisewise.noise import (
    LEAST_POOLED_SIGNAL,
    NONLINEAR_FROM,
    informative_about_annotators,
    margins,
    sharper_scores,
    with_interval,
)
from noisewise.online.rates.margin_curve import RatesByMargin, bin_by_margin, rates_by_margin, signed_margins
from noisewise.online.rates.overlap import NONE, SEVERAL, implied_right_actions
from noisewise.online.rates.refit import Refitter

GRID = np.linspace(0.02, 0.98, 14)  # of each rate; a pair (rho0, rho1) of it is a type of annotator
FALSE_POSITIVE, FALSE_NEGATIVE = (side.ravel() for side in np.meshgrid(GRID, GRID, indexing="ij"))
SIGNAL = 1 - FALSE_POSITIVE - FALSE_NEGATIVE
# Dirichlet pseudo-counts of three annotators, most of high signal: unknown annotators are expected to help
PRIOR_COUNTS = 3 * np.exp(4 * SIGNAL) / np.exp(4 * SIGNAL).sum()
INVERSE_TEMPERATURE = 10.0  # of the softmax that turns scores into probabilities
BINS = 400  # of probabilities, so that the likelihood costs one product for all rounds
PRIOR_EM_STEPS = 20
LEAST_ANSWERS = 100  # of an annotator, whose rates are then estimated without the prior
LEAST_SIGNAL_SIZE = 1e-3  # of |1 - rho0 - rho1| as a divisor; such feedback has next to no weight
LEAST_NOISE = 0.001  # variance of the flips of the best annotators
SCORE_VARIANCE = 0.05  # of a target without flips, around its regression
PLAIN_VARIANCE = 0.25  # of feedback that counts as it is, with importance 1: the most that flips can have
EARLY = f"the rates are not identified: up to {NONLINEAR_FROM:,} rounds they are rough, and have no intervals"
NOBODY_TELLS = (
    "the rates are not identified: nobody's feedback tells right actions from wrong ones, as with rare clicks on "
    "adverts, of which several may be right for a row, or none"
)


@dataclass(frozen=True)
class AnnotatorReport:
    """Posterior mean flip rates of each annotator, signal (1 - rho0 - rho1), and the number of `answers` they gave.

    Intervals, of shape (n_annotators, 2), hold a rate with 95 %: from 2,000 rounds on those of `rates_by_margin`, which
    include overlapping classes; before, they hold everything, and nothing is identified. `used` says whether feedback
    is weighted by rates; the first rounds count as they are. `reason` says why rates are not identified, if they are
    not; where several actions may be right, or none, the intervals hold everything.
    """

    people: list[Hashable]
    answers: Codes
    false_positive: Floats
    false_negative: Floats
    signal: Floats
    false_positive_interval: Floats
    false_negative_interval: Floats
    used: bool
    reason: str = ""

    def columns(self) -> dict[str, Any]:
        """Columns of a report, one entry for each annotator."""
        return {
            "person": self.people,
            "answers": self.answers,
            **with_interval("false_positive", self.false_positive, *self.false_positive_interval.T),
            **with_interval("false_negative", self.false_negative, *self.false_negative_interval.T),
            "signal": self.signal,
            "used": np.full(len(self.people), self.used),
            "identified": (np.ptp([self.false_positive_interval, self.false_negative_interval], axis=2) < 1).all(axis=0)
            & (not self.reason),
            "reason": [self.reason] * len(self.people),
        }


class PeopleTracker(Refitter):
    """Estimates the flip rates of each annotator, and turns their feedback into weighted targets of a regression.

    Each annotator has a confusion matrix over wrong and right, as in Dawid and Skene [1]_: a pair (rho0, rho1) of a
    grid. The truth of a round comes from the leave-one-out scores of a ridge regression of the targets. The prior over
    pairs is estimated too: the nonparametric maximum likelihood estimate of a mixing distribution, by EM [2]_, with
    pseudo-counts. Feedback f becomes the unbiased target (f - rho0) / (1 - rho0 - rho1), weighted by its precision.

    The first rounds count as they are. At ``first`` rounds, and each time the log has grown by ``growth``, all rounds
    are weighted again.

    Parameters
    ----------
    n_classes : int
        Number of actions.
    ridge : float, default=1.0
        Penalty of the regression.

    References
    ----------
    .. [1] Dawid, A. P., Skene, A. M. (1979). Maximum likelihood estimation of observer error-rates using the EM
       algorithm. Journal of the Royal Statistical Society C 28(1), 20-28.
    .. [2] Laird, N. (1978). Nonparametric maximum likelihood estimation of a mixing distribution. Journal of the
       American Statistical Association 73(364), 805-811.

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
        self.median_margin = 0.0
        self.prior = PRIOR_COUNTS / PRIOR_COUNTS.sum()
        self.people: list[Hashable] = []
        self.codes: dict[Hashable, int] = {}
        self.answers = np.zeros(0, dtype=np.int64)
        self.log_likelihood = np.zeros((0, len(SIGNAL)))

    def weigh(
        self, x: ArrayLike, action: int, feedback: int, person: Hashable, scores: ArrayLike
    ) -> tuple[float, float]:
        """Record the feedback of an annotator; the target to learn and its importance.

        ``scores`` are the learner's scores of all actions for x, without UCB bonuses.
        """
        row = np.asarray(x, dtype=np.float64)
        code = self._code(person)
        self.answers[code] += 1
        target, importance = float(feedback), 1.0
        if self.settled:
            values, played = np.asarray(scores, dtype=np.float64)[None, :], np.array([action])
            p_right = probability_right(values, played)
            if informative_about_annotators(values, played, self.median_margin)[0]:
                self.log_likelihood[code] += log_likelihoods(round_up(p_right))[int(feedback), 0]
            rho0, rho1 = posterior_rates(self.log_likelihood[code : code + 1], self.prior)
            targets, weights = weighted_targets(np.array([target]), p_right, rho0, rho1)
            target, importance = float(targets[0]), float(weights[0])
        self._keep(row, action, feedback, code, target, importance)
        return target, importance

    def refit(self) -> RidgeFit:
        """Estimate the rates from all rounds and weight them again; the regression to continue with."""
        if self.log is None:
            raise ValueError("there are no rounds to go over yet")
        log, n = self.log, self.log.n
        feedback, annotators = log.feedback[:n].astype(np.float64), log.annotators[:n]
        for _ in range(1 if self.settled else 3):
            fit = self._fit()
            scores, _ = leave_one_out_per_action(fit, log.X, log.actions, log.targets[:n], log.importance[:n])
            if not self.settled:
                scores = rescaled(scores)
            self.median_margin = float(np.median(margins(scores)))
            p_right = probability_right(scores, log.actions)
            used = informative_about_annotators(scores, log.actions, self.median_margin)
            self.log_likelihood = annotator_log_likelihood(
                round_up(p_right[used]), feedback[used], annotators[used], len(self.people)
            )
            self.prior = estimated_prior(self.log_likelihood)
            rho0, rho1 = posterior_rates(self.log_likelihood, self.prior)
            log.targets[:n], log.importance[:n] = weighted_targets(
                feedback, p_right, rho0[annotators], rho1[annotators]
            )
            self.settled = True
        self.next_refit = int(self.growth * n)
        return self._fit()

    def rates_of(self, person: Hashable) -> tuple[float, float]:
        """Posterior mean rates [rho0, rho1] of one annotator; (0, 0) before the first refit or their first feedback."""
        if not self.settled or person not in self.codes:
            return 0.0, 0.0
        code = self.codes[person]
        rho0, rho1 = posterior_rates(self.log_likelihood[code : code + 1], self.prior)
        return float(rho0[0]), float(rho1[0])

    def report(self) -> AnnotatorReport:
        """Posterior mean rates of each annotator, with intervals."""
        joint = _posterior(self.log_likelihood, self.prior).reshape(-1, len(GRID), len(GRID))
        marginals = joint.sum(axis=2), joint.sum(axis=1)
        rho0, rho1 = (marginal @ GRID for marginal in marginals)
        interval0 = interval1 = np.tile([0.0, 1.0], (len(self.people), 1))
        reason = EARLY
        if self.settled and self.log is not None and self.log.n >= NONLINEAR_FROM:
            scores, found = self._by_margin()
            enough = self.answers >= LEAST_ANSWERS  # with fewer, the estimated prior is worth more
            rho0, rho1 = np.where(enough, found.rates, np.clip([rho0, rho1], *found.limits))
            reason = self._why_not(scores, found.reason, rho0, rho1)
            if reason not in (SEVERAL, NONE):
                interval0, interval1 = found.limits.transpose(1, 2, 0)
        people, answers, signal = list(self.people), self.answers.copy(), 1 - rho0 - rho1
        return AnnotatorReport(people, answers, rho0, rho1, signal, interval0, interval1, self.settled, reason)

    def _why_not(self, scores: Floats, overlap: str, rho0: Floats, rho1: Floats) -> str:
        """Why these rates are not identified, if they are not.

        Overlap goes before "none": a class that is confused with several others is often none of the two best.
        """
        assert self.log is not None
        log, n = self.log, self.log.n
        annotators, feedback = log.annotators[:n], log.feedback[:n].astype(np.float64)
        right = implied_right_actions(scores, log.actions, feedback, rho0[annotators], rho1[annotators])
        if (1 - rho0 - rho1).max() < LEAST_POOLED_SIGNAL:
            return overlap or NOBODY_TELLS
        return SEVERAL if right.several else overlap or (NONE if right.none else "")

    def _by_margin(self) -> tuple[Floats, RatesByMargin]:
        """The learner's scores, and rates of each annotator by the margins of all rounds.

        The probability of being right is a curve of the margin that all have in common.
        """
        assert self.log is not None
        log, n = self.log, self.log.n
        targets, importance = log.targets[:n], log.importance[:n]
        linear, baseline = leave_one_out_per_action(self._fit(), log.X, log.actions, targets, importance)
        kept, scores, _ = sharper_scores(log.X, linear, log.actions, targets, baseline, importance)
        rounds = log.feedback[:n][kept].astype(np.float64), log.annotators[:n][kept], len(self.people)
        bins = bin_by_margin(signed_margins(scores, log.actions[kept]), *rounds, shared=True)
        return linear, rates_by_margin(bins, shared=True)

    def _fit(self) -> RidgeFit:
        assert self.log is not None
        log, n = self.log, self.log.n
        return fit_per_action(log.X, log.actions, log.targets[:n], self.n_classes, self.ridge, log.importance[:n])

    def _code(self, person: Hashable) -> int:
        if person not in self.codes:
            self.codes[person] = len(self.people)
            self.people.append(person)
            self.answers = np.append(self.answers, 0)
            self.log_likelihood = _one_more(self.log_likelihood)
        return self.codes[person]


def _one_more(rows: Floats) -> Floats:
    """The rows and one of zeros, in a buffer that grows by doubling: else each annotator would cost a copy of all."""
    n, buffer = len(rows), rows.base
    if not isinstance(buffer, np.ndarray) or buffer.shape[1:] != rows.shape[1:] or len(buffer) == n:
        buffer = np.empty((2 * n + 16, *rows.shape[1:]))
        buffer[:n] = rows
    buffer[n] = 0
    return buffer[: n + 1]


def probability_right(scores: Floats, actions: Codes) -> Floats:
    """Probability that the played action is right: a softmax of the scores."""
    exponentials = np.exp(INVERSE_TEMPERATURE * (scores - scores.max(axis=1, keepdims=True)))
    return np.asarray(exponentials[np.arange(len(actions)), actions] / exponentials.sum(axis=1))


def round_up(p_right: Floats) -> Floats:
    """Probabilities of informative rounds, with likely right ones rounded up: their rest would look like rho0."""
    return np.where(p_right > 0.5, 1.0, p_right)


def rescaled(scores: Floats) -> Floats:
    """Scores of raw feedback, shifted and scaled so that wrong is about 0 and right about 1."""
    median = np.quantile(scores, (1 - 1 / scores.shape[1]) / 2)  # of the wrong ones, all but one in each row
    return np.asarray((scores - median) / max(float(np.median(scores.max(axis=1)) - median), 1e-6))


def log_likelihoods(p_right: Floats) -> Floats:
    """Log P(feedback | rho0, rho1) of rounds with these probabilities of being right; shape (2, n, n_types)."""
    positive = (1 - FALSE_NEGATIVE) * p_right[:, None] + FALSE_POSITIVE * (1 - p_right[:, None])
    return np.log(np.stack([1 - positive, positive]))


def annotator_log_likelihood(p_right: Floats, feedback: Floats, annotators: Codes, n_annotators: int) -> Floats:
    """Log-likelihood of each annotator's feedback at every pair of rates; shape (n_annotators, n_types)."""
    bins = np.minimum((p_right * BINS).astype(np.int64), BINS)  # the last one for probabilities of 1
    centres = np.append((np.arange(BINS) + 0.5) / BINS, 1.0)
    column = feedback.astype(np.int64) * len(centres) + bins
    shape = n_annotators, 2 * len(centres)
    counts = sparse.coo_array((np.ones(len(annotators)), (annotators, column)), shape=shape).tocsr()
    return np.asarray(counts @ log_likelihoods(centres).reshape(2 * len(centres), -1))


def estimated_prior(log_likelihood: Floats) -> Floats:
    """Mixing distribution over pairs of rates that maximises the likelihood, by EM, with `PRIOR_COUNTS`."""
    prior = PRIOR_COUNTS / PRIOR_COUNTS.sum()
    for _ in range(PRIOR_EM_STEPS):
        prior = _posterior(log_likelihood, prior).sum(axis=0) + PRIOR_COUNTS
        prior /= prior.sum()
    return np.asarray(prior)


def posterior_rates(log_likelihood: Floats, prior: Floats) -> tuple[Floats, Floats]:
    """Posterior mean rates [rho0, rho1] of each annotator."""
    posterior = _posterior(log_likelihood, prior)
    return posterior @ FALSE_POSITIVE, posterior @ FALSE_NEGATIVE


def weighted_targets(feedback: Floats, p_right: Floats, rho0: Floats, rho1: Floats) -> tuple[Floats, Floats]:
    """Unbiased target (f - rho0) / beta of each feedback, beta = 1 - rho0 - rho1, and its precision as importance.

    The variance of a target is that of the flips, (rho0 (1 - rho0) P(wrong) + rho1 (1 - rho1) P(right)) / beta^2, plus
    that of the regression.
    """
    signal = 1 - rho0 - rho1
    signal = np.where(np.abs(signal) < LEAST_SIGNAL_SIZE, LEAST_SIGNAL_SIZE, signal)
    noise = np.maximum(rho0 * (1 - rho0) * (1 - p_right) + rho1 * (1 - rho1) * p_right, LEAST_NOISE)
    return (feedback - rho0) / signal, PLAIN_VARIANCE * signal**2 / (SCORE_VARIANCE * signal**2 + noise)


def _posterior(log_likelihood: Floats, prior: Floats) -> Floats:
    return np.asarray(softmax(log_likelihood + np.log(prior), axis=1))
