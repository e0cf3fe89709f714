"""A mixture for numbers of which some are wrong: noise around predictions, and several kinds of errors.

A target is right with density t((y - f) / s), a two-piece Student distribution around the prediction f with local scale
s, or wrong in one of these ways: it is another row's value (the marginal density of the targets), it was shifted, or it
is in another unit (y / k is distributed as a right target, for a known factor k). The log of a shift's size is normal
below its mode and exponential above, so that a larger residual is never a smaller reason for doubt.

References
----------
.. [1] Fernandez, C., Steel, M. F. J. (1998). On Bayesian modeling of fat tails and skewness. JASA 93.
.. [2] Peel, D., McLachlan, G. J. (2000). Robust mixture modelling using the t distribution. Statistics and
   Computing 10.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.ndimage import gaussian_filter1d
from scipy.special import gammaln, logsumexp, softmax
from scipy.stats import t as student

from noisewise._typing import Floats

UNITS = {  # what a value was multiplied by
    **{10.0**power: f"{10.0**power:g} times" for power in (-3, -2, -1, 1, 2, 3)},
    2.54: "2.54 times (inches as centimetres)",
    1 / 2.54: "divided by 2.54 (centimetres as inches)",
    0.3048: "0.3048 times (feet as metres)",
    1 / 0.3048: "divided by 0.3048 (metres as feet)",
    0.45359237: "0.4536 times (pounds as kilograms)",
    1 / 0.45359237: "divided by 0.4536 (kilograms as pounds)",
    1.609344: "1.609 times (miles as kilometres)",
    1 / 1.609344: "divided by 1.609 (kilometres as miles)",
    12.0: "12 times (feet as inches, years as months)",
    1 / 12.0: "divided by 12 (inches as feet, months as years)",
    60.0: "60 times (minutes as seconds)",
    1 / 60.0: "divided by 60 (seconds as minutes)",
    -1.0: "with the wrong sign",
}
ANOTHER, SHIFTED = "another row's value", "shifted"
BEYOND, BEYOND_WIDTH = 0.2, 2.0  # part of these that are unlike all others, and its width in standard deviations
RATE_POWER = 0.1  # of the likelihood of a rate: densities that are a little off would make it far too certain
WEIGHT_PRIOR = -0.5  # pseudo-rows of each unit: below zero, a unit that is not needed dies out
PRIOR_RIGHT, PRIOR_SHIFTED = 2.0, 2.0  # pseudo-rows that are right, and that are shifted by the prior's size
MOST_SKEWED = 3.0  # ratio of the two scales of right targets
LEAST_SHIFT = 2.5  # typical shift in scales of the noise: a smaller one can't be seen
SHIFT_WIDTHS = (0.2, 2.0)  # standard deviation of the log of a shift
LEAST_TAIL = 0.4  # of its exponential side: sizes then fall off more slowly than the heaviest tails of right targets
HALF_NORMAL = np.sqrt(np.pi / 2)  # area of a half-normal side of height one and width one
RATES = np.geomspace(3e-4, 0.6, 120)  # of wrong targets
NEVER = -700.0  # log of a density that is next to nothing
RATE_PRIOR = 10.0  # rates have the prior Beta(1, 10)


@dataclass(frozen=True)
class Residuals:
    """Targets, leave-one-out predictions of them, the local scale of the noise, and the targets' marginal density."""

    targets: Floats
    predictions: Floats
    scale: Floats
    log_marginal: Floats
    iqr: float

    @classmethod
    def of(cls, targets: Floats, predictions: Floats, scale: Floats, weights: Floats) -> Residuals:
        """The marginal density is that of the targets with these weights (probabilities that they are right)."""
        low, high = np.quantile(targets, [0.25, 0.75])
        iqr = float(high - low) / 1.349 or float(targets.std())
        return cls(targets, predictions, scale, _log_density(targets, weights, iqr), iqr)

    def standardised(self, factor: float = 1.0) -> Floats:
        """Residuals in local scales, of targets divided by a factor."""
        return np.asarray((self.targets / factor - self.predictions) / self.scale)


