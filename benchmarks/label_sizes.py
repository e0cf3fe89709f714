"""Large tables: CPU seconds, peak memory and test error of a fit, each in a process of its own.

    NOISEWISE_DATA=folder python benchmarks/label_sizes.py [--only 100k,sparse,voting]

10k, 100k, 1m   `RobustClassifier` on so many rows of 20 columns (make_classification), two classes; the last takes
                13 minutes of one core.
classes         20,000 rows, 200 classes.
sparse          100,000 x 10,000, 50 non-zeros a row, a line in 100 of the columns.
voting          `RobustVotingClassifier`, 15,000 rows of letter, 26 classes.

The noise is 30 % in one class and 10 % in the other, or symmetric 30 %.
"""

import argparse
import multiprocessing
import resource
import time
import warnings

import numpy as np
from scipy.sparse import csr_array
from sklearn.datasets import make_classification

from noisewise import FlipMatrix, labels
from noisewise.datasets import load

TESTED = 3000


def dense(n):
    X, y = make_classification(n + TESTED, 20, n_informative=10, n_clusters_per_class=4, random_state=1)
    return X, y, FlipMatrix.binary(0.3, 0.1), labels.RobustClassifier()


def classes():
    options = {"n_informative": 15, "n_clusters_per_class": 1, "n_classes": 200, "class_sep": 3}
    X, y = make_classification(20_000 + TESTED, 20, random_state=1, **options)
    return X, y, FlipMatrix.symmetric(0.3, 200), labels.RobustClassifier()


def sparse(n=100_000, d=10_000, stored=50):
    rng = np.random.default_rng(0)
    n += TESTED
    columns = (d * rng.random((n, stored)) ** 2).astype(np.int64)  # some columns are frequent, most are rare
    X = csr_array((np.ones(columns.size), columns.ravel(), stored * np.arange(n + 1)), (n, d))
    X.sum_duplicates()
    scores = X[:, :100] @ rng.normal(size=100)
    return X, (scores > np.median(scores)).astype(int), FlipMatrix.binary(0.3, 0.1), labels.RobustClassifier()


def letter():
    X, y = load("letter")
    order = np.random.default_rng(0).permutation(len(y))[: 15_000 + TESTED]
    codes = np.unique(y, return_inverse=True)[1]
    return X[order], codes[order], FlipMatrix.symmetric(0.3, 26), labels.RobustVotingClassifier()


TABLES = {
    "10k": lambda: dense(10_000),
    "100k": lambda: dense(100_000),
    "1m": lambda: dense(1_000_000),
    "classes": classes,
    "sparse": sparse,
    "voting": letter,
}


def measure(name):
    warnings.simplefilter("ignore")
    X, y, noise, model = TABLES[name]()
    n = len(y) - TESTED
    observed = noise.corrupt(y[:n], 0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    start = time.process_time()
    model.fit(X[:n], observed)
    seconds, peak = time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    error = 100 * np.mean(model.predict(X[n:]) != y[n:])
    size = f"{n:,} x {X.shape[1]:,} | {len(noise.matrix)}"
    name = type(model).__name__
    print(f"| {name} | {size} | {seconds:.0f} | {before:.1f} | {peak:.1f} | {error:.1f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(TABLES))
    options = parser.parse_args()
    print(
        "| | table | classes | CPU s | GB before | GB at most | test error % |\n|---|---|---|---|---|---|---|",
        flush=True,
    )
    for name in options.only.split(","):
        process = multiprocessing.get_context("spawn").Process(target=measure, args=(name,))
        process.start()
        process.join()


if __name__ == "__main__":
    main()
