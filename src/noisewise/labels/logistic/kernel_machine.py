"""What robust kernel machines share: rows as they see them, the last fit, and scores of new rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from noisewise._numerics.cholesky import features_preconditioner
from noisewise._typing import Codes, Floats
from noisewise.labels.kernel_features import (
    NORMS,
    KernelFeatures,
    KernelRows,
    exact_features,
    low_rank_features,
)
from noisewise.labels.logistic.base import FlipClassifier, check_positive
from noisewise.labels.logistic.kernel_choice import with_intercept
from noisewise.labels.logistic.likelihood import FlipProblem
from noisewise.labels.ridge.landmarks import Standardizer
from noisewise.noise import FlipMatrix

EXACT_ROWS = 3000  # beyond, a few rows stand for all
LANDMARKS = 300
CHOICE_ROWS = 700  # widths, penalties and the like are chosen on so many


class KernelMachine(FlipClassifier):
    """A function of the row in a kernel's space, as the log-odds of true labels behind a flip matrix."""

    penalty: float | None
    norm: str
    fit_intercept: bool
    low_rank: int | None
    tol: float
    standardizer_: Standardizer | None
    kernel_: Any
    penalty_: float | None
    low_rank_: int | None

    def decision_function(self, X: Any) -> Floats:
        """Scores of the classes; with two classes the log-odds of the second."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, accept_sparse=self._sparse(), dtype=np.float64)
        scores = KernelFeatures(self.kernel_, self.support_, self.dual_coef_, -self.intercept_)
        return self._as_decision(scores(self._as_seen(X)))

    def _as_seen(self, X: Any) -> Any:
        return X if self.standardizer_ is None else self.standardizer_(X, np.float64)

    def _sparse(self) -> Any:
        return "csr"

    def _n_varying(self, rows: Any) -> int:
        """Columns that are not constant."""
        return rows.shape[1] if self.standardizer_ is None else int(np.count_nonzero(self.standardizer_.factor))

    def _check_shared_settings(self, codes: Codes) -> None:
        self._check_repeated(codes)
        if self.penalty is not None:
            check_positive("penalty", self.penalty)
        if self.norm not in NORMS:
            raise ValueError(f"norm is {self.norm!r}; it must be one of {', '.join(NORMS)}")
        if self.low_rank is not None and self.low_rank < 1:
            raise ValueError(f"low_rank is {self.low_rank}; one row or more, or None, is needed")

    def _fit_function(
        self,
        rows: KernelRows,
        codes: Codes,
        weights: Floats,
        penalty: float,
        chosen_on: int | None,
        noise: FlipMatrix | None,
        rng: np.random.Generator,
        solver: str = "lbfgs",
        max_iter: int = 1000,
    ) -> None:
        """Fit the function, and the noise unless it is given, to the rows that have weight.

        A penalty on weights that was chosen on `chosen_on` rows grows with the rows that share the function.
        """
        kept = np.flatnonzero(weights)
        codes, weights = codes[kept], weights[kept]
        n, n_classes = len(kept), len(self.classes_)
        self.low_rank_ = min(self.low_rank or LANDMARKS, n) if self.low_rank or n > EXACT_ROWS else None
        if chosen_on is not None and self.norm == "weights":
            penalty = penalty * (self.low_rank_ or float(weights.sum())) / chosen_on
        self.kernel_, self.penalty_ = rows.kernel, penalty
        if self.low_rank_ is None:
            places = kept
            basis, projection = exact_features(rows.gram(kept), weights, self.norm)
        else:
            places = np.sort(rng.choice(kept, self.low_rank_, replace=False))
            basis, projection = low_rank_features(rows, places, self.norm)
            basis = basis[kept] if n < len(basis) else basis
        features, penalties = with_intercept(basis, penalty, self.fit_intercept)
        problem = FlipProblem(
            features=features,
            codes=codes,
            weights=weights,
            penalties=penalties,
            n_classes=n_classes,
            n_scores=1 if n_classes == 2 else n_classes,
            flips=None if noise is None else noise.matrix,
        )
        change = features_preconditioner(features, weights, penalties)
        found = self._solve(problem, max_iter, self.tol, change, solver)
        self._keep(found, noise, "raise max_iter or the penalty")
        self.support_ = rows.support(places)
        self.dual_coef_ = projection @ found.columns[: projection.shape[1]]
        self.intercept_ = found.columns[-1] if self.fit_intercept else np.zeros(problem.n_scores)


def some_of(replicates: Codes, rng: np.random.Generator, most: int = CHOICE_ROWS) -> Codes:
    """Rows to choose on: all, or a draw of those that are many."""
    if len(replicates) <= most:
        return replicates
    return np.asarray(replicates[np.sort(rng.choice(len(replicates), most, replace=False))])
