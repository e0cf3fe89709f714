"""Turns of the robust kernel Fisher discriminant: directions from soft labels, soft labels from directions.

Ridge regression on soft one-hot labels gives the Fisher directions; along them each class is a normal law, all of one
covariance. Every row is judged by what the fit says without it, so that no label confirms itself. The turns do not
only get better: relabelling a whole cluster moves every score to confirm it, but makes the labels that were observed
less likely. So each turn has a say in proportion to the likelihood of the observed labels, left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from noisewise._numerics.em import normalised_rows, responsibilities, symmetric_matrix
from noisewise._typing import Codes, Floats
from noisewise.labels.fisher.kernel_smoother import Smoother
from noisewise.noise import FlipMatrix

START = 0.2  # share of flipped labels to begin with; zero would stay zero
PRIOR_KEPT, PRIOR_FLIPPED = 4.0, 1.0  # labels of each class that are taken for granted
NEGLIGIBLE = 10.0  # nats: a turn that makes the labels so much less likely has no say
LEAST_KEPT = 0.5  # of a class's labels; with less, a cluster has changed sides
CLOSE = 1e-3  # change of soft labels that ends the turns
PATIENCE = 20  # turns without a better one that end them


@dataclass(frozen=True)
class NormalClasses:
    """Normal laws of one covariance, one for each class, as a linear map from scores to logits."""

    slopes: Floats
    intercepts: Floats

    @classmethod
    def of(cls, scores: Floats, soft: Floats) -> NormalClasses:
        """From scores (n, n_classes) and soft labels; the last score follows from the others."""
        totals = soft.sum(axis=0)
        means = soft.T @ scores / np.maximum(totals, 1e-12)[:, None]
        lost = np.diag(means) <= 0  # its own rows score below average for it: nothing to be recognised by
        means[lost] = 0
        means, some = means[:, :-1], scores[:, :-1]
        scatter = (some.T @ some - (means.T * totals) @ means) / len(scores)
        scatter += (1e-9 * np.trace(scatter) + 1e-12) * np.eye(len(scatter))
        slopes = np.linalg.solve(scatter, means.T)
        offsets = np.log(np.maximum(totals / len(scores), 1e-12)) - 0.5 * np.einsum("kj,jk->k", means, slopes)
        return cls(slopes, np.asarray(offsets))

    def posterior(self, scores: Floats) -> Floats:
        """Probability of each true class."""
        return np.asarray(softmax(scores[:, :-1] @ self.slopes + self.intercepts, axis=1))


@dataclass(frozen=True)
class Turn:
    """Where the turns stand: directions, classes along them, flips, and how likely each observed label is."""

    coefficients: Floats
    classes: NormalClasses
    flips: Floats
    soft: Floats
    log_likelihood: Floats

    @property
    def total(self) -> float:
        """Log-likelihood of all observed labels, none of which took part in its own."""
        return float(self.log_likelihood.sum())


@dataclass(frozen=True)
class Turns:
    """The turns that have a say, the log-likelihood after each of all, and whether they ended by themselves."""

    kept: list[Turn]
    history: list[float]
    settled: bool

    @property
    def shares(self) -> Floats:
        """How much each turn counts; together one."""
        return np.asarray(softmax([turn.total for turn in self.kept]))

    @property
    def flips(self) -> Floats:
        """The flip matrix, averaged."""
        return np.tensordot(self.shares, [turn.flips for turn in self.kept], 1)

    @property
    def soft(self) -> Floats:
        """Posterior of the rows' true labels, averaged."""
        return np.asarray(sum(share * turn.soft for share, turn in zip(self.shares, self.kept)))


@dataclass(frozen=True)
class Discriminants:
    """The directions of several turns side by side, the classes along them, and how much each turn counts."""

    coefficients: Floats  # of shape (rank, turns * n_classes)
    classes: tuple[NormalClasses, ...]
    shares: Floats

    @classmethod
    def of(cls, turns: Turns) -> Discriminants:
        """What is needed for new rows."""
        coefficients = np.hstack([turn.coefficients for turn in turns.kept])
        return cls(coefficients, tuple(turn.classes for turn in turns.kept), turns.shares)

    def posterior(self, features: Floats) -> Floats:
        """Probability of each true class, averaged over the turns."""
        scores = np.split(features @ self.coefficients, len(self.shares), axis=1)
        every = zip(self.shares, self.classes, scores)
        return np.asarray(sum(share * classes.posterior(along) for share, classes, along in every))


def take_turns(smoother: Smoother, codes: Codes, known: Floats | None, n_classes: int, most: int) -> Turns:
    """Turns until soft labels stay, or none of the last ones made the observed labels likelier."""
    labels = np.eye(n_classes)[codes]
    soft = labels
    flips = FlipMatrix.symmetric(START, n_classes).matrix if known is None else known
    kept: list[Turn] = []
    history: list[float] = []
    while len(history) < most:
        turn = _next_turn(smoother, codes, labels, soft, flips, known is not None)
        if history and known is None and np.diag(turn.flips).min() < LEAST_KEPT:
            return Turns(kept, history, True)
        history.append(turn.total)
        kept = [one for one in [*kept, turn] if one.total >= max(history) - NEGLIGIBLE]
        stale = len(history) - np.argmax(history) > PATIENCE
        if stale or np.abs(turn.soft - soft).max() < CLOSE:
            return Turns(kept, history, True)
        soft, flips = turn.soft, turn.flips
    return Turns(kept, history, False)


def _next_turn(smoother: Smoother, codes: Codes, labels: Floats, soft: Floats, flips: Floats, known: bool) -> Turn:
    centred = soft - soft.mean(axis=0)
    scores = smoother.without_own(centred)
    classes = NormalClasses.of(scores, soft)
    explained, likelihood = responsibilities(classes.posterior(scores), flips.T[codes], 1e-300)
    if not known:
        n_classes = labels.shape[1]
        prior = symmetric_matrix(n_classes, PRIOR_FLIPPED, PRIOR_KEPT)
        flips = normalised_rows(explained.T @ labels + prior)
    return Turn(smoother.coefficients(centred), classes, flips, explained, np.log(likelihood))
