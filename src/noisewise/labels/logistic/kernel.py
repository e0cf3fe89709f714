"""Robust kernel logistic regression (rKLR of Bootkrajang and Kaban), without tuning."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from noisewise._numerics.threads import threads_for
from noisewise._typing import Codes, RandomState
from noisewise._validation import check_weights, generator
from noisewise.labels.base import check_iterations
from noisewise.labels.kernel_features import KernelRows
from noisewise.labels.logistic.kernel_choice import LOGISTIC_PENALTIES, choose, widths_of
from noisewise.labels.logistic.kernel_machine import KernelMachine, sample_rows
from noisewise.labels.logistic.solvers import SOLVERS
from noisewise.labels.noise_argument import NoiseArgument, replicate_rows, resolve_noise
from noisewise.labels.progress import with_callbacks
from noisewise.labels.standardizer import Standardizer


class RobustKernelLogisticRegression(KernelMachine):
    """Robust kernel logistic regression (rKLR): learns function and flip matrix together, for two or more classes.

    Labels are a softmax (with two classes a logistic function) of scores f = K w, observed through a flip matrix T. The
    objective, to be minimised in w and, where it is learned, T (eq. 3), is::

        penalty / 2 * w'w - sum_i log sum_j T[j, y_i] P(true = j | f(x_i))

    with a weak Dirichlet prior on the rows of T (`noise_prior`). Nothing needs tuning: columns are standardised, and
    the width of a Gaussian kernel and the penalty have the least approximate leave-one-out log-loss of the observed
    labels. ``noise=FlipMatrix.none(n_classes)`` is kernel logistic regression.

    Parameters
    ----------
    noise : None, FlipMatrix, "confident", "fisher", "ridge", function of (X, y), or object with ``estimate(X, y)``
        The noise transition matrix T, or how it is estimated; one meaning for all, see `noisewise.labels`. By default
        "fisher": learnt with the function (None), it may come out as hardly any noise where the kernel is flexible
        enough to fit the flips. With a "precomputed" kernel there are no rows for the named methods, and they are None.
    kernel : Kernel, function of (X, Z), name, "precomputed" or None
        Any of `noisewise.kernels`, a function that returns the Gram matrix, a name scikit-learn knows, or the Gram
        matrix itself instead of X. Rows are then taken as they are. None: Gaussian, on standardised columns.
    penalty : float, optional
        Half of it weighs the norm against the summed loss [2 zeta]. By default it is chosen.
    norm : {"weights", "function"}, default="weights"
        What is penalised: w'w of the dual coefficients w, as in the paper (eq. 3), or the RKHS norm f' K^-1 f. The
        former gives the smoother function of the two, and fits flips less.
    fit_intercept : bool, default=True
        The intercept is not penalised; the paper has none.
    low_rank : int, optional
        Number of landmarks (Nystroem [2]_); time and memory then grow linearly. By default 300 beyond 3,000 rows.
    solver : {"lbfgs", "em", "printed"}, default="lbfgs"
        Function and flip matrix jointly by L-BFGS; alternately by EM with Newton steps; alternately by the paper's
        conjugate gradients and multiplicative updates (Algorithm 1, with eq. 5 put right; no prior of the flip
        matrix). The first is the fastest.
    max_iter : int, default=1000
    tol : float, default=1e-6
        Largest gradient of the mean loss, in preconditioned coordinates, at which the fit ends.
    noise_prior : bool, default=True
        Whether a flip matrix that is learnt with the function has a weak Dirichlet prior: for each class 4 labels kept
        and half of one flipped. The paper has none, nor has ``solver="printed"``.
    random_state : int, RandomState, Generator or None
        Draws landmarks and, of many rows, those for model selection. None draws the same every time.

    Attributes
    ----------
    kernel_ : the kernel used
    penalty_ : float
    noise_ : FlipMatrix
    low_rank_ : int or None
        Number of landmarks; None if the kernel is exact.
    dual_coef_ : array of shape (n_support, 1) for two classes, else (n_support, n_classes)
    intercept_ : array of shape (1,) or (n_classes,)
    support_ : rows or landmarks of the dual coefficients; with "precomputed" their indices
    n_iter_ : int
    objective_history_ : list of float
        Penalised loss at the start and after every iteration.
    classes_ : array

    References
    ----------
    .. [1] Bootkrajang, J., Kaban, A. (2014). Learning kernel logistic regression in the presence of class label noise.
       Pattern Recognition 47(11). Eqs. 2 to 12 and 28 to 29, Algorithm 1.
    .. [2] Williams, C. K. I., Seeger, M. (2001). Using the Nystroem method to speed up kernel machines. NeurIPS 13.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from noisewise import FlipMatrix
    >>> X, y = make_moons(300, noise=0.2, random_state=0)
    >>> noise = FlipMatrix.binary(false_positive=0.0, false_negative=0.4)
    >>> observed = noise.corrupt(y, rng=0)
    >>> plain = RobustKernelLogisticRegression(noise=FlipMatrix.none(2)).fit(X, observed)
    >>> model = RobustKernelLogisticRegression().fit(X, observed)
    >>> print(f"{plain.score(X, y):.2f} {model.score(X, y):.2f}")
    0.92 0.99
    """

    def __init__(
        self,
        noise: NoiseArgument = "fisher",
        kernel: Any = None,
        penalty: float | None = None,
        norm: str = "weights",
        fit_intercept: bool = True,
        low_rank: int | None = None,
        solver: str = "lbfgs",
        max_iter: int = 1000,
        tol: float = 1e-6,
        random_state: RandomState = None,
        noise_prior: bool = True,
    ) -> None:
        self.noise = noise
        self.kernel = kernel
        self.penalty = penalty
        self.norm = norm
        self.fit_intercept = fit_intercept
        self.low_rank = low_rank
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.noise_prior = noise_prior

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose kernel and penalty where not given, then fit. A row of weight 2 counts as two rows."""
        X, codes = self._check_training(X, y, accept_sparse=self._sparse(), dtype=np.float64)
        self._check_settings(X, codes)
        weights = check_weights(sample_weight, X)
        rng = generator(0 if self.random_state is None else self.random_state)
        replicates = replicate_rows(X, codes, weights)
        self.standardizer_, kernels = None, [self.kernel]
        if self.kernel is None:
            self.standardizer_ = Standardizer.of(X[replicates])
            kernels = widths_of(int(np.count_nonzero(self.standardizer_.factor)))
        rows = self._standardized(X)
        pairwise = self.kernel == "precomputed"
        noise = resolve_noise(self.noise, X, codes, len(self.classes_), weights, standardized=rows, pairwise=pairwise)
        flips = None if noise is None else noise.matrix
        some = sample_rows(replicates, rng)
        with threads_for(len(some)):
            kernel, penalty = choose(
                rows[np.ix_(some, some)] if pairwise else rows[some],
                codes[some],
                len(self.classes_),
                kernels,
                LOGISTIC_PENALTIES if self.penalty is None else [self.penalty],
                flips,
                self.norm,
                self.fit_intercept,
                self.noise_prior and self.solver != "printed",
            )
        chosen_on = len(some) if self.penalty is None else None
        self._fit_function(
            KernelRows(kernel, rows), codes, weights, penalty, chosen_on, noise, rng, self.solver, self.max_iter
        )
        return self

    def _sparse(self) -> Any:
        return False if self.kernel == "precomputed" else "csr"

    def _check_settings(self, X: Any, codes: Codes) -> None:
        self._check_shared_settings(codes)
        check_iterations(self.max_iter)
        if self.kernel == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"the precomputed kernel matrix has shape {X.shape}; in fit it must be square, a row and a column for "
                "each training row"
            )
        if self.solver not in SOLVERS:
            raise ValueError(f"solver is {self.solver!r}; it must be one of {', '.join(SOLVERS)}")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags
