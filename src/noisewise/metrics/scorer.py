"""Corrected metrics as scikit-learn scorers, for model selection on noisy validation labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from noisewise.metrics.predicted_labels import corrected_accuracy, corrected_balanced_accuracy, corrected_f1
from noisewise.metrics.probabilities import corrected_log_loss, corrected_roc_auc
from noisewise.noise import FlipMatrix

# metric, methods of the model in order of preference, and sign (-1 for losses)
METRICS: dict[str, tuple[Any, tuple[str, ...], int]] = {
    "accuracy": (corrected_accuracy, ("predict",), 1),
    "balanced_accuracy": (corrected_balanced_accuracy, ("predict",), 1),
    "f1": (corrected_f1, ("predict",), 1),
    "log_loss": (corrected_log_loss, ("predict_proba",), -1),
    "roc_auc": (corrected_roc_auc, ("decision_function", "predict_proba"), 1),
}


@dataclass(frozen=True)
class CorrectedScorer:
    """A scikit-learn scorer: called with a model, rows and their noisy labels; made by `make_corrected_scorer`."""

    noise: FlipMatrix
    metric: str = "accuracy"
    classes: Any = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.noise, FlipMatrix):
            raise ValueError(f"noise must be a FlipMatrix, not {type(self.noise).__name__}")
        if self.metric not in METRICS:
            raise ValueError(f"metric is {self.metric!r}; it must be one of {', '.join(METRICS)}")

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The corrected score of a fitted model, the higher the better."""
        score, methods, sign = METRICS[self.metric]
        method = next((name for name in methods if hasattr(estimator, name)), None)
        if method is None:
            raise ValueError(f"{type(estimator).__name__} has no {' or '.join(methods)}, which {self.metric} needs")
        found = score(
            y,
            getattr(estimator, method)(X),
            noise=self.noise,
            classes=getattr(estimator, "classes_", None) if self.classes is None else self.classes,
            sample_weight=sample_weight,
            **self.options,
        )
        return float(sign * found.value)


def make_corrected_scorer(
    noise: FlipMatrix, metric: str = "accuracy", *, classes: Any = None, **options: Any
) -> CorrectedScorer:
    """A scorer for GridSearchCV or cross_val_score that corrects for noise in the labels it scores against.

    Models are then selected by an unbiased estimate of their score on true labels.

    Parameters
    ----------
    noise : FlipMatrix
        Noise transition matrix of the labels.
    metric : {"accuracy", "balanced_accuracy", "f1", "log_loss", "roc_auc"}
        The log loss is negated, so that more is better.
    classes : array, optional
        The labels in the order of the flip matrix; by default the model's `classes_`.
    **options
        For the metric, such as ``average="macro"`` of f1.

    References
    ----------
    .. [1] Natarajan, N., Dhillon, I. S., Ravikumar, P., Tewari, A. (2013). Learning with noisy labels. NeurIPS 26.
       (Lemma 1: unbiased losses from noisy labels.)

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> noise = FlipMatrix.symmetric(0.4, n_classes=10)
    >>> observed = noise.corrupt(y, rng=0)
    >>> scorer = make_corrected_scorer(noise)
    >>> for scoring in ("accuracy", scorer):
    ...     scores = cross_val_score(KNeighborsClassifier(15), X, observed, scoring=scoring)
    ...     print(f"{scores.mean():.2f}")
    0.55
    0.91
    """
    return CorrectedScorer(noise, metric, classes, options)
