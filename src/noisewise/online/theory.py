"""Mistake bounds of RCNBF, the exploration rate with the lowest bound, and the error at which Banditron settles.

`rcnbf` moves its weights by H, whose expectation over exploration and noise is the Perceptron's step. The second moment
E ||H||^2 decides the mistake bound ([1]_, Lemma 3 and Theorem 4). The exact second moments are used here, because the
printed A1 is 2 to 137 times too large; ``moments="printed"`` gives the paper's own bounds.

References
----------
.. [1] Agarwal, M., Manwani, N. (2021). Learning multiclass classifier under noisy bandit feedback. PAKDD 25.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from noisewise._validation import check_number
from noisewise.noise import FlipMatrix
from noisewise.online.rates.flip_rates import flip_rates

LEAST_EXPLORATION = 1e-9  # lower end of the search for the best rate, on a logarithmic grid


class SecondMoments(NamedTuple):
    """E ||H||^2 of an update of `rcnbf`, for a row of norm one [A1, A2]."""

    when_wrong: float
    when_right: float


class Corollary(NamedTuple):
    """How a mistake bound grows with the horizon: `bound` is of order horizon ** `exponent` at this `gamma`."""

    case: str
    gamma: float
    exponent: float
    bound: float


def second_moments(
    n_classes: int, gamma: float, noise: FlipMatrix | None = None, moments: str = "exact"
) -> SecondMoments:
    """Expected squared norm of an update, where the greedy label is wrong and where it is right.

    Exact over the draw of the label and the flip of its feedback; "printed" is the upper bound of Lemma 3, which holds
    for `gamma` below one half.

    References
    ----------
    .. [1] Agarwal, M., Manwani, N. (2021). Learning multiclass classifier under noisy bandit feedback. PAKDD 25.
       Lemma 3.

    Examples
    --------
    >>> second_moments(n_classes=2, gamma=0.5)
    SecondMoments(when_wrong=5.0, when_right=0.333...)
    >>> second_moments(n_classes=2, gamma=0.5, moments="printed")
    SecondMoments(when_wrong=8.0, when_right=1.0)
    """
    rho0, rho1 = _checked_rates(n_classes, noise)
    _check_gamma(gamma, 1.0 if moments == "exact" else 0.5)
    K, beta = n_classes, 1 - rho0 - rho1
    if moments == "exact":
        v0, v1 = rho0 * (1 - rho0) / beta**2, rho1 * (1 - rho1) / beta**2  # variance of h(f) if wrong, if right
        P = 1 - gamma + gamma / K
        return SecondMoments(
            1 + (1 + v1) * K / gamma + v0 * ((K - 2) * K / gamma + 1 / P),
            (1 - P) / P + v1 / P + v0 * (K - 1) * K / gamma,
        )
    if moments == "printed":
        variance = rho0 * (1 - rho0)
        return SecondMoments(
            2 * K / gamma
            + 2 * variance * K / (beta * gamma)
            + K * rho1 / (beta**2 * gamma)
            + variance * K**2 / (beta * gamma) ** 2,
            2 * gamma + rho1 / (beta**2 * (1 - gamma)) + variance * K**2 / (beta**2 * gamma),
        )
    raise ValueError(f'moments is {moments!r}; it is "exact" or "printed"')


def mistake_bound(
    horizon: float,
    n_classes: int,
    gamma: float,
    noise: FlipMatrix | None = None,
    complexity: float = 1.0,
    hinge_loss: float = 0.0,
    moments: str = "exact",
) -> float:
    """Upper bound of the expected mistakes of `rcnbf` in `horizon` rounds, for rows of norm at most one (Theorem 4).

    E[M] <= R_H + sqrt(A1 D R_H) + 3 max(A1 D, sqrt(A2 D T)) + gamma T.

    Parameters
    ----------
    horizon : number of rounds [T]
    n_classes : number of labels [K]
    gamma : exploration rate
    noise : how feedback is flipped; None is no noise
    complexity : squared Frobenius norm of the weights of comparison [D]
    hinge_loss : the sum of these weights' hinge losses over all rounds [R_H]; 0 if they separate all rows by one
    moments : "exact" second moments, or "printed" ones

    References
    ----------
    .. [1] Agarwal, M., Manwani, N. (2021). Learning multiclass classifier under noisy bandit feedback. PAKDD 25.
       Theorem 4.

    Examples
    --------
    >>> clean = mistake_bound(1_000_000, n_classes=9, gamma=0.01, complexity=2.0)
    >>> noisy = mistake_bound(1_000_000, n_classes=9, gamma=0.01, complexity=2.0, noise=FlipMatrix.binary(0.15, 0.15))
    >>> round(clean), round(noisy)
    (15406, 193650)
    """
    _check_positive(horizon=horizon, complexity=complexity)
    check_number("hinge_loss", hinge_loss, lambda loss: 0 <= loss < np.inf, "it is a sum of losses, 0 or more")
    A1, A2 = second_moments(n_classes, gamma, noise, moments)
    variance_term = max(A1 * complexity, float(np.sqrt(A2 * complexity * horizon)))
    return float(hinge_loss + np.sqrt(A1 * complexity * hinge_loss) + 3 * variance_term + gamma * horizon)


def best_exploration(
    horizon: float,
    n_classes: int,
    noise: FlipMatrix | None = None,
    complexity: float = 1.0,
    hinge_loss: float = 0.0,
) -> float:
    """The exploration rate [gamma] with the lowest `mistake_bound`.

    The bound is a worst case: take this as an order of magnitude.

    >>> best_exploration(1_000_000, n_classes=9)
    0.0051...
    >>> best_exploration(1_000_000, n_classes=9, noise=FlipMatrix.binary(0.15, 0.15))
    0.0347...
    """

    def bound(log_gamma: float) -> float:
        return mistake_bound(horizon, n_classes, float(np.exp(log_gamma)), noise, complexity, hinge_loss)

    grid = np.linspace(np.log(LEAST_EXPLORATION), 0.0, 200)
    best = int(np.argmin([bound(point) for point in grid]))
    around = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    found = minimize_scalar(bound, bounds=around, method="bounded", options={"xatol": 1e-6})
    return float(np.exp(found.x if found.fun <= bound(grid[best]) else grid[best]))


def corollary(horizon: float, n_classes: int, noise: FlipMatrix | None = None, complexity: float = 1.0) -> Corollary:
    """Which of Corollaries 4.1 to 4.3 applies to this noise, with its exploration rate and its bound.

    The paper calls the second case "high noise", but it holds only for rates that vanish with the horizon. The
    false-positive rate decides: where it is zero or vanishes, the bound is of order sqrt(horizon), whatever the
    false-negative rate; a constant false-positive rate costs horizon ** (2/3). The two rates must sum to less than one.

    References
    ----------
    .. [1] Agarwal, M., Manwani, N. (2021). Learning multiclass classifier under noisy bandit feedback. PAKDD 25.
       Corollaries 4.1 to 4.3.

    Examples
    --------
    >>> corollary(1_000_000, 9, FlipMatrix.binary(0.15, 0.15))._replace(bound=0.0)
    Corollary(case='constant false-positive rate', gamma=0.0142..., exponent=0.666..., bound=0.0)
    >>> corollary(1_000_000, 9).case
    'no noise'
    """
    rho0, rho1 = _checked_rates(n_classes, noise)
    _check_positive(horizon=horizon, complexity=complexity)
    beta = 1 - rho0 - rho1
    if rho0 == rho1 == 0:
        case, gamma, exponent = "no noise", horizon ** (-1 / 2), 1 / 2
    elif rho0 <= np.sqrt(complexity / horizon):
        case, gamma, exponent = "vanishing false-positive rate", np.sqrt(complexity / horizon) / beta, 1 / 2
    else:
        case, gamma, exponent = "constant false-positive rate", horizon ** (-1 / 3) / beta, 2 / 3
    gamma = float(min(gamma, 0.5))
    return Corollary(case, gamma, exponent, mistake_bound(horizon, n_classes, gamma, noise, complexity))


def noise_floor(n_classes: int, noise: FlipMatrix, gamma: float | None = None) -> float:
    """The error at which `banditron` settles, on separable rows, however long it plays; `rcnbf` has no such floor.

    Without `gamma` the error of the greedy label, (1 - beta)(K - 1)/K with beta = 1 - rho0 - rho1; with it that of the
    label played. A stationarity argument, not a proof: on harder rows the error stays higher.

    >>> round(noise_floor(9, FlipMatrix.binary(0.15, 0.15), gamma=0.1), 3)
    0.329
    """
    rho0, rho1 = _checked_rates(n_classes, noise)
    guessing = (n_classes - 1) / n_classes
    greedy = (rho0 + rho1) * guessing
    if gamma is None:
        return greedy
    if gamma:
        _check_gamma(gamma, 1.0)
    return (1 - gamma) * greedy + gamma * guessing


def _checked_rates(n_classes: int, noise: FlipMatrix | None) -> tuple[float, float]:
    if not isinstance(n_classes, int | np.integer) or n_classes < 2:
        raise ValueError(f"n_classes is {n_classes!r}; two or more labels are needed to choose from")
    if not (noise is None or isinstance(noise, FlipMatrix)):
        raise ValueError(f"the theory has one noise for all labels, a FlipMatrix; this is {noise!r}")
    rho0, rho1 = flip_rates(noise, [0])[0].tolist()
    return rho0, rho1


def _check_gamma(gamma: float, most: float) -> None:
    wanted = f"the exploration rate must be above 0 and at most {most:g} here"
    check_number("gamma", gamma, lambda rate: 0 < rate <= most, wanted)


def _check_positive(**values: float) -> None:
    for name, value in values.items():
        check_number(name, value, lambda number: 0 < number < np.inf, "it must be positive and finite")
