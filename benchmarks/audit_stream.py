"""The same audit of one Parquet file in memory, streamed, and on a local Dask cluster: time, peak memory, difference.

    python benchmarks/audit_stream.py                         a million rows, 50 columns, 10 classes
    python benchmarks/audit_stream.py --rows 200000 --engines memory streamed dask

Every engine has a process of its own, so that peaks are its own; a cluster's workers have others, which do not count.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import polars as pl

from noisewise import audit_labels
from noisewise.audit.cluster import dask_client

COLUMNS, CLASSES, WRONG, PART = 50, 10, 0.1, 100_000


def write_table(path: Path, n_rows: int) -> None:
    """Ten Gaussian classes, a tenth of the labels moved to the next class; written part by part."""
    rng = np.random.default_rng(0)
    centers = 0.6 * rng.normal(size=(CLASSES, COLUMNS))
    path.mkdir()
    for number, start in enumerate(range(0, n_rows, PART)):
        true = rng.integers(0, CLASSES, min(PART, n_rows - start))
        X = centers[true] + rng.normal(size=(len(true), COLUMNS))
        labels = np.where(rng.random(len(true)) < WRONG, (true + 1) % CLASSES, true)
        frame = pl.DataFrame({f"x{j}": X[:, j] for j in range(COLUMNS)} | {"y": labels})
        frame.write_parquet(path / f"{number:05d}.parquet")


def run(path: Path, engine: str) -> None:
    """Audit by one engine and print what it took; called in a process of its own."""
    lazy = pl.scan_parquet(path / "*.parquet")
    y = lazy.select("y").collect()["y"].to_numpy()
    X = lazy.drop("y")
    start, cpu = time.perf_counter(), time.process_time()
    if engine == "dask":
        with dask_client(n_workers=2) as client:
            audit = audit_labels(X, y, client=client)
    else:
        audit = audit_labels(X.collect() if engine == "memory" else X, y)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    np.save(path / f"{engine}.npy", audit.posterior)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"| {engine} | {seconds:.1f} | {cpu:.1f} | {peak:.0f} | {audit.expected_errors!r} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--engines", nargs="+", default=["memory", "streamed", "dask"])
    parser.add_argument("--one", nargs=2, metavar=("FOLDER", "ENGINE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        run(Path(options.one[0]), options.one[1])
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table"
        write_table(path, options.rows)
        size = options.rows * COLUMNS * 8 / 2**20
        print(f"{options.rows:,} rows, {COLUMNS} columns, {CLASSES} classes: {size:.0f} MB of numbers\n")
        print("| engine | seconds | CPU s | peak MB | wrong labels |\n|---|---|---|---|---|", flush=True)
        for engine in options.engines:
            subprocess.run([sys.executable, __file__, "--one", str(path), engine], check=True)
        first = np.load(path / f"{options.engines[0]}.npy")
        for engine in options.engines[1:]:
            difference = np.abs(np.load(path / f"{engine}.npy") - first).max()
            print(f"largest difference of a probability, {engine} and {options.engines[0]}: {difference:.1e}")


if __name__ == "__main__":
    main()
