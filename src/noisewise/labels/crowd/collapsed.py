"""Dawid-Skene in which no label vouches for itself: collapsed variational Bayes, and exponents by held-out labels.

Where annotators gave few labels each, an item's label says much about its annotator's confusion matrix, which then
explains the same label: posteriors become too confident. So with n_a[j, k] the expected confusion counts of annotator a
and alpha the Dirichlet prior, a label k of item i counts with the rate that all other labels show,

    T_a[j, k] = (n_a[j, k] - q_i[j] + alpha[j, k]) / (n_a[j, .] - q_i[j] + alpha[j, .])

(the zero-order collapsed variational Bayes of [1]_). These rates also predict each label from the item's row and its
other labels, P(k) = sum_j q_j T_a[j, k] with q proportional to prior^r prod_others T^s. Annotators who err on the same
hard items are predicted best with low exponents: those of a grid are averaged by this predictive likelihood.

References
----------
.. [1] Asuncion, A., Welling, M., Smyth, P., Teh, Y. W. (2009). On smoothing and inference for topic models. UAI.
.. [2] Varin, C., Reid, N., Firth, D. (2011). An overview of composite likelihood methods. Statistica Sinica 21.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import logsumexp

from noisewise._typing import Floats
from noisewise.labels.crowd.annotations import Annotations
from noisewise.labels.crowd.em import (
    ClassPrior,
    CrowdFit,
    align_classes,
    confusion_counts,
    normalised,
    prior_pseudo_counts,
    update_prior,
)

PRIOR_STEPS = 3  # of the fixed-point iteration for the Dirichlet prior in each iteration
LEAST_COUNT = 1e-12  # what is left of a count without a label that made all of it
# Exponents of the row's prior and of the labels. Errors that go the same way look like agreement, so held-out labels
# may lower the exponents, not raise them above the last ones, which were best on simulated annotators.
ROW_GRID, LABEL_GRID = (0.4, 0.55, 0.7, 0.85), (0.2, 0.35, 0.5, 0.7)
ROW_STD, LABEL_STD = 0.3, 0.4  # half-normal prior of their logarithm below the last ones
PREDICTED_LABELS = 20_000  # the exponents are estimated from so many labels, drawn at random


class Exponents(NamedTuple):
    """How far the evidence of an item's row, and of its labels, counts."""

    row: float
    labels: float


def collapsed_steps(annotations: Annotations, posterior: Floats, class_prior: ClassPrior) -> Iterator[CrowdFit]:
    """Posteriors and confusion counts in turn; the objective is the log evidence of each item by all others' rates."""
    by_label, of_items = annotations.counts().T.tocsr(), labels_of_items(annotations)
    hyperprior = prior = prior_pseudo_counts(posterior.shape[1])
    while True:
        posterior, counts = align_classes(posterior, confusion_counts(by_label, posterior))
        prior = update_prior(prior, counts, hyperprior, steps=PRIOR_STEPS)
        log_prior, of_classes, prevalence = class_prior(posterior)
        logs = logs_by_others(annotations, counts, prior, posterior)
        posterior, evidence = normalised(of_items @ logs + log_prior)
        yield CrowdFit(posterior, counts, prior, prevalence, np.array([evidence + of_classes]), log_prior)


def labels_of_items(annotations: Annotations) -> Any:
    """CSR of shape (items, labels): its product with values of labels is their sum for each item."""
    n_labels = len(annotations.item_codes)
    shape = (len(annotations.items), n_labels)
    return sp.csr_array((np.ones(n_labels), (annotations.item_codes, np.arange(n_labels))), shape=shape)


def logs_by_others(annotations: Annotations, counts: Floats, prior: Floats, posterior: Floats) -> Floats:
    """Log-probability of each label by true class, of shape (labels, classes), without what it added to the counts."""
    own, who, rates = posterior[annotations.item_codes], annotations.annotator_codes, counts + prior
    flips = rates[who, :, annotations.label_codes] - own
    totals = rates.sum(axis=2)[who] - own
    return np.asarray(np.log(np.maximum(flips, LEAST_COUNT)) - np.log(np.maximum(totals, LEAST_COUNT)))


def predictive_log_likelihood(others: Floats, logs: Floats, log_prior: Floats, exponents: Exponents) -> float:
    """Log-probability of all labels, each predicted by its item's row and the `others`, summed logs of other labels."""
    joint = exponents.labels * others + exponents.row * log_prior
    return float(np.sum(logsumexp(joint + logs, axis=1) - logsumexp(joint, axis=1)))


def estimate_exponents(annotations: Annotations, logs: Floats, log_prior: Floats) -> Exponents:
    """Posterior mean of the exponents on a grid, by how well they predict each label from the others.

    `logs` are those of `logs_by_others`; `log_prior` has a row for each item.
    """
    some = np.random.default_rng(0).permutation(len(logs))[:PREDICTED_LABELS]
    items = annotations.item_codes[some]
    others = (labels_of_items(annotations) @ logs)[items] - logs[some]
    grid = [Exponents(row, labels) for row in ROW_GRID for labels in LABEL_GRID]
    fits = np.array([predictive_log_likelihood(others, logs[some], log_prior[items], each) for each in grid])
    away = np.log(np.array(grid) / grid[-1]) / (ROW_STD, LABEL_STD)
    scores = fits - np.sum(away**2, axis=1) / 2
    weights = np.exp(scores - scores.max())
    return Exponents(*(weights @ np.array(grid) / weights.sum()).tolist())
