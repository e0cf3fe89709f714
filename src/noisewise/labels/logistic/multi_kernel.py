"""Robust multiple kernel logistic regression (rMKLR of Bootkrajang and Kaban)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from noisewise._numerics.threads import threads_for
from noisewise._typing import Codes, Floats, RandomState
from noisewise._validation import check_weights, generator
from noisewise.kernels import ConicSum, Gaussian, Kernel, Radial, squared_distances
from noisewise.labels.base import check_iterations
from noisewise.labels.kernel_features import EXACT_ROWS, KernelRows
from noisewise.labels.logistic.kernel_choice import LOGISTIC_PENALTIES
from noisewise.labels.logistic.kernel_machine import KernelMachine, sample_rows
from noisewise.labels.logistic.kernel_weights import weigh_kernels
from noisewise.labels.logistic.printed_algorithm import fit_printed
from noisewise.labels.noise_argument import NoiseArgument, replicate_rows, resolve_noise
from noisewise.labels.progress import with_callbacks
from noisewise.labels.standardizer import Standardizer
from noisewise.noise import FlipMatrix

ALGORITHMS = ("left_out", "printed")
PASSES = {"left_out": 20, "printed": 5}  # the first ends by itself; the second fits flips with more passes
WEIGHTS_ROWS = 400  # kernel weights are chosen on so many: each pass takes several decompositions
LOSS_DEVIATION = 0.2  # standard deviation over the rows of a change of their loss; a pass must gain a standard error


class RobustMultiKernelLogisticRegression(KernelMachine):
    """Robust multiple kernel logistic regression (rMKLR): kernels of 21 widths, or of groups of columns.

    The kernel is sum_i eta_i K_i with eta >= 0 and sum_i eta_i = 1. The weights eta minimise the approximate
    leave-one-out log-loss of the observed labels greedily: first the best single kernel, then, pass by pass, the kernel
    that lowers the loss most is added, until none does. Most weights are zero. With one kernel it is
    RobustKernelLogisticRegression.

    Parameters
    ----------
    noise : None, FlipMatrix, "confident", "fisher", "ridge", function of (X, y), or object with ``estimate(X, y)``
        The noise transition matrix T, or how it is estimated; one meaning for all, see `noisewise.labels`. By default
        "fisher", as for RobustKernelLogisticRegression.
    kernels : sequence of kernels, optional
        Any of `noisewise.kernels`; ``Grouped(kernel, columns)`` sees one group of columns. Rows are then taken as they
        are. By default 21 Gaussian kernels exp(-r^2 / g) with g from 2^-10 to 2^10, on standardised columns.
    penalty : float, optional
        Half of it weighs the norm against the summed loss. By default it is chosen.
    norm : {"weights", "function"}, default="weights"
        What is penalised, as for RobustKernelLogisticRegression.
    algorithm : {"left_out", "printed"}, default="left_out"
        "left_out" chooses the weights by the leave-one-out loss. "printed" is Algorithm 2 of the paper with
        `max_iter` passes of ten steps on each block, for 3,000 rows at most: no intercept, no `penalty`, and no end but
        the last pass. More passes are not better. With ``noise=None`` it learns the flip matrix as the paper does.
    fit_intercept : bool, default=True
    low_rank : int, optional
        Number of landmarks (Nystroem). By default 300 beyond 3,000 rows. Weights of kernels are chosen on 400 rows at
        most.
    max_iter : int, optional
        Most passes over the kernels' weights: 20, or 5 for "printed".
    tol : float, default=1e-6
        Largest gradient of the mean loss, in preconditioned coordinates, at which the last fit ends.
    noise_prior : bool, default=True
        Whether a flip matrix that is learnt with the function has a weak Dirichlet prior: for each class 4 labels kept
        and half of one flipped. The paper has none, nor has ``algorithm="printed"``.
    random_state : int, RandomState, Generator or None
        Draws rows where there are many. None draws the same every time.

    Attributes
    ----------
    kernels_ : tuple of kernels
    kernel_weights_ : array of shape (n_kernels,) [eta]
    kernel_ : ConicSum, the weighted sum
    penalty_ : float or None
    noise_ : FlipMatrix
    low_rank_ : int or None
    dual_coef_, intercept_, support_ : as for RobustKernelLogisticRegression
    n_iter_ : int
        Passes over the kernels' weights.
    objective_history_ : list of float
        Mean leave-one-out loss after every pass; for "printed" the negative log-likelihood.
    classes_ : array

    References
    ----------
    .. [1] Bootkrajang, J., Kaban, A. (2014). Learning kernel logistic regression in the presence of class label noise.
       Pattern Recognition 47(11). Section 2.2, eqs. 13 to 24 and 30; Algorithm 2 for "printed".

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.2, random_state=0)
    >>> noise = FlipMatrix.binary(false_positive=0.0, false_negative=0.4)
    >>> model = RobustMultiKernelLogisticRegression().fit(X, noise.corrupt(y, rng=0))
    >>> print(f"{model.score(X, y):.2f}", np.count_nonzero(model.kernel_weights_) < 10)
    0.99 True
    """

    def __init__(
        self,
        noise: NoiseArgument = "fisher",
        kernels: Sequence[Kernel] | None = None,
        penalty: float | None = None,
        norm: str = "weights",
        algorithm: str = "left_out",
        fit_intercept: bool = True,
        low_rank: int | None = None,
        max_iter: int | None = None,
        tol: float = 1e-6,
        random_state: RandomState = None,
        noise_prior: bool = True,
    ) -> None:
        self.noise = noise
        self.kernels = kernels
        self.penalty = penalty
        self.norm = norm
        self.algorithm = algorithm
        self.fit_intercept = fit_intercept
        self.low_rank = low_rank
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.noise_prior = noise_prior

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose the kernels' weights, then fit function and noise. A row of weight 2 counts as two rows."""
        X, codes = self._check_training(X, y, accept_sparse="csr", dtype=np.float64)
        self._check_settings(X, codes)
        weights = check_weights(sample_weight, X)
        rng = generator(0 if self.random_state is None else self.random_state)
        replicates = replicate_rows(X, codes, weights)
        self.standardizer_ = Standardizer.of(X[replicates]) if self.kernels is None else None
        self.kernels_ = paper_kernels() if self.kernels is None else tuple(self.kernels)
        rows = self._standardized(X)
        noise = resolve_noise(self.noise, X, codes, len(self.classes_), weights, standardized=rows)
        if self.algorithm == "printed":
            self._fit_printed(rows, codes, weights, noise)
        else:
            self._fit_leave_one_out(rows, codes, weights, replicates, noise, rng)
        return self

    def _fit_leave_one_out(
        self,
        rows: Any,
        codes: Codes,
        weights: Floats,
        replicates: Codes,
        noise: FlipMatrix | None,
        rng: np.random.Generator,
    ) -> None:
        some = sample_rows(replicates, rng, WEIGHTS_ROWS)
        with threads_for(len(some)):
            found = weigh_kernels(
                self._gram_matrices(rows[some]),
                codes[some],
                len(self.classes_),
                LOGISTIC_PENALTIES if self.penalty is None else [self.penalty],
                None if noise is None else noise.matrix,
                self.norm,
                self.fit_intercept,
                self.max_iter or PASSES["left_out"],
                LOSS_DEVIATION / np.sqrt(len(some)),
                self.noise_prior,
            )
        self.kernel_weights_ = found.weights
        total = ConicSum(self.kernels_, found.weights.tolist())
        chosen_on = len(some) if self.penalty is None else None
        self._fit_function(KernelRows(total, rows), codes, weights, found.penalty, chosen_on, noise, rng)
        if len(self.kernels_) > 1:
            self.n_iter_, self.objective_history_ = len(found.history), found.history
        if not found.converged:
            warnings.warn(
                f"another kernel would still help after {len(found.history)} passes; raise max_iter",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _fit_printed(self, rows: Any, codes: Codes, weights: Floats, noise: FlipMatrix | None) -> None:
        kept = np.flatnonzero(weights)
        flips = None if noise is None else noise.matrix
        found = fit_printed(
            self._gram_matrices(rows[kept]),
            codes[kept],
            weights[kept],
            len(self.classes_),
            flips,
            self.max_iter or PASSES["printed"],
        )
        if found.all_pruned:
            warnings.warn(
                f"pass {len(found.history) + 1} of the printed algorithm would have pruned all kernels; what was there "
                "before is kept, and fewer passes or algorithm='left_out' would do better",
                ConvergenceWarning,
                stacklevel=3,
            )
        self.kernel_weights_, self.penalty_, self.low_rank_ = found.kernels, None, None
        self.kernel_ = ConicSum(self.kernels_, found.kernels.tolist())
        self.support_, self.dual_coef_ = rows[kept], found.rows
        self.intercept_ = np.zeros(found.rows.shape[1])
        self.noise_ = FlipMatrix.estimated(found.flips) if noise is None else noise
        self.n_iter_, self.objective_history_ = len(found.history), [-value for value in found.history]

    def _gram_matrices(self, rows: Any) -> Floats:
        """Gram matrices of all kernels; the distances are computed once for all radial ones."""
        squared = squared_distances(rows)
        return np.stack(
            [
                kernel.of_squared_distance(squared) if isinstance(kernel, Radial) else kernel.gram(rows)
                for kernel in self.kernels_
            ]
        )

    def _check_settings(self, X: Any, codes: Codes) -> None:
        self._check_shared_settings(codes)
        if self.max_iter is not None:
            check_iterations(self.max_iter)
        if self.algorithm not in ALGORITHMS:
            raise ValueError(f"algorithm is {self.algorithm!r}; it must be one of {', '.join(ALGORITHMS)}")
        if self.kernels is not None and not (
            len(self.kernels) and all(isinstance(kernel, Kernel) for kernel in self.kernels)
        ):
            raise ValueError("kernels must hold one kernel of noisewise.kernels or more, such as [Gaussian(1.0)]")
        if self.algorithm == "printed" and X.shape[0] > EXACT_ROWS:
            raise ValueError(
                f"there are {X.shape[0]} rows, and algorithm='printed' holds a square matrix for every kernel; "
                f"give at most {EXACT_ROWS}, or take algorithm='left_out'"
            )


def paper_kernels() -> tuple[Gaussian, ...]:
    """The paper's 21 widths: exp(-r^2 / g) with g from 2^-10 to 2^10, for standardised columns."""
    return tuple(Gaussian(float(2.0 ** (power / 2))) for power in range(-10, 11))
