"""LinUCB without and with its intercept: mistakes of the played label over random orders, columns scaled in three ways.

    NOISEWISE_DATA=folder python benchmarks/intercept.py [--orders 5] [--sets shuttle digits ...]

Feedback is flipped at rates (.1, .2); at most 6,000 rounds.
"""

import argparse

import numpy as np

from noisewise import FlipMatrix
from noisewise.datasets import load
from noisewise.online import recipes

SETS = ("shuttle", "digits", "segment", "vehicle", "landsat", "pendigits")
NOISE, ROUNDS = FlipMatrix.binary(false_positive=0.1, false_negative=0.2), 6000
SCALINGS = {
    "rows of length one": lambda X: X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12),
    "columns standardised": lambda X: (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12),
    "columns in [0, 1]": lambda X: (X - X.min(axis=0)) / np.maximum(np.ptp(X, axis=0), 1e-12),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--orders", type=int, default=5)
    parser.add_argument("--sets", nargs="*", default=SETS)
    given = parser.parse_args()
    print(f"{'without / with':14}" + "".join(f"{name:>24}" for name in SCALINGS))
    for name in given.sets:
        X, labels = load(name, dtype=np.float64)
        y = np.unique(labels, return_inverse=True)[1]
        cells = []
        for scale in SCALINGS.values():
            rows, rates = scale(X), {False: [], True: []}
            for seed in range(given.orders):
                order = np.random.default_rng(seed).permutation(len(y))[:ROUNDS]
                for intercept, found in rates.items():
                    learner = recipes.linucb(int(y.max()) + 1, intercept=intercept, random_state=seed)
                    found.append(learner.play(rows[order], y[order], noise=NOISE, rng=seed).mistake_rate)
            cells.append(" / ".join(f"{np.mean(found):.3f}" for found in rates.values()))
        print(f"{name:14}" + "".join(f"{cell:>24}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
