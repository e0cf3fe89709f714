"""Turns of the robust kernel Fisher discriminant: directions from soft labels, soft labels from directions.

Ridge regression on soft one-hot labels gives the Fisher directions; along them each class is a normal law, all of one
covariance. Every row is judged by what the fit says without it, so that no label confirms itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from noisewise._inputs import Codes, Floats
from noisewise.labels._kernel_basis import Smoother
from noisewise.noise import FlipMatrix
from noisewise.noise._mixture import mixture_rows

START = 0.2  # share of flipped labels to begin with; zero would stay zero
PRIOR_KEPT, PRIOR_FLIPPED = 4.0, 1.0  # labels of each class that are taken for granted
FIRST_JUDGED = 2  # the turns before still know the labels by heart
WORSE = 1.0  # standard deviations by which the labels may get less likely
LEAST_KEPT = 0.5  # of a class's labels; with less, a cluster has changed sides
CLOSE = 1e-3  # change of soft labels that ends the turns


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
    """The last turn worth keeping, the log-likelihood after each, and whether they ended by themselves."""

    last: Turn
    history: list[float]
    settled: bool


def take_turns(smoother: Smoother, codes: Codes, known: Floats | None, n_classes: int, most: int) -> Turns:
    """Turns until soft labels stay, or until one explains the observed labels less well than an earlier one.

    Relabelling a whole cluster moves every score to confirm it, but makes the labels that were observed less likely,
    by more than chance: the turns end before that.
    """
    labels = np.eye(n_classes)[codes]
    flips = FlipMatrix.symmetric(START, n_classes).matrix if known is None else known
    last = best = _next_turn(smoother, codes, labels, labels, flips, known is not None)
    history = [last.total]
    while len(history) < most:
        turn = _next_turn(smoother, codes, labels, last.soft, last.flips, known is not None)
        judged = len(history) > FIRST_JUDGED
        if judged and _went_wrong(turn, best, known is None):
            return Turns(last, history, True)
        best = turn if not judged or turn.total > best.total else best
        settled = np.abs(turn.soft - last.soft).max() < CLOSE
        last = turn
        history.append(turn.total)
        if settled:
            return Turns(last, history, True)
    return Turns(last, history, False)


def _next_turn(smoother: Smoother, codes: Codes, labels: Floats, soft: Floats, flips: Floats, known: bool) -> Turn:
    centred = soft - soft.mean(axis=0)
    scores = smoother.without_own(centred)
    classes = NormalClasses.of(scores, soft)
    joint = classes.posterior(scores) * flips.T[codes]
    likelihood = np.maximum(joint.sum(axis=1), 1e-300)
    explained = joint / likelihood[:, None]
    if not known:
        n_classes = labels.shape[1]
        prior = np.full((n_classes, n_classes), PRIOR_FLIPPED / (n_classes - 1))
        np.fill_diagonal(prior, PRIOR_KEPT)
        flips = mixture_rows(explained.T @ labels + prior)
    return Turn(smoother.coefficients(centred), classes, flips, explained, np.log(likelihood))


def _went_wrong(turn: Turn, best: Turn, free: bool) -> bool:
    if free and np.diag(turn.flips).min() < LEAST_KEPT:
        return True
    lost = best.log_likelihood - turn.log_likelihood
    return bool(lost.sum() > WORSE * np.sqrt(np.square(lost).sum()))
