"""One pass over USPS and MNIST, raw pixels in [0, 1], where some of the shown labels are moved to another class.

    NOISEWISE_DATA=folder python benchmarks/one_pass.py [--data usps] [--orders 30]

Mistakes against the true labels over random orders of the rows: mean, deviation, least, most. Parameters are chosen for
each fraction of moved labels on an order of their own (seed 0; of MNIST its first 6,000 rows).
"""

import argparse
from itertools import product

import numpy as np

from noisewise.datasets import load
from noisewise.experiments.papers.ngo import tasks as passes

NOISE_RATES = (0.0, 0.1, 0.2, 0.3)
METHODS = ("ucwl", "confidit-projected", "mscw-I", "mcw", "marow")
TUNING_ROWS = {"usps": None, "mnist": 6000}
ORDERS = {"usps": 30, "mnist": 2}


def pixels(name):
    """Rows scaled to [0, 1] as a whole, and labels 0 ... 9."""
    data = load(name, dtype=np.float64 if name == "usps" else np.float32)
    low, high = data.X.min(), data.X.max()
    return (data.X - low) / (high - low), np.asarray(data.y).astype(int)


def candidates(method, rate):
    """The grid of the independent implementation; of UCWL and AROW the values that it names as good."""
    confidences = [0.55, 0.65, 0.75, 0.85, 0.95]
    grid = {
        "ucwl": {"k": [1.6, 2.4], "eta": [0.95], "C": [0.125 if rate else 0.5]},
        "confidit-projected": {"k": [0.2, 0.6, 1.0, 1.6, 2.4]},
        "mscw-I": {"eta": confidences, "C": [2.0**power for power in range(-5, 6, 2)]},
        "mcw": {"eta": confidences},
        "marow": {"r": [100.0]},
    }[method]
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def mistake_rates(name, X, y, rate, methods=METHODS, orders=None):
    """Those of each learner over orders from seed 1 on, tuned on one run in the order of seed 0."""
    tuning = passes.shuffled(X, y, rate, 0, TUNING_ROWS[name])
    chosen = {
        method: min(candidates(method, rate), key=lambda one: passes.play(method, one, *tuning)[0])
        for method in methods
    }
    found = {method: [] for method in methods}
    for seed in range(1, (orders or ORDERS[name]) + 1):
        stream = passes.shuffled(X, y, rate, seed)
        for method, one in chosen.items():
            found[method].append(passes.play(method, one, *stream)[0])
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="usps", choices=list(ORDERS))
    parser.add_argument("--orders", type=int, help="30 of USPS and 2 of MNIST by default")
    parser.add_argument("--learners", nargs="*", default=METHODS, choices=METHODS)
    asked = parser.parse_args()
    X, y = pixels(asked.data)
    print(f"{asked.data}, {len(y):,} rows, {asked.orders or ORDERS[asked.data]} orders: mean, deviation, least to most")
    for rate in NOISE_RATES:
        print(f"\n{rate:.0%} of the labels moved")
        for method, rates in mistake_rates(asked.data, X, y, rate, asked.learners, asked.orders).items():
            quantiles = f"{np.std(rates):.3f}   {np.min(rates):.3f} to {np.max(rates):.3f}"
            print(f"{method:20} {np.mean(rates):.4f}   {quantiles}", flush=True)


if __name__ == "__main__":
    main()
