"""A classifier learnt from many annotators' answers, and the annotators judged with its help (Raykar et al.)."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from sklearn.utils import Tags, check_consistent_length
from sklearn.utils.validation import check_is_fitted, validate_data

from noisewise._numerics.em import normalised_rows, responsibilities
from noisewise._typing import Codes, Floats, RandomState
from noisewise._validation import check_binary_or_more, find_labels, generator, one_column
from noisewise.labels.base import NoisyLabelClassifier
from noisewise.labels.crowd.annotations import Annotations, places, read_annotations, read_wide
from noisewise.labels.crowd.annotators import Annotators
from noisewise.labels.crowd.em import (
    by_answer,
    count_answers,
    first_prior,
    in_order,
    integrated,
    normalised,
    raise_prior,
)
from noisewise.labels.crowd.soft_labels import HonestScores, SoftLogisticRegression, check_soft, fit_soft

DOUBT = 1e-3  # share of rows about which the classifier is taken to know nothing: no answer is impossible
LEAP_EVERY = 3  # turns
CALM = 50  # from this turn on steps are shortened, so that classifiers whose fits jump settle too
ANONYMOUS = "anonymous"


class CrowdClassifier(NoisyLabelClassifier):
    """Learn a classifier from labels by many annotators, some better than others, with the annotators' flip rates.

    In turn: the classifier and the answers say what each row truly is; this tells how reliable each annotator is; and
    the classifier is fitted to the probable true labels. Annotators' matrices have a pooled prior, as in `dawid_skene`.

    Parameters
    ----------
    estimator : classifier, optional
        With `predict_proba`, and `fit` with `sample_weight`; by default logistic regression on standardised columns.
    cv : int or None, default=5
        What the classifier says about a row comes from a fit without it, in this many folds; None uses the fit with it
        (Raykar's EM), which flexible classifiers turn into a belief in their own mistakes.
    missing : label, optional
        A label that means "no answer", besides None and NaN.
    max_iter : int, default=100
    tol : float, default=2e-3
        The turns end when probabilities move by no more, as a root mean square over the rows.
    random_state : int, RandomState, Generator or None
        Draws the folds. None gives the same draw every time.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    noise_ : FlipMatrix
        The mean flip matrix over all answers.
    annotators_ : Annotators
        Name, number of answers, accuracy with interval and flip rates of everybody.
    posterior_ : array of shape (n_rows, n_classes)
        Probability of each true label for the rows of `fit`, given the row and all answers about it.
    labels_ : array of shape (n_rows,)
        The most probable true label of the rows of `fit`.
    estimator_ : classifier
    n_iter_ : int

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> X, y = make_blobs(300, centers=2, cluster_std=3.0, random_state=0)
    >>> rng = np.random.default_rng(0)
    >>> answers = np.where(rng.random((300, 3)) < [0.05, 0.3, 0.45], 1 - y[:, None], y[:, None])
    >>> answers[rng.random((300, 3)) < 0.5] = -1  # half of the answers were never given
    >>> model = CrowdClassifier(missing=-1).fit(X, answers)
    >>> [f"{annotator.accuracy:.1f}" for annotator in model.annotators_]
    ['0.9', '0.7', '0.6']
    """

    def __init__(
        self,
        estimator: Any = None,
        cv: int | None = 5,
        missing: Any = None,
        max_iter: int = 100,
        tol: float = 2e-3,
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.cv = cv
        self.missing = missing
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: Any, y: Any, annotators: Any = None, items: Any = None) -> Self:
        """Fit classifier, annotators and true labels in turn.

        Parameters
        ----------
        X : array, CSR or frame of shape (n_rows, n_features)
        y : labels
            One label a row, or an array or frame of shape (n_rows, n_annotators) with gaps, or, with `annotators`, one
            label an answer.
        annotators : sequence, optional
            Who gave each label of `y`; without it, labels of a flat `y` are of one nameless annotator.
        items : sequence of int, optional
            The row of X, from 0, that each label of `y` is about; by default the first label is about the first row,
            and so on. Rows without any answer are welcome.
        """
        self._check_settings()
        X, annotations = self._read(X, y, annotators, items)
        self.scaler_ = StandardScaler(with_mean=not issparse(X)).fit(X) if self.estimator is None else None
        X = self._scaled(X)
        posterior, prior, self.n_iter_ = self._take_turns(X, annotations)
        self.posterior_, self.labels_ = posterior, self.classes_[posterior.argmax(axis=1)]
        self.annotators_ = Annotators.from_posterior(annotations.annotators, annotations.counts(), posterior, prior)
        self.noise_ = self.annotators_.noise
        self.estimator_ = fit_soft(self._base(), X, posterior)
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Probability of each *true* class."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        return np.asarray(self.estimator_.predict_proba(self._scaled(X)), dtype=np.float64)

    def label_quality(self, X: Any, y: Any, annotators: Any = None) -> Floats:
        """P(true label = observed label | row, observed label), for rows that were not used in fit.

        With `annotators`, who gave each label, everybody's own flip rates are used, else the mean ones.
        """
        if annotators is None:
            return super().label_quality(X, y)
        posterior, codes = self.predict_proba(X), find_labels(y, self.classes_)
        try:
            who = places(one_column(annotators), self.annotators_.names)
        except KeyError as error:
            raise ValueError(f"annotator {error.args[0]!r} gave no answer in fit") from None
        if not len(posterior) == len(codes) == len(who):
            raise ValueError(f"there are {len(posterior)} rows, {len(codes)} labels and {len(who)} annotators")
        explained = responsibilities(posterior, self.annotators_.flips[who, :, codes])[0]
        return np.asarray(explained[np.arange(len(codes)), codes])

    def _take_turns(self, X: Any, annotations: Annotations) -> tuple[Floats, Floats, int]:
        table, n_classes = annotations.counts(), len(self.classes_)
        answers, hyper = table.T.tocsr(), first_prior(n_classes)
        prior, scores = hyper, HonestScores(self._base(in_turns=True), X, self._folds(X.shape[0]))
        # everybody is as good as the prior at first: answers counted against themselves alone would show no flips
        same = np.repeat(np.log(normalised_rows(hyper))[None], len(annotations.annotators), axis=0)
        of_answers = table @ by_answer(same)
        posterior, moved, turn = normalised(of_answers.copy())[0], np.inf, 0
        steps: list[Floats] = []
        while moved > self.tol and turn < self.max_iter:
            turn, before = turn + 1, posterior
            of_rows = (1 - DOUBT) * scores(posterior) + DOUBT / n_classes
            posterior = normalised(of_answers + np.log(of_rows))[0]
            posterior += (1 - min(1.0, CALM / turn)) * (before - posterior)
            posterior, counts = in_order(posterior, count_answers(answers, posterior))
            steps.append(posterior - before)
            moved = float(np.linalg.norm(steps[-1]) / np.sqrt(len(posterior)))
            if moved > self.tol and len(steps) == LEAP_EVERY and turn < CALM:
                posterior, steps = leap(posterior, steps[-2], steps[-1]), []
            prior = raise_prior(prior, counts, hyper, steps=5)
            of_answers = table @ by_answer(integrated(counts, prior)[0])
        if moved > self.tol:
            warnings.warn(
                f"the rows' true classes still move by {moved:.1g} after {turn} turns; raise max_iter, or tol if that "
                "is close enough",
                ConvergenceWarning,
                stacklevel=3,
            )
        return posterior, prior, turn

    def _read(self, X: Any, y: Any, annotators: Any, items: Any) -> tuple[Any, Annotations]:
        options = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}
        flat = annotators is None and items is None and not _is_wide(y)
        if flat and self.missing is None:
            X, codes = self._check_training(X, y, **options)
            nobody, rows = np.zeros(len(codes), dtype=np.intp), np.arange(len(codes))
            return X, Annotations(rows, np.array([ANONYMOUS]), self.classes_, rows, nobody, codes)
        X = validate_data(self, X, **options)
        if flat:
            y = one_column(y)
            check_consistent_length(X, y)
        if annotators is None and items is None and not flat:
            told = read_wide(y, self.missing, numbered=True)
            if len(told.items) != X.shape[0]:
                raise ValueError(f"X has {X.shape[0]} rows, y has {len(told.items)}; each row needs its answers")
        else:
            what = np.arange(len(y)) if items is None else np.asarray(items)
            if what.dtype.kind not in "iu" or (what.size and not 0 <= what.min() <= what.max() < X.shape[0]):
                raise ValueError(f"items must be numbers of rows of X, from 0 to {X.shape[0] - 1}")
            who = np.full(len(what), ANONYMOUS) if annotators is None else annotators
            told = read_annotations(what, who, y, self.missing)
        self.classes_ = told.classes
        check_binary_or_more(self.classes_)
        return X, replace(told, items=np.arange(X.shape[0]), what=told.items[told.what])

    def _base(self, in_turns: bool = False) -> Any:
        if self.estimator is None:  # half-way in a turn is enough: the next one goes on from there
            return SoftLogisticRegression(tol=self.tol / 4, max_iter=5) if in_turns else SoftLogisticRegression()
        check_soft(self.estimator)
        return self.estimator

    def _scaled(self, X: Any) -> Any:
        return X if self.scaler_ is None else self.scaler_.transform(X)

    def _folds(self, n_rows: int) -> Codes | None:
        if self.cv is None:
            return None
        folds = np.arange(n_rows) % min(self.cv, n_rows)
        return generator(0 if self.random_state is None else self.random_state).permutation(folds)

    def _check_settings(self) -> None:
        if self.cv is not None and self.cv < 2:
            raise ValueError(f"cv is {self.cv}; two or more folds, or None for none, are needed")
        if self.max_iter < 1:
            raise ValueError(f"max_iter is {self.max_iter}; one turn or more is needed")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _is_wide(y: Any) -> bool:
    """Whether there are columns of annotators; one column alone is plain labels."""
    if isinstance(y, list | tuple):
        return bool(y) and isinstance(y[0], list | np.ndarray) and len(y[0]) > 1
    shape: tuple[int, ...] = getattr(y, "shape", ())
    return len(shape) == 2 and shape[1] > 1


def leap(posterior: Floats, last_step: Floats, step: Floats) -> Floats:
    """Where steps that shrink evenly would lead in the end (Aitken), kept among probabilities.

    >>> leap(np.array([[0.75, 0.25]]), np.array([[0.5, -0.5]]), np.array([[0.25, -0.25]]))
    array([[1., 0.]])
    """
    shrinkage = np.clip(np.sum(last_step * step) / np.sum(last_step**2), 0, 0.9)
    ahead = np.clip(posterior + shrinkage / (1 - shrinkage) * step, 0, 1)
    return np.asarray(ahead / ahead.sum(axis=1, keepdims=True))
