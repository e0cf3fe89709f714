"""EM for the flip matrix, from posteriors of the true class and observed labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from noisewise._numerics.em import joint_counts, normalised_rows
from noisewise._typing import Floats
from noisewise.noise.flip_matrix import FlipMatrix


def mixture_step(
    noise: FlipMatrix,
    p: ArrayLike,
    observed: ArrayLike,
    weights: ArrayLike | None = None,
    pseudo_counts: Floats | float = 0.0,
) -> FlipMatrix:
    """One EM step for the flip matrix T: responsibilities, expected counts, normalised rows (rKLR eqs. 7 and 8).

    It never decreases the log-likelihood ``sum_i log (p_i @ T)[observed_i]``. A rate of exactly zero stays zero: start
    from rates between .1 and .3, or give `pseudo_counts`.

    Parameters
    ----------
    noise : FlipMatrix
        Where to start.
    p : array of shape (n, n_classes)
        Posterior of the true class given x.
    observed : array of shape (n,)
        Observed classes as 0, 1, ...
    weights : array of shape (n,), optional
    pseudo_counts : float or array of shape (n_classes, n_classes), default=0
        Added to the expected counts of each (true, observed) pair: a Dirichlet prior.

    Examples
    --------
    >>> start = FlipMatrix.symmetric(0.2, 2)
    >>> mixture_step(start, [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]], [0, 1, 1, 1])
    FlipMatrix.binary(false_positive=0.5, false_negative=0)

    References
    ----------
    .. [1] Bootkrajang, J., Kaban, A. (2014). Learning kernel logistic regression in the presence of class label
       noise. Pattern Recognition 47(11).
    """
    return FlipMatrix.estimated(mixture_rows(expected_counts(noise, p, observed, weights) + pseudo_counts))


def expected_counts(noise: FlipMatrix, p: ArrayLike, observed: ArrayLike, weights: ArrayLike | None = None) -> Floats:
    """Expected number of rows by true and observed class (the E-step of `mixture_step`)."""
    observed = np.asarray(observed, dtype=np.intp)
    true = noise.explain(p, observed)
    if weights is not None:
        true = true * np.asarray(weights, dtype=np.float64)[:, None]
    return joint_counts(true, observed)


def mixture_rows(counts: Floats) -> Floats:
    """Flip matrix from expected counts (the M-step of `mixture_step`): rows normalised, empty ones of the identity."""
    return normalised_rows(counts)
