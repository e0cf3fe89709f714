"""Speed of the rounds as ratios to peers, one thread, CPU time, all from one run, with mistake rates beside them.

    python benchmarks/rounds.py [fraction of 60,000 dense and 100,000 sparse rows, 1 by default]

Peers: a matrix product of the same shape, one pass of scikit-learn's Perceptron (shuffling the rows, its default, and
in row order, as ours), and Vowpal Wabbit reading its cache, with a table large enough (-b) that no two weights have one
index: in a smaller one it is up to twice as fast and learns much less. Every round times all of them in turn; a ratio
is that of the shortest times, because other work on the machine only ever adds to a time.
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import Perceptron

from noisewise import FlipMatrix
from noisewise.online import recipes

NOISE = FlipMatrix.binary(false_positive=0.1, false_negative=0.1)
REPEATS = 5


def dense_rows(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of MNIST's size: 784 features, 10 classes, 19 % non-zero."""
    rng = np.random.default_rng(0)
    y = rng.integers(10, size=n)
    shapes = 1 + 2 * rng.random((10, 784))
    X = np.empty((n, 784))
    for start in range(0, n, 5000):
        part = slice(start, start + 5000)
        densities = np.clip(shapes[y[part]] * 0.19 / shapes.mean(), 0, 1)
        X[part] = rng.random(densities.shape) * (rng.random(densities.shape) < densities)
    return X, y


def sparse_rows(n: int) -> tuple[sp.csr_array, np.ndarray]:
    """CSR rows: 50,000 features, 20 classes, 75 non-zeros, a sixth of them typical of the class."""
    rng = np.random.default_rng(1)
    y = rng.integers(20, size=n)
    typical = rng.integers(50_000, size=(20, 1500))
    columns = rng.integers(50_000, size=(n, 75))
    columns[:, :12] = typical[y[:, None], rng.integers(1500, size=(n, 12))]
    rows = np.repeat(np.arange(n), 75)
    X = sp.csr_array((rng.random(n * 75) + 0.5, (rows, columns.ravel())), shape=(n, 50_000))
    X.sum_duplicates()
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X, y


def ours(X, y, n_classes):
    """Name -> function that plays the stream once and returns its mistake rate."""
    feedback = {
        "rcnbf": lambda: recipes.rcnbf(n_classes, gamma=0.2, noise=NOISE, random_state=0).play(X, y, NOISE, 1),
        "ucwl": lambda: recipes.ucwl(n_classes, random_state=0).play(X, y),
    }
    labels = {"perceptron": recipes.perceptron, "arow": recipes.arow}
    learners = {name: lambda make=make: make().fit(X, y).mistakes_ / len(y) for name, make in labels.items()}
    return {**learners, **{name: lambda play=play: play().mistake_rate for name, play in feedback.items()}}


def scikit_learn(X, y, shuffle):
    model = Perceptron(max_iter=1, tol=None, shuffle=shuffle).fit(X, y)
    return 1 - model.score(X[:5000], y[:5000])  # on rows it has seen: it does not count its mistakes


def vowpal_wabbit(X, y, n_classes, folder):
    """Name -> function that runs one pass from a cache file; empty where the package is missing."""
    try:
        from vowpalwabbit import Workspace
    except ImportError:
        print("vowpalwabbit is not installed: its columns are left out", file=sys.stderr)
        return {}
    text, cache = Path(folder) / "rows.txt", Path(folder) / "rows.cache"
    rows = sp.csr_array(X)
    with text.open("w") as file:
        for i, label in enumerate(y):
            part = slice(rows.indptr[i], rows.indptr[i + 1])
            pairs = zip(rows.indices[part], rows.data[part])
            file.write(f"{label + 1} | " + " ".join(f"{j}:{x:.5g}" for j, x in pairs) + "\n")
    Workspace(f"--oaa {n_classes} -d {text} --cache_file {cache} -k --quiet").finish()

    bits = max(18, int(np.ceil(np.log2(X.shape[1]) + np.ceil(np.log2(n_classes)))))

    def run(options):
        model = Workspace(f"{options} -d {text} --cache_file {cache} -b {bits} --quiet --noconstant")
        rate = model.get_sum_loss() / model.get_weighted_examples()
        model.finish()
        return rate

    modes = ("--oaa {}", "--oaa {} --sgd", "--cbify {}")
    return {f"VW {mode.format('K')} -b {bits}": lambda mode=mode: run(mode.format(n_classes)) for mode in modes}


def timed(function):
    start = time.process_time()
    result = function()
    return time.process_time() - start, result


