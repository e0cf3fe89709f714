"""Noise transition matrices as parameters of a network: rows on the simplex, near the identity at the start."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import torch

from noisewise._typing import Floats
from noisewise.noise import FlipMatrix

Regularizer = Literal["volume", "trace"] | None

FIRST_RATE = 0.1  # flip rate before training: labels are mostly right
LEAST_RATE = 1e-3  # of a flip to begin with: from zero it would not move
STRENGTHS = {"volume": 1e-4, "trace": 0.01}  # of the regulariser, as in the papers that proposed them


class Transitions(torch.nn.Module):
    """Flip matrices T[true, observed] that are learnt with a network, one or several.

    Parameters
    ----------
    first : tensor of shape (..., n_classes, n_classes)
        The matrices to begin with, as from `mostly_right`.
    regularizer : "volume", "trace" or None
        Without one, a network that fits all labels leaves the matrix where it began. "volume" adds the log-determinant
        of T to the loss [1]_, "trace" its mean diagonal [2]_: of all matrices that explain the labels, the noisiest.
    strength : float, optional
        Weight of the regulariser in the loss; 0.0001 for the volume, 0.01 for the trace.

    References
    ----------
    .. [1] Li, X., Liu, T., Han, B., Niu, G., Sugiyama, M. (2021). Provably end-to-end label-noise learning without
       anchor points. ICML.
    .. [2] Tanno, R., Saeedi, A., Sankaranarayanan, S., Alexander, D. C., Silberman, N. (2019). Learning from noisy
       labels by regularized estimation of annotator confusion. CVPR.
    """

    def __init__(self, first: Any, regularizer: Regularizer, strength: float | None) -> None:
        super().__init__()
        if regularizer is not None and regularizer not in STRENGTHS:
            raise ValueError(f"regularizer is {regularizer!r}; 'volume', 'trace' or None would do")
        self.regularizer = regularizer
        self.strength = STRENGTHS.get(regularizer or "", 0.0) if strength is None else strength
        self.logits = torch.nn.Parameter(first.clamp_min(LEAST_RATE).log())

    def log_matrix(self) -> Any:
        """The logarithms of the matrices."""
        return torch.log_softmax(self.logits, dim=-1)

    def penalty(self) -> Any:
        """What is added to the loss: the mean over the matrices."""
        if self.regularizer is None:
            return self.logits.new_zeros(())
        matrix = self.log_matrix().exp()
        if self.regularizer == "volume":
            return self.strength * torch.linalg.slogdet(matrix).logabsdet.mean()
        return self.strength * matrix.diagonal(dim1=-2, dim2=-1).mean()


def mostly_right(n_classes: int) -> Any:
    """A flip matrix to begin with where nothing is known.

    >>> mostly_right(2)
    tensor([[0.9000, 0.1000],
            [0.1000, 0.9000]])
    """
    if n_classes < 2:
        raise ValueError(f"n_classes is {n_classes}; two or more are needed")
    flip = FIRST_RATE / (n_classes - 1)
    return torch.full((n_classes, n_classes), flip) + (1 - FIRST_RATE - flip) * torch.eye(n_classes)


def as_flip_matrix(log_matrix: Any) -> FlipMatrix:
    """A matrix of log-probabilities as a FlipMatrix."""
    matrix = log_matrix.detach().double().exp().cpu().numpy()
    return shrunk(matrix / matrix.sum(axis=1, keepdims=True))


def shrunk(matrix: Floats) -> FlipMatrix:
    """An estimate as a FlipMatrix; shrunk without a word where it can't be inverted: training goes on from there."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return FlipMatrix.estimated(matrix)


def reduced(losses: Any, reduction: str) -> Any:
    """The losses of the rows, or their mean or sum."""
    return losses if reduction == "none" else getattr(losses, reduction)()


def check_reduction(reduction: str) -> str:
    """Refuse what torch's losses do not know."""
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"reduction is {reduction!r}; 'mean', 'sum' or 'none' would do")
    return reduction
