"""Calibration map from scores to the clean posterior: softmax(scale * g + offset), with a fraction of outliers.

One scale for all classes is temperature scaling with offsets, one for each is vector scaling. Where two of four classes
overlap and the others stand apart, a common scale is too steep for those two, and labels in their overlap would look
like flips.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisewise._typing import Codes, Floats

OFFSET_PENALTY = 1e-3  # ridge penalty of the offsets, per row
LOG_SCALE_STD = 0.5  # standard deviation of the prior on the logarithms of the classes' own scales
OUTLIER_WEIGHT, OUTLIER_ROWS = 0.005, 1.0  # fraction plus number of rows whose scores say nothing: no row is certain
OUTLIER_SHARPNESS = 0.2  # power of the softmax of outliers where they are graded: see `CalibrationMap.posterior`
START_SCALE = 4.0  # where a fit starts
MOST_OFFSETS = 100  # classes; with more, offsets are held at zero: their information has n_classes^2 numbers
SMALLEST_SCALE, LONGEST_STEP = 1e-6, 2.0  # of a scale per class; a step is one of logarithms


@dataclass(frozen=True)
class CalibrationMap:
    """Clean posterior from scores g (after the link), softmax(scale * g + offset) but for a fraction w of outliers.

    Attributes
    ----------
    scale : float or array of shape (n_classes,)
        Inverse temperature of all classes, or one for each.
    offset : array of shape (n_classes,)
    outlier_weight : float
        Fraction w of rows whose scores say nothing about their class (contamination).

    References
    ----------
    .. [1] Platt, J. (1999). Probabilistic outputs for support vector machines and comparisons to regularized
       likelihood methods. Advances in Large Margin Classifiers, MIT Press.
    .. [2] Guo, C., Pleiss, G., Sun, Y., Weinberger, K. Q. (2017). On calibration of modern neural networks. ICML.
    """

    scale: float | Floats
    offset: Floats
    outlier_weight: float = OUTLIER_WEIGHT

    @classmethod
    def initial(cls, rows: LabelledScores) -> CalibrationMap:
        """Where a fit starts: scores roughly mean what they say; of few rows, each may be an outlier."""
        return cls(START_SCALE, np.zeros(rows.n_classes), min(OUTLIER_WEIGHT + OUTLIER_ROWS / rows.n, 0.5))

    def with_scale_per_class(self) -> CalibrationMap:
        """The same map with one scale for each class, free to differ."""
        scale = np.full(len(self.offset), max(self.scale, SMALLEST_SCALE))
        return CalibrationMap(scale, self.offset, self.outlier_weight)

    @property
    def per_class(self) -> bool:
        """Whether each class has a scale of its own."""
        return np.ndim(self.scale) == 1

    @property
    def has_offsets(self) -> bool:
        """Whether the offsets are fitted, or held because there are many classes."""
        return len(self.offset) <= MOST_OFFSETS

    def moved(self, step: Floats) -> CalibrationMap:
        """The map after a step in scale and offset; the scale stays positive, scales per class move in logarithms."""
        n_classes = len(self.offset)
        scale: float | Floats
        if self.per_class:
            log_step = np.clip(step[:n_classes], -LONGEST_STEP, LONGEST_STEP)
            scale = np.maximum(self.scale * np.exp(log_step), SMALLEST_SCALE)
        else:
            scale = max(float(self.scale + step[0]), 0.0)
        offset = self.offset + step[-n_classes:] if self.has_offsets else self.offset
        return CalibrationMap(scale, offset, self.outlier_weight)

    def penalty(self, n_rows: float) -> float:
        """Negative log prior (but for constants): ridge on the offsets, normal on deviations of the log scales."""
        cost = OFFSET_PENALTY * n_rows * float(self.offset @ self.offset)
        if self.per_class:
            cost += len(self.offset) * float(np.log(self.scale).var()) / LOG_SCALE_STD**2
        return 0.5 * cost

    def softmax(self, scores: NDArray[Any]) -> NDArray[Any]:
        """Probability of each true class for a row that is no outlier; in the precision of the scores, in place."""
        return _normalised(self._logits(scores), 1.0)

    def posterior(self, scores: NDArray[Any], graded: bool = False) -> NDArray[Any]:
        """Probability of each true class, ``(1 - w) softmax(z) + w / n_classes``.

        The scores of outliers say nothing, which keeps single rows from moving a fit. To read them so gives the labels
        of hundreds of rows the same small probability; but the clearer the scores, the rarer are rows of another class.
        Where probabilities are `graded`, the class of an outlier has the distribution softmax(s z) with a small s, but
        for one row of the table (`OUTLIER_ROWS`): few rows give no certainty.
        """
        n_classes, logits = scores.shape[1], self._logits(scores)
        informed = min(self.outlier_weight, OUTLIER_WEIGHT) if graded else 0.0
        outlier = _normalised(scores.dtype.type(OUTLIER_SHARPNESS) * logits, informed) if graded else 0.0
        clean = _normalised(logits, 1 - self.outlier_weight)
        clean += scores.dtype.type((self.outlier_weight - informed) / n_classes)
        clean += outlier
        return clean

    def _logits(self, scores: NDArray[Any]) -> NDArray[Any]:
        """Logits of the classes, the largest of each row at 0."""
        logits = scores * np.asarray(self.scale, dtype=scores.dtype) + self.offset.astype(scores.dtype)
        logits -= logits.max(axis=1, keepdims=True)
        return np.asarray(logits)


def _normalised(logits: NDArray[Any], total: float) -> NDArray[Any]:
    """Exponentials, with this sum in each row; in place."""
    np.exp(logits, out=logits)
    logits /= logits.sum(axis=1, keepdims=True)
    logits *= logits.dtype.type(total)
    return logits


@dataclass(frozen=True)
class LabelledScores:
    """Scores (after the link), observed classes and how many rows each of them stands for."""

    scores: Floats
    codes: Codes
    weights: Floats

    @property
    def n(self) -> float:
        """Number of rows, each counted by its weight."""
        return float(self.weights.sum())

    @property
    def n_classes(self) -> int:
        """Number of classes, observed or not."""
        return int(self.scores.shape[1])