@dataclass
class ResidualModel:
    """A candidate mixture; its parameters are updated by EM.

    Attributes
    ----------
    degrees : float
        Degrees of freedom of right targets.
    ways : tuple of str
        Ways to be wrong besides units.
    units : tuple of float
    location, below, above : float
        Centre of right targets, and their scales below and above it, in local scales.
    shift, shift_std : float
        Mean and standard deviation of the log of a shift.
    """

    degrees: float
    ways: tuple[str, ...]
    units: tuple[float, ...]
    location: float
    below: float
    above: float
    shift: float
    shift_std: float = 0.7
    proportions: Floats = field(init=False)

    def __post_init__(self) -> None:
        others = np.r_[np.full(len(self.ways), 0.08), np.full(len(self.units), 0.02 / max(len(self.units), 1))]
        self.proportions = np.r_[1 - others.sum(), others]

    @property
    def names(self) -> tuple[str, ...]:
        """What is wrong, by component but the first, which is right."""
        return (*self.ways, *(UNITS[unit] for unit in self.units))

    def log_densities(self, data: Residuals) -> Floats:
        """Log-density of each target, a column for each component."""
        size = np.log(np.maximum(np.abs(data.targets - data.predictions), _floor(data)))
        of_way = {
            ANOTHER: data.log_marginal,
            SHIFTED: self._log_shifted(size),
        }
        columns = [self.log_right(data), *(of_way[way] for way in self.ways)]
        nothing = np.where(data.targets == 0, NEVER, 0.0)  # zero is zero in every unit
        in_units = [self.log_right(data, unit) - np.log(abs(unit)) + nothing for unit in self.units]
        return np.stack([*columns, *in_units], axis=1)

    def log_right(self, data: Residuals, unit: float = 1.0) -> Floats:
        """Log-density of right targets, at the targets divided by a factor: the two-piece Student distribution [1]."""
        nu = self.degrees
        z = data.standardised(unit) - self.location
        squares = np.square(z / np.where(z < 0, self.below, self.above))
        constant = gammaln((nu + 1) / 2) - gammaln(nu / 2) - 0.5 * np.log(nu * np.pi) + np.log(2)
        return np.asarray(
            constant - (nu + 1) / 2 * np.log1p(squares / nu) - np.log(self.below + self.above) - np.log(data.scale)
        )

    def _log_shifted(self, size: Floats) -> Floats:
        """Log-density of a target whose residual has this log-size: a half-normal and an exponential side."""
        z = size - self.shift
        side = np.where(z < 0, -0.5 * np.square(z / self.shift_std), -z / self._shift_tail)
        # both signs are as likely, and the density of the residual is that of its log over its size
        return np.asarray(side - size - np.log(2 * (HALF_NORMAL * self.shift_std + self._shift_tail)))

    @property
    def _shift_tail(self) -> float:
        return max(self.shift_std, LEAST_TAIL)

    def responsibilities(self, data: Residuals) -> Floats:
        """E-step: probability of each component for each target."""
        joint = self.log_densities(data) + np.log(np.maximum(self.proportions, 1e-300))
        return np.asarray(np.exp(joint - logsumexp(joint, axis=1, keepdims=True)))

    def step(self, data: Residuals, symmetric: bool) -> Floats:
        """One EM step; while `symmetric`, both scales of right targets are equal and their centre stays."""
        parts = self.responsibilities(data)
        counts = parts.sum(axis=0)
        n_ways = 1 + len(self.ways)
        counts[0] += PRIOR_RIGHT
        counts[n_ways:] = np.maximum(counts[n_ways:] + WEIGHT_PRIOR, 0)
        self.proportions = counts / counts.sum()
        self._update_right(data, parts[:, 0], symmetric)
        if SHIFTED in self.ways:
            self._update_shift(data, parts[:, 1 + self.ways.index(SHIFTED)])
        return parts

    def _update_right(self, data: Residuals, right: Floats, symmetric: bool) -> None:
        """Centre and scales, each residual weighted by its t-weight [2]; closed form of the two-piece normal."""
        z = data.standardised()
        sides = np.where(z < self.location, self.below, self.above)
        weights = right * (self.degrees + 1) / (self.degrees + np.square((z - self.location) / sides))
        if not symmetric:
            widest = max(self.below, self.above)
            precise = weights / np.square(sides)
            self.location = float(np.clip(precise @ z / precise.sum(), -widest, widest))
        squares = weights * np.square(z - self.location)
        is_below = z < self.location
        low, high = squares[is_below].sum() / right.sum(), squares[~is_below].sum() / right.sum()
        least = 1e-3 * float(np.median(np.abs(z))) + 1e-12
        if symmetric:
            self.below = self.above = max(float(np.sqrt(low + high)), least)
            return
        roots = np.cbrt(low) + np.cbrt(high)
        below, above = np.cbrt(low) * np.sqrt(roots), np.cbrt(high) * np.sqrt(roots)
        self.below = float(max(below, above / MOST_SKEWED, least))
        self.above = float(max(above, below / MOST_SKEWED, least))

    def _update_shift(self, data: Residuals, shifted: Floats) -> None:
        size = np.log(np.maximum(np.abs(data.targets - data.predictions), _floor(data)))
        total = shifted.sum() + PRIOR_SHIFTED
        noise = max(self.below, self.above) * float(np.median(data.scale))
        prior = np.log(max(4 * noise, data.iqr))
        mean, tail = (shifted @ size + PRIOR_SHIFTED * prior) / total, self._shift_tail
        above_mode = (tail**2 - self.shift_std**2) / (tail + HALF_NORMAL * self.shift_std)  # of the mean
        self.shift = float(max(mean - above_mode, np.log(LEAST_SHIFT * noise)))
        variance = (shifted @ np.square(size - mean) + 0.5 * PRIOR_SHIFTED) / total
        self.shift_std = float(np.clip(np.sqrt(variance), *SHIFT_WIDTHS))

    def count(self, data: Residuals) -> tuple[float, float, float]:
        """Log-evidence, and mean and standard deviation of the number of wrong targets, over a grid of their rate."""
        logs = self.log_densities(data)
        others = np.log(np.maximum(self.proportions[1:], 1e-300))
        wrong = logsumexp(logs[:, 1:] + others - logsumexp(others), axis=1)
        likelihoods, priors, means, variances = np.empty((4, len(RATES)))
        for i, rate in enumerate(RATES):
            joint = np.logaddexp(np.log1p(-rate) + logs[:, 0], np.log(rate) + wrong)
            posterior = np.exp(np.log(rate) + wrong - joint)
            # the grid is even in the log of the rate, so its prior density is that of the rate times the rate
            likelihoods[i], priors[i] = joint.sum(), (RATE_PRIOR - 1) * np.log1p(-rate) + np.log(rate)
            means[i], variances[i] = posterior.sum(), (posterior * (1 - posterior)).sum()
        weights = softmax(RATE_POWER * likelihoods + priors)
        mean = float(weights @ means)
        return (
            float(logsumexp(likelihoods + priors)),
            mean,
            float(np.sqrt(weights @ (variances + np.square(means - mean)))),
        )

    def quantile(self, probability: float) -> float:
        """Quantile of right targets, in local scales from the prediction."""
        left = self.below / (self.below + self.above)
        if probability < left:
            return self.location + self.below * float(student.ppf(probability / left / 2, self.degrees))
        return self.location + self.above * float(
            student.ppf(0.5 + (probability - left) / (1 - left) / 2, self.degrees)
        )


