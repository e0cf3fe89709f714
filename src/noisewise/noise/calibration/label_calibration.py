"""Probabilities of a model that is far surer or less sure than it is right, or favours classes, fitted to the labels.

Networks that are trained for long are too sure; weights of classes, or rows drawn to balance them, favour rare classes.
P(observed class | x) is then proportional to exp(a log p(x) + b), with one exponent a (temperature 1 / a) and an offset
b for each class by the likelihood of the observed labels [1]_. At its maximum the mean probability of a class is its
frequency among the labels. Probabilities that are not far from this are left as they are: what follows calibrates them
together with the noise.

References
----------
.. [1] Guo, C., Pleiss, G., Sun, Y., Weinberger, K. Q. (2017). On calibration of modern neural networks. ICML.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noisewise._numerics.blocks import blocks
from noisewise._typing import Codes, Floats
from noisewise.noise.calibration.class_clusters import FEWEST_ROWS, MOST_CLASSES, Mode, with_frequencies
from noisewise.noise.calibration.judgement import fitted_temperature, least_probability

FAR_EXPONENT = 2.0  # or its inverse: from here on the model is far less sure, or surer, than it is right
LEAST_EXPONENT = 0.1  # below, the labels have hardly a relation to the rows, and there is nothing to fit to
FAR_FREQUENCY = 0.2  # root mean square difference of the logarithms of mean probability and frequency of a class
MOST_ZEROS = 0.001  # of the labels have probability 0: votes of a few trees or neighbours, whose exponent says nothing
FIT_ROWS, FIT_SCORES = 20_000, 2_000_000  # fitted to so many rows, and numbers, at most
ITERATIONS, TOLERANCE = 10, 0.01  # exponent and offsets in turn; relative change of the exponent


@dataclass(frozen=True)
class LabelCalibration:
    """Probabilities proportional to exp(a log p + b), which are nearer to the observed labels.

    Attributes
    ----------
    exponent : float
    offsets : array of shape (n_classes,) or None
        Where the model favours classes.
    mean, frequencies : arrays of shape (n_classes,)
        Mean probability of each class before, and its frequency among the labels.
    """

    exponent: float
    offsets: Floats | None
    mean: Floats
    frequencies: Floats

    def __call__(self, p: NDArray[np.floating]) -> NDArray[np.floating]:
        """The probabilities, calibrated."""
        least = p.dtype.type(least_probability(p))
        mode = Mode(self.exponent, np.zeros(p.shape[1]) if self.offsets is None else self.offsets)
        fitted = np.empty_like(p)
        for part in blocks(len(p)):
            fitted[part] = mode(np.maximum(p[part], least))
        return fitted


def fit_label_calibration(p: NDArray[np.floating], codes: Codes) -> LabelCalibration | None:
    """What brings the probabilities to the labels, or None where they are not far from them.

    A model that is calibrated, and the same one too sure by a temperature of 1/4:

    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet([0.5, 0.5, 0.5], 3000)
    >>> codes = (p.cumsum(axis=1) < rng.random((3000, 1))).sum(axis=1)
    >>> fit_label_calibration(p, codes) is None
    True
    >>> sure = p**4 / (p**4).sum(axis=1, keepdims=True)
    >>> round(fit_label_calibration(sure, codes).exponent, 1)
    0.3
    """
    n_classes = p.shape[1]
    some = np.random.default_rng(0).permutation(len(p))[: min(FIT_ROWS, FIT_SCORES // n_classes)]
    rows, labels = np.maximum(p[some].astype(np.float64), least_probability(p)), codes[some]
    votes = float(np.mean(p[some, labels] == 0)) > MOST_ZEROS
    exponent = 1.0 if votes else fitted_temperature(rows, labels)
    if exponent < LEAST_EXPONENT:
        return None
    mode, counts = Mode(exponent, np.zeros(n_classes)), np.bincount(labels, minlength=n_classes)
    frequencies = (counts + 1) / (len(labels) + n_classes)
    mean = mode(rows).mean(axis=0)
    if _favours(mean, frequencies, counts):
        for _ in range(ITERATIONS):
            mode = with_frequencies(mode, rows, frequencies)
            factor = 1.0 if votes else fitted_temperature(mode(rows), labels)
            mode = Mode(factor * mode.sharpness, factor * mode.offsets)
            if abs(factor - 1) < TOLERANCE:
                break
        return LabelCalibration(mode.sharpness, mode.offsets, p[some].mean(axis=0, dtype=np.float64), frequencies)
    if max(exponent, 1 / exponent) > FAR_EXPONENT:
        return LabelCalibration(exponent, None, mean, frequencies)
    return None


def _favours(mean: Floats, frequencies: Floats, counts: Codes) -> bool:
    """Whether mean probabilities differ from the frequencies of the labels by far more than by chance."""
    n, n_classes = int(counts.sum()), len(mean)
    if n_classes > MOST_CLASSES or n < FEWEST_ROWS * n_classes:
        return False
    square = float(frequencies @ np.log(mean / frequencies) ** 2) - n_classes / n  # whose mean by chance is n_classes/n
    return square > FAR_FREQUENCY**2
