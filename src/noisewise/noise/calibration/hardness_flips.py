"""Flips that depend on the class and on how hard a row is, fitted together with the mode of the judged label.

The truth t of a row has the distribution q(x), proportional to c(x)^sharpness exp(offset_t), where c(x) is that of the
judged label; or it is given (`class_clusters`). Rows are put into equal parts by the certainty max c(x), and in part g
an observed label y is a draw from the row t of a flip matrix F_g. Offsets and matrices maximise

    sum_i log sum_t q_t(x_i) F_g(i)[t, y_i]  -  |offset|^2 / (2 OFFSET_STD^2)  +  sum_g,t PRIOR_ROWS P_g[t] . log F_g[t]

by expectation maximisation. P_g is the mean of q_t(x) times the distribution of the observed label: what F_g would be
if the label depended on the row alone. So few rows change little, and many show which classes are confused, and where.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from noisewise._numerics.blocks import blocks
from noisewise._numerics.em import joint_counts, normalised_rows, responsibilities
from noisewise._typing import Codes, Floats
from noisewise.noise.calibration.class_clusters import Mode

PARTS = 3  # by certainty
PRIOR_ROWS = 50  # weight of P_g, in rows of each true class
OFFSET_STD = 0.5
ITERATIONS, SCORES = 30, 500_000_000  # as many as these, and no more numbers than these in all
TOLERANCE = 1e-3  # of offsets and flip rates, from one iteration to the next


@dataclass(frozen=True)
class HardnessFlips:
    """Flip matrices by certainty of a row, and the mode of a row.

    Attributes
    ----------
    mode : Mode
        Gives the distribution of the truth of each row, whatever its label is.
    bounds : array of shape (PARTS - 1,)
        Certainties between which a part lies.
    matrices : array of shape (PARTS, n_classes, n_classes)
    """

    mode: Mode
    bounds: NDArray[np.floating]
    matrices: NDArray[np.floating]

    def part(self, judged: NDArray[np.floating]) -> Codes:
        """The part of each row, the least certain first."""
        return np.asarray(np.searchsorted(self.bounds, judged.max(axis=1)), dtype=np.intp)

    def posterior(self, judged: NDArray[np.floating], codes: Codes) -> NDArray[np.floating]:
        """Distribution of the truth of each row, given its observed label."""
        return self._given_label(self.mode(judged), self.part(judged), codes)

    def _given_label(self, mode: NDArray[np.floating], part: Codes, codes: Codes) -> NDArray[np.floating]:
        likelihood = self.matrices.transpose(0, 2, 1)[part, codes].astype(mode.dtype)
        return responsibilities(mode, likelihood, float(np.finfo(mode.dtype).tiny))[0]


def fit_hardness_flips(
    judged: NDArray[np.floating], codes: Codes, mode: float | Mode, matrix: Floats | None = None
) -> HardnessFlips:
    """Flips by class and certainty from P(judged label | x), observed labels, and flips T between the two.

    `mode` is the sharpness, and offsets are fitted, or the whole mode. Half of the rows are hard, and one class of
    these is called by the name of the other more often than the reverse:

    >>> rng = np.random.default_rng(0)
    >>> truth, hard = rng.integers(0, 2, 4000), np.arange(4000) % 2
    >>> wrong = rng.random(4000) < np.where(hard & (truth == 0), 0.4, 0.05)
    >>> judged = np.eye(2)[truth] * np.where(hard, 0.5, 0.9)[:, None] + np.where(hard, 0.25, 0.05)[:, None]
    >>> flips = fit_hardness_flips(judged, np.where(wrong, 1 - truth, truth), mode=3.0)
    >>> flips.matrices[0].round(1), flips.matrices[-1].round(1)
    (array([[0.7, 0.3],
           [0. , 1. ]]), array([[1., 0.],
           [0., 1.]]))
    """
    n, n_classes = judged.shape
    bounds = np.unique(np.quantile(judged.max(axis=1), np.arange(1, PARTS) / PARTS))
    start = mode if isinstance(mode, Mode) else Mode(mode, np.zeros(n_classes))
    flips = HardnessFlips(start, bounds, np.empty((len(bounds) + 1, 0, 0)))
    parts = flips.part(judged)
    expected = np.zeros((len(bounds) + 1, n_classes, n_classes))
    for block in blocks(n):
        truth = start(judged[block])
        for g in range(len(expected)):
            of_part = parts[block] == g
            expected[g] += truth[of_part].T @ judged[block][of_part]
    prior = normalised_rows(expected if matrix is None else expected @ matrix)
    flips = HardnessFlips(start, bounds, prior)
    for _ in range(min(ITERATIONS, max(SCORES // judged.size, 1))):
        updated = _iterated(flips, judged, codes, parts, prior, fit_offsets=start is not mode)
        moved = updated.mode.offsets - flips.mode.offsets
        change = max(np.abs(moved).max(), np.abs(updated.matrices - flips.matrices).max())
        flips = updated
        if change < TOLERANCE:
            break
    return flips


def _iterated(
    flips: HardnessFlips, judged: NDArray[np.floating], codes: Codes, parts: Codes, prior: Floats, fit_offsets: bool
) -> HardnessFlips:
    """One EM step: flip rates by posterior means, offsets by a Newton step with the diagonal of the Hessian."""
    counts, mode = np.zeros_like(prior), flips.mode
    gradient, curvature = -mode.offsets / OFFSET_STD**2, np.full(len(mode.offsets), OFFSET_STD**-2.0)
    for block in blocks(len(codes)):
        truth = mode(judged[block])
        posterior = flips._given_label(truth, parts[block], codes[block])
        for g in range(len(prior)):
            of_part = parts[block] == g
            counts[g] += joint_counts(posterior[of_part], codes[block][of_part])
        gradient = gradient + (posterior - truth).sum(axis=0, dtype=np.float64)
        curvature = curvature + (truth * (1 - truth)).sum(axis=0, dtype=np.float64)
    if fit_offsets:
        offsets = mode.offsets + gradient / curvature
        mode = replace(mode, offsets=offsets - offsets.mean())
    return HardnessFlips(mode, flips.bounds, normalised_rows(counts + PRIOR_ROWS * prior))
