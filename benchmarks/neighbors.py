"""Robust nearest neighbours: speed as ratios in one run, recall, memory and growth.

    python benchmarks/neighbors.py                    the grid of numbers of voters, and the approximate index
    python benchmarks/neighbors.py --growth 1000000   time and memory of fit and predict, doubling up to so many rows

Times are processor seconds, which other programs on the machine disturb less than the clock.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.datasets import make_blobs, make_classification, make_moons
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from noisewise import FlipMatrix
from noisewise.labels.neighbors.classifier import RobustKNeighborsClassifier
from noisewise.labels.neighbors.classifier_cv import RobustKNeighborsClassifierCV

NOISE = FlipMatrix.binary(false_positive=0.1, false_negative=0.3)
VOTERS = list(range(5, 101, 5))


def seconds(run):
    """What it returns, and the processor time it took."""
    start = time.process_time()
    result = run()
    return result, time.process_time() - start


def memory() -> float:
    """Most memory the process ever held, in gigabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform != "darwin" else 2**30)


def grid() -> None:
    X, y = make_moons(600, noise=0.3, random_state=0)
    observed = NOISE.corrupt(y, 0)
    folds = StratifiedKFold(4)
    naive = GridSearchCV(
        RobustKNeighborsClassifier(), {"n_neighbors": VOTERS, "n_anchor_neighbors": VOTERS}, cv=folds, refit=False
    )
    shared = RobustKNeighborsClassifierCV(VOTERS, VOTERS, criterion="noisy", cv=folds)
    shared.fit(X, observed)  # once to warm up
    _, slow = seconds(lambda: naive.fit(X, observed))
    _, fast = seconds(lambda: [shared.fit(X, observed) for _ in range(5)])
    _, loo = seconds(lambda: [RobustKNeighborsClassifierCV().fit(X, observed) for _ in range(5)])
    print("400 pairs of numbers of voters, 600 rows, 4 folds")
    print(f"  GridSearchCV                   {slow:8.2f} s")
    print(f"  one search for neighbours      {fast / 5:8.3f} s   {5 * slow / fast:5.0f} x faster")
    print(f"  the default, leaving one out   {loo / 5:8.3f} s   {5 * slow / loo:5.0f} x faster")


def fit_and_predict(model, X, observed, wanted):
    """The fitted model, its predictions, and the processor time of fit and of predict."""
    _, fit = seconds(lambda: model.fit(X, observed))
    predicted, predict = seconds(lambda: model.predict(wanted))
    return predicted, fit, predict


def index(n_rows: int, n_wanted: int) -> None:
    print(f"{n_rows:,} rows x 50 columns: fit, and predict {n_wanted:,} of them")
    sets = {
        "10 informative": make_classification(n_rows, 50, n_informative=10, n_redundant=10, random_state=0),
        "10 blobs": make_blobs(n_rows, 50, centers=10, cluster_std=4, random_state=0),
    }
    for name, (X, y) in sets.items():
        observed = NOISE.corrupt(y % 2, 0)
        near = RobustKNeighborsClassifier(20, 40, index="approximate", random_state=0)
        exact = RobustKNeighborsClassifier(20, 40, index="exact", random_state=0)
        guesses, *fast = fit_and_predict(near, X, observed, X[:n_wanted])
        expected, *slow = fit_and_predict(exact, X, observed, X[:n_wanted])
        print(
            f"  {name:15s} exact {sum(slow):6.1f} s  approximate {sum(fast):6.1f} s "
            f"({sum(slow) / sum(fast):4.1f} x faster)  recall {near.recall_:.3f}  "
            f"same predictions {np.mean(guesses == expected):.2%}",
            flush=True,
        )


def growth(most: int) -> None:
    print("the default fit, and predict 10,000 new rows")
    before = None
    for n_rows in [most // 2**i for i in range(3, -1, -1)]:
        X, y = make_classification(n_rows + 10_000, 50, n_informative=10, n_redundant=10, random_state=0)
        X = X.astype(np.float32)
        model = RobustKNeighborsClassifierCV(random_state=0)
        start = time.perf_counter()
        predicted, fit, predict = fit_and_predict(model, X[:n_rows], NOISE.corrupt(y[:n_rows], 0), X[n_rows:])
        clock = time.perf_counter() - start
        ratio = "" if before is None else f"t(2n)/t(n) {(fit + predict) / before:.2f}  "
        print(
            f"  {n_rows:9,} rows  {model.index_:11s} recall {model.recall_:.3f}  "
            f"accuracy {np.mean(predicted == y[n_rows:]):.3f}  fit {fit:6.1f} s  predict {predict:5.1f} s  "
            f"(clock {clock:.0f} s)  {ratio}memory {memory():.1f} GB",
            flush=True,
        )
        before = fit + predict


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--growth", type=int, default=0, help="double up to so many rows")
    options.add_argument("--rows", type=int, default=100_000)
    options.add_argument("--wanted", type=int, default=100_000)
    given = options.parse_args()
    if given.growth:
        growth(given.growth)
    else:
        grid()
        index(given.rows, given.wanted)
