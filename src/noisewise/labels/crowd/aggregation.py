"""True labels from many annotators' answers, without looking at the items themselves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisewise._typing import Codes, Floats
from noisewise.labels.crowd.annotations import Annotations, places, read_annotations
from noisewise.labels.crowd.annotators import Annotators
from noisewise.labels.crowd.em import fit_crowd
from noisewise.noise import FlipMatrix


@dataclass(frozen=True, eq=False, repr=False)
class CrowdLabelling:
    """What the answers say about items and annotators.

    Attributes
    ----------
    items : array of shape (n_items,)
        Sorted; an item without any answer has its place too.
    classes : array of shape (n_classes,)
        Sorted.
    labels : array of shape (n_items,)
        The most probable true label of each item.
    posterior : array of shape (n_items, n_classes)
        Probability of each true label; after a majority vote, shares of the votes.
    annotators : Annotators
        A sequence with name, number of answers, accuracy with interval and flip rates of everybody.
    prevalence : array of shape (n_classes,)
        Shares of the true classes.
    objective : array
        One value a turn, never falling; empty after a majority vote.
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
        """The mean flip matrix over all answers."""
        return self.annotators.noise

    def update(self, items: Any, annotators: Any = None, labels: Any = None) -> CrowdLabelling:
        """Add answers and go on from here; new items, annotators and classes may appear. A new result is returned."""
        more = read_annotations(items, annotators, labels, self.missing)
        return replace(self.method(self.annotations.added(more), self), missing=self.missing)

    def __repr__(self) -> str:
        size = f"{len(self.items)} items, {len(self.annotators)} annotators, {len(self.annotations.what)} answers"
        return f"<CrowdLabelling: {size}, {len(self.classes)} classes>"


def majority_vote(items: Any, annotators: Any = None, labels: Any = None, missing: Any = None) -> CrowdLabelling:
    """The label most annotators gave to each item.

    Classes with equally many votes take turns, item after item, so that none is favoured; the posterior shows the tie.
    An annotator's accuracy is the agreement with the vote.

    Parameters
    ----------
    items, annotators, labels : sequences of the same length
        One entry an answer; names and labels may be any hashables. Or `items` alone: a pandas or polars frame with
        columns item, annotator and label, or a wide one (or an array) with a row for each item and a column for each
        annotator, in which gaps are welcome.
    missing : label, optional
        A label that means "no answer", besides None and NaN.

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
    """True labels and everybody's flip matrix from many annotators' answers (Dawid and Skene, with a pooled prior).

    Good annotators count for more, and someone who mixes up two classes is understood. Each matrix has a prior around
    what annotators do on average, found from all of them: with few answers it decides like the majority vote, and every
    further answer tells annotators apart.

    Parameters
    ----------
    items, annotators, labels, missing
        As for `majority_vote`.
    pooled : bool, default=True
        Without the prior, it is maximum likelihood as published in 1979.
    max_iter : int, default=1000
    tol : float, default=1e-4
        The turns end when probabilities move by no more, as a root mean square over the items.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(2, size=200)
    >>> rates = np.array([0.05, 0.4, 0.4, 0.4, 0.4])  # one careful annotator among four careless ones
    >>> answers = truth[:, None] ^ (rng.random((200, 5)) < rates)
    >>> print((majority_vote(answers).labels == truth).mean(), (dawid_skene(answers).labels == truth).mean())
    0.84 0.94
    >>> [f"{annotator.accuracy:.1f}" for annotator in dawid_skene(answers).annotators]
    ['0.9', '0.6', '0.6', '0.6', '0.6']
    """
    method = partial(_turns, pooled=pooled, shared=False, max_iter=max_iter, tol=tol)
    return replace(method(read_annotations(items, annotators, labels, missing), None), missing=missing)


def shared_flips(
    items: Any, annotators: Any = None, labels: Any = None, missing: Any = None, max_iter: int = 1000, tol: float = 1e-4
) -> CrowdLabelling:
    """True labels from many annotators' answers with one flip matrix for all of them.

    For answers too few to tell annotators apart; `dawid_skene` comes close to it by itself then. Parameters are those
    of `majority_vote` and `dawid_skene`.

    Examples
    --------
    >>> result = shared_flips([1, 1, 1, 2, 2, 3], list("abcabc"), ["no", "no", "yes", "yes", "yes", "no"])
    >>> result.labels
    array(['no', 'yes', 'no'], dtype='<U3')
    """
    method = partial(_turns, pooled=True, shared=True, max_iter=max_iter, tol=tol)
    return replace(method(read_annotations(items, annotators, labels, missing), None), missing=missing)


def _vote(annotations: Annotations, before: CrowdLabelling | None = None) -> CrowdLabelling:
    shares, codes = vote_shares(annotations), most_votes(annotations.votes())
    n_classes = len(annotations.classes)
    prevalence = np.bincount(codes, minlength=n_classes) / len(codes)
    known, no_prior = np.eye(n_classes)[codes], np.zeros((n_classes, n_classes))
    return _labelling(annotations, codes, shares, known, no_prior, prevalence, np.empty(0), _vote)


def _turns(
    annotations: Annotations, before: CrowdLabelling | None, *, pooled: bool, shared: bool, max_iter: int, tol: float
) -> CrowdLabelling:
    if max_iter < 1:
        raise ValueError(f"max_iter is {max_iter}; one turn or more is needed")
    start, prior = vote_shares(annotations), None
    if before is not None:
        items, classes = places(before.items, annotations.items), places(before.classes, annotations.classes)
        start[items[:, None], classes] = before.posterior
        prior = before.prior if pooled and len(before.classes) == len(annotations.classes) else None
    answered = annotations.of_one() if shared else annotations
    fit = fit_crowd(answered.counts(), start, prior, pooled, max_iter, tol)
    method = partial(_turns, pooled=pooled, shared=shared, max_iter=max_iter, tol=tol)
    codes = fit.posterior.argmax(axis=1)
    return _labelling(
        annotations, codes, fit.posterior, fit.posterior, fit.prior, fit.prevalence, fit.objective, method
    )


def vote_shares(annotations: Annotations) -> Floats:
    """Shares of the votes of each item; where there are none, those of all items."""
    votes = annotations.votes()
    votes[votes.sum(axis=1) == 0] = votes.sum(axis=0)
    return np.asarray(votes / votes.sum(axis=1, keepdims=True))


def most_votes(votes: Floats) -> Codes:
    """The class with most votes in each row; classes that are level take turns, row after row.

    >>> most_votes(np.array([[1.0, 1.0], [2.0, 0.0], [1.0, 1.0]]))
    array([0, 0, 1])
    """
    level = votes == votes.max(axis=1, keepdims=True)
    tied = level.sum(axis=1) > 1
    turn = np.zeros(len(votes), dtype=np.intp)
    turn[tied] = np.arange(tied.sum()) % level.sum(axis=1)[tied]
    return np.asarray(np.argmax(level.cumsum(axis=1) > turn[:, None], axis=1))


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
    people = Annotators.from_posterior(annotations.annotators, annotations.counts(), known, prior)
    labels = annotations.classes[codes]
    return CrowdLabelling(
        annotations.items,
        annotations.classes,
        labels,
        posterior,
        people,
        prevalence,
        objective,
        prior,
        annotations,
        method,
    )
