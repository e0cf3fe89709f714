"""True labels from labels by several annotators, without features of the items (Dawid-Skene, majority vote)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisewise._typing import Codes, Floats
from noisewise._words import counted
from noisewise.labels.base import check_iterations
from noisewise.labels.crowd.annotations import Annotations, indices_of, read_annotations
from noisewise.labels.crowd.annotators import Annotators
from noisewise.labels.crowd.em import fit_dawid_skene
from noisewise.noise import FlipMatrix


@dataclass(frozen=True, eq=False, repr=False)
class CrowdLabelling:
    """Estimated true labels of the items, and estimated error rates of the annotators.

    Attributes
    ----------
    items : array of shape (n_items,)
        Sorted; items without any label included.
    classes : array of shape (n_classes,)
        Sorted.
    labels : array of shape (n_items,)
        The most probable true label of each item.
    posterior : array of shape (n_items, n_classes)
        Posterior of the true label; after a majority vote, proportions of the votes.
    annotators : Annotators
        A sequence with name, number of labels, accuracy with interval and confusion matrix of each.
    prevalence : array of shape (n_classes,)
        Class proportions of the true labels.
    objective : array
        ELBO or log-likelihood after each iteration, never falling; empty after a majority vote.
    """

    items: NDArray[Any]
    classes: NDArray[Any]
    labels: NDArray[Any]
    posterior: Floats
    annotators: Annotators
    prevalence: Floats
    objective: Floats
    prior: Floats
    annotations: Annotations
    method: Callable[[Annotations, CrowdLabelling | None], CrowdLabelling]
    missing: Any = None

    @property
    def noise(self) -> FlipMatrix:
        """The mean flip matrix over all labels."""
        return self.annotators.noise

    def update(self, items: Any, annotators: Any = None, labels: Any = None) -> CrowdLabelling:
        """A new result with further labels, warm-started; new items, annotators and classes may appear."""
        more = read_annotations(items, annotators, labels, self.missing)
        return replace(self.method(self.annotations.added(more), self), missing=self.missing)

    def _repr_html_(self) -> str:
        return self.annotators.table_html(f"{counted(len(self.items), 'item')}, {self.annotators.sentence()}")

    def __repr__(self) -> str:
        size = f"{len(self.items)} items, {len(self.annotators)} annotators, {len(self.annotations.item_codes)} labels"
        return f"<CrowdLabelling: {size}, {len(self.classes)} classes>"


def majority_vote(items: Any, annotators: Any = None, labels: Any = None, missing: Any = None) -> CrowdLabelling:
    """The label most annotators gave to each item.

    Ties go to each of the tied classes in rotation, item after item, so that none is favoured; the posterior shows the
    tie. An annotator's accuracy is the agreement with the vote.

    Parameters
    ----------
    items, annotators, labels : sequences of the same length
        One entry for each label given; names and labels may be any hashables. Or `items` alone: a pandas or polars
        frame with columns item, annotator and label, or a wide one (or an array) with a row for each item and a column
        for each annotator, in which labels may be missing.
    missing : label, optional
        A label that stands for a missing one, besides None and NaN.

    Examples
    --------
    >>> vote = majority_vote([1, 1, 1, 2, 2, 2], list("abcabc"), ["cat", "cat", "dog", "dog", "dog", "dog"])
    >>> vote.labels
    array(['cat', 'dog'], dtype='<U3')
    >>> vote.posterior.round(2)
    array([[0.67, 0.33],
           [0.  , 1.  ]])
    """
    return replace(_vote(read_annotations(items, annotators, labels, missing)), missing=missing)


def dawid_skene(
    items: Any,
    annotators: Any = None,
    labels: Any = None,
    missing: Any = None,
    pooled: bool = True,
    max_iter: int = 1000,
    tol: float = 1e-4,
) -> CrowdLabelling:
    """True labels and a confusion matrix for each annotator (Dawid and Skene, with a hierarchical prior).

    The label k of annotator a for an item of true class j has probability ``T_a[j, k]``. The rows of T_a have a
    Dirichlet prior around what annotators do on average, estimated from all of them (empirical Bayes), and the ELBO is
    maximised by coordinate ascent (variational Bayes). With few labels the result is close to the majority vote.

    Parameters
    ----------
    items, annotators, labels, missing
        As for `majority_vote`.
    pooled : bool, default=True
        False: maximum likelihood by EM without a prior, as published [1]_.
    max_iter : int, default=1000
    tol : float, default=1e-4
        The iteration ends when posteriors change by no more, as a root mean square over the items.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(2, size=200)
    >>> rates = np.array([0.05, 0.4, 0.4, 0.4, 0.4])  # one accurate annotator among four inaccurate ones
    >>> labels = truth[:, None] ^ (rng.random((200, 5)) < rates)
    >>> print((majority_vote(labels).labels == truth).mean(), (dawid_skene(labels).labels == truth).mean())
    0.84 0.94
    >>> [f"{annotator.accuracy:.1f}" for annotator in dawid_skene(labels).annotators]
    ['0.9', '0.6', '0.6', '0.6', '0.6']

    References
    ----------
    .. [1] Dawid, A. P., Skene, A. M. (1979). Maximum likelihood estimation of observer error-rates using the EM
       algorithm. Applied Statistics 28.
    .. [2] Minka, T. P. (2000). Estimating a Dirichlet distribution. Technical report, MIT.
    """
    method = partial(_estimate, pooled=pooled, shared=False, max_iter=max_iter, tol=tol)
    return replace(method(read_annotations(items, annotators, labels, missing), None), missing=missing)


def shared_flips(
    items: Any, annotators: Any = None, labels: Any = None, missing: Any = None, max_iter: int = 1000, tol: float = 1e-4
) -> CrowdLabelling:
    """True labels by `dawid_skene` with one flip matrix shared by all annotators.

    For labels too few to tell annotators apart; `dawid_skene` with its prior comes close to it then. Parameters are
    those of `majority_vote` and `dawid_skene`.

    Examples
    --------
    >>> result = shared_flips([1, 1, 1, 2, 2, 3], list("abcabc"), ["no", "no", "yes", "yes", "yes", "no"])
    >>> result.labels
    array(['no', 'yes', 'no'], dtype='<U3')

    References
    ----------
    .. [1] Dawid, A. P., Skene, A. M. (1979). Maximum likelihood estimation of observer error-rates using the EM
       algorithm. Applied Statistics 28.
    """
    method = partial(_estimate, pooled=True, shared=True, max_iter=max_iter, tol=tol)
    return replace(method(read_annotations(items, annotators, labels, missing), None), missing=missing)


def _vote(annotations: Annotations, before: CrowdLabelling | None = None) -> CrowdLabelling:
    proportions, codes = annotations.vote_proportions(), most_votes(annotations.votes())
    n_classes = len(annotations.classes)
    prevalence = np.bincount(codes, minlength=n_classes) / len(codes)
    known, no_prior = np.eye(n_classes)[codes], np.zeros((n_classes, n_classes))
    return _labelling(annotations, codes, proportions, known, no_prior, prevalence, np.empty(0), _vote)


def _estimate(
    annotations: Annotations, before: CrowdLabelling | None, *, pooled: bool, shared: bool, max_iter: int, tol: float
) -> CrowdLabelling:
    check_iterations(max_iter)
    start, prior = annotations.vote_proportions(), None
    if before is not None:
        items = indices_of(before.items, annotations.items)
        classes = indices_of(before.classes, annotations.classes)
        start[items[:, None], classes] = before.posterior
        prior = before.prior if pooled and len(before.classes) == len(annotations.classes) else None
    labelled = annotations.as_one_annotator() if shared else annotations
    fit = fit_dawid_skene(labelled.counts(), start, prior, pooled, max_iter, tol)
    method = partial(_estimate, pooled=pooled, shared=shared, max_iter=max_iter, tol=tol)
    codes = fit.posterior.argmax(axis=1)
    return _labelling(
        annotations, codes, fit.posterior, fit.posterior, fit.prior, fit.prevalence, fit.objective, method
    )


def most_votes(votes: Floats) -> Codes:
    """The class with most votes in each row; ties go to each of the tied classes in rotation, row after row.

    >>> most_votes(np.array([[1.0, 1.0], [2.0, 0.0], [1.0, 1.0]]))
    array([0, 0, 1])
    """
    best = votes == votes.max(axis=1, keepdims=True)
    tied = best.sum(axis=1) > 1
    rank = np.zeros(len(votes), dtype=np.intp)
    rank[tied] = np.arange(tied.sum()) % best.sum(axis=1)[tied]
    return np.asarray(np.argmax(best.cumsum(axis=1) > rank[:, None], axis=1))


def _labelling(
    annotations: Annotations,
    codes: Codes,
    posterior: Floats,
    known: Floats,
    prior: Floats,
    prevalence: Floats,
    objective: Floats,
    method: Any,
) -> CrowdLabelling:
    items, classes = annotations.items, annotations.classes
    annotators = Annotators.from_posterior(annotations.annotators, annotations.counts(), known, prior)
    return CrowdLabelling(
        items, classes, classes[codes], posterior, annotators, prevalence, objective, prior, annotations, method
    )
