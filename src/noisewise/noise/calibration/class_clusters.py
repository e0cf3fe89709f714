"""Classes as clusters of rows: linear discriminant analysis of log-probabilities, with posteriors as labels.

Where annotators call half of the trucks cars, a model says "car" and "truck" of every truck alike: its probabilities
are far from certain and yet tell trucks from cars. So the centred log-probabilities l(x) of the rows whose truth is t
are taken as normal, N(mu_t, Sigma), with moments by posteriors of the truth that were fitted without clusters. The log
posterior of t is then linear in l(x),

    mu_t' Sigma^+ l(x) - mu_t' Sigma^+ mu_t / 2 + log frequency_t,

scaled so that the mode is as certain as before, and averaged with the scores of the probabilities alone.

Offsets of the classes give the mode their frequencies. These are known no better than to a fraction of the
disagreement between model and labels: they are shrunk towards equal ones as James and Stein do, so that classes that
differ by no more than this error become equally frequent, and others stay as they are.

References
----------
.. [1] Fisher, R. A. (1936). The use of multiple measurements in taxonomic problems. Annals of Eugenics 7.
.. [2] James, W., Stein, C. (1961). Estimation with quadratic loss. Berkeley Symposium on Mathematical Statistics 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import logsumexp, softmax

from noisewise._numerics.blocks import blocks
from noisewise._typing import Floats

CLUSTER_WEIGHT = 0.5  # of the clusters' scores in the mean with those of the probabilities alone
FLOOR = 0.005  # added to a probability before its logarithm is taken: forests and neighbours say 0, which is no cluster
FREQUENCY_ERROR = 0.25  # standard error of the logarithm of a class's frequency, as a fraction of the disagreement
FEWEST_ROWS, MOST_CLASSES = 20, 100  # rows for each class that a covariance is fitted to; a row costs n_classes^2
LEAST_EIGENVALUE = 1e-6  # of the covariance, as a fraction of the largest
FIT_ROWS = 8000  # to which one scale is fitted
LOG_SCALES = (-6.0, 6.0)  # searched
ITERATIONS, TOLERANCE = 30, 1e-5  # of the offsets; relative to the frequencies
LEAST_CURVATURE = 1e-9  # eigenvalue of their Hessian, as a fraction of the largest
LEAST = 1e-30  # before the logarithm of a probability is taken


@dataclass(frozen=True)
class Mode:
    """Distribution of the truth of a row, whatever its label is: softmax of scores that are linear in log c(x).

    Attributes
    ----------
    sharpness : float
        Weight of log c(x).
    offsets : array of shape (n_classes,)
    weights : array of shape (n_classes, n_classes), optional
        Of log(c(x) + FLOOR), a row for each class.

    >>> Mode(2.0, np.zeros(2))(np.array([[0.75, 0.25]]))
    array([[0.9, 0.1]])
    """

    sharpness: float
    offsets: Floats
    weights: Floats | None = None

    def __call__(self, judged: NDArray[np.floating]) -> NDArray[np.floating]:
        """The distribution for each of these c(x)."""
        return np.asarray(softmax(self.scores(judged), axis=1))

    def scores(self, judged: NDArray[np.floating]) -> NDArray[np.floating]:
        """What the softmax is taken of."""
        kind = judged.dtype.type
        scores = kind(self.sharpness) * np.log(np.maximum(judged, LEAST)) + self.offsets.astype(kind)
        if self.weights is not None:
            scores += _logs(judged) @ self.weights.T.astype(kind)
        return np.asarray(scores)


def has_clusters(n_rows: int, n_classes: int) -> bool:
    """Whether rows are enough for clusters of classes, and classes few enough."""
    return FEWEST_ROWS * n_classes <= n_rows and 2 < n_classes <= MOST_CLASSES


def fit_class_clusters(
    judged: NDArray[np.floating],
    posterior: Callable[[slice], NDArray[np.floating]],
    sharpness: float,
    disagreement: float,
) -> Mode:
    """The mode by clusters of log-probabilities, from posteriors of the truth of the rows of a block."""
    weights, offsets = _discriminant(judged, posterior)
    some = judged[np.random.default_rng(0).permutation(len(judged))[:FIT_ROWS]].astype(np.float64)
    certainty = float(Mode(sharpness, np.zeros(len(offsets)))(some).max(axis=1).mean())
    scores = _logs(some) @ weights.T + offsets

    def excess(log_scale: float) -> float:
        return float(softmax(np.exp(log_scale) * scores, axis=1).max(axis=1).mean()) - certainty

    low, high = LOG_SCALES
    scale = np.exp(brentq(excess, low, high, xtol=1e-3)) if excess(low) < 0 < excess(high) else 1.0
    part = CLUSTER_WEIGHT * scale
    mode = Mode((1 - CLUSTER_WEIGHT) * sharpness, part * offsets, part * weights)
    frequencies = _moments(judged, mode)[1] / len(judged)
    return with_frequencies(mode, judged, shrunk_frequencies(frequencies, disagreement))


def cluster_overlap(judged: NDArray[np.floating]) -> float:
    """Expected fraction of rows nearer to the cluster of another class, where the most probable class is the cluster's.

    Labels that are wrong make a model less certain of all rows of a class alike, and leave the clusters apart; rows
    that it can't tell apart lie between them.

    >>> rng = np.random.default_rng(0)
    >>> truth, rows = np.arange(600) % 3, rng.normal(size=(600, 3))
    >>> unsure = softmax(np.eye(3)[truth] + 0.1 * rows, axis=1)  # in all rows alike
    >>> confused = softmax(2 * np.eye(3)[truth] + rows, axis=1)
    >>> cluster_overlap(unsure) < 0.001, cluster_overlap(confused) > 0.02
    (True, True)
    """
    classes = np.eye(judged.shape[1])
    weights, offsets = _discriminant(judged, lambda part: classes[judged[part].argmax(axis=1)])
    if not weights.any():  # all rows of a class are alike
        return 0.0
    return 1 - float(softmax(_logs(judged) @ weights.T + offsets, axis=1).max(axis=1).mean())


def _logs(judged: NDArray[np.floating]) -> NDArray[np.floating]:
    """Centred logarithms of probabilities."""
    logs = np.log(judged + judged.dtype.type(FLOOR))
    return np.asarray(logs - logs.mean(axis=1, keepdims=True))


def _discriminant(
    judged: NDArray[np.floating], posterior: Callable[[slice], NDArray[np.floating]]
) -> tuple[Floats, Floats]:
    """Weights and offsets of Fisher's linear discriminant of centred log-probabilities, with soft labels."""
    n, n_classes = judged.shape
    second, sums, totals = np.zeros((n_classes, n_classes)), np.zeros((n_classes, n_classes)), np.zeros(n_classes)
    for part in blocks(n):
        logs, truth = _logs(judged[part]).astype(np.float64), posterior(part)
        second, sums, totals = second + logs.T @ logs, sums + truth.T @ logs, totals + truth.sum(axis=0)
    means = sums / np.maximum(totals, LEAST)[:, None]
    values, vectors = np.linalg.eigh((second - sums.T @ means) / n)
    kept = values > LEAST_EIGENVALUE * values[-1]
    weights = means @ (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
    return weights, np.log(np.maximum(totals / n, 1 / n**2)) - 0.5 * np.einsum("ij,ij->i", weights, means)


def shrunk_frequencies(frequencies: Floats, disagreement: float) -> Floats:
    """Frequencies of classes, shrunk towards equal ones by their error.

    >>> shrunk_frequencies(np.array([0.23, 0.25, 0.26, 0.26]), 0.5)
    array([0.25, 0.25, 0.25, 0.25])
    >>> shrunk_frequencies(np.array([0.1, 0.2, 0.3, 0.4]), 0.04).round(3)
    array([0.1, 0.2, 0.3, 0.4])
    """
    logs = np.log(np.maximum(frequencies, LEAST))
    deviations = logs - logs.mean()
    error = (len(logs) - 3) * (FREQUENCY_ERROR * disagreement) ** 2
    total = float(deviations @ deviations)
    kept = np.clip(1 - error / total, 0.0, 1.0) if total > 0 else 1.0
    return np.asarray(softmax(kept * deviations))


def with_frequencies(mode: Mode, judged: NDArray[np.floating], frequencies: Floats) -> Mode:
    """The mode with the offsets at which its mean over the rows is `frequencies`, by Newton steps.

    Two classes, of which a model gives the second too much:

    >>> judged = np.array([[0.5, 0.5], [0.2, 0.8], [0.1, 0.9]])
    >>> mode = with_frequencies(Mode(1.0, np.zeros(2)), judged, np.array([0.6, 0.4]))
    >>> mode(judged).mean(axis=0).round(3)
    array([0.6, 0.4])
    """
    offsets, wanted, length = mode.offsets, len(judged) * frequencies, 1.0
    value, totals, hessian = _moments(judged, mode)
    for _ in range(ITERATIONS):
        if np.abs(totals / wanted - 1).max() < TOLERANCE:
            break
        inverse = np.linalg.pinv(hessian, rcond=LEAST_CURVATURE, hermitian=True)  # one offset for all changes nothing
        step = inverse @ (wanted - totals)
        tried = offsets + min(length, 1 / max(1.0, np.abs(step).max())) * step
        found = _moments(judged, replace(mode, offsets=tried))
        lower = found[0] - wanted @ tried < value - wanted @ offsets + TOLERANCE * len(judged)
        if lower:  # the function that the offsets minimise; it is convex
            offsets, (value, totals, hessian), length = tried, found, 1.0
        else:
            length /= 4
    return replace(mode, offsets=offsets - offsets.mean())


def _moments(judged: NDArray[np.floating], mode: Mode) -> tuple[float, Floats, Floats]:
    """Sum of the log normalisers of the mode q, and its derivatives by the offsets: sum q, diag(sum q) - sum q q'."""
    n_classes = judged.shape[1]
    value, totals, products = 0.0, np.zeros(n_classes), np.zeros((n_classes, n_classes))
    for part in blocks(len(judged)):
        scores = mode.scores(judged[part])
        logs = logsumexp(scores, axis=1, keepdims=True)
        q = np.exp(scores - logs)
        value += float(logs.sum(dtype=np.float64))
        totals += q.sum(axis=0, dtype=np.float64)
        products += q.T @ q
    return value, totals, np.diag(totals) - products
