"""The kernel Fisher discriminant that sees through label noise (Lawrence and Schoelkopf; Bootkrajang and Kaban)."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from noisewise._numerics.blocks import blocks
from noisewise._typing import Floats, RandomState
from noisewise._validation import generator
from noisewise.kernels import Kernel
from noisewise.labels.base import NoisyLabelClassifier
from noisewise.labels.fisher.em import Discriminants, take_turns
from noisewise.labels.fisher.kernel_smoother import (
    Basis,
    Smoother,
    choose_penalty,
    choose_width,
    decompose,
    decompose_low_rank,
)
from noisewise.labels.noise_argument import NoiseArgument, resolve_noise
from noisewise.labels.ridge.landmarks import Standardizer
from noisewise.noise import FlipMatrix

EXACT_ROWS = 3000  # beyond, landmarks stand for the rows
LANDMARKS = 500
CHOICE_ROWS = 700  # the width is chosen on so many rows


class RobustKernelFisherClassifier(NoisyLabelClassifier):
    """Kernel Fisher discriminant with flipped labels as a part of the model (rKFD); nothing to tune.

    Directions that separate soft labels, normal classes along them and the flip matrix are found in turns. Each row is
    judged by a fit without it, and a turn counts as much as it makes the observed labels likely: one that relabels a
    whole cluster does not. Width and ridge have the least leave-one-out error on the observed labels.

    Columns are standardised. Classes are taken to be bell-shaped along the directions, the flips to depend on the true
    class alone. Of several classes all directions are found at once, with one flip matrix.

    Parameters
    ----------
    noise : None, FlipMatrix, "confident", "fisher", "ridge", function of (X, y), or object with ``estimate(X, y)``
        The noise transition matrix T, or how it is estimated; one meaning for all, see `noisewise.labels`. None, the
        default, estimates it with the model, by EM.
    kernel : Kernel, optional
        Any of `noisewise.kernels`, for standardised rows; by default a Gaussian whose width is chosen.
    low_rank : int, optional
        Landmarks that stand for the rows (Nystroem). By default 500 beyond 3,000 rows and none below.
    max_iter : int, default=200
        Most turns.
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
        Landmarks taken; None if every row has its own say.
    true_label_posterior_ : array of shape (n_rows, n_classes)
        Probability of each true class for the rows of `fit`, given the row and its observed label.
    label_quality_ : array of shape (n_rows,)
        Probability that the observed label of each row of `fit` is the true one.
    n_iter_ : int
        Turns taken.
    objective_history_ : list of float
        Log-likelihood of the observed labels after each turn, each label judged by a fit without it.

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

    def fit(self, X: Any, y: Any) -> Self:
        """Choose width and ridge, then find directions, classes and noise in turns."""
        X, codes = self._check_training(X, y, accept_sparse="csr", dtype=np.float64)
        noise = resolve_noise(self.noise, X, codes, len(self.classes_))
        for name in ("low_rank", "max_iter"):
            if getattr(self, name) is not None and getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; one or more is needed")
        self.standardizer_ = Standardizer.of(X)
        rows = self.standardizer_(X, np.float64)
        n_classes = len(self.classes_)
        basis = self._decompose(rows, np.eye(n_classes)[codes])
        smoother = Smoother.of(basis, self.penalty_)
        turns = take_turns(smoother, codes, None if noise is None else noise.matrix, n_classes, self.max_iter)
        if not turns.settled:
            warnings.warn(
                f"the soft labels still moved after {self.max_iter} turns; a higher max_iter would let them settle",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.features_, self.discriminants_ = basis.of_others, Discriminants.of(turns)
        self.noise_ = FlipMatrix.estimated(turns.flips) if noise is None else noise
        self.true_label_posterior_ = turns.soft
        self.label_quality_ = turns.soft[np.arange(len(codes)), codes]
        self.n_iter_, self.objective_history_ = len(turns.history), turns.history
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Probability of each *true* class."""
        check_is_fitted(self)
        rows = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        posterior = np.empty((rows.shape[0], len(self.classes_)))
        for part in blocks(rows.shape[0]):
            features = self.features_(self.standardizer_(rows[part], np.float64))
            posterior[part] = self.discriminants_.posterior(features)
        return posterior

    def _decompose(self, rows: Any, labels: Floats) -> Basis:
        """Set the kernel and the ridge; the rows' features."""
        n = rows.shape[0]
        rng = generator(0 if self.random_state is None else self.random_state)
        order = rng.permutation(n)
        targets = labels - labels.mean(axis=0)
        self.low_rank_ = min(self.low_rank or LANDMARKS, n) if self.low_rank or n > EXACT_ROWS else None
        some = np.sort(order[:CHOICE_ROWS])
        if self.kernel is None:
            basis = choose_width(rows[some], targets[some] - targets[some].mean(axis=0))
            self.kernel_ = basis.of_others.kernel
        else:
            self.kernel_ = self.kernel
        if self.low_rank_ is not None:
            basis = decompose_low_rank(self.kernel_, rows, np.sort(order[: self.low_rank_]))
        elif self.kernel is not None or len(some) < n:
            basis = decompose(self.kernel_, rows)
        self.penalty_ = choose_penalty(basis, targets)[0]
        return basis

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
