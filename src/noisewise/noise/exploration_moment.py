"""The mean feedback of a uniformly drawn action, by its propensities, and a test that exactly one action is right."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noisewise._typing import Codes, Floats

LEAST_ROUNDS = 20  # fewer high-confidence or effective exploring rounds identify nothing
DEPENDENCE_ERRORS = 4.0  # standard errors of the test: one log in thirty thousand by accident


@dataclass(frozen=True)
class ExplorationMoment:
    """Sums over a log that give the mean feedback of a uniformly drawn action."""

    rounds: int
    terms: float
    squared_terms: float
    weights: float
    squared_weights: float
    dependence: float = 0.0
    dependence_variance: float = 0.0

    @classmethod
    def of(cls, terms: Floats, weights: Floats, expected: Floats) -> ExplorationMoment:
        """Sum up the rounds of a log; `expected` is the mean score over the actions of each row."""
        return cls(len(terms), *exploration_sums(terms, weights, expected, float(terms.mean())).tolist())

    @property
    def mean(self) -> float:
        """Mean feedback of a uniformly drawn action."""
        return self.terms / self.rounds

    @property
    def error(self) -> float:
        """Standard error of the mean."""
        return float(np.sqrt(max(self.squared_terms / self.rounds - self.mean**2, 0.0) / self.rounds))

    @property
    def effective_rounds(self) -> float:
        """Kish's effective sample size of the importance weights, (sum w)^2 / sum w^2."""
        return self.weights**2 / max(self.squared_weights, 1e-300)

    @property
    def covers_all_actions(self) -> bool:
        """Whether the importance weights average one, as they do if every action has a positive propensity."""
        mean = self.weights / self.rounds
        error = np.sqrt(max(self.squared_weights / self.rounds - mean**2, 0.0) / self.rounds)
        return bool(mean + 5 * error > 0.95 and self.effective_rounds >= LEAST_ROUNDS)

    @property
    def depends_on_rows(self) -> bool:
        """Whether a uniformly drawn action has more positive feedback on rows where the scores expect more.

        With exactly one right action it is rho0 + (1 - rho0 - rho1) / K on every row. Of adverts several may please, or
        none, and how many depends on the row.
        """
        return bool(self.dependence > DEPENDENCE_ERRORS * np.sqrt(self.dependence_variance))


def exploration_terms(scores: Floats, actions: Codes, feedback: Floats, propensities: Floats) -> tuple[Floats, Floats]:
    """Doubly robust terms whose mean is the feedback of a uniformly drawn action, and the weights 1 / (K P)."""
    weights = 1.0 / (scores.shape[1] * propensities)
    own = scores[np.arange(len(actions)), actions]
    return scores.mean(axis=1) + weights * (feedback - own), weights


def exploration_sums(terms: Floats, weights: Floats, expected: Floats, mean: float) -> Floats:
    """Sums of a block of rounds, in the order of `ExplorationMoment`.

    The last two are of the covariance of the terms, around their `mean` so far, with what the scores expect of a
    uniformly drawn action; its variance is heteroscedasticity-consistent.
    """
    around = (expected - expected.mean()) * (terms - mean)
    return np.array([terms.sum(), terms @ terms, weights.sum(), weights @ weights, around.sum(), around @ around])
