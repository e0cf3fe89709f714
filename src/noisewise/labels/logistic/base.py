"""Base class of classifiers whose logistic scores are fitted through a flip matrix."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.exceptions import ConvergenceWarning

from noisewise._typing import Codes, Floats
from noisewise.labels.base import NoisyLabelClassifier
from noisewise.labels.logistic.objective import FlipFit, FlipProblem
from noisewise.labels.logistic.solvers import solve
from noisewise.labels.progress import CallbackSupport, Progress
from noisewise.noise import FlipMatrix


class FlipClassifier(CallbackSupport, NoisyLabelClassifier):
    """A classifier whose scores are log-odds of true labels, fitted through a flip matrix."""

    n_iter_: int
    objective_history_: list[float]

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

    def _solve(
        self, problem: FlipProblem, max_iter: int, tol: float, preconditioner: Floats, solver: str = "lbfgs"
    ) -> FlipFit:
        """Solve the problem; callbacks are told of every iteration."""
        progress = Progress(self)
        found = solve(problem, solver, max_iter, tol, preconditioner, callback=progress.step)
        progress.end()
        return found

    def _keep(self, fit: FlipFit, noise: FlipMatrix | None, advice: str) -> None:
        """Set the noise and the path of the fit; warn of an early end."""
        self.noise_ = FlipMatrix.estimated(fit.flips) if noise is None else noise
        self.n_iter_, self.objective_history_ = fit.n_iter, fit.history
        if not fit.converged:
            warnings.warn(
                f"the fit has not reached its minimum after {fit.n_iter} iterations; {advice}",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _as_decision(self, scores: Floats) -> Floats:
        """Scores of shape (n, 1) or (n, n_classes) in scikit-learn's shape."""
        return scores.ravel() if len(self.classes_) == 2 else scores
