"""Mean feedback of the most confident rounds, and how far overlapping classes may have moved it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from noisewise._typing import Floats

HEAD_FRACTIONS = 0.7 ** np.arange(9)  # of the candidate rounds, from all of them down to the most confident 6 %
LEAST_HEAD = 400  # rounds: a smaller head has too large an error to narrow further
NARROWING_ERRORS = 3.0  # standard errors by which a head must exceed a smaller one; at 2, one in ten would by accident
Z = 1.959963984540054  # 97.5 % quantile of the standard normal distribution
SELECTION_ERROR = 1.15  # factor of the standard error, because the head was selected by its own values


class MeanFeedback(NamedTuple):
    """Mean of selected feedback, its standard error, the number of rounds, and by how much the others exceed it."""

    mean: float
    error: float
    rounds: int
    excess: float = 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """95 % confidence interval of the mean."""
        return max(self.mean - Z * self.error, 0.0), min(self.mean + Z * self.error, 1.0)


def consistent_head(values: Floats, largest: float = 1.0, n_errors: float = NARROWING_ERRORS) -> MeanFeedback:
    """Mean over the largest head (most confident values first) that is consistent with every smaller head.

    Less confident rounds can only raise the mean. By the k-standard-error rule the largest head is taken whose mean
    exceeds that of no smaller one by more than `n_errors` standard errors of the difference; it is at most the
    fraction `largest` of all values. The mean of the values after the head, less its own, is the excess: where classes
    overlap, the head itself has a part of it.

    >>> consistent_head(np.array([0.0, 0.0, 1.0, 0.0]), largest=0.5)[2:]
    (2, 0.5)
    """
    sizes = (largest * HEAD_FRACTIONS * len(values)).astype(int)
    sizes = sizes[sizes >= min(LEAST_HEAD, sizes[0])]
    if sizes[0] == 0:
        return MeanFeedback(0.0, 1.0, 0)
    means = np.cumsum(values)[sizes - 1] / sizes
    variances = np.maximum(means * (1 - means), 2.0 / sizes)
    for j in range(len(sizes)):  # heads are nested: Var(m_j - m_k) = s^2 (1 / n_k - 1 / n_j)
        errors = np.sqrt(variances[j + 1 :] * (1 / sizes[j + 1 :] - 1 / sizes[j]))
        if np.all(means[j] - means[j + 1 :] <= n_errors * errors):
            break
    mean, n = float(means[j]), int(sizes[j])
    excess = max(float(np.mean(values[n:])) - mean, 0.0) if n < len(values) else 0.0
    return MeanFeedback(mean, float(SELECTION_ERROR * np.sqrt(variances[j] / n)), n, excess)
