"""Metrics of probabilities and rankings: log loss and the area under the ROC curve (AUC)."""

from __future__ import annotations

from typing import Any

import numpy as np

from noisewise._typing import Floats
from noisewise._validation import check_weights
from noisewise.metrics.inputs import Rows, read_classes, read_scores
from noisewise.metrics.score import Score, noise_covariance, score_of
from noisewise.noise import FlipMatrix


def corrected_log_loss(
    y_observed: Any,
    y_prob: Any,
    *,
    noise: FlipMatrix,
    classes: Any = None,
    sample_weight: Any = None,
    confidence: float = 0.95,
    noise_uncertainty: Any = None,
    population: bool = False,
) -> Score:
    """Log loss, the mean of -log P(true class), from noisy test labels.

    Parameters
    ----------
    y_prob : array of shape (n, n_classes), or (n,) for two classes
        Probability of every class, columns in the order of `classes`, or of the second class.

    The other parameters are those of `corrected_accuracy`. Probabilities of 0 count as 2e-16, as in scikit-learn; such
    rows make the interval wide, since each may have a wrong label.

    References
    ----------
    .. [1] Natarajan, N., Dhillon, I. S., Ravikumar, P., Tewari, A. (2013). Learning with noisy labels. NeurIPS 26.
       (Lemma 1: unbiased losses from noisy labels.)

    Examples
    --------
    >>> noise = FlipMatrix.binary(false_positive=0.2, false_negative=0.2)
    >>> y = np.repeat([0, 1], 2000)
    >>> probability = np.where(y == 1, 0.9, 0.1)
    >>> low, high = corrected_log_loss(noise.corrupt(y, rng=0), probability, noise=noise).interval
    >>> bool(low < -np.log(0.9) < high)
    True
    """
    classes, (observed,) = read_classes(classes, noise, y_observed)
    rows = Rows.of(observed, check_weights(sample_weight, observed), noise)
    losses = -np.log(_probabilities(read_scores(y_prob, len(observed), noise.n_classes)))
    value = float(rows.weights @ (rows.targets * losses).sum(axis=1)) / rows.total
    return score_of(
        value, (losses - value) / rows.total, rows, (0.0, np.inf), confidence, noise_uncertainty, population
    )


def corrected_roc_auc(
    y_observed: Any,
    y_score: Any,
    *,
    noise: FlipMatrix,
    classes: Any = None,
    sample_weight: Any = None,
    confidence: float = 0.95,
    noise_uncertainty: Any = None,
    population: bool = False,
) -> Score:
    """AUC with respect to the true labels, from noisy test labels; of each class against the rest if there are many.

    Noise that depends on the class alone pulls the area towards one half by a factor known from the flip rates and
    the class priors, ``(AUC_noisy - 1/2) = (1 - a - b) (AUC - 1/2)`` with a, b the fractions of wrong labels among the
    observed positives and negatives [1]_; dividing by it corrects the noise. With more than two classes the score is
    the mean over the classes of the area against all others.

    Parameters
    ----------
    y_score : array of shape (n,) for two classes, or (n, n_classes)
        Higher for more likely members of the second class, or one column a class in the order of `classes`.

    The other parameters are those of `corrected_accuracy`. A class whose corrected weight is not above
    zero is an error.

    References
    ----------
    .. [1] Menon, A. K., van Rooyen, B., Ong, C. S., Williamson, R. C. (2015). Learning from corrupted binary labels via
       class-probability estimation. ICML.
    .. [2] DeLong, E. R., DeLong, D. M., Clarke-Pearson, D. L. (1988). Comparing the areas under two or more correlated
       receiver operating characteristic curves: a nonparametric approach. Biometrics 44(3). (The influence of a row.)

    Examples
    --------
    >>> noise = FlipMatrix.binary(false_positive=0.1, false_negative=0.3)
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(2, size=2000)
    >>> observed = noise.corrupt(y, rng)
    >>> low, high = corrected_roc_auc(observed, y + rng.normal(size=2000), noise=noise).interval
    >>> low < 0.760 < high  # the AUC of two normal distributions one standard deviation apart
    True
    """
    classes, (observed,) = read_classes(classes, noise, y_observed)
    rows = Rows.of(observed, check_weights(sample_weight, observed), noise)
    scores = read_scores(y_score, len(observed), noise.n_classes)
    members = rows.class_weights(classes)
    n_columns = scores.shape[1]
    wanted = [1] if noise.n_classes == 2 else range(noise.n_classes)
    value, influence, added = 0.0, np.zeros(rows.targets.shape), np.zeros(len(observed))
    for c in wanted:
        column = scores[:, min(c, n_columns - 1)]
        area, derivative, of_row = _area(column, c, float(members[c]), rows)
        value += area / len(wanted)
        influence[:, c] += derivative / len(wanted)
        added += of_row / len(wanted)
    return score_of(value, influence, rows, (0.0, 1.0), confidence, noise_uncertainty, population, added)


def _area(scores: Floats, c: int, members: float, rows: Rows) -> tuple[float, Floats, Floats]:
    """AUC of class c against the rest; its derivative by a row's target of c; and the influence of a whole row.

    The AUC is 1/2 + excess / (members * others), where the excess sums over members the weight ranked below them less
    half of the total: pairs of two members cancel. Excess and members are linear in the targets; the second-order bias
    of the quotient is subtracted.
    """
    target, weights = rows.targets[:, c], rows.weights
    others = rows.total - members
    pairs, by_members = members * others, others - members  # the latter is the derivative of the former
    ranks = weight_below(scores, weights) - rows.total / 2
    excess = float((weights * target) @ ranks)
    derivative = ranks / pairs - excess * by_members / pairs**2
    is_c = np.zeros(rows.targets.shape)
    is_c[:, c] = 1
    mixed = noise_covariance(rows, is_c * ranks[:, None], is_c)
    own = noise_covariance(rows, is_c, is_c)
    bias = -mixed * by_members / pairs**2 + own * excess * (by_members**2 / pairs**3 + 1 / pairs**2)
    area = 0.5 + excess / pairs
    below = weight_below(scores, weights * (1 - target)) - area * others
    above = members - weight_below(scores, weights * target) - area * members
    return area - bias, derivative, (target * below + (1 - target) * above) / pairs


def weight_below(scores: Floats, mass: Floats) -> Floats:
    """For each score, the weight of lower scores and half of that of equal ones (weighted mid-ranks).

    >>> weight_below(np.array([0.1, 0.7, 0.7]), np.array([1.0, 2.0, 4.0]))
    array([0.5, 4. , 4. ])
    """
    _, rank = np.unique(scores, return_inverse=True)
    at = np.bincount(rank, mass)
    return np.asarray((np.cumsum(at) - at / 2)[rank])


def _probabilities(given: Floats) -> Floats:
    if given.min() < 0 or given.max() > 1 + 1e-6:
        raise ValueError("y_prob holds values outside 0 and 1; the log loss needs probabilities")
    full = np.hstack([1 - given, given]) if given.shape[1] == 1 else given
    if np.abs(full.sum(axis=1) - 1).max() > 1e-3:
        raise ValueError("the rows of y_prob do not sum to 1; the log loss needs a probability of every class")
    return np.clip(full, np.finfo(np.float64).eps, 1)
