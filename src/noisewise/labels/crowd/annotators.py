"""Estimates about each annotator: number of labels, accuracy with an interval, confusion matrix."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from noisewise._notebook import summary_and_table
from noisewise._numerics.em import normalised_rows
from noisewise._typing import Floats
from noisewise._words import counted, percent
from noisewise.labels.crowd.em import PRIOR_ACCURACY, PRIOR_LABELS, confusion_counts, update_prior
from noisewise.noise import Estimate, FlipMatrix

COVERAGE = 0.9  # of the intervals
MOST_SHOWN = 10  # annotators in a notebook


@dataclass(frozen=True, eq=False)
class Annotator:
    """One annotator.

    Attributes
    ----------
    name : object
    n_answers : int
        Number of labels given.
    accuracy : Estimate
        Probability that a label is right, for items such as were labelled, with a 90 % interval.
    flips : array of shape (n_classes, n_classes)
        Confusion matrix ``flips[true, label]``. A plain array: that of an annotator who guesses is singular.
    """

    name: Any
    n_answers: int
    accuracy: Estimate
    flips: Floats


@dataclass(frozen=True, eq=False)
class Annotators:
    """All annotators, sorted by name: a sequence of `Annotator`, and arrays of the estimates about them.

    Attributes
    ----------
    names, n_answers, accuracy, accuracy_low, accuracy_high : arrays of shape (n_annotators,)
    flips : array of shape (n_annotators, n_classes, n_classes)
    pooled : array of shape (n_classes, n_classes)
        Flip matrix of all labels together.
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
        """From the table of counts, the posterior of the items, and the Dirichlet prior of the confusion matrices."""
        by_label = table.T.tocsr()
        counts = confusion_counts(by_label, posterior)
        n_labels = np.rint(counts.sum(axis=(1, 2)))
        right = np.trace(counts, axis1=1, axis2=2)
        variance_of_right = np.trace(confusion_counts(by_label, posterior * (1 - posterior)), axis1=1, axis2=2)
        accuracy, variance = _accuracy(right, n_labels, variance_of_right, pooled=bool(prior.any()))
        low, high = beta_interval(accuracy, variance)
        flips, pooled = normalised_rows(counts + prior), normalised_rows(counts.sum(axis=0) + prior)
        return cls(names, n_labels.astype(np.intp), accuracy, low, high, flips, pooled)

    @property
    def noise(self) -> FlipMatrix:
        """The mean flip matrix over all labels."""
        return FlipMatrix.estimated(self.pooled)

    def columns(self) -> dict[str, NDArray[Any]]:
        """Columns for a frame: name, n_answers, accuracy, accuracy_low, accuracy_high."""
        columns = {name: getattr(self, name) for name in ("n_answers", "accuracy", "accuracy_low", "accuracy_high")}
        return {"name": self.names, **columns}

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, index: int) -> Annotator:
        return self._annotator(index, self.names.tolist()[index])

    def __iter__(self) -> Iterator[Annotator]:
        return (self._annotator(index, name) for index, name in enumerate(self.names.tolist()))

    def _annotator(self, index: int, name: Any) -> Annotator:
        accuracy = Estimate(self.accuracy[index], self.accuracy_low[index], self.accuracy_high[index])
        return Annotator(name, int(self.n_answers[index]), accuracy, self.flips[index])

    def named(self, name: Any) -> Annotator:
        """The annotator of this name."""
        try:
            return self[self.names.tolist().index(name)]
        except ValueError:
            raise KeyError(f"no annotator is called {name!r}") from None

    def sentence(self) -> str:
        """How many there are, and who is least accurate."""
        worst = [self[int(index)] for index in np.argsort(self.accuracy)[:3]]
        shown = ", ".join(f"{one.name} ({percent(one.accuracy)} right)" for one in worst)
        size = f"{counted(len(self), 'annotator')}, {counted(self.n_answers.sum(), 'label')}"
        return f"{size}; least accurate: {shown}"

    def table_html(self, sentence: str) -> str:
        """A sentence, and the least accurate annotators below it, for a notebook."""
        worst = [self[int(index)] for index in np.argsort(self.accuracy, kind="stable")[:MOST_SHOWN]]
        rows = [
            (one.name, f"{one.n_answers:,}", *(percent(rate, 1) for rate in (one.accuracy, *one.accuracy.interval)))
            for one in worst
        ]
        return summary_and_table([sentence], ("annotator", "labels", "right", "from", "to"), rows)

    def _repr_html_(self) -> str:
        return self.table_html(self.sentence())

    def __repr__(self) -> str:
        return f"<{self.sentence()}>"


def _accuracy(right: Floats, n_labels: Floats, variance_of_right: Floats, pooled: bool) -> tuple[Floats, Floats]:
    """Posterior mean and variance of each annotator's accuracy, from the expected number of right labels.

    With `pooled`, the beta prior is estimated from all annotators (empirical Bayes), otherwise it is Jeffreys'.
    """
    counts = np.stack([right, n_labels - right], axis=1)[:, None]
    prior = np.array([[0.5, 0.5]])
    if pooled:
        hyperprior = PRIOR_LABELS * np.array([[PRIOR_ACCURACY, 1 - PRIOR_ACCURACY]])
        prior = update_prior(hyperprior, np.maximum(counts, 0), hyperprior, steps=200)
    concentrations = (np.maximum(counts, 0) + prior)[:, 0]
    total = concentrations.sum(axis=1)
    mean = concentrations[:, 0] / total
    return mean, mean * (1 - mean) / (total + 1) + variance_of_right / total**2


def beta_interval(mean: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """Central credible interval of the beta distributions with these means and variances.

    >>> low, high = beta_interval(np.array([0.5]), np.array([1 / 12]))  # the uniform distribution
    >>> low.round(3), high.round(3)
    (array([0.05]), array([0.95]))
    """
    size = np.maximum(mean * (1 - mean) / variance - 1, 1e-3)
    first, second, tail = mean * size, (1 - mean) * size, (1 - COVERAGE) / 2
    return betaincinv(first, second, tail), betaincinv(first, second, 1 - tail)
