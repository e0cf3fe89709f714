"""Robust logistic regression: a linear model and a flip matrix, learned together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy.sparse import hstack, issparse

from noisewise._numerics.cholesky import logistic_preconditioner
from noisewise._numerics.row_hash import row_hashes
from noisewise._typing import Codes, Floats
from noisewise._validation import check_weights
from noisewise.labels.base import LinearClassifier, check_iterations, check_positive
from noisewise.labels.flip_likelihood import FlipLikelihood
from noisewise.labels.logistic.base import FlipClassifier
from noisewise.labels.logistic.objective import FlipProblem
from noisewise.labels.logistic.solvers import solve, solve_no_less_likely_than_plain
from noisewise.labels.noise_argument import NoiseArgument, resolve_noise
from noisewise.labels.progress import with_callbacks
from noisewise.noise import FlipMatrix

N_FOLDS = 3  # that are held out in turn where rows are few
HELD_OUT_TOL = 1e-4  # of fits to the other folds
PENALTY_FACTORS = (1.0, 10.0, 100.0, 1e9)  # of wide rows; the last leaves a constant
CLEARLY = 2.0  # standard errors by which held-out labels must be likelier, to tell two models apart
ROWS_PER_COLUMN = 8  # with fewer, a linear model that fits all labels, flipped ones too, is likelier than any flips
GUARDED_ROWS_PER_COLUMN = 40  # with fewer, estimated coefficients cost 1/80 nat a row, and a constant may be likelier


class RobustLogisticRegression(LinearClassifier, FlipClassifier):
    """Robust logistic regression (rLR): learns coefficients and flip matrix together, for two or more classes.

    Labels are a softmax (with two classes a logistic function) of linear scores, observed through a flip matrix T::

        |coef|^2 / (2 C) - sum_i log sum_j T[j, y_i] P(true = j | x_i)

    is minimised in both by L-BFGS, with a weak Dirichlet prior on the rows of T (`noise_prior`), which is parametrised
    so that labels can not be swapped. Without noise (``noise=FlipMatrix.none(n_classes)``) it is scikit-learn's
    LogisticRegression. Asymmetric flips move the decision boundary, and are what it corrects; symmetric noise only
    flattens the posterior.

    Parameters
    ----------
    noise : None, FlipMatrix, "confident", "fisher", "ridge", function of (X, y), or object with ``estimate(X, y)``
        The noise transition matrix T, or how it is estimated; one meaning for all, see `noisewise.labels`. None, the
        default, estimates it with the model, so that the penalised log-likelihood of all observed labels is at most one
        below that without noise, or of a constant. With fewer than eight rows for each column, where a linear model
        could fit any labels, None is "confident". With fewer than 40 that is so while observed labels that were held
        out are likelier than by a constant: "confident" noise must make them clearly likelier (two standard errors),
        and learned noise not clearly less likely than none. Otherwise there is no noise, and a penalty of 1, 10 or 100
        times the given one, or zero coefficients, whichever makes them likeliest: rare classes behind many flips.
    C : float, default=1.0
        Inverse strength of the penalty ``|coef|^2 / (2 C)`` against the summed loss.
    fit_intercept : bool, default=True
        The intercept is not penalised.
    max_iter : int, default=1000
    tol : float, default=1e-6
        Largest gradient of the mean loss, in preconditioned coordinates, at which the fit ends.
    noise_prior : bool, default=True
        Whether a flip matrix that is learnt with the function has a weak Dirichlet prior: for each class 4 labels kept
        and half of one flipped. The paper has none.

    Attributes
    ----------
    coef_ : array of shape (1, n_features) for two classes, else (n_classes, n_features)
    intercept_ : array of shape (1,) or (n_classes,)
    noise_ : FlipMatrix
    n_iter_ : int
    objective_history_ : list of float
        Penalised loss at the start and after every iteration.
    classes_ : array

    References
    ----------
    .. [1] Bootkrajang, J., Kaban, A. (2014). Learning kernel logistic regression in the presence of class label noise.
       Pattern Recognition 47(11). Eqs. 2 and 3 with a linear kernel.
    .. [2] Liu, D. C., Nocedal, J. (1989). On the limited memory BFGS method for large scale optimization. Mathematical
       Programming 45.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from noisewise import FlipMatrix
    >>> X, y = make_blobs(600, centers=[[0, 0], [3, 0]], random_state=0)
    >>> noise = FlipMatrix.binary(false_positive=0.0, false_negative=0.4)
    >>> model = RobustLogisticRegression().fit(X, noise.corrupt(y, rng=0))
    >>> print(f"{model.score(X, y):.2f}", model.noise_.matrix.round(1).tolist())
    0.94 [[1.0, 0.0], [0.4, 0.6]]
    """

    _solve = staticmethod(solve_no_less_likely_than_plain)

    def __init__(
        self,
        noise: NoiseArgument = None,
        C: float = 1.0,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float = 1e-6,
        noise_prior: bool = True,
    ) -> None:
        super().__init__(noise, C, fit_intercept, max_iter, tol)
        self.noise_prior = noise_prior

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit coefficients and noise together. A row of weight 2 counts as two rows."""
        X, codes = self._check_training(X, y, accept_sparse="csr", dtype=np.float64)
        self._check_repeated(codes)
        check_positive("C", self.C)
        check_iterations(self.max_iter)
        weights = check_weights(sample_weight, X)
        n_classes, rows_per_column = len(self.classes_), weights.sum() / X.shape[1]
        wide = rows_per_column < ROWS_PER_COLUMN
        noise = resolve_noise(self.noise, X, codes, n_classes, weights, default="confident" if wide else None)
        penalties = np.append(np.full(X.shape[1], 1 / self.C), np.zeros(int(self.fit_intercept)))
        features = _with_ones(X) if self.fit_intercept else X
        preconditioner = self._preconditioner(X, weights, 1 / self.C)
        if self.noise is None and rows_per_column < GUARDED_ROWS_PER_COLUMN:
            problem = FlipProblem(features, codes, weights, penalties, n_classes, 1 if n_classes == 2 else n_classes)
            held_out = _HeldOut(problem, held_out_folds(X, codes), preconditioner, self.max_iter)
            noise, factor = held_out.likeliest(noise)
            penalties, preconditioner = factor * penalties, self._preconditioner(X, weights, factor / self.C)
        advice = "scale the columns, raise max_iter, or lower C"
        coefficients = self._fit_coefficients(
            features, codes, weights, penalties, noise, preconditioner, advice, self.max_iter
        )
        self.coef_ = np.ascontiguousarray(coefficients[: X.shape[1]].T)
        return self

    def _preconditioner(self, X: Any, weights: Floats, penalty: float) -> Floats:
        size = X.shape[1] + int(self.fit_intercept)
        change = logistic_preconditioner(X, weights, penalty)[:size]
        return change[:, :size] if change.ndim == 2 else change