def _log_density(values: Floats, weights: Floats, iqr: float, n_bins: int = 512) -> Floats:
    """Log of a kernel density estimate, from a smoothed histogram, with a wide Cauchy part for values beyond it."""
    low, high = np.quantile(values, [0.001, 0.999])
    reach = 3 * iqr + (np.quantile(values, 0.75) - np.quantile(values, 0.25))
    median = float(np.median(values))
    low, high = max(low, median - 3 * reach), min(high, median + 3 * reach)
    high = high if high > low else low + iqr
    margin = 0.1 * (high - low)
    edges = np.linspace(low - margin, high + margin, n_bins + 1)
    counts = np.histogram(values, edges, weights=weights)[0]
    width = edges[1] - edges[0]
    bandwidth = max(iqr * len(values) ** -0.2, 2 * width)
    density = gaussian_filter1d(counts, bandwidth / width, mode="constant") / (max(counts.sum(), 1e-300) * width)
    centers = (edges[1:] + edges[:-1]) / 2
    found = np.interp(values, centers, density, left=0.0, right=0.0)
    beyond = 1 / (np.pi * BEYOND_WIDTH * iqr * (1 + np.square((values - median) / (BEYOND_WIDTH * iqr))))
    return np.asarray(np.log((1 - BEYOND) * found + BEYOND * beyond))


def _floor(data: Residuals) -> float:
    """Smallest residual whose log is taken."""
    return 1e-6 * data.iqr + 1e-300
