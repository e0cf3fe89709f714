"""One pass over USPS and MNIST, raw pixels in [0, 1], where some of the shown labels are moved to another class.

    NOISEWISE_DATA=folder python benchmarks/one_pass.py [--data usps] [--orders 30]

Mistakes against the true labels over random orders of the rows: mean, deviation, least, most. The parameters are those
that were best for each share of moved labels: 0, 10, 20, 30 %.
"""

import argparse

import numpy as np

from noisewise.datasets import load
from noisewise.online import OnlineClassifier, recipes

SHARES = (0.0, 0.1, 0.2, 0.3)
UCWL = [(2.4, 0.125), (2.4, 0.125), (1.6, 0.125), (1.6, 0.125)]  # width in standard deviations, C
MSCW = [(0.95, 0.125), (0.85, 2**-5), (0.95, 2**-5), (0.95, 2**-5)]  # confidence, C
LEARNERS = {
    "ucwl": lambda place: recipes.ucwl(10, width_in_std=UCWL[place][0], confidence=0.95, C=UCWL[place][1]),
    "confidit": lambda place: recipes.confidit(10, width_in_std=0.2),
    "mscw": lambda place: recipes.mscw(*MSCW[place]),
    "mcw": lambda place: recipes.mcw(0.95),
    "arow": lambda place: recipes.arow(100.0),
}


class Watched(OnlineClassifier):
    """Keeps its guesses: mistakes count against the true labels, not the shown ones."""

    def _run(self, X, log):
        super()._run(X, log)
        self.guesses_ = log.actions


def pixels(name):
    """Rows scaled to [0, 1] as a whole, and labels 0 ... 9."""
    data = load(name, dtype=np.float64 if name == "usps" else np.float32)
    low, high = data.X.min(), data.X.max()
    return (data.X - low) / (high - low), np.asarray(data.y).astype(int)


def shuffled(X, y, share, seed):
    """Rows in a random order, their labels, and the labels shown: another class with probability `share`."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    true = y[order]
    moved = (true + rng.integers(1, 10, len(true))) % 10
    return X[order], true, np.where(rng.random(len(true)) < share, moved, true)


def mistake_rate(learner, X, true, shown):
    """Share of rounds whose guess, before learning, was not the true label."""
    if isinstance(learner, OnlineClassifier):
        return np.mean(Watched(learner.rule, learner.signal, learner.covariance).fit(X, shown).guesses_ != true)
    return np.mean(learner.play(X, shown).actions != true)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="usps", choices=["usps", "mnist"])
    parser.add_argument("--orders", type=int, default=30)
    parser.add_argument("--learners", nargs="*", default=list(LEARNERS), choices=list(LEARNERS))
    chosen = parser.parse_args()
    X, y = pixels(chosen.data)
    print(f"{chosen.data}, {len(y):,} rows, {chosen.orders} orders: mean, deviation, least to most")
    print(f"{'labels moved':12}" + "".join(f"{share:>28.0%}" for share in SHARES))
    for name in chosen.learners:
        cells = []
        for place, share in enumerate(SHARES):
            rates = [mistake_rate(LEARNERS[name](place), *shuffled(X, y, share, seed)) for seed in range(chosen.orders)]
            cells.append(f"{np.mean(rates):.3f} {np.std(rates):.3f} {np.min(rates):.3f} to {np.max(rates):.3f}")
        print(f"{name:12}" + "".join(f"{cell:>28}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
