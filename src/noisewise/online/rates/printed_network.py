"""The network of Agarwal and Manwani's noise rate estimator, as printed."""

from __future__ import annotations

from typing import Any

import numpy as np

from noisewise._typing import Floats
from noisewise._validation import generator


class PrintedNetwork:
    """The paper's network: dense layers with dropout, softmax over two outputs, AdaGrad; needs the ``torch`` extra.

    A tenth of the rows is held out to pick the epoch with the best validation loss. The defaults are those for MNIST;
    USPS has layers of 32, 256 and 32, Fashion-MNIST 32, 128 and 32, Iris 32 and 32, SynSep 48 and 48 with dropout 0.3.

    References
    ----------
    .. [1] Agarwal, M., Manwani, N. (2021). Learning multiclass classifier under noisy bandit feedback. PAKDD 25.
       Section 4, the network of NREst.
    """

    def __init__(
        self,
        hidden: tuple[int, ...] = (128, 128),
        dropout: float = 0.2,
        epochs: int = 70,
        batch: int = 128,
        random_state: int | None = 0,
    ) -> None:
        self.hidden = hidden
        self.dropout = dropout
        self.epochs = epochs
        self.batch = batch
        self.random_state = random_state

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters, as scikit-learn asks for them."""
        return {name: getattr(self, name) for name in ("hidden", "dropout", "epochs", "batch", "random_state")}

    def fit(self, X: Floats, y: Any) -> PrintedNetwork:
        """Train; the weights of the best epoch are kept."""
        torch = _torch()
        rng = generator(self.random_state)
        order = rng.permutation(len(X))
        held_out, train = order[: len(X) // 10], order[len(X) // 10 :]
        rows, labels = torch.tensor(X, dtype=torch.float32), torch.tensor(np.asarray(y), dtype=torch.int64)
        with torch.random.fork_rng(devices=[]):  # dropout and initial weights draw from torch's own random state
            torch.manual_seed(int(rng.integers(2**31)))
            self.network_ = self._layers(torch, X.shape[1])
            self._train(torch, rng, rows, labels, train, held_out)
        return self

    def predict_proba(self, X: Floats) -> Floats:
        """P(wrong) and P(right) of each row."""
        torch = _torch()
        self.network_.eval()
        with torch.no_grad():
            scores = self.network_(torch.tensor(X, dtype=torch.float32))
            return np.asarray(torch.softmax(scores, dim=1).numpy(), dtype=np.float64)

    def _layers(self, torch: Any, width: int) -> Any:
        layers: list[Any] = []
        for size in self.hidden:
            layers += [torch.nn.Linear(width, size), torch.nn.ReLU(), torch.nn.Dropout(self.dropout)]
            width = size
        return torch.nn.Sequential(*layers, torch.nn.Linear(width, 2))

    def _train(self, torch: Any, rng: np.random.Generator, rows: Any, labels: Any, train: Any, held_out: Any) -> None:
        loss = torch.nn.CrossEntropyLoss()
        optimizer = torch.optim.Adagrad(self.network_.parameters(), lr=0.01, eps=1e-6)
        best, kept = np.inf, None
        for _ in range(self.epochs):
            self.network_.train()
            shuffled = rng.permutation(train)
            for start in range(0, len(shuffled), self.batch):
                part = torch.from_numpy(shuffled[start : start + self.batch])
                optimizer.zero_grad()
                loss(self.network_(rows[part]), labels[part]).backward()
                optimizer.step()
            self.network_.eval()
            with torch.no_grad():
                value = float(loss(self.network_(rows[held_out]), labels[held_out]))
            if value < best:
                best, kept = value, {name: part.clone() for name, part in self.network_.state_dict().items()}
        if kept is not None:
            self.network_.load_state_dict(kept)


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        raise ImportError("the paper's network needs PyTorch: pip install 'noisewise[torch]'") from None
    return torch
