"""Networks under label noise: corrected losses beside plain cross-entropy, GCE, SCE and co-teaching, in one run.

    NOISEWISE_DATA=... python benchmarks/networks.py                       both sets, all kinds of noise
    NOISEWISE_DATA=... python benchmarks/networks.py --sets mnist --noise "pair 40 %"

MNIST and Fashion-MNIST, 10,000 training rows (with noisy labels) and 10,000 test rows (with true ones) by default; two
hidden layers of 128 units, Adam, the same batches, epochs and early stopping (on the loss of held-out noisy rows) for
all. GCE has q = 0.7, SCE alpha 0.1 and beta 1 with log 0 = -4, as in their papers; co-teaching is told the true noise
rate, and the row "forward, true matrix" the true flip matrix.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import defaultdict

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch

from noisewise import FlipMatrix
from noisewise.datasets import load
from noisewise.torch import NetworkClassifier
from noisewise.torch.training import some_rows

torch.set_num_threads(1)
KINDS = ("clean", "symmetric 20 %", "symmetric 45 %", "pair 20 %", "pair 40 %", "pair 45 %")


class GeneralizedCrossEntropy(torch.nn.Module):
    """(1 - p_y^q) / q (Zhang and Sabuncu 2018)."""

    def forward(self, logits, labels, q=0.7):
        """The mean loss."""
        p = torch.softmax(logits, 1).gather(1, labels[:, None])
        return ((1 - p**q) / q).mean()


class SymmetricCrossEntropy(torch.nn.Module):
    """Cross-entropy and its reverse (Wang et al. 2019)."""

    def forward(self, logits, labels):
        """The mean loss."""
        reverse = 4 * (1 - torch.softmax(logits, 1).gather(1, labels[:, None])).mean()
        return 0.1 * torch.nn.functional.cross_entropy(logits, labels) + reverse


class WithCriterion(NetworkClassifier):
    """The trainer with any loss."""

    def __init__(self, criterion=None, epochs=30, random_state=None):
        super().__init__(epochs=epochs, random_state=random_state)
        self.criterion = criterion

    def fit(self, X, y):
        """Train."""
        X, codes = self._check_training(X, y, dtype=np.float32)
        torch.manual_seed(self.random_state)
        rng = np.random.default_rng(self.random_state)
        held_out = some_rows(len(codes), self.held_out, rng)
        rows, labels = torch.as_tensor(X), torch.as_tensor(codes)
        self.network_ = self._training().run(self._new_network(), self.criterion, rows, labels, held_out, rng).network
        return self


class CoTeaching(NetworkClassifier):
    """Two networks, each taught by the rows of least loss of the other (Han et al. 2018); the rate is given."""

    def __init__(self, rate=0.0, epochs=30, random_state=None):
        super().__init__(epochs=epochs, random_state=random_state)
        self.rate = rate

    def fit(self, X, y):
        """Train."""
        X, codes = self._check_training(X, y, dtype=np.float32)
        torch.manual_seed(self.random_state)
        rng = np.random.default_rng(self.random_state)
        rows, labels = torch.as_tensor(X), torch.as_tensor(codes)
        pair = [self._new_network() for _ in range(2)]
        for network in pair:
            network(rows[:2])
        optimizers = [torch.optim.Adam(network.parameters(), lr=self.learning_rate) for network in pair]
        losses = torch.nn.CrossEntropyLoss(reduction="none")
        for epoch in range(self.epochs):
            keep = 1 - self.rate * min(1, epoch / 10)
            for part in np.array_split(rng.permutation(len(rows)), len(rows) // self.batch_size):
                given = [losses(network(rows[part]), labels[part]) for network in pair]
                n_kept = max(1, int(keep * len(part)))
                small = [np.argsort(loss.detach().numpy())[:n_kept] for loss in given]
                for optimizer, loss, other in zip(optimizers, given, small[::-1], strict=True):
                    optimizer.zero_grad()
                    loss[other].mean().backward()
                    optimizer.step()
        self.network_ = pair[0].eval()
        return self


def noise_of(kind: str) -> FlipMatrix:
    if kind == "clean":
        return FlipMatrix.none(10)
    rate = int(kind.split()[1]) / 100
    if kind.startswith("symmetric"):
        return FlipMatrix.symmetric(rate, 10)
    return FlipMatrix((1 - rate) * np.eye(10) + rate * np.roll(np.eye(10), 1, axis=1))


def methods(noise: FlipMatrix, seed: int, epochs: int):
    common = {"epochs": epochs, "random_state": seed}
    yield "cross-entropy", WithCriterion(torch.nn.CrossEntropyLoss(), **common)
    yield "GCE", WithCriterion(GeneralizedCrossEntropy(), **common)
    yield "SCE", WithCriterion(SymmetricCrossEntropy(), **common)
    yield "co-teaching, rate given", CoTeaching(1 - float(noise.matrix[0, 0]), **common)
    yield "noisewise, estimated", NetworkClassifier(**common)
    yield "noisewise, learnt", NetworkClassifier(noise="learn", **common)
    yield "noisewise, judgements", NetworkClassifier(noise="judgements", **common)
    yield "forward, true matrix", NetworkClassifier(noise=noise, **common)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=["mnist", "fashion_mnist"])
    parser.add_argument("--noise", nargs="+", default=KINDS, choices=KINDS)
    parser.add_argument("--methods", nargs="+")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=30)
    options = parser.parse_args(arguments)
    for name in options.sets:
        X, y = load(name)
        accuracy, seconds = defaultdict(list), defaultdict(float)
        for seed in range(options.seeds):
            order = np.random.default_rng(seed).permutation(len(y))
            train, test = order[: options.rows], order[options.rows : options.rows + 10_000]
            scaled = np.asarray(X, dtype=np.float32) / np.max(X)
            for kind in options.noise:
                noise = noise_of(kind)
                observed = noise.corrupt(y[train], rng=seed)
                for method, model in methods(noise, seed, options.epochs):
                    if options.methods and method not in options.methods:
                        continue
                    start = time.process_time()
                    model.fit(scaled[train], observed)
                    seconds[method] += time.process_time() - start
                    accuracy[method, kind].append(100 * model.score(scaled[test], y[test]))
        names = list(seconds)
        print(f"\n{name}: % of {len(test)} test rows right, mean of {options.seeds}")
        print(f"| | {' | '.join(options.noise)} | CPU s |\n|{'---|' * (len(options.noise) + 2)}")
        for method in names:
            cells = [f"{np.mean(accuracy[method, kind]):.1f}" for kind in options.noise]
            print(f"| {method} | {' | '.join(cells)} | {seconds[method]:.0f} |", flush=True)


if __name__ == "__main__":
    main()
