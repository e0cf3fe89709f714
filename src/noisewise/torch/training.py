"""Training with early stopping on held-out rows, and predicting, in batches."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from noisewise._typing import Codes
from noisewise.noise import FlipMatrix

FEWEST_HELD_OUT = 20  # rows: with fewer, early stopping would follow luck
PREDICTED_ROWS = 4096  # in a batch
LEAST_PROBABILITY = 1e-6  # of a true label, where the noise taken away leaves less than nothing


@dataclass(frozen=True)
class Trained:
    """A network with the weights of its best epoch, and the loss of the held-out rows after each."""

    network: Any
    history: list[float]


@dataclass(frozen=True)
class Training:
    """How networks are trained: Adam, until the loss of held-out rows is not better for `patience` epochs."""

    epochs: int
    patience: int
    batch_size: int
    learning_rate: float
    device: str
    verbose: bool

    def run(
        self, network: Any, criterion: Any, rows: Any, labels: Any, held_out: Codes, rng: np.random.Generator
    ) -> Trained:
        """Train on the rows but the held-out ones; network and criterion get the weights of the best epoch."""
        network, criterion = network.to(self.device), criterion.to(self.device)
        with torch.no_grad():
            network.eval()(rows[:2].to(self.device))  # layers that take their size from the rows have parameters now
        optimizer = torch.optim.Adam([*network.parameters(), *criterion.parameters()], lr=self.learning_rate)
        train = np.setdiff1d(np.arange(len(rows)), held_out)
        judged = held_out if len(held_out) else train
        history: list[float] = []
        best: Any = None
        for epoch in range(self.epochs):
            network.train()
            for part in self._batches(rng.permutation(train)):
                optimizer.zero_grad()
                criterion(network(rows[part].to(self.device)), labels[part].to(self.device)).backward()
                optimizer.step()
            history.append(self._loss(network, criterion, rows, labels, judged))
            if self.verbose:
                print(f"epoch {epoch + 1}: loss of held-out rows {history[-1]:.4f}")
            if best is None or history[-1] == min(history):
                best = copy.deepcopy((network.state_dict(), criterion.state_dict()))
            elif len(history) - int(np.argmin(history)) > self.patience:
                break
        network.load_state_dict(best[0])
        criterion.load_state_dict(best[1])
        return Trained(network.eval(), history)

    def predict(self, network: Any, rows: Any) -> NDArray[np.float32]:
        """Probabilities of the classes."""
        network.eval()
        with torch.inference_mode():
            parts = [torch.softmax(network(part.to(self.device)), dim=1).cpu() for part in rows.split(PREDICTED_ROWS)]
        return np.asarray(torch.cat(parts).numpy())

    def _batches(self, shuffled: Codes) -> list[Any]:
        """Indices in batches; no batch but the only one has a single row, of which there is no variance."""
        parts = [shuffled[start : start + self.batch_size] for start in range(0, len(shuffled), self.batch_size)]
        if len(parts) > 1 and len(parts[-1]) == 1:
            parts.pop()
        return [torch.as_tensor(part) for part in parts]

    def _loss(self, network: Any, criterion: Any, rows: Any, labels: Any, judged: Codes) -> float:
        network.eval()
        total = 0.0
        with torch.inference_mode():
            for some in torch.split(torch.as_tensor(judged), PREDICTED_ROWS):
                loss = criterion(network(rows[some].to(self.device)), labels[some].to(self.device))
                total += float(loss) * len(some)
        return total / len(judged)


class MeanNetwork(torch.nn.Module):
    """Several networks as one: its logits are the logarithms of the mean of their probabilities.

    >>> sure, unsure = (torch.nn.Linear(1, 2) for _ in range(2))
    >>> with torch.no_grad():
    ...     for network, bias in ((sure, 1.0), (unsure, 0.0)):
    ...         _ = network.weight.fill_(0), network.bias.copy_(torch.tensor([bias, -bias]))
    >>> MeanNetwork([sure, unsure])(torch.zeros(1, 1)).exp()
    tensor([[0.6904, 0.3096]], grad_fn=<ExpBackward0>)
    """

    def __init__(self, networks: Sequence[Any]) -> None:
        super().__init__()
        self.networks = torch.nn.ModuleList(networks)

    def forward(self, rows: Any) -> Any:
        """Logits of the mean."""
        each = torch.stack([torch.log_softmax(network(rows), dim=1) for network in self.networks])
        return torch.logsumexp(each, dim=0) - math.log(len(self.networks))


class BehindNoise(torch.nn.Module):
    """A network of observed labels, read through the noise: its logits are those of the true ones.

    Probabilities q of observed labels are p T, with p of the true ones; q T^-1, without what is negative, is p.

    >>> uniform = torch.nn.Linear(1, 2)
    >>> with torch.no_grad():
    ...     _ = uniform.weight.fill_(0), uniform.bias.copy_(torch.tensor([0.3, 0.7]).log())
    >>> BehindNoise(uniform, FlipMatrix.binary(0.5, 0.0))(torch.zeros(1, 1)).exp()
    tensor([[0.6000, 0.4000]], grad_fn=<ExpBackward0>)
    """

    inverse: Any

    def __init__(self, network: Any, noise: FlipMatrix) -> None:
        super().__init__()
        self.network = network
        self.register_buffer("inverse", torch.linalg.pinv(torch.tensor(noise.matrix)).float())

    def forward(self, rows: Any) -> Any:
        """Logarithms of the probabilities of the true labels."""
        q = torch.softmax(self.network(rows), dim=1)
        p = (q @ self.inverse).clamp_min(LEAST_PROBABILITY)
        return (p / p.sum(dim=1, keepdim=True)).log()


def some_rows(n_rows: int, fraction: float, rng: np.random.Generator) -> Codes:
    """Rows to hold out; none where there are too few."""
    wanted = int(fraction * n_rows)
    return np.sort(rng.permutation(n_rows)[: wanted if wanted >= FEWEST_HELD_OUT else 0])
