"""Class-conditional noise: the noise transition matrix of labels and of right/wrong feedback."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisewise._numerics.em import responsibilities, symmetric_matrix
from noisewise._typing import Codes, Floats, RandomState
from noisewise._validation import find_actions, generator, one_column
from noisewise._words import percent

GIVEN_LIMIT, ESTIMATED_LIMIT = 1e-3, 0.05  # smallest singular value: the inverse multiplies errors by 1 / limit
POSTERIOR_TOLERANCE = 1e-3  # posteriors may come in float32, or rounded to three digits


@dataclass(frozen=True, eq=False)
class FlipMatrix:
    """Noise transition matrix T: probabilities ``T[true, observed]`` (rho, tau, Omega in the papers).

    Parameters
    ----------
    matrix : array of shape (n_classes, n_classes)
        Row j holds the probabilities of each observed class when the true class is j; rows sum to one.
        A matrix that can't be inverted is refused: such labels carry no information about some class.

    Examples
    --------
    >>> noise = FlipMatrix.binary(false_positive=0.1, false_negative=0.3)
    >>> noise.matrix
    array([[0.9, 0.1],
           [0.3, 0.7]])
    >>> noise.push([[0.0, 1.0]])
    array([[0.3, 0.7]])
    >>> noise.pull([[0.3, 0.7]]).round(3)
    array([[0., 1.]])

    References
    ----------
    .. [1] Natarajan, N., Dhillon, I. S., Ravikumar, P., Tewari, A. (2013). Learning with noisy labels. NeurIPS 26.
    .. [2] Patrini, G., Rozza, A., Menon, A. K., Nock, R., Qu, L. (2017). Making deep neural networks robust to label
       noise: a loss correction approach. CVPR.
    """

    matrix: Floats

    def __post_init__(self) -> None:
        matrix = _check_rows(self.matrix)
        if len(matrix) == 2 and matrix[0, 1] + matrix[1, 0] >= 1:
            total = matrix[0, 1] + matrix[1, 0]
            raise ValueError(f"the two flip rates sum to {total:.2f}; below 1, the labels still carry information")
        if _smallest_singular_value(matrix) < GIVEN_LIMIT:
            raise ValueError(
                "the flip matrix can't be inverted: some class looks like a mixture of others once observed; "
                "lower the flip rates or merge these classes"
            )
        matrix.setflags(write=False)
        object.__setattr__(self, "matrix", matrix)

    @classmethod
    def binary(cls, false_positive: float, false_negative: float) -> FlipMatrix:
        """Two classes: P(observed 1 | true 0) [rho0, tau-] and P(observed 0 | true 1) [rho1, tau+]."""
        for name, rate in (("false_positive", false_positive), ("false_negative", false_negative)):
            if not 0 <= rate <= 1:
                raise ValueError(f"{name} is {rate}; a rate is a probability between 0 and 1")
        return cls(np.array([[1 - false_positive, false_positive], [false_negative, 1 - false_negative]]))

    @classmethod
    def symmetric(cls, rate: float, n_classes: int) -> FlipMatrix:
        """Every class is flipped at the same rate, to each of the others with equal probability."""
        if n_classes < 2:
            raise ValueError(f"n_classes is {n_classes}; two or more classes are needed")
        if not 0 <= rate <= 1:
            raise ValueError(f"the rate is {rate}; a rate is a probability between 0 and 1")
        most = (n_classes - 1) / n_classes
        if rate >= most:
            raise ValueError(f"the rate is {rate}; at or above {most:.2f}, {n_classes} classes carry no information")
        return cls(symmetric_matrix(n_classes, rate))

    @classmethod
    def none(cls, n_classes: int) -> FlipMatrix:
        """No noise: the identity."""
        return cls.symmetric(0.0, n_classes)

    @classmethod
    def estimated(cls, matrix: ArrayLike) -> FlipMatrix:
        """From an estimate: one that can't be inverted is shrunk towards no noise, with a warning.

        >>> import warnings
        >>> with warnings.catch_warnings(record=True):
        ...     warnings.simplefilter("always")
        ...     FlipMatrix.estimated([[0.5, 0.5], [0.5, 0.5]]).matrix.round(3)
        array([[0.55, 0.45],
               [0.45, 0.55]])
        """
        estimate = _check_rows(matrix)
        for kept in np.arange(10, 0, -1) / 10:
            shrunk = kept * estimate + (1 - kept) * np.eye(len(estimate))
            too_noisy = len(shrunk) == 2 and shrunk[0, 1] + shrunk[1, 0] > 1 - ESTIMATED_LIMIT
            if not too_noisy and _smallest_singular_value(shrunk) >= ESTIMATED_LIMIT:
                break
        if kept < 1:
            warnings.warn(
                f"the estimated flip matrix can't be inverted and was shrunk by {percent(1 - kept)} towards no noise; "
                "the labels may be too noisy, or too few, to estimate it",
                RuntimeWarning,
                stacklevel=2,
            )
        return cls(shrunk)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.matrix)

    @cached_property
    def inverse(self) -> Floats:
        """``inv(T)``, which corrects for the noise in expectation; its entries may be negative."""
        inverse = np.linalg.inv(self.matrix).astype(np.float64)
        inverse.setflags(write=False)
        return inverse

    def corrupt(self, y: ArrayLike, rng: RandomState = None, classes: ArrayLike | None = None) -> NDArray[Any]:
        """Draw an observed class for each true one; `y` holds 0, 1, ... or members of `classes`."""
        if classes is not None:
            known = one_column(classes)
            if not len(set(known.tolist())) == len(known) == self.n_classes:
                raise ValueError(f"classes must name all {self.n_classes} classes, each once")
            return np.asarray(known[self.corrupt(find_actions(y, known, "label"), rng)])
        labels = np.asarray(y)
        codes = self._check_codes(labels)
        uniforms = generator(rng).random(codes.shape)
        drawn = np.empty_like(codes)
        for true, row in enumerate(np.cumsum(self.matrix, axis=1)):
            drawn[codes == true] = np.searchsorted(row[:-1], uniforms[codes == true], side="right")
        return drawn.astype(labels.dtype, copy=False)

    def push(self, p: ArrayLike) -> Floats:
        """Forward correction: posterior of the observed class from that of the true class, ``p @ T``."""
        return self._check_posterior(p) @ self.matrix

    def pull(self, p: ArrayLike) -> Floats:
        """Backward correction: posterior of the true class from that of the observed class.

        ``p @ inv(T)``, clipped at zero and renormalised.
        """
        pulled = np.clip(self._check_posterior(p) @ self.inverse, 0, None)
        return np.asarray(pulled / pulled.sum(axis=-1, keepdims=True))

    def unbiased_targets(self, observed: ArrayLike) -> Floats:
        """Signed targets whose mean over the noise is the true one-hot vector: rows of ``inv(T)``.

        Any loss that is linear in the one-hot label is then unbiased (Natarajan et al., Lemma 1; backward correction
        of the loss, Patrini et al., theorem 1).
        """
        return self.inverse[self._check_codes(np.asarray(observed))]

    def explain(self, p: ArrayLike, observed: ArrayLike) -> Floats:
        """Posterior of the true class given x and the observed class (EM responsibilities).

        ``p * T[:, observed]``, normalised; where the observed class is impossible under `p`, ``T[:, observed]`` alone.
        """
        prior, likelihood = self._check_posterior(p), self.matrix.T[self._check_codes(np.asarray(observed))]
        possible = (prior * likelihood).sum(axis=-1, keepdims=True) > 0
        return responsibilities(np.where(possible, prior, 1.0), likelihood)[0]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FlipMatrix) and np.array_equal(self.matrix, other.matrix)

    def __hash__(self) -> int:
        return hash((self.n_classes, (self.matrix + 0.0).tobytes()))  # a zero below zero is equal to zero

    def __repr__(self) -> str:
        if self.n_classes == 2:
            return f"FlipMatrix.binary(false_positive={self.matrix[0, 1]:.4g}, false_negative={self.matrix[1, 0]:.4g})"
        return f"FlipMatrix({np.array2string(self.matrix, precision=3, suppress_small=True, separator=', ')})"

    def _check_posterior(self, p: ArrayLike) -> Floats:
        posterior = np.asarray(p, dtype=np.float64)
        if posterior.shape[-1:] != (self.n_classes,):
            raise ValueError(f"posteriors have shape {posterior.shape}; the last axis must be {self.n_classes} classes")
        if posterior.size and not (
            posterior.min() >= -POSTERIOR_TOLERANCE and abs(posterior.sum(axis=-1) - 1).max() <= POSTERIOR_TOLERANCE
        ):
            raise ValueError("posteriors must be probabilities that sum to one over the classes, none missing")
        return posterior

    def _check_codes(self, codes: NDArray[Any]) -> Codes:
        if codes.dtype.kind not in "iub" or (codes.size and not 0 <= codes.min() <= codes.max() < self.n_classes):
            raise ValueError(
                f"classes must be whole numbers from 0 to {self.n_classes - 1}; pass `classes=` for others"
            )
        return codes.astype(np.intp, copy=False)


def _check_rows(matrix: ArrayLike) -> Floats:
    checked = np.array(matrix, dtype=np.float64)
    if checked.ndim != 2 or checked.shape[0] != checked.shape[1] or len(checked) < 2:
        raise ValueError(f"a flip matrix is square, with two or more classes; this one has shape {checked.shape}")
    if not np.isfinite(checked).all() or checked.min() < -1e-12 or checked.max() > 1 + 1e-12:
        raise ValueError("a flip matrix holds probabilities between 0 and 1")
    sums = checked.sum(axis=1)
    if np.abs(sums - 1).max() > 1e-6:
        worst = int(np.argmax(np.abs(sums - 1)))
        raise ValueError(f"row {worst} of the flip matrix sums to {sums[worst]:.4f}; each row must sum to 1")
    return np.asarray(np.clip(checked, 0, 1) / np.clip(checked, 0, 1).sum(axis=1, keepdims=True))


def _smallest_singular_value(matrix: Floats) -> float:
    return float(np.linalg.svd(matrix, compute_uv=False)[-1])