def table(title, X, y, n_classes, folder):
    """Time everything in turn and print the ratios."""
    single = X.astype(np.float32)
    weights = np.ascontiguousarray(np.random.default_rng(0).normal(size=(n_classes, X.shape[1])))
    learners = ours(X, y, n_classes)
    learners.update({f"{name} float32": play for name, play in ours(single, y, n_classes).items()})
    peers = {
        "sklearn, shuffled": lambda: scikit_learn(X, y, True),
        "sklearn, in order": lambda: scikit_learn(X, y, False),
    }
    peers.update(vowpal_wabbit(X, y, n_classes, folder))
    if not sp.issparse(X):
        peers = {"gemm": lambda: np.count_nonzero(X @ weights.T) * 0 + np.nan, **peers}
    everything = {**learners, **peers}
    times, rates = {name: [] for name in everything}, {}
    for run in learners.values():
        run()  # compiles, or reads what was compiled before
    for _ in range(REPEATS):
        for name, run in everything.items():
            for _ in range(3 if name in learners else 1):  # peers take longer, so other work evens out
                seconds, rates[name] = timed(run)
                times[name].append(seconds)
    print(f"\n{title}: CPU time a row, mistake rate, and how many times faster than each peer")
    print(f"{'':26}{'ns':>8}{'mistakes':>10}{'of float64':>12}" + "".join(f"{peer:>23}" for peer in peers))
    shortest = {name: min(seconds) for name, seconds in times.items()}
    for name in everything:
        wide = name.removesuffix(" float32")
        speedup = f"{shortest[wide] / shortest[name]:12.2f}" if wide != name else f"{'':12}"
        ratios = "".join(f"{shortest[peer] / shortest[name]:23.2f}" for peer in peers) if name in learners else ""
        print(f"{name:26}{shortest[name] / len(y) * 1e9:8.0f}{rates[name]:10.3f}{speedup}{ratios}")
    gains = [shortest[name.removesuffix(" float32")] / shortest[name] for name in learners if "float32" in name]
    print(f"float32 of float64, mean of the learners: {np.exp(np.mean(np.log(gains))):.2f}")


def one_row_at_a_time(X, y):
    """`decide` and `learn` from Python, against Vowpal Wabbit's predict and learn, both from a row of numpy."""
    learner = recipes.ucwl(10)
    learner.play(X[:200], y[:200])
    n = 100

    def decide_and_learn():
        for x, true in zip(X[:n], y[:n]):
            decision = learner.decide(x)
            learner.learn(decision, decision.action == true)

    def predict_and_learn():
        for x, true in zip(X[:n], y[:n]):
            columns = np.flatnonzero(x)
            example = model.example({"f": list(zip(columns.tolist(), x[columns].tolist()))})
            model.predict(example)
            example.set_label_string(f"{true + 1}")
            model.learn(example)
            model.finish_example(example)

    decide_and_learn()
    mine = theirs = np.inf
    try:
        from vowpalwabbit import Workspace

        model = Workspace("--oaa 10 --quiet")
    except ImportError:
        model = None
    for _ in range(8 * REPEATS):  # in turn and briefly
        mine = min(mine, timed(decide_and_learn)[0])
        theirs = min(theirs, timed(predict_and_learn)[0]) if model else np.nan
    print(f"\none dense row of 784 from Python: decide + learn {mine / n * 1e6:.1f} us", end="")
    print(f", Vowpal Wabbit's predict + learn {theirs / n * 1e6:.1f} us: {theirs / mine:.1f} times faster")


def first_call():
    """CPU seconds of the first stream in a new process, by code compiled before; importing numba is part of it."""
    script = """
import time, numpy as np
from noisewise.online.recipes import ucwl
X, y = np.random.default_rng(0).random((100, 784)), np.arange(100) % 10
start = time.process_time()
ucwl(10).play(X, y)
print(f"{time.process_time() - start:.2f}")
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    print(f"\nfirst call of play in a new process: {ran.stdout.strip()} s")


if __name__ == "__main__":
    fraction = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    with tempfile.TemporaryDirectory() as folder:
        X, y = dense_rows(int(60_000 * fraction))
        table("Dense, 784 x 10, 19 % non-zero", X, y, 10, folder)
        one_row_at_a_time(X, y)
    first_call()
    with tempfile.TemporaryDirectory() as folder:
        table("Sparse, 50,000 x 20, 75 non-zeros", *sparse_rows(int(100_000 * fraction)), 20, folder)
