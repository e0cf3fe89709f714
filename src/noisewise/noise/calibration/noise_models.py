"""Bayesian model averaging over candidate noise models of a set of labelled scores.

Two links from scores to logits, a common scale or one for each class, and two priors on the flip matrix give eight
candidates; a ninth has no noise. The noise rate, which the data often leave open, is averaged over on a grid. Each
candidate is weighted by its evidence.

References
----------
.. [1] Hoeting, J. A., Madigan, D., Raftery, A. E., Volinsky, C. T. (1999). Bayesian model averaging: a tutorial.
   Statistical Science 14.
.. [2] Kass, R. E., Raftery, A. E. (1995). Bayes factors. Journal of the American Statistical Association 90.
.. [3] Madigan, D., Raftery, A. E. (1994). Model selection and accounting for model uncertainty in graphical models
   using Occam's window. Journal of the American Statistical Association 89.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from operator import iadd, itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from noisewise._numerics.em import responsibilities
from noisewise._typing import Codes, Floats
from noisewise.noise.calibration.newton import log_occam_factor, newton_ascent
from noisewise.noise.calibration.softmax_map import CalibrationMap, LabelledScores
from noisewise.noise.calibration.variational import HIGH_START, VariationalFit, VariationalState, fit_variational
from noisewise.noise.flip_matrix import FlipMatrix

NOISE_LOG_ODDS = 2.0  # prior log odds of each kind of noise against none: labels are audited where errors are suspected
PER_CLASS_LOG_ODDS = -3.0  # prior log odds of a scale per class: with few rows, scales could explain flips away
OCCAM_WINDOW = 6.0  # candidates this far below the best in log evidence are dropped [3]
TEMPER = 0.5  # power of the profile likelihood of the noise rate: labels are not as independent as it assumes
PROOF = 3.0  # log Bayes factor against no noise, about 20 to 1, from which noise is proven (strong evidence)
SAME_RATE = 0.25  # maxima whose noise rates differ by a smaller fraction are one
SMALLEST_WEIGHT = 0.003  # of a candidate in the average
LEAST_FLIP = 1e-6  # probability of each flip without noise: no number of rows rules it out, and it still ranks rows
MOST_FLIPPED, LEAST_KEPT = 0.95, 0.1  # sum of two flip rates; diagonal of a flip matrix
MOST_SCALES = 30  # classes; with more of them each has few rows, and scales of their own cost time
NEGLIGIBLE = 7.0  # in tempered log-likelihood
NOISE_RATES = 0.8 * np.linspace(np.sqrt(0.001 / 0.8), 1, 30) ** 2  # a grid that is finer near zero
SPACING = np.gradient(NOISE_RATES)  # weights of the grid for integrals over the noise rate
LEAST_LOG_FLIP = 1e-12  # of a flip matrix, before its logarithm is taken
LEAST_SCORE = 0.1  # times 1 / n_classes, before the logarithm of a score is taken
MOST_NEWTON_STEPS, NEWTON_STEPS_NEARBY = 50, 20  # from the initial map; from that of a neighbouring noise rate
LIKELIHOOD_TOLERANCE = 1e-3  # gain in log-likelihood below which no further Newton step is taken


@dataclass(frozen=True)
class NoiseModel:
    """A candidate noise model: its weight in the average, link, calibration map and flip matrix."""

    weight: float
    logarithmic: bool
    calibration_map: CalibrationMap
    matrix: Floats

    def clean_posterior(self, scores: NDArray[Any], graded: bool = False) -> NDArray[Any]:
        """Probability of each true class."""
        return self.calibration_map.posterior(link(scores, self.logarithmic), graded)

    def explain(self, scores: NDArray[Any], codes: Codes, graded: bool = False) -> NDArray[Any]:
        """Posterior of the true class, given the observed one too."""
        clean, flips = self.clean_posterior(scores, graded), self.matrix.T.astype(scores.dtype)
        return responsibilities(clean, flips[codes], float(np.finfo(scores.dtype).tiny))[0]


@dataclass(frozen=True)
class Calibration:
    """Average of candidate noise models: what scores say about the true class.

    Attributes
    ----------
    candidates : tuple of NoiseModel
        With weights that sum to one.
    noise : FlipMatrix
        Their mean flip matrix.
    proven : bool
        Whether the Bayes factor speaks clearly for noise against none; overlapping classes can look alike.
    """

    candidates: tuple[NoiseModel, ...]
    noise: FlipMatrix
    proven: bool = True

    def clean_posterior(self, scores: NDArray[Any]) -> NDArray[Any]:
        """Probability of each true class for scores of any rows."""
        return reduce(iadd, (model.weight * model.clean_posterior(scores) for model in self.candidates))

    def explain(self, scores: NDArray[Any], codes: Codes, graded: bool = False) -> NDArray[Any]:
        """Posterior of the true class, given the scores and the observed class; see `CalibrationMap.posterior`."""
        return reduce(iadd, (model.weight * model.explain(scores, codes, graded) for model in self.candidates))


def link(scores: NDArray[Any], logarithmic: bool) -> NDArray[Any]:
    """Scores as they enter the logits: themselves, or their logarithm (bounded below)."""
    if not logarithmic:
        return scores
    return np.asarray(np.log(np.maximum(scores, scores.dtype.type(LEAST_SCORE / scores.shape[1]))))


@dataclass(frozen=True)
class FittedNoiseModel:
    """A candidate fitted to rows: its log-likelihood, the expected number of wrong labels, and its variance."""

    model: NoiseModel
    log_likelihood: float
    n_wrong: float
    variance: float

    @classmethod
    def fit(
        cls,
        rows: LabelledScores,
        logarithmic: bool,
        weight: float,
        start: CalibrationMap,
        matrix: Floats,
        steps: int = MOST_NEWTON_STEPS,
    ) -> FittedNoiseModel:
        """Fit the calibration map with the flip matrix held."""
        log_flips = np.log(np.maximum(matrix, LEAST_LOG_FLIP))
        found, value, truth = newton_ascent(rows, log_flips, start, steps, LIKELIHOOD_TOLERANCE)
        right = truth[np.arange(len(rows.codes)), rows.codes]
        wrong, variance = float(rows.weights @ (1 - right)), float(rows.weights @ (right * (1 - right)))
        return cls(NoiseModel(weight, logarithmic, found, matrix), value, wrong, variance)

    def weighted(self, weight: float) -> FittedNoiseModel:
        """The same with another weight."""
        return replace(self, model=replace(self.model, weight=weight))


def calibrate(
    scores: Floats, codes: Codes, noise: FlipMatrix | None = None, weights: Floats | None = None
) -> tuple[Calibration, list[FittedNoiseModel]]:
    """Average the candidate noise models of a set of rows by their evidence; also those with noise, as fitted."""
    counted = np.ones(len(codes)) if weights is None else weights
    linked = {l: LabelledScores(np.asfortranarray(link(scores, l)), codes, counted) for l in (False, True)}
    if noise is not None:
        fitted = [
            FittedNoiseModel.fit(rows, l, 1.0, CalibrationMap.initial(rows), noise.matrix) for l, rows in linked.items()
        ]
        fitted = [fit.weighted(w) for fit, w in zip(fitted, softmax([fit.log_likelihood for fit in fitted]))]
        return Calibration(_significant([fit.model for fit in fitted]), noise), fitted
    fits = [(l, fit) for l, rows in linked.items() for fit in _variational_fits(rows)]
    evidence = np.array([fit.log_evidence + _log_odds(fit.state.calibration_map) for _, fit in fits])
    evidence_without, noiseless = _without_noise(linked)
    best = max(evidence.max(), evidence_without - NOISE_LOG_ODDS)
    fitted = []
    for value, (logarithmic, fit) in zip(evidence, fits):
        if value > evidence.max() - OCCAM_WINDOW:
            fitted += _over_noise_rates(linked[logarithmic], fit, logarithmic, float(np.exp(value - best)))
    hardly_any = FlipMatrix.symmetric((scores.shape[1] - 1) * LEAST_FLIP, scores.shape[1]).matrix
    weight = float(np.exp(evidence_without - NOISE_LOG_ODDS - best))
    without = replace(noiseless.model, weight=weight, matrix=hardly_any)
    kept = _significant([without, *(fit.model for fit in fitted)])
    mean = FlipMatrix.estimated(sum(model.weight * model.matrix for model in kept))
    return Calibration(kept, mean, proven=evidence.max() - evidence_without > PROOF), fitted


def _variational_fits(rows: LabelledScores) -> list[VariationalFit]:
    """Symmetric noise; Dirichlet flips, from low and from high noise if that is another maximum; scales per class.

    With few rows or overlapping classes the evidence often has two maxima of about the same height, with little and
    with much noise; both are kept.
    """
    start = VariationalState.initial(rows)
    symmetric = fit_variational(rows, False, start)
    low = fit_variational(rows, True, start)
    high = fit_variational(rows, True, VariationalState.initial(rows, HIGH_START))
    found = [symmetric, low]
    distinct = abs(low.noise_rate - high.noise_rate) > SAME_RATE * max(low.noise_rate, high.noise_rate)
    if distinct and _informative(high.matrix):
        found.append(high)
    if rows.n_classes <= MOST_SCALES:
        starts = [(False, symmetric.state), (True, start), *((True, other.state) for other in found[2:])]
        found += [fit_variational(rows, dirichlet, state.with_scale_per_class()) for dirichlet, state in starts]
    return found


def _log_odds(calibration_map: CalibrationMap) -> float:
    return PER_CLASS_LOG_ODDS if calibration_map.per_class else 0.0


def _without_noise(linked: dict[bool, LabelledScores]) -> tuple[float, FittedNoiseModel]:
    """Log evidence of the labels if none is wrong, by the best link and scales, and that candidate."""
    found = []
    for logarithmic, rows in linked.items():
        identity = np.eye(rows.n_classes)
        common = FittedNoiseModel.fit(rows, logarithmic, 1.0, CalibrationMap.initial(rows), identity)
        fitted = [common]
        if rows.n_classes <= MOST_SCALES:
            start = common.model.calibration_map.with_scale_per_class()
            fitted.append(FittedNoiseModel.fit(rows, logarithmic, 1.0, start, identity))
        log_flips = np.log(np.maximum(identity, LEAST_LOG_FLIP))
        for fit in fitted:
            shape = fit.model.calibration_map
            found.append((fit.log_likelihood + log_occam_factor(rows, log_flips, shape) + _log_odds(shape), fit))
    return max(found, key=itemgetter(0))


def _over_noise_rates(
    rows: LabelledScores, found: VariationalFit, logarithmic: bool, odds: float
) -> list[FittedNoiseModel]:
    """The candidate at every noise rate of a grid, weighted by its tempered profile likelihood.

    The grid is walked up and down from the rate found, until rates have a negligible likelihood.
    """
    grid = [rate for rate in NOISE_RATES if _informative(_at_rate(found, rate))] or [found.noise_rate]  # rare classes
    start = int(np.abs(np.array(grid) - found.noise_rate).argmin())
    fitted: dict[int, FittedNoiseModel] = {}
    for indices in (range(start, len(grid)), range(start - 1, -1, -1)):
        nearby = fitted[start].model.calibration_map if start in fitted else found.state.calibration_map
        for index in indices:
            matrix = _at_rate(found, grid[index])
            fitted[index] = FittedNoiseModel.fit(rows, logarithmic, odds, nearby, matrix, NEWTON_STEPS_NEARBY)
            nearby = fitted[index].model.calibration_map
            highest = max(fit.log_likelihood for fit in fitted.values())
            if fitted[index].log_likelihood < highest - NEGLIGIBLE / TEMPER:
                break
    weights = softmax([TEMPER * fit.log_likelihood + np.log(SPACING[index]) for index, fit in fitted.items()])
    return [fit.weighted(odds * weight) for weight, fit in zip(weights, fitted.values())]


def _at_rate(found: VariationalFit, noise_rate: float) -> Floats:
    """The flip matrix scaled to this noise rate."""
    identity = np.eye(len(found.matrix))
    return np.asarray(identity + noise_rate / found.noise_rate * (found.matrix - identity))


def _informative(matrix: Floats) -> bool:
    """Whether labels still say something about the true class after so many flips."""
    kept = np.diag(matrix)
    return bool(kept.min() >= LEAST_KEPT and (len(kept) > 2 or 2 - kept.sum() <= MOST_FLIPPED))


def _significant(models: list[NoiseModel]) -> tuple[NoiseModel, ...]:
    """Candidates whose weight counts, with weights that sum to one."""
    total = sum(model.weight for model in models)
    kept = [model for model in models if model.weight > SMALLEST_WEIGHT * total]
    total = sum(model.weight for model in kept)
    return tuple(replace(model, weight=model.weight / total) for model in kept)
