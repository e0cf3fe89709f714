"""Rates of several groups: shrunk to the pooled rate (empirical Bayes), and tested for equality."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import chi2

from noisewise._typing import Floats

SIGNIFICANCE = 1e-5  # p-value below which rates are taken to differ: the test is repeated, and a false alarm is costly
LEAST_STRENGTH = 2.0  # pseudo-counts of the pooled rate: groups of a few rounds never stand alone
N_COMMON = 40  # rates that all groups might have in common, where a part of each may come from elsewhere
LEAST_BETWEEN = 1e-6  # variance between groups


def shrunken_rates(hits: Floats, rounds: Floats) -> Floats:
    """Rates hits / rounds of each group, shrunk to the pooled rate as far as the groups look alike.

    Posterior means of a beta-binomial model whose variance between the groups is estimated by moments [1]_.

    References
    ----------
    .. [1] Kleinman, J. C. (1973). Proportions with extraneous variance: single and independent samples. Journal of the
       American Statistical Association 68(341), 46-54.
    """
    total = rounds.sum()
    if total == 0:
        return np.zeros(len(rounds))
    pooled = hits.sum() / total
    within = pooled * (1 - pooled)
    deviations = np.sum(rounds * np.square(hits / np.maximum(rounds, 1) - pooled))
    strength = _prior_strength(within, deviations, rounds, total)
    return np.asarray((hits + strength * pooled) / (rounds + strength))


def shrunken_channels(counts: Floats) -> Floats:
    """Feedback probabilities of each action from counts (n_actions, n_codes), shrunk to the pooled ones.

    The Dirichlet-multinomial form of `shrunken_rates`; the pooled probabilities have a pseudo-count of one, so that
    none of them is zero.
    """
    rounds = counts.sum(axis=1)
    total = max(rounds.sum(), 1e-9)
    pooled = (counts.sum(axis=0) + 1 / counts.shape[1]) / (total + 1)
    within = np.sum(pooled * (1 - pooled))
    deviations = np.sum(rounds[:, None] * np.square(counts / np.maximum(rounds, 1)[:, None] - pooled))
    strength = _prior_strength(within, deviations, rounds, total)
    return np.asarray((counts + strength * pooled) / (rounds + strength)[:, None])


def _prior_strength(within: Any, deviations: Any, rounds: Floats, total: Any) -> Any:
    """Pseudo-counts of the prior, within / between - 1, from the weighted squared deviations of the groups."""
    freedom = max(total - np.square(rounds).sum() / total, 1e-9)
    between = (deviations - within * (len(rounds) - 1)) / freedom
    return max(within / max(between, LEAST_BETWEEN) - 1, LEAST_STRENGTH)


def equal_rates_p_value(hits: Floats, rounds: Floats, added: Floats | None = None) -> float:
    """Likelihood ratio (G^2) test that all groups have the same rate [1]_.

    Up to `added` of each observed rate may come from elsewhere: the p-value is the largest of all that this allows.

    References
    ----------
    .. [1] Wilks, S. S. (1938). The large-sample distribution of the likelihood ratio for testing composite hypotheses.
       Annals of Mathematical Statistics 9(1), 60-62.
    """
    some = rounds > 0
    if some.sum() < 2:
        return 1.0
    hits, rounds = hits[some], rounds[some]
    if added is not None and added[some].any():
        rates, most = hits / rounds, added[some]
        commons = np.linspace(max((rates - most).min(), 0.0), rates.max(), N_COMMON)
        explained = [rates - np.clip(rates - common, 0, np.minimum(most, rates)) for common in commons]
        return max(equal_rates_p_value(rest * rounds, rounds) for rest in explained)
    pooled = hits.sum() / rounds.sum()
    statistic = 2 * (_log_likelihood(hits, rounds, hits / rounds) - _log_likelihood(hits, rounds, pooled))
    return float(chi2.sf(statistic, len(hits) - 1))


def equal_channels_p_value(counts: Floats) -> float:
    """The same for a table of counts (n_actions, n_codes): all actions have the same feedback probabilities."""
    table = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    if table.shape[0] < 2 or table.shape[1] < 2:
        return 1.0
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
    ratio = np.where(table > 0, table / expected, 1.0)
    return float(chi2.sf(2 * np.sum(table * np.log(ratio)), (table.shape[0] - 1) * (table.shape[1] - 1)))


def _log_likelihood(hits: Floats, rounds: Floats, rate: Any) -> float:
    rate = np.clip(rate, 1e-12, 1 - 1e-12)
    return float(np.sum(hits * np.log(rate) + (rounds - hits) * np.log1p(-rate)))
