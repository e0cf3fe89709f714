"""The judgement reading of labels: truth is what most careful annotators would say; noise may depend on the row.

With c(x) the distribution of the judged label (class-conditional flips T removed), an annotator's label z is a draw
from c(x) and the truth t is its mode. A model knows the mode only up to its own error, so t has the distribution
q(x) proportional to c(x)^sharpness. That error shows in where several models, or fits to halves of the rows, disagree,
and of one model in how far its classes overlap as clusters of rows. From the scores of a ridge, whose c(x) is already
fitted with the flips, t given z follows the maximal coupling of c and q (t = z with probability min(1, q_z / c_z), else
one of the classes with q > c), but for a fraction in which t is drawn from q whatever z is. From the probabilities of
any other model, flips by class and hardness of the row are fitted with q, and t follows by Bayes' rule
(`hardness_flips`); once more with a q in which the classes are clusters of rows (`class_clusters`). The sharper q is
than c, the more these flips count from the scores of a ridge too. The interval is that of couplings in both cases.

From (x, y) alone this reading cannot be told from the outcome reading, in which classes overlap and only flips beyond
that are errors. Where class-conditional flips explain most of the disagreement between model and labels, the noise
does not depend on the row, and the outcome reading is kept; between the two the weight is smooth.

References
----------
.. [1] Guo, C., Pleiss, G., Sun, Y., Weinberger, K. Q. (2017). On calibration of modern neural networks. ICML.
.. [2] Lindvall, T. (1992). Lectures on the coupling method. Wiley.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize_scalar
from scipy.special import log_softmax, ndtri

from noisewise._numerics.blocks import blocks
from noisewise._numerics.em import joint_counts, normalised_rows, responsibilities
from noisewise._typing import Codes, Floats
from noisewise.noise.calibration.class_clusters import cluster_overlap, fit_class_clusters, has_clusters
from noisewise.noise.calibration.error_count import MODEL_ERROR, ROUNDING_STD
from noisewise.noise.calibration.hardness_flips import HardnessFlips, fit_hardness_flips
from noisewise.noise.calibration.read_noise import NoiseReading
from noisewise.noise.flip_matrix import FlipMatrix

# Exponent of c(x), at most, for one array of probabilities: it grows with the disagreement of mode and labels, which is
# then noise more than own error, and falls with the number of classes. Where classes overlap as clusters, it is less.
BASE_SHARPNESS, SHARPNESS_BY_DISAGREEMENT, MOST_DISAGREEMENT = 0.5, 6.0, 0.6
LEAST_SHARPNESS = 0.25  # of the sharpness above 1, that the interval allows for
OVERLAP_ERROR = 0.7  # error of one model, over the root of the overlap of its classes as clusters of rows
OWN_PART = 0.5  # of the disagreement of model and labels, from which on that error counts whole
MOST_SHARPNESS = 20.0  # the mode itself, nearly
LEAST_INDEPENDENCE = 0.02  # so that rows whose label is the mode are still ranked
INDEPENDENCE = 0.45  # fraction drawn whatever z is: LEAST_INDEPENDENCE + INDEPENDENCE * (1 - 1 / sharpness)
INDEPENDENCE_RANGE = (0.0, 0.5)  # that the interval allows for
SHARPER = 1.5  # factor on the sharpness above 1, of the mode that flips by hardness are fitted with
STEEPNESS = 4  # of the weight of the outcome reading in the fraction of disagreement that it explains
MODEL_DISAGREEMENT = 0.5  # error of a model as a fraction of the disagreement of two, if they err independently
ERROR_RANGE = (1.5, 0.25)  # factors on that error that the interval allows for
HALVES_DISAGREEMENT = 0.8  # the same of a model, from that of two fitted to halves of its rows, which share their bias
HALVES_ERROR_RANGE = (2.0, 0.25)
OWN_ERROR_POWER = 3  # the sharper than the models' own error explains, the less flips by class may be all there is
FLIPS_ROWS = 50_000  # flips by hardness are fitted to so many rows at most
FIT_ROWS, FIT_SCORES = 8000, 2_000_000  # the temperature is fitted to so many rows, and numbers, at most
LOG_TEMPERATURES = (-2.5, 2.5)  # searched
TEMPERATURE_DIGITS, TEMPERATURE_TOLERANCE = 4, 1e-8  # of its logarithm: the order of classes shall not show
LEAST_PROBABILITY = 1e-5  # times 1 / n_classes, of a class that a model gives none: before the logarithm is taken
LEAST_FLOAT = 1e-30  # and of any other
LEAST_OF_SEVERAL = 1e-3  # probability, in the mean of models: votes of a few neighbours say 0 and rule nothing out
TINY = 1e-12


@dataclass(frozen=True)
class Judgements:
    """The judgement reading of a set of rows.

    Attributes
    ----------
    posterior : array of shape (n_rows, n_classes)
        Posterior of the true class, given the row and its observed class.
    n_wrong : float
        Expected number of observed labels that are not the true ones.
    interval : tuple of two floats
        For this number: what the model's own error leaves open, and sampling error.
    sharpness : float
        Exponent of the distribution of the judged label.
    outcome_weight : float
        Weight of the outcome reading, from 0 to 1.
    """

    posterior: NDArray[np.float32]
    n_wrong: float
    interval: tuple[float, float]
    sharpness: float
    outcome_weight: float


@dataclass(frozen=True)
class ModelError:
    """Upper bound of the fraction of rows whose mode is not the truth, and the range that the interval allows for.

    From how often two models differ:

    >>> error = ModelError.of_models(0.1, 10_000)
    >>> round(error.likely, 3), round(error.most, 3)
    (0.052, 0.079)
    """

    likely: float
    most: float
    least: float

    @classmethod
    def of_models(cls, disagreement: float, n_rows: int) -> ModelError:
        """From the fraction of rows for which two models have different modes."""
        return cls._from(disagreement, n_rows, MODEL_DISAGREEMENT, ERROR_RANGE)

    @classmethod
    def of_halves(cls, disagreement: float, n_rows: int) -> ModelError:
        """The same, of a model of which two were fitted to halves of its rows."""
        return cls._from(disagreement, n_rows, HALVES_DISAGREEMENT, HALVES_ERROR_RANGE)

    @classmethod
    def _from(cls, disagreement: float, n_rows: int, factor: float, span: tuple[float, float]) -> ModelError:
        variance = (disagreement * (1 - disagreement) + 1 / n_rows) / n_rows
        likely = float(factor * (disagreement + ndtri(0.95) * np.sqrt(variance)))
        return cls(likely, span[0] * likely, span[1] * likely)


def read_judgements(
    probabilities: list[NDArray[np.floating]],
    codes: Codes,
    outcome: NoiseReading,
    coverage: float = 0.9,
    overwrite: bool = False,
) -> Judgements:
    """The judgement reading from out-of-fold probabilities of one model or several.

    Parameters
    ----------
    probabilities : list of arrays of shape (n_rows, n_classes)
        P(observed class | x) by models that did not see the row's label. With two or more, their disagreement gives
        the error of the models themselves; with one, a default.
    codes : array of int of shape (n_rows,)
    outcome : NoiseReading
        The outcome reading of the same rows: flip matrix, and whether noise is proven.
    coverage : float
        Wanted coverage of the interval.
    overwrite : bool
        Whether arrays in single precision may be overwritten, to save memory.
    """
    matrix = outcome.calibration.noise.matrix
    calibrated = [_calibrated(one, codes, matrix, overwrite) for one in probabilities]
    judged, error = calibrated[0], None
    if len(calibrated) > 1:
        modes = [one.argmax(axis=1) for one in calibrated]
        pairs = [modes[i] != modes[j] for i in range(len(modes)) for j in range(i)]
        error = ModelError.of_models(float(np.mean(pairs)), len(codes))
        judged = _calibrated(_geometric_mean(calibrated), codes, matrix, overwrite=True)
    flips = matrix.T.astype(np.float32)

    def label(part: slice) -> NDArray[np.float32]:
        return responsibilities(judged[part], flips[codes[part]], float(np.finfo(np.float32).tiny))[0]

    return _combine(judged, label, codes, outcome, error, coverage, by_hardness=True)


def read_row_judgements(
    scores: NDArray[np.floating], codes: Codes, outcome: NoiseReading, error: ModelError, coverage: float = 0.9
) -> Judgements:
    """The judgement reading from the scores that the outcome reading was calibrated on, and the model's own error."""
    judged = np.empty(scores.shape, dtype=np.float32)
    for part in blocks(len(codes)):
        judged[part] = outcome.calibration.clean_posterior(np.asarray(scores[part], dtype=np.float32))
    return _combine(judged, lambda part: outcome.posterior[part], codes, outcome, error, coverage)


