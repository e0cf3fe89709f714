"""Base class of classifiers whose logistic scores are fitted through a flip matrix."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.exceptions import ConvergenceWarning

from noisewise._numerics.threads import threads_for
from noisewise._typing import Codes, Floats
from noisewise.labels.base import NoisyLabelClassifier
from noisewise.labels.logistic.objective import FlipFit, FlipProblem
from noisewise.labels.logistic.solvers import solve
from noisewise.labels.progress import CallbackSupport, Progress
from noisewise.noise import FlipMatrix


class FlipClassifier(CallbackSupport, NoisyLabelClassifier):
    """A classifier whose scores are log-odds of true labels, fitted through a flip matrix."""

    fit_intercept: bool
    tol: float
    noise_prior: bool
    n_iter_: int
    objective_history_: list[float]
    _solve: Callable[..., FlipFit] = staticmethod(solve)

    @abstractmethod
    def decision_function(self, X: Any) -> Floats:
        """Scores of the classes; with two classes the log-odds of the second."""

    def predict_proba(self, X: Any) -> Floats:
        """Posterior of the true label, one column a class."""
        scores = self.decision_function(X)
        if scores.ndim == 2:
            return np.asarray(softmax(scores, axis=1))
        return np.column_stack([expit(-scores), expit(scores)])

    def _check_repeated(self, codes: Codes) -> None:
        """Refuse labels that are all different: no class can be learned from a single row."""
        if len(codes) == len(self.classes_) > 2:
            raise ValueError(f"each of the {len(codes)} labels is another one; classes seen more than once are needed")

    def _fit_coefficients(
        self,
        features: Any,
        codes: Codes,
        weights: Floats,
        penalties: Floats,
        noise: FlipMatrix | None,
        preconditioner: Floats,
        advice: str,
        max_iter: int,
        solver: str = "lbfgs",
    ) -> Floats:
        """Coefficients of the features, and the noise unless it is given; sets `noise_`, `intercept_` and the path.

        Callbacks are called after every iteration; a warning with the advice is given where the fit did not converge.
        """
        n_classes = len(self.classes_)
        n_scores, flips = 1 if n_classes == 2 else n_classes, None if noise is None else noise.matrix
        progress = Progress(self)
        prior = self.noise_prior and solver != "printed"
        problem = FlipProblem(features, codes, weights, penalties, n_classes, n_scores, flips, prior)
        with threads_for(len(codes)):
            fit = self._solve(problem, solver, max_iter, self.tol, preconditioner, callback=progress.step)
        progress.end()
        self.noise_ = FlipMatrix.estimated(fit.flips) if noise is None else noise
        self.n_iter_, self.objective_history_ = fit.n_iter, fit.history
        self.intercept_ = fit.coefficients[-1] if self.fit_intercept else np.zeros(n_scores)
        if not fit.converged:
            warnings.warn(
                f"the fit has not reached its minimum after {fit.n_iter} iterations; {advice}",
                ConvergenceWarning,
                stacklevel=3,
            )
        return fit.coefficients
