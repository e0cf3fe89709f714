"""Gaussian process classification through a flip matrix, with hyperparameters by the evidence."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from noisewise._numerics.blocks import blocks
from noisewise._numerics.threads import threads_for
from noisewise._typing import Floats, RandomState
from noisewise._validation import check_weights, generator
from noisewise.kernels import squared_distances
from noisewise.labels.base import NoisyLabelClassifier, check_iterations
from noisewise.labels.gaussian_process.laplace import find_mode, variances
from noisewise.labels.gaussian_process.rows import LabelledRows, process_features
from noisewise.labels.gaussian_process.search import (
    GRID_TOL,
    Candidate,
    as_problem,
    maximise_amplitude,
    maximise_evidence,
    tune,
    tune_several,
)
from noisewise.labels.kernel_features import EXACT_ROWS
from noisewise.labels.noise_argument import NoiseArgument, fisher_noise, resolve_noise
from noisewise.labels.progress import shown
from noisewise.noise import FlipMatrix

SEARCH_ROWS, SEARCH_RANK = 1000, 60  # width and amplitude are searched on so many rows, with so many features
MOST_FEATURES = 256  # time grows with their square
LANDMARKS_PER_FEATURE = 2  # so that the features are the leading eigenvectors of more landmarks


class RobustGaussianProcessClassifier(NoisyLabelClassifier):
    """Gaussian process classifier through a flip matrix; nothing to tune: the evidence chooses everything.

    Scores f are a Gaussian process with the kernel ``amplitude * (exp(-distance**2 / width**2) + 1)`` over standardised
    columns; labels are drawn from their logistic function or softmax and observed through a flip matrix T. Width,
    amplitude and T maximise the marginal likelihood (evidence, type II maximum likelihood)::

        log P(y | width, amplitude, T) = log integral prod_i (sum_j T[j, y_i] P(true = j | f_i)) P(f) df

    in Laplace's approximation, with a weak Dirichlet prior on T. Of three classes or more T is as
    RobustKernelFisherClassifier estimates it: the evidence hardly tells flips to many classes from classes that
    overlap, and its rates were too low by up to a half.

    Parameters
    ----------
    noise : None, FlipMatrix, "confident", "fisher", "ridge", function of (X, y), or object with ``estimate(X, y)``
        The noise transition matrix T, or how it is estimated; one meaning for all, see `noisewise.labels`. None, the
        default, estimates it with the model: by the evidence, or of three classes or more by the robust kernel Fisher
        discriminant.
    low_rank : int, optional
        Number of kernel features. By default 60, more with more than 700 rows, at most 256. Up to 3,000 distinct rows
        (1,000 of three classes or more) they are the leading eigenvectors of the Gram matrix of all of them, beyond of
        landmarks (Nystroem), so that time and memory grow linearly.
    max_iter : int, default=200
        Most iterations of L-BFGS, or of the fixed point of the amplitude, on the evidence.
    tol : float, default=1e-7
        Of two classes: stop where an iteration changes the evidence by less, relatively.
    random_state : int, RandomState, Generator or None
        Draws landmarks and, of many rows, those to search the width on. None gives the same draw every time.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    noise_ : FlipMatrix
        The noise, given or learned.
    width_, amplitude_ : float
        Of the kernel of highest evidence.
    log_evidence_ : float
        Log marginal likelihood of the observed labels (plus the log prior of a learned flip matrix).
    low_rank_ : int
        Number of kernel features used.
    n_iter_ : int
        Iterations of L-BFGS or of the fixed point on the evidence.
    objective_history_ : list of float
        The evidence after each of these iterations.

    References
    ----------
    .. [1] Rasmussen, C. E., Williams, C. K. I. (2006). Gaussian processes for machine learning. MIT Press.
       Algorithms 3.1 to 3.4 and 5.1, in explicit features.
    .. [2] MacKay, D. J. C. (1992). The evidence framework applied to classification networks. Neural Computation 4(5).
    .. [3] Williams, C. K. I., Seeger, M. (2001). Using the Nystroem method to speed up kernel machines. NeurIPS 13.
    .. [4] Bootkrajang, J., Kaban, A. (2014). Learning kernel logistic regression in the presence of class label noise.
       Pattern Recognition 47(11). Eqs. 2 and 28: the likelihood through the flip matrix.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> observed = FlipMatrix.binary(false_positive=0.0, false_negative=0.3).corrupt(y, rng=0)
    >>> model = RobustGaussianProcessClassifier().fit(X, observed)
    >>> print(f"{(observed == y).mean():.2f} of the labels are right, {model.score(X, y):.2f} of the predictions")
    0.86 of the labels are right, 0.96 of the predictions
    """

    def __init__(
        self,
        noise: NoiseArgument = None,
        low_rank: int | None = None,
        max_iter: int = 200,
        tol: float = 1e-7,
        random_state: RandomState = None,
    ) -> None:
        self.noise = noise
        self.low_rank = low_rank
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @shown
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Maximise the evidence, then find the mode of the scores. A row of weight 2 counts as two rows."""
        X, codes = self._check_training(X, y, accept_sparse="csr", dtype=np.float64)
        weights = check_weights(sample_weight, X)
        if self.low_rank is not None and self.low_rank < 1:
            raise ValueError(f"low_rank is {self.low_rank}; one feature or more is needed")
        check_iterations(self.max_iter)
        noise = resolve_noise(self.noise, X, codes, len(self.classes_), weights)
        if noise is None and len(self.classes_) > 2:
            noise = fisher_noise(X, codes, weights, len(self.classes_))
        known = None if noise is None else noise.matrix
        rng = generator(0 if self.random_state is None else self.random_state)
        self.standardizer_, rows = LabelledRows.of(X, codes, weights, len(self.classes_)).standardized()
        with threads_for(len(codes)):
            best = self._search(rows, known, rng)
        self.noise_ = FlipMatrix.estimated(best.flips) if noise is None else noise
        self._keep(best)
        return self

    def _search(self, rows: LabelledRows, known: Floats | None, rng: np.random.Generator) -> Candidate:
        """The kernel and noise of highest evidence: on all rows, or on a sample and then again on all."""
        n = rows.rows.shape[0]
        rank = self.low_rank or int(np.clip(n // 12, SEARCH_RANK, MOST_FEATURES))
        if n <= SEARCH_ROWS:
            return self._tune(rows, rank, known, rng)
        start = self._tune(rows.some(SEARCH_ROWS, rng), min(rank, 2 * SEARCH_RANK), known, rng)
        n_landmarks = LANDMARKS_PER_FEATURE * rank
        if rows.n_classes > 2:
            n_landmarks = max(n_landmarks, SEARCH_ROWS)
        elif n <= EXACT_ROWS:
            n_landmarks = EXACT_ROWS
        landmarks = rows.some(n_landmarks, rng)
        width = start.features.kernel.width
        features = process_features(
            landmarks.rows, landmarks.row_weights, squared_distances(landmarks.rows), width, rank
        )
        problem = as_problem(features, rows)
        if rows.n_classes > 2:
            mode = find_mode(problem, start.flips, start.mode.precision, tol=GRID_TOL)
            return maximise_amplitude(Candidate(features, mode, start.flips, mode.evidence), self.max_iter)
        mode = find_mode(problem, start.flips, start.mode.precision)
        return maximise_evidence(Candidate(features, mode, start.flips, -np.inf), known, self.max_iter, self.tol)

    def _tune(self, rows: LabelledRows, rank: int, known: Floats | None, rng: np.random.Generator) -> Candidate:
        if rows.n_classes > 2:
            assert known is not None  # estimated before
            return tune_several(rows, rank, known, self.max_iter, rng)
        return tune(rows, rank, known, self.max_iter, self.tol)

    def _keep(self, best: Candidate) -> None:
        self.features_ = best.features
        self.coefficients_, self.factors_ = best.mode.coefficients, np.stack(best.mode.factors)
        self.width_, self.amplitude_ = float(best.features.kernel.width), 1 / best.mode.precision
        self.low_rank_ = best.features.projection.shape[1] - 1  # the last is constant
        self.log_evidence_, self.objective_history_, self.n_iter_ = best.score, list(best.history), best.n_iter
        if not (best.converged and best.mode.converged):
            warnings.warn(
                f"the evidence was still rising after {best.n_iter} iterations; raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=3,
            )

    def predict_proba(self, X: Any) -> Floats:
        """Posterior of the true label, one column a class: nearer to uniform far from the rows of `fit`.

        The scores are integrated out by MacKay's approximation, ``f / sqrt(1 + pi / 8 * variance)``.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=np.float64)
        posterior = np.empty((X.shape[0], len(self.classes_)))
        for part in blocks(X.shape[0]):
            features = self.features_(self.standardizer_(X[part], np.float64))
            variance = variances(self.factors_, features)
            scores = (features @ self.coefficients_) / np.sqrt(1 + np.pi / 8 * variance)
            if scores.shape[1] == 1:
                scores = np.concatenate([np.zeros_like(scores), scores], axis=1)
            posterior[part] = softmax(scores, axis=1)
        return posterior