def default_sharpness(disagreement: float, n_classes: int) -> float:
    """The sharpness for one array, from the fraction of rows whose label is not the mode.

    >>> default_sharpness(0.25, 10)
    3.0
    """
    above_one = BASE_SHARPNESS + SHARPNESS_BY_DISAGREEMENT * min(disagreement, MOST_DISAGREEMENT)
    return float(1 + above_one / max(1.0, np.log10(n_classes)))


def fitted_temperature(p: NDArray[np.floating], codes: Codes, matrix: Floats | None = None) -> float:
    """The exponent a of p^a, by the likelihood of the observed labels under flips T: P(y | x) = softmax(a log p) T.

    Above 1 where the model is less sure than it is right:

    >>> fitted_temperature(np.tile([0.6, 0.4], (1000, 1)), (np.arange(1000) % 10 == 0).astype(int)) > 4
    True
    """
    chosen = _some_rows(p)
    logits = np.log(np.maximum(p[chosen].astype(np.float64), least_probability(p)))
    flips = (np.eye(p.shape[1]) if matrix is None else matrix).T[codes[chosen]]

    def loss(log_a: float) -> float:
        clean = np.exp(log_softmax(np.exp(log_a) * logits, axis=1))
        return -float(np.log(np.einsum("ij,ij->i", clean, flips) + 1e-300).mean())

    found = minimize_scalar(loss, bounds=LOG_TEMPERATURES, method="bounded", options={"xatol": TEMPERATURE_TOLERANCE})
    return float(np.exp(round(found.x, TEMPERATURE_DIGITS)))


