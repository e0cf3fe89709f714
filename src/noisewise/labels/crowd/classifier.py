"""A classifier and annotators' confusion matrices, estimated together from labels by several annotators."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted, validate_data

from noisewise._numerics.em import normalised_rows, responsibilities
from noisewise._typing import Codes, Floats, RandomState
from noisewise._validation import check_binary_or_more, find_labels, generator, naming_columns, one_column
from noisewise.labels.base import ROW_TYPES, NoisyLabelClassifier, check_iterations
from noisewise.labels.crowd.annotations import Annotations, indices_of, read_annotations, read_wide
from noisewise.labels.crowd.annotators import Annotators
from noisewise.labels.crowd.em import (
    align_classes,
    confusion_counts,
    dirichlet_expectations,
    likelihood_columns,
    normalised,
    prior_pseudo_counts,
    update_prior,
)
from noisewise.labels.crowd.soft_labels import OutOfFoldScores, SoftLogisticRegression, check_soft, fit_soft

OUTLIER_WEIGHT = 1e-3  # fraction of rows about which the classifier knows nothing: no label is impossible
EXTRAPOLATE_EVERY = 3  # iterations
DAMPED_FROM = 50  # iteration from which steps are damped, so that unstable classifiers converge too
ANONYMOUS = "anonymous"


class CrowdClassifier(NoisyLabelClassifier):
    """Classifier learnt from labels by several annotators, with a confusion matrix for each (Raykar et al.).

    EM: posteriors of the true labels from the classifier and the annotators' labels; confusion matrices from these
    posteriors, with the prior of `dawid_skene`; and the classifier fitted to the posteriors as soft labels.

    Parameters
    ----------
    estimator : classifier, optional
        With `predict_proba`, and `fit` with `sample_weight`; by default logistic regression on standardised columns.
    cv : int or None, default=5
        The classifier's probabilities enter the posteriors out of fold, in this many folds; None uses those in sample,
        as published [1]_, with which flexible classifiers confirm their own mistakes.
    missing : label, optional
        A label that stands for a missing one, besides None and NaN.
    max_iter : int, default=100
    tol : float, default=2e-3
        The iteration ends when posteriors change by no more, as a root mean square over the rows.
    random_state : int, RandomState, Generator or None
        Draws the folds. None gives the same draw every time.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    noise_ : FlipMatrix
        The mean flip matrix over all labels.
    annotators_ : Annotators
        Name, number of labels, accuracy with interval and confusion matrix of each.
    posterior_ : array of shape (n_rows, n_classes)
        Posterior of the true label for the rows of `fit`, given the row and all labels of it.
    labels_ : array of shape (n_rows,)
        The most probable true label of the rows of `fit`.
    estimator_ : classifier
    n_iter_ : int

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> X, y = make_blobs(300, centers=2, cluster_std=3.0, random_state=0)
    >>> rng = np.random.default_rng(0)
    >>> labels = np.where(rng.random((300, 3)) < [0.05, 0.3, 0.45], 1 - y[:, None], y[:, None])
    >>> labels[rng.random((300, 3)) < 0.5] = -1  # half of the labels are missing
    >>> model = CrowdClassifier(missing=-1).fit(X, labels)
    >>> [f"{annotator.accuracy:.1f}" for annotator in model.annotators_]
    ['0.9', '0.7', '0.6']

    References
    ----------
    .. [1] Raykar, V. C., Yu, S., Zhao, L. H., Valadez, G. H., Florin, C., Bogoni, L., Moy, L. (2010). Learning from
       crowds. Journal of Machine Learning Research 11.
    .. [2] Dawid, A. P., Skene, A. M. (1979). Maximum likelihood estimation of observer error-rates using the EM
       algorithm. Applied Statistics 28.
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
        """Fit classifier, confusion matrices and posteriors of the true labels by EM.

        Parameters
        ----------
        X : array, CSR or frame of shape (n_rows, n_features)
        y : labels
            One label a row; or an array or frame of shape (n_rows, n_annotators), some missing; or, with `annotators`,
            one entry for each label given.
        annotators : sequence, optional
            The annotator of each label of `y`; without it, labels of a flat `y` are of one anonymous annotator.
        items : sequence of int, optional
            The row of X, from 0, that each label of `y` is about; by default the first label is about the first row,
            and so on. Rows without any label are allowed.
        """
        self._check_settings()
        X, annotations = self._read(X, y, annotators, items)
        self.scaler_ = StandardScaler(with_mean=not issparse(X)).fit(X) if self.estimator is None else None
        X = self._scaled(X)
        posterior, prior, self.n_iter_ = self._em(X, annotations)
        self.posterior_, self.labels_ = posterior, self.classes_[posterior.argmax(axis=1)]
        self.annotators_ = Annotators.from_posterior(annotations.annotators, annotations.counts(), posterior, prior)
        self.noise_ = self.annotators_.noise
        self.estimator_ = fit_soft(self._base(), X, posterior)
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Probability of each *true* class."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=ROW_TYPES, reset=False)
        return np.asarray(self.estimator_.predict_proba(self._scaled(X)), dtype=np.float64)

    def label_quality(self, X: Any, y: Any, annotators: Any = None) -> Floats:
        """P(true label = observed label | row, observed label), for rows that were not used in fit.

        With `annotators`, who gave each label, by their own confusion matrices, else by the mean flip matrix.
        """
        if annotators is None:
            return super().label_quality(X, y)
        posterior, codes = self.predict_proba(X), find_labels(y, self.classes_)
        try:
            who = indices_of(one_column(annotators), self.annotators_.names)
        except KeyError as error:
            raise ValueError(f"annotator {error.args[0]!r} gave no label in fit") from None
        if not len(posterior) == len(codes) == len(who):
            raise ValueError(f"there are {len(posterior)} rows, {len(codes)} labels and {len(who)} annotators")
        explained = responsibilities(posterior, self.annotators_.flips[who, :, codes])[0]
        return np.asarray(explained[np.arange(len(codes)), codes])

    def _em(self, X: Any, annotations: Annotations) -> tuple[Floats, Floats, int]:
        table, n_classes = annotations.counts(), len(self.classes_)
        by_label, hyperprior = table.T.tocsr(), prior_pseudo_counts(n_classes)
        prior, scores = hyperprior, OutOfFoldScores(self._base(in_em=True), X, self._folds(X.shape[0]))
        # all annotators start from the prior: labels counted against themselves alone would show no flips
        same = np.repeat(np.log(normalised_rows(hyperprior))[None], len(annotations.annotators), axis=0)
        log_likelihood = table @ likelihood_columns(same)
        posterior, change, n_iter = normalised(log_likelihood.copy())[0], np.inf, 0
        steps: list[Floats] = []
        while change > self.tol and n_iter < self.max_iter:
            n_iter, before = n_iter + 1, posterior
            class_prior = (1 - OUTLIER_WEIGHT) * scores(posterior) + OUTLIER_WEIGHT / n_classes
            posterior = normalised(log_likelihood + np.log(class_prior))[0]
            posterior += (1 - min(1.0, DAMPED_FROM / n_iter)) * (before - posterior)
            posterior, counts = align_classes(posterior, confusion_counts(by_label, posterior))
            steps.append(posterior - before)
            change = float(np.linalg.norm(steps[-1]) / np.sqrt(len(posterior)))
            if change > self.tol and len(steps) == EXTRAPOLATE_EVERY and n_iter < DAMPED_FROM:
                posterior, steps = aitken_extrapolation(posterior, steps[-2], steps[-1]), []
            prior = update_prior(prior, counts, hyperprior, steps=5)
            log_likelihood = table @ likelihood_columns(dirichlet_expectations(counts, prior)[0])
        if change > self.tol:
            warnings.warn(
                f"the posteriors of the rows still change by {change:.1g} after {n_iter} iterations; "
                "raise max_iter, or tol if that is close enough",
                ConvergenceWarning,
                stacklevel=3,
            )
        return posterior, prior, n_iter

    def _read(self, X: Any, y: Any, annotators: Any, items: Any) -> tuple[Any, Annotations]:
        options = {"accept_sparse": "csr", "dtype": ROW_TYPES}
        flat = annotators is None and items is None and not _is_wide(y)
        if flat and self.missing is None:
            X, codes = self._check_training(X, y, **options)
            anonymous, rows = np.zeros(len(codes), dtype=np.intp), np.arange(len(codes))
            return X, Annotations(rows, np.array([ANONYMOUS]), self.classes_, rows, anonymous, codes)
        with naming_columns(X):
            X = validate_data(self, X, **options)
        if flat:
            y = one_column(y)
            check_consistent_length(X, y)
        if annotators is None and items is None and not flat:
            read = read_wide(y, self.missing, numbered=True)
            if len(read.items) != X.shape[0]:
                raise ValueError(f"X has {X.shape[0]} rows, y has {len(read.items)}; each row needs its labels")
        else:
            what = np.arange(len(y)) if items is None else np.asarray(items)
            if what.dtype.kind not in "iu" or (what.size and not 0 <= what.min() <= what.max() < X.shape[0]):
                raise ValueError(f"items must be numbers of rows of X, from 0 to {X.shape[0] - 1}")
            who = np.full(len(what), ANONYMOUS) if annotators is None else annotators
            read = read_annotations(what, who, y, self.missing)
        self.classes_ = read.classes
        check_binary_or_more(self.classes_)
        return X, replace(read, items=np.arange(X.shape[0]), item_codes=read.items[read.item_codes])

    def _base(self, in_em: bool = False) -> Any:
        if self.estimator is None:  # a few steps in each EM iteration are enough: the next one is warm-started
            return SoftLogisticRegression(tol=self.tol / 4, max_iter=5) if in_em else SoftLogisticRegression()
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
        check_iterations(self.max_iter)


def _is_wide(y: Any) -> bool:
    """Whether y has a column for each annotator; one column alone is plain labels."""
    if isinstance(y, list | tuple):
        return bool(y) and isinstance(y[0], list | np.ndarray) and len(y[0]) > 1
    shape: tuple[int, ...] = getattr(y, "shape", ())
    return len(shape) == 2 and shape[1] > 1


def aitken_extrapolation(posterior: Floats, last_step: Floats, step: Floats) -> Floats:
    """Limit of steps that shrink geometrically (Aitken), projected on probabilities.

    >>> aitken_extrapolation(np.array([[0.75, 0.25]]), np.array([[0.5, -0.5]]), np.array([[0.25, -0.25]]))
    array([[1., 0.]])
    """
    shrinkage = np.clip(np.sum(last_step * step) / np.sum(last_step**2), 0, 0.9)
    ahead = np.clip(posterior + shrinkage / (1 - shrinkage) * step, 0, 1)
    return np.asarray(ahead / ahead.sum(axis=1, keepdims=True))
