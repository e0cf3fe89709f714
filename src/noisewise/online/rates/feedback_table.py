"""What answers tell: how right and wrong actions are answered, and whether silence follows mistakes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from noisewise._numerics.ridge import fit_per_action, leave_one_out_per_action
from noisewise._typing import Codes, Floats
from noisewise._validation import is_missing
from noisewise.online.learners.decision import check_feedback
from noisewise.online.rates.per_action import GATE

WRONG, RIGHT, NONE = 0, 1, 2  # answers
N_ANSWERS = 3
LEAST_DIFFERENCE, LEAST_BY_ACTION = 0.1, 0.25  # silence must depend on the truth by as much, beyond x
NO_ACCIDENT = 0.0027  # three standard errors


def read_answer(feedback: Any, missing: str) -> int:
    """Wrong (0), right (1) or none (2), where None, NaN and NA are none; that counts as wrong if missing is "no".

    >>> read_answer(True, "drop"), read_answer(float("nan"), "drop"), read_answer(None, "no")
    (1, 2, 0)
    """
    if feedback is not None:
        try:
            return check_feedback(feedback)
        except ValueError:  # looked at only here, because it takes long to ask a number whether it is one
            if hasattr(feedback, "__len__") or not is_missing(feedback):
                raise
    return WRONG if missing == "no" else NONE


def shrunk_channels(counts: Floats) -> Floats:
    """Answer probabilities of each action from counts (n_actions, n_answers), drawn to the pool as far as alike."""
    rounds = counts.sum(axis=1)
    total = max(rounds.sum(), 1e-9)
    pooled = (counts.sum(axis=0) + 1 / counts.shape[1]) / (total + 1)
    within = np.sum(pooled * (1 - pooled))
    shares = counts / np.maximum(rounds, 1)[:, None]
    freedom = max(total - np.square(rounds).sum() / total, 1e-9)
    between = (np.sum(rounds[:, None] * np.square(shares - pooled)) - within * (len(counts) - 1)) / freedom
    strength = max(within / max(between, 1e-6) - 1, 2.0)
    return np.asarray((counts + strength * pooled) / (rounds + strength)[:, None])


def equal_channels_p_value(counts: Floats) -> float:
    """G2 test that all actions are answered alike."""
    table = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    if table.shape[0] < 2 or table.shape[1] < 2:
        return 1.0
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
    ratio = np.where(table > 0, table / expected, 1.0)
    return float(chi2.sf(2 * np.sum(table * np.log(ratio)), (table.shape[0] - 1) * (table.shape[1] - 1)))


def channels_differ(wrong: Floats, right: Floats) -> bool:
    """Whether actions are answered differently, and each of them so that right and wrong can be told apart."""
    p_value = min(equal_channels_p_value(wrong), equal_channels_p_value(right))
    return p_value < GATE and oriented(shrunk_channels(right), shrunk_channels(wrong))


def oriented(when_right: Floats, when_wrong: Floats) -> bool:
    """Whether praise is likelier for right actions than for wrong ones, clearly and for every action."""
    odds_right = (when_right[:, RIGHT] + 0.02) / (when_right[:, WRONG] + 0.02)
    odds_wrong = (when_wrong[:, RIGHT] + 0.02) / (when_wrong[:, WRONG] + 0.02)
    return bool(np.all(odds_right > 1.2 * odds_wrong))


def unexplained_silence(X: Floats, scores: Floats, answers: Codes, ridge: float = 1.0) -> Floats:
    """Missing (1) or not (0), less what a ridge regression on x alone predicts, each round left out.

    The regression also sees how clear a case x is: where answers are often missing, little is learnt, and cases
    are unclear; without this, silence would seem to follow mistakes.
    """
    missing = (answers == NONE).astype(np.float64)
    if not missing.any():
        return np.zeros(len(X))
    top = np.sort(scores, axis=1)
    clear = np.hstack([_tenths(top[:, -1] - top[:, -2]), _tenths(top[:, -1])])
    one = np.zeros(len(X), dtype=np.intp)
    seen = np.hstack([X, clear])
    expected, _ = leave_one_out_per_action(fit_per_action(seen, one, missing, 1, ridge), seen, one, missing)
    return np.asarray(missing - expected[:, 0])


def silence_tells(
    surprise: Floats, groups: Codes, right: NDArray[np.bool_], wrong: NDArray[np.bool_], least: float
) -> bool:
    """Whether silence depends on the truth beyond x: its unexplained part differs, by much and by no accident.

    Each group of rounds is looked at by itself, because silence may mean praise for one and blame for another.
    """

    def moments(chosen: NDArray[np.bool_]) -> tuple[Floats, Floats, Floats]:
        rounds = np.bincount(groups[chosen], minlength=n_groups)
        means = np.bincount(groups[chosen], surprise[chosen], n_groups) / np.maximum(rounds, 1)
        squares = np.bincount(groups[chosen], surprise[chosen] ** 2, n_groups) / np.maximum(rounds, 1)
        return rounds.astype(np.float64), means, np.maximum(squares - means**2, 1e-6) / np.maximum(rounds, 1)

    n_groups = int(groups.max()) + 1
    (n_right, mean_right, error_right), (n_wrong, mean_wrong, error_wrong) = moments(right), moments(wrong)
    seen = (n_right >= 2) & (n_wrong >= 2)
    if not seen.any():
        return False
    squares, errors = ((mean_wrong - mean_right) ** 2)[seen], (error_right + error_wrong)[seen]
    weights = n_right[seen] * n_wrong[seen] / (n_right[seen] + n_wrong[seen])
    size = np.average(squares - errors, weights=weights)  # squared, less what chance alone would bring
    p_value = chi2.sf(np.sum(squares / errors), len(squares))
    return bool(size >= least**2 and p_value < NO_ACCIDENT)


def _tenths(values: Floats) -> Floats:
    """Which tenth of all values each one is in, as ten columns of zeros and ones."""
    edges = np.quantile(values, np.arange(1, 10) / 10)
    return np.asarray(np.eye(10)[np.searchsorted(edges, values)])
