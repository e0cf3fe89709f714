"""Fashion-MNIST as the outputs of the paper's convolutional network, learnt once and kept in the cache."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from noisewise._files import replace_files
from noisewise._typing import Codes, Floats
from noisewise.experiments.harness.data import load_once

TRAINED = 35_000  # images from which the network learns; the learners get the others, which it has not seen
UNITS = 100
EPOCHS = 5  # the paper does not say how many
FILE = "fashion_mnist_network.npz"


@lru_cache(maxsize=1)
def network_rows() -> tuple[Floats, Codes]:
    """The hundred outputs of the layer before the last, for the images from which the network did not learn."""
    from sklearn.datasets import get_data_home

    path = Path(get_data_home()) / "noisewise" / FILE  # where downloaded sets are kept
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_files({path: _learn})
    with np.load(path, allow_pickle=False) as found:
        return found["X"].astype(np.float64), found["y"]


def _learn(path: str) -> None:
    X, y = load_once("fashion_mnist")
    images = (X / X.max()).astype(np.float32).reshape(-1, 1, 28, 28)
    order = np.random.default_rng(0).permutation(len(y))
    learn, rest = order[:TRAINED], order[TRAINED:]
    with open(path, "wb") as file:  # to a name that does not end in .npz, numpy appends it
        np.savez_compressed(file, X=outputs(images[learn], y[learn], images[rest]), y=y[rest])


def outputs(images: Any, labels: Codes, others: Any, epochs: int = EPOCHS) -> Any:
    """Outputs of the last hidden layer for other images than those that were learnt.

    The layers are the paper's: 32 maps of 3x3, pooling of 2x2, 100 units with dropout 0.2, softmax; ReLU.
    """
    torch = _torch()
    nn = torch.nn
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        side = (images.shape[-1] - 2) // 2
        hidden = nn.Sequential(
            nn.Conv2d(1, 32, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(32 * side**2, UNITS), nn.ReLU()
        )
        whole = nn.Sequential(hidden, nn.Dropout(0.2), nn.Linear(UNITS, int(labels.max()) + 1))
        rows, targets = torch.from_numpy(images), torch.tensor(labels, dtype=torch.int64)
        optimizer = torch.optim.Adam(whole.parameters())
        for _ in range(epochs):
            for part in torch.randperm(len(rows)).split(128):
                optimizer.zero_grad()
                nn.functional.cross_entropy(whole(rows[part]), targets[part]).backward()
                optimizer.step()
        with torch.no_grad():
            parts = [hidden(part).numpy() for part in torch.from_numpy(others).split(1000)]
    return np.concatenate(parts)


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        raise ImportError("the convolutional network needs PyTorch: pip install 'noisewise[torch]'") from None
    return torch
