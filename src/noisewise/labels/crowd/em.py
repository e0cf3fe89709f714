"""True classes and everybody's flip rates in turn, from who called what by which label.

Dawid and Skene: an annotator a who sees an item of class j calls it k with probability T_a[j, k]. Answers of few items
say little about T_a; so its rows have a prior, Dirichlet around what annotators do on average, and this prior is itself
found from all annotators: where they are few or alike, everybody gets the same matrix, and the vote decides.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import digamma, gammaln
from sklearn.exceptions import ConvergenceWarning

from noisewise._numerics.em import normalised_rows, symmetric_matrix
from noisewise._typing import Floats

PRIOR_ACCURACY, PRIOR_ANSWERS = 0.8, 4.0  # what a row of an annotator's matrix is like before anybody has answered
PRIOR_ANNOTATORS = 5.0  # how many annotators the line above counts for
PRIOR_ITEMS = 60.0  # items, evenly of all classes: where items have one answer, shares of classes must not overrule it
LEAST = 1e-100  # a probability of zero would never rise again


@dataclass(frozen=True, eq=False)
class CrowdFit:
    """Where the turns ended.

    `posterior` is that of the true classes; `counts[a, j, k]` how many items of class j annotator a called k, in
    expectation; `prior[j, k]` the pseudo-answers everybody starts with; `objective` has one entry a turn.
    """

    posterior: Floats
    counts: Floats
    prior: Floats
    prevalence: Floats
    objective: Floats


def fit_crowd(
    table: Any, start: Floats, prior: Floats | None, pooled: bool = True, max_iter: int = 1000, tol: float = 1e-4
) -> CrowdFit:
    """Turns from a start until posteriors move by no more than `tol` (root mean square).

    With `pooled` the posterior of the flip rates is kept, not only its top, and the objective is a lower bound on the
    evidence; without, the likelihood of the answers is what rises. It never falls.
    """
    objective: list[float] = []
    posterior, moved = start, np.inf
    for state in (pooled_turns if pooled else plain_turns)(table, start, prior):
        objective.append(state.objective[0])
        moved = float(np.linalg.norm(state.posterior - posterior) / np.sqrt(len(posterior)))
        posterior = state.posterior
        if moved <= tol or len(objective) == max_iter:
            break
    if moved > tol:
        warnings.warn(
            f"the items' true classes still move by {moved:.1g} after {len(objective)} turns; "
            "raise max_iter, or tol if that is close enough",
            ConvergenceWarning,
            stacklevel=4,
        )
    return CrowdFit(state.posterior, state.counts, state.prior, state.prevalence, np.array(objective))


def pooled_turns(table: Any, posterior: Floats, prior: Floats | None) -> Iterator[CrowdFit]:
    """Dawid-Skene with a prior on everybody's matrix that is found with them (variational, empirical Bayes)."""
    n_classes = posterior.shape[1]
    answers, hyper = table.T.tocsr(), first_prior(n_classes)
    prior = hyper if prior is None else prior
    even = np.full(n_classes, PRIOR_ITEMS / n_classes)
    while True:
        posterior, counts = in_order(posterior, count_answers(answers, posterior))
        prior = raise_prior(prior, counts, hyper, steps=1 + min(20, table.nnz // counts.size))
        log_flips, of_flips = integrated(counts, prior)
        log_shares, of_shares = integrated(posterior.sum(axis=0), even)
        prevalence = (posterior.sum(axis=0) + even) / (len(posterior) + PRIOR_ITEMS)
        posterior, evidence = normalised(table @ by_answer(log_flips) + log_shares)
        of_prior = PRIOR_ANNOTATORS * float(np.sum(hyper * np.log(prior) - prior))
        yield CrowdFit(posterior, counts, prior, prevalence, np.array([evidence + of_flips + of_shares + of_prior]))


def plain_turns(table: Any, posterior: Floats, prior: Floats | None) -> Iterator[CrowdFit]:
    """Dawid-Skene as published: most likely matrices, everybody's apart."""
    answers, no_prior = table.T.tocsr(), np.zeros((posterior.shape[1],) * 2)
    while True:
        posterior, counts = in_order(posterior, count_answers(answers, posterior))
        prevalence = posterior.mean(axis=0)
        logits = table @ by_answer(np.log(np.maximum(normalised_rows(counts), LEAST)))
        posterior, evidence = normalised(logits + np.log(np.maximum(prevalence, LEAST)))
        yield CrowdFit(posterior, counts, no_prior, prevalence, np.array([evidence]))


def first_prior(n_classes: int) -> Floats:
    """Pseudo-answers before anything is known: mostly right, every mistake alike.

    >>> first_prior(3)
    array([[3.2, 0.4, 0.4],
           [0.4, 3.2, 0.4],
           [0.4, 0.4, 3.2]])
    """
    if n_classes == 1:
        return np.full((1, 1), PRIOR_ANSWERS)
    return symmetric_matrix(n_classes, PRIOR_ANSWERS * (1 - PRIOR_ACCURACY), PRIOR_ANSWERS * PRIOR_ACCURACY)


def count_answers(answers: Any, posterior: Floats) -> Floats:
    """Expected number of items of each true class that each annotator called by each class, (annotator, true, called).

    `answers` is the transposed table of counts, one row for each annotator and class.
    """
    n_classes = posterior.shape[1]
    return np.asarray((answers @ posterior).reshape(-1, n_classes, n_classes).transpose(0, 2, 1))


def in_order(posterior: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """True classes named so that answers agree with them best: a swap of names would fit as well, and mean nonsense."""
    pooled = counts.sum(axis=0)
    if np.trace(pooled) >= pooled.sum() / 2:  # no other naming can agree more often
        return posterior, counts
    order = np.argsort(linear_sum_assignment(-pooled)[1])
    return posterior[:, order], counts[:, order]


def raise_prior(prior: Floats, counts: Floats, hyper: Floats, steps: int = 1) -> Floats:
    """The pooled prior some steps uphill: a fixed point of Minka's, with a gamma prior of PRIOR_ANNOTATORS' weight."""
    per_row = counts.sum(axis=2)
    for _ in range(steps):
        totals = prior.sum(axis=1)
        rise = prior * (digamma(prior + counts) - digamma(prior)).sum(axis=0)
        fall = (digamma(totals + per_row) - digamma(totals)).sum(axis=0)
        before, prior = prior, (PRIOR_ANNOTATORS * hyper + rise) / (PRIOR_ANNOTATORS + fall)[:, None]
        if np.abs(prior - before).max() <= 1e-4 * prior.max():
            break
    return prior


def integrated(counts: Floats, prior: Floats) -> tuple[Floats, float]:
    """Probabilities along the last axis integrated out: means of their logarithms, and what they cost the bound.

    The posterior is Dirichlet(prior + counts); the cost is minus its Kullback-Leibler divergence from the prior.
    """
    known, totals, per_row = prior + counts, prior.sum(axis=-1), counts.sum(axis=-1)
    logs = digamma(known) - digamma(known.sum(axis=-1, keepdims=True))
    evidence = np.sum(gammaln(known) - gammaln(prior)) + np.sum(gammaln(totals) - gammaln(totals + per_row))
    return logs, float(evidence - np.sum(counts * logs))


def normalised(logits: Floats) -> tuple[Floats, float]:
    """Rows of log joint probabilities as posteriors, and the log-evidence of all rows; the array is written over."""
    top = logits.max(axis=1, keepdims=True)
    logits -= top
    np.exp(logits, out=logits)
    totals = logits.sum(axis=1, keepdims=True)
    logits /= totals
    return logits, float(np.sum(top) + np.sum(np.log(totals)))


def by_answer(log_flips: Floats) -> Floats:
    """Rows as the columns of the table of counts: each annotator's answers in turn."""
    n_classes = log_flips.shape[-1]
    return np.ascontiguousarray(log_flips.transpose(0, 2, 1)).reshape(-1, n_classes)