def _calibrated(p: NDArray[np.floating], codes: Codes, matrix: Floats, overwrite: bool = False) -> NDArray[np.float32]:
    """P(judged label | x) from the probabilities of a model, by one temperature under the flips T."""
    a, least = np.float32(fitted_temperature(p, codes, matrix)), least_probability(p)
    in_place = overwrite and p.dtype == np.float32 and p.flags.c_contiguous
    judged = np.asarray(p, dtype=np.float32) if in_place else np.empty(p.shape, dtype=np.float32)
    for part in blocks(len(codes)):
        logits = np.log(np.maximum(np.asarray(p[part], dtype=np.float32), np.float32(least)))
        judged[part] = np.exp(log_softmax(a * logits, axis=1))
    return judged


def least_probability(p: NDArray[np.floating]) -> float:
    """What zeros are raised to before a logarithm is taken, so that smaller probabilities that a model gives are kept.

    >>> least_probability(np.array([[1.0, 0.0]])), least_probability(np.array([[1.0, 1e-20]]))
    (5e-06, 1e-20)
    """
    least = LEAST_PROBABILITY / p.shape[1]
    for part in blocks(len(p)):
        least = min(least, float(np.min(p[part], where=p[part] > 0, initial=least)))
    return max(float(least), LEAST_FLOAT)


