"""Cross-entropy corrected for label noise, for any network that gives logits."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import torch

from noisewise.noise import FlipMatrix
from noisewise.torch.transition import Regularizer, Transitions, as_flip_matrix, check_reduction, mostly_right, reduced

LEAST_FLIP = 1e-8  # before the logarithm of a flip rate is taken


class NoisyCrossEntropy(torch.nn.Module):
    """Cross-entropy of observed labels behind label noise; takes the place of `torch.nn.CrossEntropyLoss`.

    With p = softmax(logits) the network's probabilities of the *true* classes and T[true, observed] the noise
    transition matrix, the forward correction is ``-log (p T)[y]`` and the backward correction, an unbiased estimate of
    the loss on true labels, ``sum_j T^-1[y, j] (-log p[j])`` [1]_. The forward one is the one to begin with: the
    backward one has no lower bound, and large networks find its minus infinity.

    Parameters
    ----------
    noise : FlipMatrix, or int
        The noise where it is known (`FlipMatrix.symmetric(0.2, 10)`, or what an audit estimated: `audit.noise`), or the
        number of classes: the matrix is learnt with the network then.
    correction : "forward" or "backward"
    learn : bool
        Whether a FlipMatrix is only the start, and is learnt on with the network [2]_. Give the optimizer the
        parameters of both: ``torch.optim.Adam([*network.parameters(), *criterion.parameters()])``.
    regularizer : "volume", "trace" or None
        Of a matrix that is learnt: it pulls towards more noise, which the network alone would rather fit.
    strength : float, optional
        Weight of the regulariser in the loss.
    reduction : "mean", "sum" or "none"

    References
    ----------
    .. [1] Patrini, G., Rozza, A., Menon, A. K., Nock, R., Qu, L. (2017). Making deep neural networks robust to label
       noise: a loss correction approach. CVPR. Theorems 1 and 2.
    .. [2] Xia, X., Liu, T., Wang, N., Han, B., Gong, C., Niu, G., Sugiyama, M. (2019). Are anchor points really
       indispensable in label-noise learning? NeurIPS.

    Examples
    --------
    >>> import torch
    >>> from noisewise import FlipMatrix
    >>> criterion = NoisyCrossEntropy(FlipMatrix.symmetric(0.2, 3))
    >>> logits = torch.tensor([[9.0, 0.0, 0.0]])  # surely class 0
    >>> [round(float(criterion(logits, torch.tensor([label])).exp()), 2) for label in (0, 1)]  # 1 / 0.8, 1 / 0.1
    [1.25, 9.99]
    """

    inverse: Any

    def __init__(
        self,
        noise: FlipMatrix | int,
        correction: Literal["forward", "backward"] = "forward",
        learn: bool = False,
        regularizer: Regularizer = "volume",
        strength: float | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__()
        if correction not in ("forward", "backward"):
            raise ValueError(f"correction is {correction!r}; 'forward' or 'backward' would do")
        self.correction, self.reduction = correction, check_reduction(reduction)
        self.transition: Any = None
        if isinstance(noise, bool) or not isinstance(noise, FlipMatrix | int | np.integer):
            raise ValueError(f"noise is a {type(noise).__name__}; a FlipMatrix or the number of classes would do")
        if isinstance(noise, FlipMatrix):
            matrix, learnt = torch.tensor(noise.matrix, dtype=torch.float32), learn
        else:
            matrix, learnt = mostly_right(int(noise)), True
        if learnt and correction == "backward":
            raise ValueError("the backward correction needs a FlipMatrix that is known; the forward one can learn it")
        if learnt:
            self.transition = Transitions(matrix, regularizer, strength)
            return
        self.register_buffer("log_flips", matrix.clamp_min(LEAST_FLIP).log())
        if correction == "backward":
            self.register_buffer("inverse", torch.linalg.inv(matrix.double()).float())

    def forward(self, logits: Any, labels: Any) -> Any:
        """The loss of logits (n, n_classes) and labels: the observed classes (n,), or their weights (n, n_classes)."""
        log_p = torch.log_softmax(logits, dim=-1)
        if self.correction == "backward":
            losses = -log_p @ self.inverse.to(log_p.dtype).T
        else:
            losses = -torch.logsumexp(log_p[..., :, None] + self._log_flips().to(log_p.dtype), dim=-2)
        return reduced(_at(losses, labels), self.reduction) + (self.transition.penalty() if self.transition else 0)

    @property
    def noise(self) -> FlipMatrix:
        """The noise transition matrix as it is now."""
        return as_flip_matrix(self._log_flips())

    def _log_flips(self) -> Any:
        return self.log_flips if self.transition is None else self.transition.log_matrix()


def _at(losses: Any, labels: Any) -> Any:
    """The loss of each row at its label, or the mean weighted with those of the row."""
    if labels.ndim == losses.ndim:
        return (losses * labels).sum(dim=-1)
    return losses.gather(-1, labels[..., None]).squeeze(-1)
