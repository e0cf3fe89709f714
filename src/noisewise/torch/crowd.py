"""Cross-entropy of the labels of several annotators, each with a noise transition matrix of their own."""

from __future__ import annotations

from typing import Any

import torch

from noisewise.noise import FlipMatrix
from noisewise.torch.transition import Regularizer, Transitions, as_flip_matrix, check_reduction, mostly_right


class CrowdCrossEntropy(torch.nn.Module):
    """Cross-entropy of the labels of several annotators, whose flip matrices are learnt with the network (crowd layer).

    Row i's loss is ``-sum_a log (p_i T_a)[y_ia]`` over the annotators a who labelled it, with p the network's
    probabilities of the true classes and T_a an annotator's noise transition matrix [1]_ [2]_. Give the optimizer the
    parameters of both, ``[*network.parameters(), *criterion.parameters()]``.

    Parameters
    ----------
    n_annotators : int
    n_classes : int
    regularizer : "trace", "volume" or None
        Of all matrices that explain the labels, the noisiest.
    strength : float, optional
        Weight of the regulariser in the loss.
    reduction : "mean", "sum" or "none"
        Over rows; the mean is over labels.

    References
    ----------
    .. [1] Rodrigues, F., Pereira, F. (2018). Deep learning from crowds. AAAI.
    .. [2] Tanno, R., Saeedi, A., Sankaranarayanan, S., Alexander, D. C., Silberman, N. (2019). Learning from noisy
       labels by regularized estimation of annotator confusion. CVPR.

    Examples
    --------
    >>> import torch
    >>> criterion = CrowdCrossEntropy(n_annotators=2, n_classes=3)
    >>> labels = torch.tensor([[0, -1], [2, 2]])  # the second annotator did not label the first row
    >>> bool(criterion(torch.zeros(2, 3), labels) > 0)
    True
    """

    def __init__(
        self,
        n_annotators: int,
        n_classes: int,
        regularizer: Regularizer = "trace",
        strength: float | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__()
        if n_annotators < 1:
            raise ValueError(f"n_annotators is {n_annotators}; one or more are needed")
        self.reduction = check_reduction(reduction)
        first = mostly_right(n_classes).expand(n_annotators, -1, -1)
        self.transition = Transitions(first, regularizer, strength)

    def forward(self, logits: Any, labels: Any) -> Any:
        """The loss of logits (n, n_classes) and labels (n, n_annotators), -1 where an annotator gave none."""
        n_annotators = len(self.transition.logits)
        if labels.shape != (len(logits), n_annotators):
            raise ValueError(
                f"labels have shape {tuple(labels.shape)}; a row for each of {len(logits)} and a column for each of "
                f"{n_annotators} annotators are needed, with -1 where there is no label"
            )
        log_p = torch.log_softmax(logits, dim=-1)
        rows, who = torch.nonzero(labels >= 0, as_tuple=True)
        columns = self.transition.log_matrix()[who, :, labels[rows, who]]
        losses = -torch.logsumexp(log_p[rows] + columns, dim=-1)
        if self.reduction == "none":
            return log_p.new_zeros(len(logits)).index_add(0, rows, losses)
        total = losses.sum() if self.reduction == "sum" else losses.sum() / max(len(losses), 1)
        return total + self.transition.penalty()

    @property
    def noises(self) -> list[FlipMatrix]:
        """Each annotator's flip matrix as it is now."""
        return [as_flip_matrix(log_matrix) for log_matrix in self.transition.log_matrix()]
