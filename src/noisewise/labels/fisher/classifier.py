"""The robust kernel Fisher discriminant (rKFD of Lawrence and Schoelkopf), without tuning."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from noisewise._numerics.blocks import blocks
from noisewise._numerics.threads import threads_for
from noisewise._typing import Codes, Floats, RandomState
from noisewise._validation import check_weights, generator
from noisewise.kernels import Kernel
from noisewise.labels.base import NoisyLabelClassifier
from noisewise.labels.fisher.em import Discriminants, run_em
from noisewise.labels.fisher.kernel_smoother import (
    DualSmoother,
    Smoother,
    choose_penalty,
    choose_width,
    decompose,
    decompose_low_rank,
)
from noisewise.labels.kernel_features import EXACT_ROWS, SELECTION_ROWS, KernelFeatures, gram_matrix
from noisewise.labels.noise_argument import NoiseArgument, replicate_rows, resolve_noise
from noisewise.labels.standardizer import Standardizer
from noisewise.noise import FlipMatrix

FISHER_LANDMARKS, LANDMARKS_OF_SEVERAL = 500, 1000  # beyond EXACT_ROWS rows; for three classes or more
EIGEN_ROWS = 1000  # of three classes or more: beyond, one penalty and a Cholesky factor, for the time it takes


class RobustKernelFisherClassifier(NoisyLabelClassifier):
    """Robust kernel Fisher discriminant (rKFD), by EM over true labels and flip matrix; nothing to tune.

    EM alternates between the Fisher directions of soft labels (kernel ridge regression), normal classes along them, and
    the flip matrix T. Scores are leave-one-out, and the model is an average over the EM steps, weighted by the
    likelihood of the observed labels::

        prod_i sum_j T[j, y_i] P(true = j | leave-one-out score of x_i)

    so that a step that relabels a whole cluster has no weight. Width and ridge have the least leave-one-out squared
    error on the observed labels.

    Columns are standardised. Classes are assumed to be normal along the directions, the flips to depend on the true
    class alone. With several classes all directions are found at once, with one flip matrix.

    Parameters
    ----------
    noise : None, FlipMatrix, "confident", "fisher", "ridge", function of (X, y), or object with ``estimate(X, y)``
        The noise transition matrix T, or how it is estimated; one meaning for all, see `noisewise.labels`. None, the
        default, estimates it with the model, by EM.
    kernel : Kernel, optional
        Any of `noisewise.kernels`, for standardised rows; by default a Gaussian whose width is chosen.
    low_rank : int, optional
        Number of landmarks (Nystroem). By default none up to 3,000 rows; beyond, 500, or 1,000 of three classes or
        more.
    max_iter : int, default=200
        Most EM steps.
    random_state : int, RandomState, Generator or None
        Draws landmarks, and rows to choose the width on. None gives the same draw every time.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    noise_ : FlipMatrix
        The noise, given or estimated.
    kernel_ : Kernel
    penalty_ : float
        The ridge [lambda].
    low_rank_ : int or None
        Number of landmarks; None if the kernel is exact.
    true_label_posterior_ : array of shape (n_rows, n_classes)
        Probability of each true class for the rows of `fit`, given the row and its observed label.
    label_quality_ : array of shape (n_rows,)
        Probability that the observed label of each row of `fit` is the true one.
    n_iter_ : int
        EM steps.
    objective_history_ : list of float
        Leave-one-out log-likelihood of the observed labels after each EM step.

    References
    ----------
    .. [1] Lawrence, N. D., Schoelkopf, B. (2001). Estimating a kernel Fisher discriminant in the presence of label
       noise. ICML 18.
    .. [2] Mika, S., Raetsch, G., Weston, J., Schoelkopf, B., Mueller, K.-R. (1999). Fisher discriminant analysis with
       kernels. Neural Networks for Signal Processing IX, IEEE.
    .. [3] Bootkrajang, J., Kaban, A. (2014). Learning kernel logistic regression in the presence of class label noise.
       Pattern Recognition 47(11). Eq. 12: the M-step of the flip matrix.

    Examples
    --------
    >>> from noisewise.datasets import make_twonorm
    >>> X, y = make_twonorm(600, random_state=0)
    >>> observed = FlipMatrix.symmetric(0.3, 2).corrupt(y[:400], rng=0, classes=[-1, 1])
    >>> model = RobustKernelFisherClassifier().fit(X[:400], observed)
    >>> print(f"{np.mean(observed == y[:400]):.2f} {model.score(X[400:], y[400:]):.2f}")
    0.70 0.96
    """

    def __init__(
        self,
        noise: NoiseArgument = None,
        kernel: Kernel | None = None,
        low_rank: int | None = None,
        max_iter: int = 200,
        random_state: RandomState = None,
    ) -> None:
        self.noise = noise
        self.kernel = kernel
        self.low_rank = low_rank
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose width and ridge, then fit directions, classes and noise by EM. Weight 2 counts as two rows."""
        X, codes = self._check_training(X, y, accept_sparse="csr", dtype=np.float64)
        weights = check_weights(sample_weight, X)
        noise = resolve_noise(self.noise, X, codes, len(self.classes_), weights)
        for name in ("low_rank", "max_iter"):
            if getattr(self, name) is not None and getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; one or more is needed")
        counted = np.arange(len(codes)) if sample_weight is None else replicate_rows(X, codes, weights)
        self.standardizer_ = Standardizer.of(X[counted])
        rows, labels = self.standardizer_(X[counted], np.float64), codes[counted]
        with threads_for(len(labels)):
            smoother, feature_map = self._smoother(rows, np.eye(len(self.classes_))[labels])
            known = None if noise is None else noise.matrix
            path = run_em(smoother, labels, known, len(self.classes_), self.max_iter)
        if not path.converged:
            warnings.warn(
                f"the soft labels still moved after {self.max_iter} EM steps; raise max_iter",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.features_, self.discriminants_ = feature_map, Discriminants.of(path)
        if isinstance(smoother, DualSmoother):
            self._keep_dual(smoother, rows)
        self.noise_ = FlipMatrix.estimated(path.flips) if noise is None else noise
        self.n_iter_, self.objective_history_ = len(path.history), path.history
        self._keep_posterior(X, codes, counted, path.soft)
        return self

    def _keep_dual(self, smoother: DualSmoother, rows: Any) -> None:
        """Scores as features: products with the dual coefficients of all steps, kept with the rows."""
        dual = self.discriminants_.coefficients
        self.features_ = KernelFeatures(self.kernel_, rows, dual, smoother.means @ dual)
        self.discriminants_ = replace(self.discriminants_, coefficients=np.eye(dual.shape[1]))

    def _keep_posterior(self, X: Any, codes: Codes, counted: Codes, soft: Floats) -> None:
        posterior = np.empty((len(codes), len(self.classes_)))
        posterior[counted] = soft
        rest = np.setdiff1d(np.arange(len(codes)), counted)  # rows of weight 0
        if len(rest):
            posterior[rest] = self.noise_.explain(self.predict_proba(X[rest]), codes[rest])
        self.true_label_posterior_ = posterior
        self.label_quality_ = posterior[np.arange(len(codes)), codes]

    def predict_proba(self, X: Any) -> Floats:
        """Probability of each *true* class."""
        check_is_fitted(self)
        rows = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        posterior = np.empty((rows.shape[0], len(self.classes_)))
        for part in blocks(rows.shape[0]):
            features = self.features_(self.standardizer_(rows[part], np.float64))
            posterior[part] = self.discriminants_.posterior(features)
        return posterior

    def _smoother(self, rows: Any, labels: Floats) -> tuple[Smoother | DualSmoother, KernelFeatures]:
        """Choose the kernel and the ridge; returns the ridge regression and the features of its coefficients."""
        n, n_classes = labels.shape
        rng = generator(0 if self.random_state is None else self.random_state)
        order = rng.permutation(n)
        targets = labels - labels.mean(axis=0)
        landmarks = FISHER_LANDMARKS if n_classes == 2 else LANDMARKS_OF_SEVERAL
        self.low_rank_ = min(self.low_rank or landmarks, n) if self.low_rank or n > EXACT_ROWS else None
        sample = np.sort(order[:SELECTION_ROWS])
        some = targets[sample] - targets[sample].mean(axis=0)
        if self.kernel is None:
            basis = choose_width(rows[sample], some)
            self.kernel_ = basis.feature_map.kernel
        else:
            self.kernel_ = self.kernel
        if self.low_rank_ is None and n_classes > 2 and n > EIGEN_ROWS:
            if self.kernel is not None:
                basis = decompose(self.kernel_, rows[sample])
            self.penalty_ = choose_penalty(basis, some)[0]
            return DualSmoother.of(gram_matrix(self.kernel_, rows, None), self.penalty_), basis.feature_map
        if self.low_rank_ is not None:
            basis = decompose_low_rank(self.kernel_, rows, np.sort(order[: self.low_rank_]))
        elif self.kernel is not None or len(sample) < n:
            basis = decompose(self.kernel_, rows)
        self.penalty_ = choose_penalty(basis, targets)[0]
        return Smoother.of(basis, self.penalty_), basis.feature_map
