"""The audit on many rows: CPU time beside cleanlab's in the same run, and peak memory.

python benchmarks/audit_speed.py                      100,000 rows of 50 columns in 10 classes; memory of 1,000,000
python benchmarks/audit_speed.py --classes 100 --rows 20000 --no-memory
python benchmarks/audit_speed.py --classes 300 --rows 30000 --alone       one audit, nothing beside it
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys

import numpy as np
from sklearn.datasets import make_classification

from audit import SCORES, cleanlab, noise_of, ours, print_table
from noisewise.labels import RobustRidgeClassifier
from noisewise.noise import FlipMatrix


def big(n_rows, n_classes):
    X, y = make_classification(
        n_rows, 50, n_informative=20, n_classes=n_classes, n_clusters_per_class=1, flip_y=0, random_state=0
    )
    rng = np.random.default_rng(0)
    observed = noise_of("pair 20 %", n_classes, rng).corrupt(y, rng)
    return X, observed, observed != y


def speed(n_rows, n_classes, repeats=3):
    """CPU seconds beside cleanlab's, least of interleaved runs; boosted trees are run once."""
    cell, twice = big(n_rows, n_classes), big(2 * n_rows, n_classes)
    runs = [(ours(*cell), next(iter(cleanlab(*cell, "LR"))), ours(*twice)) for _ in range(repeats)]
    mine, linear, double = (min(part, key=lambda row: row["CPU s"]) for part in zip(*runs))
    boosted = next(iter(cleanlab(*cell, "HistGB")))
    print_table(f"{n_rows} rows, 50 columns, {n_classes} classes", [mine, linear, boosted], (*SCORES, "CPU s"))
    for peer in (linear, boosted):
        print(f"noisewise takes {mine['CPU s'] / peer['CPU s']:.2f} of the CPU time of {peer['method'].split(',')[0]}")
    print(f"twice the rows take {double['CPU s'] / mine['CPU s']:.2f} of the time")


def alone(n_rows, n_classes):
    """Scores, CPU seconds and peak memory of one audit."""
    row = ours(*big(n_rows, n_classes))
    keys = (*SCORES, "count error", "covers", "CPU s")
    print_table(f"{n_rows} rows, 50 columns, {n_classes} classes", [row], keys)
    print(f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000:.0f} MB at the peak")


def memory(n_rows, n_classes):
    """Peak of a process of its own that makes the rows and audits them, beside the size of the rows."""
    command = [sys.executable, __file__, "--peak", "--rows", str(n_rows), "--classes", str(n_classes)]
    before, after, size = map(float, subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())
    print(f"\n{n_rows} rows: {size:.0f} MB of input, {after:.0f} MB at the peak ({before:.0f} MB before the audit);")
    print(f"at most three inputs and 1 GB: {'yes' if after < 3 * size + 1000 else 'NO'}")


def peak(n_rows, n_classes):
    X = np.random.default_rng(0).normal(size=(n_rows, 50))
    y = np.digitize(X[:, 0] + X[:, 1], np.linspace(-2, 2, n_classes - 1))
    observed = FlipMatrix.symmetric(0.1, n_classes).corrupt(y, 0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    RobustRidgeClassifier().fit(X, observed)
    print(before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000, X.nbytes / 1e6)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--memory-rows", type=int, default=1_000_000)
    parser.add_argument("--no-memory", action="store_true")
    parser.add_argument("--alone", action="store_true", help="one audit, nothing beside it")
    parser.add_argument("--peak", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peak:
        peak(options.rows, options.classes)
        return
    if options.alone:
        alone(options.rows, options.classes)
        return
    speed(options.rows, options.classes)
    if not options.no_memory:
        memory(options.memory_rows, options.classes)


if __name__ == "__main__":
    main()
