"""Dawid-Skene: posteriors of the true classes and a confusion matrix for each annotator, by EM or variational Bayes.

An annotator a labels an item of true class j as k with probability T_a[j, k]. Few labels say little about T_a; so its
rows have a Dirichlet prior around what annotators do on average, whose parameters are estimated from all annotators
(empirical Bayes): where annotators are few or alike, all get the same matrix, and the result is close to the vote.

References
----------
.. [1] Dawid, A. P., Skene, A. M. (1979). Maximum likelihood estimation of observer error-rates using the EM algorithm.
   Applied Statistics 28.
.. [2] Minka, T. P. (2000). Estimating a Dirichlet distribution. Technical report, MIT.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import digamma, gammaln
from sklearn.exceptions import ConvergenceWarning

from noisewise._numerics.em import normalised_rows, symmetric_matrix
from noisewise._typing import Floats

PRIOR_ACCURACY, PRIOR_LABELS = 0.8, 4.0  # mean of the diagonal and total of a row's Dirichlet prior before any label
PRIOR_ANNOTATORS = 5.0  # weight of this hyperprior, in annotators
PRIOR_ITEMS = 60.0  # pseudo-items, evenly of all classes: with one label an item, prevalence must not overrule it
LEAST_PROBABILITY = 1e-100  # EM never raises a probability of zero
PRIOR_TOLERANCE = 1e-4  # relative change of the Dirichlet prior that ends its fixed-point iteration


@dataclass(frozen=True, eq=False)
class CrowdFit:
    """Result of EM or variational Bayes.

    `posterior` is that of the true classes; `counts[a, j, k]` the expected number of items of class j that annotator a
    labelled k; `prior[j, k]` the Dirichlet pseudo-counts of every annotator; `objective` has one entry an iteration;
    `log_prior` is that of the true classes before any label, the same for all items or a row for each.
    """

    posterior: Floats
    counts: Floats
    prior: Floats
    prevalence: Floats
    objective: Floats
    log_prior: Floats


ClassPrior = Callable[[Floats], tuple[Floats, float, Floats]]  # of the posterior: log prior, its ELBO term, prevalence


def fit_dawid_skene(
    table: Any, start: Floats, prior: Floats | None, pooled: bool = True, max_iter: int = 1000, tol: float = 1e-4
) -> CrowdFit:
    """Iterate from a start until posteriors change by no more than `tol` (root mean square).

    With `pooled`, variational Bayes: the objective is the ELBO; otherwise EM: it is the log-likelihood of the labels.
    Neither ever falls.
    """
    return iterate((variational_steps if pooled else em_steps)(table, start, prior), start, max_iter, tol)


def iterate(steps: Iterator[CrowdFit], start: Floats, max_iter: int, tol: float) -> CrowdFit:
    """The last of the steps: the one from which on posteriors change by no more than `tol` (root mean square)."""
    objective: list[float] = []
    posterior, change = start, np.inf
    for state in steps:
        objective.append(state.objective[0])
        change = float(np.linalg.norm(state.posterior - posterior) / np.sqrt(len(posterior)))
        posterior = state.posterior
        if change <= tol or len(objective) == max_iter:
            break
    if change > tol:
        warnings.warn(
            f"the posteriors of the items still change by {change:.1g} after {len(objective)} iterations; "
            "raise max_iter, or tol if that is close enough",
            ConvergenceWarning,
            stacklevel=5,
        )
    return replace(state, objective=np.array(objective))


def dirichlet_prevalence(posterior: Floats) -> tuple[Floats, float, Floats]:
    """One prevalence of the true classes for all items, with a Dirichlet prior of PRIOR_ITEMS pseudo-items."""
    totals, n_classes = posterior.sum(axis=0), posterior.shape[1]
    uniform = np.full(n_classes, PRIOR_ITEMS / n_classes)
    log_prior, elbo = dirichlet_expectations(totals, uniform)
    return log_prior, elbo, (totals + uniform) / (len(posterior) + PRIOR_ITEMS)


def variational_steps(table: Any, posterior: Floats, prior: Floats | None) -> Iterator[CrowdFit]:
    """Dawid-Skene with a Dirichlet prior on every confusion matrix, estimated with them (empirical Bayes)."""
    by_label, hyperprior = table.T.tocsr(), prior_pseudo_counts(posterior.shape[1])
    prior = hyperprior if prior is None else prior
    while True:
        posterior, counts = align_classes(posterior, confusion_counts(by_label, posterior))
        prior = update_prior(prior, counts, hyperprior, steps=1 + min(20, table.nnz // counts.size))
        log_flips, elbo_of_flips = dirichlet_expectations(counts, prior)
        log_prior, elbo_of_classes, prevalence = dirichlet_prevalence(posterior)
        posterior, evidence = normalised(table @ likelihood_columns(log_flips) + log_prior)
        of_prior = PRIOR_ANNOTATORS * float(np.sum(hyperprior * np.log(prior) - prior))
        elbo = evidence + elbo_of_flips + elbo_of_classes + of_prior
        yield CrowdFit(posterior, counts, prior, prevalence, np.array([elbo]), log_prior)


def em_steps(table: Any, posterior: Floats, prior: Floats | None) -> Iterator[CrowdFit]:
    """EM as published by Dawid and Skene: maximum likelihood confusion matrices, one for each annotator."""
    by_label, no_prior = table.T.tocsr(), np.zeros((posterior.shape[1],) * 2)
    while True:
        posterior, counts = align_classes(posterior, confusion_counts(by_label, posterior))
        prevalence = posterior.mean(axis=0)
        logits = table @ likelihood_columns(np.log(np.maximum(normalised_rows(counts), LEAST_PROBABILITY)))
        log_prior = np.log(np.maximum(prevalence, LEAST_PROBABILITY))
        posterior, evidence = normalised(logits + log_prior)
        yield CrowdFit(posterior, counts, no_prior, prevalence, np.array([evidence]), log_prior)


def prior_pseudo_counts(n_classes: int) -> Floats:
    """Mean of the hyperprior, the Dirichlet pseudo-counts of an annotator before any data: mostly right, symmetric.

    >>> prior_pseudo_counts(3)
    array([[3.2, 0.4, 0.4],
           [0.4, 3.2, 0.4],
           [0.4, 0.4, 3.2]])
    """
    if n_classes == 1:
        return np.full((1, 1), PRIOR_LABELS)
    return symmetric_matrix(n_classes, PRIOR_LABELS * (1 - PRIOR_ACCURACY), PRIOR_LABELS * PRIOR_ACCURACY)


def confusion_counts(by_label: Any, posterior: Floats) -> Floats:
    """Expected confusion counts of each annotator, of shape (annotators, true classes, labels).

    `by_label` is the transposed table of counts, one row for each annotator and label.
    """
    n_classes = posterior.shape[1]
    return np.asarray((by_label @ posterior).reshape(-1, n_classes, n_classes).transpose(0, 2, 1))


def align_classes(posterior: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """Undo label switching: of all permutations of the true classes, take the one that agrees with the labels most."""
    pooled = counts.sum(axis=0)
    if np.trace(pooled) >= pooled.sum() / 2:  # no other permutation can agree more often
        return posterior, counts
    order = np.argsort(linear_sum_assignment(-pooled)[1])
    return posterior[:, order], counts[:, order]


def update_prior(prior: Floats, counts: Floats, hyperprior: Floats, steps: int = 1) -> Floats:
    """Minka's fixed-point iteration for the Dirichlet prior, with a gamma hyperprior of PRIOR_ANNOTATORS' weight."""
    per_row = counts.sum(axis=2)
    for _ in range(steps):
        totals = prior.sum(axis=1)
        numerator = prior * (digamma(prior + counts) - digamma(prior)).sum(axis=0)
        denominator = (digamma(totals + per_row) - digamma(totals)).sum(axis=0)
        before, prior = prior, (PRIOR_ANNOTATORS * hyperprior + numerator) / (PRIOR_ANNOTATORS + denominator)[:, None]
        if np.abs(prior - before).max() <= PRIOR_TOLERANCE * prior.max():
            break
    return prior


def dirichlet_expectations(counts: Floats, prior: Floats) -> tuple[Floats, float]:
    """E[log p] under the posterior Dirichlet(prior + counts) along the last axis, and minus its KL from the prior."""
    concentrations, totals, per_row = prior + counts, prior.sum(axis=-1), counts.sum(axis=-1)
    logs = digamma(concentrations) - digamma(concentrations.sum(axis=-1, keepdims=True))
    evidence = np.sum(gammaln(concentrations) - gammaln(prior)) + np.sum(gammaln(totals) - gammaln(totals + per_row))
    return logs, float(evidence - np.sum(counts * logs))


def normalised(logits: Floats) -> tuple[Floats, float]:
    """Softmax of rows of log joint probabilities, in place, and the log evidence of all rows (sum of logsumexp)."""
    top = logits.max(axis=1, keepdims=True)
    logits -= top
    np.exp(logits, out=logits)
    totals = logits.sum(axis=1, keepdims=True)
    logits /= totals
    return logits, float(np.sum(top) + np.sum(np.log(totals)))


def likelihood_columns(log_flips: Floats) -> Floats:
    """Rows of log T_a[j, k] in the order of the columns (a, k) of the table: their product is log P(labels | j)."""
    n_classes = log_flips.shape[-1]
    return np.ascontiguousarray(log_flips.transpose(0, 2, 1)).reshape(-1, n_classes)
