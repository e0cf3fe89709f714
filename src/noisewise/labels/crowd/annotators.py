"""What is known about each annotator: answers, accuracy with an interval, flip rates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from noisewise._numerics.em import normalised_rows
from noisewise._typing import Floats
from noisewise.labels.crowd.em import PRIOR_ACCURACY, PRIOR_ANSWERS, count_answers, raise_prior
from noisewise.noise import Estimate, FlipMatrix

COVERAGE = 0.9  # of the intervals


@dataclass(frozen=True, eq=False)
class Annotator:
    """One annotator.

    Attributes
    ----------
    name : object
    n_answers : int
    accuracy : Estimate
        Probability that an answer is right, for items such as were answered; in `accuracy.interval` with 90 %.
    flips : array of shape (n_classes, n_classes)
        ``flips[true, called]``. A plain array: the matrix of someone who guesses can't be inverted, and says so here.
    """

    name: Any
    n_answers: int
    accuracy: Estimate
    flips: Floats


@dataclass(frozen=True, eq=False)
class Annotators:
    """All annotators, in order of their names: a sequence of `Annotator`, and arrays of what is known about them.

    Attributes
    ----------
    names, n_answers, accuracy, accuracy_low, accuracy_high : arrays of shape (n_annotators,)
    flips : array of shape (n_annotators, n_classes, n_classes)
    pooled : array of shape (n_classes, n_classes)
        Flip rates of all answers together.
    """

    names: NDArray[Any]
    n_answers: NDArray[np.intp]
    accuracy: Floats
    accuracy_low: Floats
    accuracy_high: Floats
    flips: Floats
    pooled: Floats

    @classmethod
    def from_posterior(cls, names: NDArray[Any], table: Any, posterior: Floats, prior: Floats) -> Annotators:
        """From the table of answers, what is known of the items, and the pseudo-answers everybody starts with."""
        answers = table.T.tocsr()
        counts = count_answers(answers, posterior)
        n_answers = np.rint(counts.sum(axis=(1, 2)))
        right = np.trace(counts, axis1=1, axis2=2)
        doubt = np.trace(count_answers(answers, posterior * (1 - posterior)), axis1=1, axis2=2)
        accuracy, variance = _accuracy(right, n_answers, doubt, pooled=bool(prior.any()))
        low, high = beta_interval(accuracy, variance)
        flips, pooled = normalised_rows(counts + prior), normalised_rows(counts.sum(axis=0) + prior)
        return cls(names, n_answers.astype(np.intp), accuracy, low, high, flips, pooled)

    @property
    def noise(self) -> FlipMatrix:
        """The mean flip matrix over all answers."""
        return FlipMatrix.estimated(self.pooled)

    def columns(self) -> dict[str, NDArray[Any]]:
        """Columns for a frame: name, n_answers, accuracy, accuracy_low, accuracy_high."""
        numbers = {name: getattr(self, name) for name in ("n_answers", "accuracy", "accuracy_low", "accuracy_high")}
        return {"name": self.names, **numbers}

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, place: int) -> Annotator:
        accuracy = Estimate(self.accuracy[place], self.accuracy_low[place], self.accuracy_high[place])
        return Annotator(self.names.tolist()[place], int(self.n_answers[place]), accuracy, self.flips[place])

    def __iter__(self) -> Iterator[Annotator]:
        for place, name in enumerate(self.names.tolist()):
            accuracy = Estimate(self.accuracy[place], self.accuracy_low[place], self.accuracy_high[place])
            yield Annotator(name, int(self.n_answers[place]), accuracy, self.flips[place])

    def named(self, name: Any) -> Annotator:
        """The annotator of this name."""
        try:
            return self[self.names.tolist().index(name)]
        except ValueError:
            raise KeyError(f"no annotator is called {name!r}") from None

    def __repr__(self) -> str:
        worst = np.argsort(self.accuracy)[:3]
        shown = "; ".join(f"{self.names.tolist()[place]!r} {self[int(place)].accuracy}" for place in worst)
        return f"<{len(self)} annotators, {self.n_answers.sum()} answers; least accurate: {shown}>"


def _accuracy(right: Floats, n_answers: Floats, doubt: Floats, pooled: bool) -> tuple[Floats, Floats]:
    """Mean and variance of everybody's probability to be right, given how often they were, with some doubt, right.

    With `pooled`, everybody starts with what annotators are like, found from all of them.
    """
    counts = np.stack([right, n_answers - right], axis=1)[:, None]
    start = np.array([[0.5, 0.5]])
    if pooled:
        hyper = PRIOR_ANSWERS * np.array([[PRIOR_ACCURACY, 1 - PRIOR_ACCURACY]])
        start = raise_prior(hyper, np.maximum(counts, 0), hyper, steps=200)
    known = (np.maximum(counts, 0) + start)[:, 0]
    total = known.sum(axis=1)
    mean = known[:, 0] / total
    return mean, mean * (1 - mean) / (total + 1) + doubt / total**2


def beta_interval(mean: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """Ends of the central interval of the beta distributions with these means and variances.

    >>> low, high = beta_interval(np.array([0.5]), np.array([1 / 12]))  # the uniform distribution
    >>> low.round(3), high.round(3)
    (array([0.05]), array([0.95]))
    """
    size = np.maximum(mean * (1 - mean) / variance - 1, 1e-3)
    first, second, tail = mean * size, (1 - mean) * size, (1 - COVERAGE) / 2
    return betaincinv(first, second, tail), betaincinv(first, second, 1 - tail)