@dataclass(frozen=True)
class _HeldOut:
    """Losses of observed labels, each by a fit to the other folds."""

    problem: FlipProblem
    folds: Codes
    preconditioner: Floats
    max_iter: int

    def likeliest(self, noise: FlipMatrix | None) -> tuple[FlipMatrix | None, float]:
        """The noise, None for one that is learnt, or no noise, and the factor of the penalty.

        Of "confident" noise a constant is the measure: without noise, a linear model of many columns can be likelier,
        as its probabilities may be those of observed labels, and yet be wrong about true ones.
        """
        none = FlipMatrix.none(self.problem.n_classes)
        noisy, plain, constant = self.losses(noise, 1.0), self.losses(none, 1.0), self.losses(none, PENALTY_FACTORS[-1])
        if noise is None:
            likely = self._gain(constant, noisy) > 0 and self._gain(plain, noisy) > -CLEARLY
        else:
            likely = self._gain(constant, noisy) > CLEARLY
        if likely:
            return noise, 1.0
        between = [self.losses(none, factor) for factor in PENALTY_FACTORS[1:-1]]
        sums = [self.problem.weights @ losses for losses in (plain, *between, constant)]
        return none, PENALTY_FACTORS[int(np.argmin(sums))]

    def _gain(self, before: Floats, after: Floats) -> float:
        """Mean reduction of the losses, in standard errors."""
        gain, weights = before - after, self.problem.weights
        mean = np.average(gain, weights=weights)
        error = np.sqrt(np.average((gain - mean) ** 2, weights=weights) / weights.sum())
        return float(mean / error) if error > 0 else 0.0

    def losses(self, noise: FlipMatrix | None, factor: float) -> Floats:
        """Minus the log-likelihood of each row's label, with the penalty multiplied by a factor."""
        problem, found = self.problem, np.empty(len(self.folds))
        penalised = replace(
            problem, flips=None if noise is None else noise.matrix, penalties=factor * problem.penalties
        )
        for fold in range(N_FOLDS):
            own, rest = self.folds == fold, np.flatnonzero(self.folds != fold)
            part = {"features": problem.features[rest], "codes": problem.codes[rest], "weights": problem.weights[rest]}
            fit = solve(replace(penalised, **part), "lbfgs", self.max_iter, HELD_OUT_TOL, self.preconditioner)
            scores = replace(problem, features=problem.features[np.flatnonzero(own)]).scores(fit.coefficients)
            likelihood = FlipLikelihood.at(scores, problem.codes[own], fit.flips, problem.weights[own])
            found[own] = -likelihood.log_likelihoods
        return found


def held_out_folds(X: Any, codes: Codes) -> Codes:
    """Fold of each row: those of every class spread evenly, equal rows with equal labels together, in any order."""
    keys = np.column_stack([codes.astype(np.uint64), row_hashes(X, exact=True)])
    distinct, group = np.unique(keys, axis=0, return_inverse=True)
    firsts = np.searchsorted(distinct[:, 0], distinct[:, 0])
    return np.asarray(((np.arange(len(distinct)) - firsts) % N_FOLDS)[group.ravel()])


def _with_ones(X: Any) -> Any:
    ones = np.ones((X.shape[0], 1))
    return hstack([X, ones], format="csr") if issparse(X) else np.hstack([X, ones])