def _some_rows(p: NDArray[np.floating]) -> Codes:
    """Rows to fit one number to, drawn at random, the same every time."""
    n, n_classes = p.shape
    return np.random.default_rng(0).permutation(n)[: min(FIT_ROWS, FIT_SCORES // n_classes)]


def _geometric_mean(several: list[NDArray[np.float32]]) -> NDArray[np.float32]:
    """Rows proportional to the geometric mean of those of several arrays; kept in the first of them."""
    for part in blocks(len(several[0])):
        mean = sum(np.log(np.maximum(one[part], LEAST_OF_SEVERAL)) for one in several) / len(several)
        several[0][part] = np.exp(log_softmax(mean, axis=1))
    return several[0]


def sharpness_for(judged: NDArray[np.floating], error: float) -> float:
    """The sharpness, 1 or more, at which the mode is the truth in a fraction 1 - `error` of the rows: mean max q."""
    few = judged[_some_rows(judged)].astype(np.float64)

    def excess(log_sharpness: float) -> float:
        return float(sharpened(few, np.exp(log_sharpness)).max(axis=1).mean()) - (1 - error)

    if excess(0.0) >= 0:
        return 1.0
    most = np.log(MOST_SHARPNESS)
    return float(MOST_SHARPNESS if excess(most) <= 0 else np.exp(brentq(excess, 0.0, most, xtol=1e-3)))


def sharpened(judged: NDArray[np.floating], sharpness: float) -> NDArray[np.floating]:
    """Rows proportional to the power `sharpness` of these.

    >>> sharpened(np.array([[0.75, 0.25]]), 2.0)
    array([[0.9, 0.1]])
    """
    return np.asarray(np.exp(log_softmax(judged.dtype.type(sharpness) * np.log(np.maximum(judged, 1e-30)), axis=1)))


def couple(
    judged: NDArray[np.floating], label: NDArray[np.floating], sharpness: float, independence: float
) -> NDArray[np.floating]:
    """Distribution of the truth from that of the judged label z given the observed one: `label` through P(t | z).

    >>> couple(np.array([[0.75, 0.25]]), np.array([[0.0, 1.0]]), 2.0, 0.0)
    array([[0.6, 0.4]])
    """
    mode = sharpened(judged, sharpness)
    keep = np.minimum(1, mode / np.maximum(judged, TINY))
    excess = np.maximum(mode - judged, 0)
    total = excess.sum(axis=1, keepdims=True)
    target = np.where(total > TINY, excess / np.maximum(total, TINY), mode)
    moved = (label * (1 - keep)).sum(axis=1, keepdims=True)
    return np.asarray((1 - independence) * (label * keep + moved * target) + independence * mode)


def _combine(
    judged: NDArray[np.float32],
    label: Callable[[slice], NDArray[np.float32]],
    codes: Codes,
    outcome: NoiseReading,
    error: ModelError | None,
    coverage: float,
    by_hardness: bool = False,
) -> Judgements:
    """Posterior, written over `judged`, and counts of the judgement reading, block by block.

    `label` gives the distribution of the judged label of the rows of a block, given the observed one. The truth follows
    by flips that depend on the hardness of a row, or else by these and a coupling with the judged label.
    """
    n = len(codes)

    def wrong(posterior: NDArray[np.floating], part: slice) -> Floats:
        return 1 - posterior[np.arange(len(posterior)), codes[part]].astype(np.float64)

    by_flips = sum(float(wrong(label(part), part).sum()) for part in blocks(n))
    disagreements = sum(int((judged[part].argmax(axis=1) != codes[part]).sum()) for part in blocks(n))
    explained = min(by_flips / max(disagreements, 1), 1.0) if outcome.calibration.proven else 0.0
    weight = explained**STEEPNESS / (explained**STEEPNESS + (1 - explained) ** STEEPNESS)
    if error is None:
        at_most = default_sharpness(disagreements / n, judged.shape[1])
        sharpness, least_sharp = _by_overlap(judged, at_most, disagreements / n)
        extremes = least_sharp, MOST_SHARPNESS
    else:
        at_most = sharpness = sharpness_for(judged, error.likely)
        extremes = sharpness_for(judged, error.most), sharpness_for(judged, error.least)
        if by_hardness:  # models that err alike disagree less often than they err
            extremes = min(extremes[0], _by_overlap(judged, sharpness, disagreements / n)[1]), extremes[1]
    independence = LEAST_INDEPENDENCE + INDEPENDENCE * (1 - 1 / sharpness)
    flips_weight = 1.0 if by_hardness else 1 - 1 / sharpness
    flips = _fit_flips(judged, codes, sharpness, disagreements / n, outcome) if flips_weight else None
    count = variance = least = most = 0.0
    for part in blocks(n):
        z = label(part)
        least += float(wrong(couple(judged[part], z, extremes[0], INDEPENDENCE_RANGE[0]), part).sum())
        most += float(wrong(couple(judged[part], z, extremes[1], INDEPENDENCE_RANGE[1]), part).sum())
        truth = flips_weight * flips.posterior(judged[part], codes[part]) if flips else np.float32(0)
        if flips_weight < 1:
            truth += (1 - flips_weight) * couple(judged[part], z, sharpness, independence)
        judged[part] = weight * z + (1 - weight) * truth
        p = wrong(judged[part], part)
        count, variance = count + float(p.sum()), variance + float((p * (1 - p)).sum())
    half_width = ndtri((1 + coverage) / 2) * np.sqrt(variance + (MODEL_ERROR * n) ** 2 + ROUNDING_STD**2)
    least = max(least - half_width, 0.0)
    if extremes[0] == 1:  # the models' own error may explain all but flips by class
        least = min(least, outcome.interval[0])
    low = weight * outcome.interval[0] + (1 - weight) * least
    weight_above = weight / at_most**OWN_ERROR_POWER
    high = weight_above * outcome.interval[1] + (1 - weight_above) * (most + half_width)
    ends = float(np.clip(min(low, count), 0, n)), float(np.clip(max(high, count), 0, n))
    return Judgements(judged, count, ends, sharpness, float(weight))


def _by_overlap(judged: NDArray[np.float32], sharpness: float, disagreement: float) -> tuple[float, float]:
    """The sharpness for one array, and the least that the interval allows for: less where classes overlap as clusters.

    Then the model errs itself, and disagrees with labels that are right. Where it errs far less than it disagrees, most
    of the disagreement is noise, which blurs the clusters too: the error counts by its part of half the disagreement.
    """
    least = 1 + LEAST_SHARPNESS * (sharpness - 1)
    if not has_clusters(*judged.shape):
        return sharpness, least
    error = OVERLAP_ERROR * np.sqrt(cluster_overlap(judged[_some_rows(judged)]))
    likely = error * min(1.0, error / max(OWN_PART * disagreement, TINY))
    return min(sharpness, sharpness_for(judged, likely)), min(least, sharpness_for(judged, ERROR_RANGE[0] * error))


def _fit_flips(
    judged: NDArray[np.float32], codes: Codes, sharpness: float, disagreement: float, outcome: NoiseReading
) -> HardnessFlips:
    """Flips by class and hardness, and where rows are enough, again with the mode by clusters of the classes."""
    sharper, matrix = 1 + SHARPER * (sharpness - 1), outcome.calibration.noise.matrix
    if len(codes) > FLIPS_ROWS:
        some = np.random.default_rng(0).permutation(len(codes))[:FLIPS_ROWS]
        judged, codes = judged[some], codes[some]
    flips = fit_hardness_flips(judged, codes, sharper, matrix)
    if not has_clusters(*judged.shape):
        return flips
    mode = fit_class_clusters(judged, lambda part: flips.posterior(judged[part], codes[part]), sharper, disagreement)
    return fit_hardness_flips(judged, codes, mode, matrix)


def flips_of(posterior: NDArray[np.floating], codes: Codes) -> tuple[FlipMatrix, Floats]:
    """The mean flip matrix of rows by the posteriors of their true classes (M-step), and the standard errors."""
    counts = joint_counts(posterior, codes)
    matrix = normalised_rows(counts)
    absent = np.bincount(codes, minlength=len(matrix)) == 0
    matrix[absent] = np.eye(len(matrix))[absent]  # no row carries these classes: nothing is known of them
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of a matrix that is too noisy: it is shown, and not inverted
        noise = FlipMatrix.estimated(matrix)
    return noise, np.sqrt(matrix * (1 - matrix) / (counts.sum(axis=1, keepdims=True) + 1))
