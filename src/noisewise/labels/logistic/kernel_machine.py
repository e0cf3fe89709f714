"""Base class of the robust kernel logistic regressions: settings, the final fit, and scores of new rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from noisewise._numerics.cholesky import features_preconditioner
from noisewise._typing import Codes, Floats
from noisewise.labels.base import check_positive, one_or_all
from noisewise.labels.kernel_features import (
    EXACT_ROWS,
    NORMS,
    SELECTION_ROWS,
    KernelFeatures,
    KernelRows,
    exact_features,
    low_rank_features,
)
from noisewise.labels.logistic.base import FlipClassifier
from noisewise.labels.logistic.kernel_choice import with_intercept
from noisewise.labels.standardizer import Standardizer
from noisewise.noise import FlipMatrix

LOGISTIC_LANDMARKS = 300  # beyond EXACT_ROWS rows


class KernelMachine(FlipClassifier):
    """Log-odds of true labels as a function in the RKHS of a kernel, fitted through a flip matrix."""

    penalty: float | None
    norm: str
    low_rank: int | None
    standardizer_: Standardizer | None
    kernel_: Any
    penalty_: float | None
    low_rank_: int | None

    def decision_function(self, X: Any) -> Floats:
        """Scores of the classes; with two classes the log-odds of the second."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, accept_sparse=self._sparse(), dtype=np.float64)
        scores = KernelFeatures(self.kernel_, self.support_, self.dual_coef_, -self.intercept_)
        return one_or_all(scores(self._standardized(X)))

    def _standardized(self, X: Any) -> Any:
        return X if self.standardizer_ is None else self.standardizer_(X, np.float64)

    def _sparse(self) -> Any:
        return "csr"

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
        """Fit the function, and the noise unless it is given, to the rows of positive weight.

        A penalty on dual coefficients that was chosen on `chosen_on` rows is scaled to the number of coefficients.
        """
        kept = np.flatnonzero(weights)
        codes, weights = codes[kept], weights[kept]
        n = len(kept)
        self.low_rank_ = min(self.low_rank or LOGISTIC_LANDMARKS, n) if self.low_rank or n > EXACT_ROWS else None
        if chosen_on is not None and self.norm == "weights":
            penalty = penalty * (self.low_rank_ or float(weights.sum())) / chosen_on
        self.kernel_, self.penalty_ = rows.kernel, penalty
        if self.low_rank_ is None:
            indices = kept
            basis, projection = exact_features(rows.gram(kept), weights, self.norm)
        else:
            indices = np.sort(rng.choice(kept, self.low_rank_, replace=False))
            basis, projection = low_rank_features(rows, indices, self.norm)
            basis = basis[kept] if n < len(basis) else basis
        features, penalties = with_intercept(basis, penalty, self.fit_intercept)
        preconditioner = features_preconditioner(features, weights, penalties)
        advice = "raise max_iter or the penalty"
        coefficients = self._fit_coefficients(
            features, codes, weights, penalties, noise, preconditioner, advice, max_iter, solver
        )
        self.support_ = rows.support(indices)
        self.dual_coef_ = projection @ coefficients[: projection.shape[1]]


def sample_rows(replicates: Codes, rng: np.random.Generator, most: int = SELECTION_ROWS) -> Codes:
    """Rows for model selection: all, or a random sample of `most`."""
    if len(replicates) <= most:
        return replicates
    return np.asarray(replicates[np.sort(rng.choice(len(replicates), most, replace=False))])
