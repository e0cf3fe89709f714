"""Stacking weights by the likelihood of observed labels through noise, and the pooled posterior of the true label.

A learner m states a clean posterior and a flip matrix, and so the probability q_m(y_i | x_i) of every observed label,
from a fit without that row. The weights maximise the likelihood of the mixture, with a Dirichlet prior::

    sum_i log sum_m w_m q_m(y_i | x_i) + c sum_m log w_m,   w >= 0,  sum_m w_m = 1,

and the posterior of a row's true label is the mean of the learners' posteriors, weighted by ``w_m q_m(y_i | x_i)``.

References
----------
.. [1] Yao, Y., Vehtari, A., Simpson, D., Gelman, A. (2018). Using stacking to average Bayesian predictive
   distributions. Bayesian Analysis 13. Eq. 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import entr

from noisewise._numerics.em import joint_counts, normalised_rows, responsibilities
from noisewise._typing import Codes, Floats
from noisewise.noise import FlipMatrix

OUTLIER_WEIGHT = 0.005  # of labels that no learner can predict: a single one does not decide over the weights
PRIOR_ROWS = 2.0  # c, rows that speak for each learner beforehand: a hundred noisy labels hardly tell them apart
EM_STEPS, TOLERANCE = 500, 1e-6  # of the weights; the largest change after which they are done


@dataclass(frozen=True)
class Reading:
    """What a learner says of the rows of fit, each from a fit without it, and the learner fitted to all of them.

    Attributes
    ----------
    model : classifier
        Its `predict_proba` is the posterior of the true class.
    likelihood : array of shape (n_rows,)
        Probability of the observed label of each row, out of sample.
    posterior : array of shape (n_rows, n_classes)
        Of the true class, given the row and its observed label, out of sample.
    """

    model: Any
    likelihood: Floats
    posterior: Floats

    @classmethod
    def of(cls, model: Any, clean: Floats, noise: Floats, codes: Codes) -> Reading:
        """From out-of-sample clean posteriors, and the flip matrix of all rows or of each."""
        n_classes = clean.shape[1]
        mixed = (1 - OUTLIER_WEIGHT) * clean + OUTLIER_WEIGHT / n_classes
        flips = noise.T[codes] if noise.ndim == 2 else noise[np.arange(len(codes)), :, codes]
        posterior, likelihood = responsibilities(mixed, flips, OUTLIER_WEIGHT / n_classes**2)
        return cls(model, likelihood, posterior)


@dataclass(frozen=True)
class Pool:
    """Stacking weights of several readings, the posterior of the true label, and the flip matrix it implies."""

    weights: Floats
    posterior: Floats
    noise: FlipMatrix

    @classmethod
    def of(cls, readings: Sequence[Reading], codes: Codes, noise: FlipMatrix | None) -> Pool:
        """Weights by expectation maximisation; the noise is as given, or the expected flips."""
        likelihoods = np.column_stack([reading.likelihood for reading in readings])
        weights = likelihood_weights(likelihoods)
        of_learners = responsibilities(weights, likelihoods)[0]
        posterior = sum(part[:, None] * reading.posterior for part, reading in zip(of_learners.T, readings))
        found = noise or FlipMatrix.estimated(normalised_rows(joint_counts(posterior, codes)))
        return cls(weights, np.asarray(posterior), found)

    @property
    def uncertainty(self) -> float:
        """Mean entropy of the true label's posterior, as a fraction of the largest one: 0 where all are certain."""
        return float(entr(self.posterior).sum(axis=1).mean() / np.log(self.posterior.shape[1]))


def likelihood_weights(likelihoods: Floats) -> Floats:
    """Weights of the learners (columns) by the likelihood of the mixture and the prior, by expectation maximisation.

    >>> likelihood_weights(np.array([[0.9, 0.5]] * 100)).round(2)
    array([0.96, 0.04])
    """
    n, n_learners = likelihoods.shape
    weights = np.full(n_learners, 1 / n_learners)
    for _ in range(EM_STEPS):
        counts = responsibilities(weights, likelihoods)[0].sum(axis=0) + PRIOR_ROWS
        before, weights = weights, counts / (n + n_learners * PRIOR_ROWS)
        if np.abs(weights - before).max() < TOLERANCE:
            break
    return weights
