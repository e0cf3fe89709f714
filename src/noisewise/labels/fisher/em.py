"""EM of the robust kernel Fisher discriminant, averaged over its steps.

Ridge regression on soft one-hot labels gives the Fisher directions; along them each class is normal, all with one
covariance (linear discriminant analysis). Scores are leave-one-out, so that no label confirms itself. Later steps are
not always better: relabelling a whole cluster changes every score in its favour, but makes the observed labels less
likely. So each step is weighted by the leave-one-out likelihood of the observed labels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from noisewise._numerics.em import normalised_rows, responsibilities
from noisewise._typing import Codes, Floats
from noisewise.labels.fisher.kernel_smoother import DualSmoother, Smoother
from noisewise.labels.flip_likelihood import TINY
from noisewise.labels.flip_parameters import START_RATE, prior_counts
from noisewise.noise import FlipMatrix

FISHER_PRIOR_FLIPPED = 1.0  # pseudo-count of flipped labels: twice that of the likelihood fits, which see more rows
NEGLIGIBLE_LOSS = 10.0  # nats below the best step: less than a weight of 5e-5
LEAST_DIAGONAL = 0.5  # of the flip matrix: below, a cluster has been relabelled
SOFT_TOL = 1e-3  # largest change of a soft label at which EM ends
PATIENCE = 20  # steps without a better one after which EM ends
LEAST_CLASS_WEIGHT = 1e-12  # of a class, so that an empty one has finite means and priors


@dataclass(frozen=True)
class NormalClasses:
    """Linear discriminant analysis: normal classes with one covariance, as a linear map from scores to logits."""

    coefficients: Floats
    intercepts: Floats

    @classmethod
    def of(cls, scores: Floats, soft: Floats) -> NormalClasses:
        """From scores (n, n_classes) and soft labels; the last score follows from the others."""
        totals = soft.sum(axis=0)
        means = soft.T @ scores / np.maximum(totals, LEAST_CLASS_WEIGHT)[:, None]
        unrecognised = np.diag(means) <= 0  # its own rows score below average for it
        means[unrecognised] = 0
        means, scores = means[:, :-1], scores[:, :-1]
        covariance = (scores.T @ scores - (means.T * totals) @ means) / len(scores)
        covariance += (1e-9 * np.trace(covariance) + 1e-12) * np.eye(len(covariance))
        coefficients = np.linalg.solve(covariance, means.T)
        log_priors = np.log(np.maximum(totals / len(scores), LEAST_CLASS_WEIGHT))
        return cls(coefficients, np.asarray(log_priors - 0.5 * np.einsum("kj,jk->k", means, coefficients)))

    def posterior(self, scores: Floats) -> Floats:
        """Probability of each true class."""
        return np.asarray(softmax(scores[:, :-1] @ self.coefficients + self.intercepts, axis=1))


@dataclass(frozen=True)
class EMStep:
    """One EM step: directions, classes along them, flip matrix, responsibilities and log-likelihood of each row."""

    coefficients: Floats
    classes: NormalClasses
    flips: Floats
    soft: Floats
    log_likelihood: Floats

    @property
    def total(self) -> float:
        """Leave-one-out log-likelihood of all observed labels."""
        return float(self.log_likelihood.sum())


@dataclass(frozen=True)
class EMPath:
    """The EM steps of positive weight, the log-likelihood after each of all steps, and whether EM converged."""

    steps: list[EMStep]
    history: list[float]
    converged: bool

    @property
    def weights(self) -> Floats:
        """Weight of each step, in proportion to the likelihood; they sum to one."""
        return np.asarray(softmax([step.total for step in self.steps]))

    @property
    def flips(self) -> Floats:
        """The flip matrix, averaged."""
        return np.tensordot(self.weights, [step.flips for step in self.steps], 1)

    @property
    def soft(self) -> Floats:
        """Posterior of the rows' true labels, averaged."""
        return np.asarray(sum(weight * step.soft for weight, step in zip(self.weights, self.steps)))


@dataclass(frozen=True)
class Discriminants:
    """The directions of several EM steps, the classes along them, and the weights of the steps."""

    coefficients: Floats  # of shape (rank, n_steps * n_classes)
    classes: tuple[NormalClasses, ...]
    weights: Floats

    @classmethod
    def of(cls, path: EMPath) -> Discriminants:
        """What is needed to predict."""
        coefficients = np.hstack([step.coefficients for step in path.steps])
        return cls(coefficients, tuple(step.classes for step in path.steps), path.weights)

    def posterior(self, features: Floats) -> Floats:
        """Probability of each true class, averaged over the steps."""
        scores = np.split(features @ self.coefficients, len(self.weights), axis=1)
        steps = zip(self.weights, self.classes, scores)
        return np.asarray(sum(weight * classes.posterior(own) for weight, classes, own in steps))


def run_em(
    smoother: Smoother | DualSmoother, codes: Codes, known: Floats | None, n_classes: int, max_iter: int
) -> EMPath:
    """EM until soft labels stay, or none of the last steps made the observed labels likelier."""
    labels = np.eye(n_classes)[codes]
    soft = labels
    flips = FlipMatrix.symmetric(START_RATE, n_classes).matrix if known is None else known
    steps: list[EMStep] = []
    history: list[float] = []
    while len(history) < max_iter:
        step = _em_step(smoother, codes, labels, soft, flips, known is not None)
        if history and known is None and np.diag(step.flips).min() < LEAST_DIAGONAL:
            return EMPath(steps, history, True)
        history.append(step.total)
        steps = [one for one in [*steps, step] if one.total >= max(history) - NEGLIGIBLE_LOSS]
        stale = len(history) - np.argmax(history) > PATIENCE
        if stale or np.abs(step.soft - soft).max() < SOFT_TOL:
            return EMPath(steps, history, True)
        soft, flips = step.soft, step.flips
    return EMPath(steps, history, False)


def _em_step(
    smoother: Smoother | DualSmoother, codes: Codes, labels: Floats, soft: Floats, flips: Floats, known: bool
) -> EMStep:
    """M-step of directions and classes, E-step of the responsibilities, M-step of the flip matrix."""
    centred = soft - soft.mean(axis=0)
    scores = smoother.leave_one_out(centred)
    classes = NormalClasses.of(scores, soft)
    soft, likelihood = responsibilities(classes.posterior(scores), flips.T[codes], TINY)
    if not known:
        flips = normalised_rows(soft.T @ labels + prior_counts(labels.shape[1], FISHER_PRIOR_FLIPPED))
    return EMStep(smoother.coefficients(centred), classes, flips, soft, np.log(likelihood))
