"""Wrong numbers: audit_targets against cleanlab's regression module with the same forest, in one run.

    NOISEWISE_DATA=... python benchmarks/audit_targets.py                 six sets, three kinds of errors, 5 and 15 %
    NOISEWISE_DATA=... python benchmarks/audit_targets.py --seeds 10 --peers 0    ours alone: coverage of the interval

Errors are shifts by one to three standard deviations, values of other rows, or factors of 10, 1000, 2.54 and 1 / 2.54.
The constants of the audit were chosen on other data: Friedman's first function, columns of the sets vehicle, Wisconsin
breast cancer, wine, heart, Pima diabetes, pendigits, letter and segment; `--others` takes some of these and
a linear one, `--held-out 1` and `--held-out 2` the sets of two unseen looks at the interval of the count.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_iris,
    load_wine,
    make_friedman1,
    make_friedman2,
    make_friedman3,
    make_regression,
    make_s_curve,
    make_sparse_uncorrelated,
    make_swiss_roll,
)
from sklearn.ensemble import RandomForestRegressor
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import KFold, cross_val_predict

from noisewise import audit_targets

KINDS = ("shifted", "swapped", "units")
RATES = (0.05, 0.15)
FACTORS = (10, 1000, 2.54, 1 / 2.54)
NOISE = 0.25  # of the standard deviation of Friedman's functions
KEYS = ("AUROC", "AP", "count / errors", "holds", "CPU s")


def friedman(function, n):
    X, y = function(n_samples=n, random_state=0)
    return X, y + np.random.default_rng(1).normal(size=n) * NOISE * y.std()


def stored(name, column):
    """Another array of the file, or a column of its rows, from the other columns."""
    if "NOISEWISE_DATA" not in os.environ:
        raise SystemExit("set NOISEWISE_DATA to the folder of housing.npz, magic04.npz and landsat.npz")
    with np.load(Path(os.environ["NOISEWISE_DATA"]) / f"{name}.npz") as arrays:
        X = arrays["X"].astype(float)
        if isinstance(column, str):
            return X, arrays[column].astype(float)
    return np.delete(X, column, axis=1), X[:, column]


SETS = {
    "diabetes": lambda n: load_diabetes(return_X_y=True),
    "housing": lambda n: stored("housing", "medv"),
    "friedman2": lambda n: friedman(make_friedman2, n),
    "friedman3": lambda n: friedman(make_friedman3, n),
    "magic04 size": lambda n: stored("magic04", 2),
    "landsat pixel": lambda n: stored("landsat", 17),
}


def friedman1(n, noise):
    X, y = make_friedman1(n, random_state=7)
    return X, y + np.random.default_rng(8).normal(size=n) * noise * y.std()


def linear(n):
    X, y = make_regression(n, 8, n_informative=5, noise=40, random_state=3)
    return X, y + 300


def column_of(X, column):
    return np.delete(X, column, axis=1), X[:, column]


OTHERS = {
    "friedman1": lambda n: friedman1(n, NOISE),
    "friedman1 noisy": lambda n: friedman1(n, 0.6),
    "linear": linear,
    "wisconsin": lambda n: column_of(load_breast_cancer().data, 1),
    "wine": lambda n: column_of(load_wine().data, 9),
    "vehicle": lambda n: stored("vehicle", 4),
    "pendigits": lambda n: stored("pendigits", 6),
    "incomes": lambda n: stored("australian", 13),
}


def noisy(rows, noise):
    """Rows and a target of scikit-learn's, with noise of the given kind."""
    X, y = rows
    return X, y + NOISE * y.std() * noise(np.random.default_rng(9), y)


def growing(rng, y):
    """Normal noise whose standard deviation grows with the target, from nothing to twice its mean."""
    return rng.normal(size=len(y)) * 2 * np.argsort(np.argsort(y)) / len(y)


def skewed(rng, y):
    return rng.exponential(size=len(y)) - 1


def heavy(rng, y):
    return rng.standard_t(3, size=len(y)) / np.sqrt(3)


HELD_OUT = (  # each looked at once
    {
        "thyroid": lambda n: stored("raetsch_thyroid", 1),
        "waveform": lambda n: stored("raetsch_waveform", 10),
        "usps": lambda n: stored("usps", 120),
        "optdigits": lambda n: stored("optdigits", 28),
        "twonorm": lambda n: stored("raetsch_twonorm", 3),
        "ionosphere": lambda n: stored("ionosphere", 4),
        "incomes": OTHERS["incomes"],
    },
    {
        "mnist": lambda n: stored("mnist", 406),
        "fashion": lambda n: stored("fashion_mnist", 350),
        "housing nox": lambda n: stored("housing", 4),
        "housing lstat": lambda n: stored("housing", 12),
        "magic04 length": lambda n: stored("magic04", 0),
        "shuttle": lambda n: stored("shuttle", 8),
        "ringnorm": lambda n: stored("raetsch_ringnorm", 5),
        "german duration": lambda n: stored("german_numeric", 1),
        "iris": lambda n: column_of(load_iris().data, 2),
        "body mass": lambda n: column_of(load_diabetes(scaled=False).data, 2),
        "swiss roll, skewed": lambda n: noisy(make_swiss_roll(n, random_state=4), skewed),
        "s curve, growing": lambda n: noisy(make_s_curve(n, random_state=5), growing),
        "sparse, heavy": lambda n: noisy(make_sparse_uncorrelated(n, random_state=6), heavy),
        "low rank, skewed": lambda n: noisy(make_regression(n, 20, effective_rank=5, random_state=8), skewed),
    },
)


EVERY = {**SETS, **OTHERS, **HELD_OUT[0], **HELD_OUT[1]}


def load(name, n):
    """At most n rows, drawn at random."""
    X, y = EVERY[name](n)
    rows = np.random.default_rng(0).permutation(len(y))[:n]
    return X[rows], y[rows]


def corrupt(y, kind, rate, rng):
    """Targets with errors, and which of them have changed."""
    rows = rng.choice(len(y), round(rate * len(y)), replace=False)
    observed = y.copy()
    if kind == "shifted":
        observed[rows] += rng.choice([-1, 1], len(rows)) * rng.uniform(1, 3, len(rows)) * y.std()
    elif kind == "swapped":
        observed[rows] = y[np.roll(rows, 1)]
    else:
        observed[rows] *= rng.choice(FACTORS, len(rows))
    return observed, observed != y


def forest(trees):
    return RandomForestRegressor(trees, min_samples_leaf=2, random_state=0)


def ours(X, y, wrong, model=None):
    audit = audit_targets(X, y, model)
    score = np.empty(len(y))
    score[audit.order] = -np.arange(len(y))
    low, high = audit.expected_errors.interval
    return ranking(wrong, score) | {
        "count / errors": audit.expected_errors / wrong.sum(),
        "holds": float(low <= wrong.sum() <= high),
    }


def cleanlab_rank(X, y, wrong, model):
    from cleanlab.regression.rank import get_label_quality_scores

    predictions = cross_val_predict(model, X, y, cv=KFold(5, shuffle=True, random_state=0))
    return ranking(wrong, -get_label_quality_scores(y, predictions))


def cleanlab_learn(X, y, wrong, model):
    from cleanlab.regression.learn import CleanLearning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        issues = CleanLearning(model, seed=0, verbose=False).find_label_issues(X, y)
    return ranking(wrong, -issues["label_quality"].to_numpy())


def ranking(wrong, score):
    return {"AUROC": roc_auc_score(wrong, score), "AP": average_precision_score(wrong, score)}


def timed(method, *arguments):
    start = time.process_time()
    return method(*arguments) | {"CPU s": time.process_time() - start}


def methods(trees, peers, with_forest):
    found = {"noisewise": ours}
    if peers or with_forest:
        found["noisewise, forest"] = lambda *data: ours(*data, forest(trees))
    if peers:
        found["cleanlab rank, forest"] = lambda *data: cleanlab_rank(*data, forest(trees))
        found["cleanlab CleanLearning, forest"] = lambda *data: cleanlab_learn(*data, forest(trees))
    return found


def cells(names, n, seeds, chosen):
    """Results of every method, seed by seed, on each set, kind and rate."""
    for name in names:
        X, y = load(name, n)
        for kind in KINDS:
            for rate in RATES:
                runs = {method: [] for method in chosen}
                for seed in seeds:
                    observed, wrong = corrupt(y, kind, rate, np.random.default_rng(seed))
                    for method, run in chosen.items():
                        runs[method].append(timed(run, X, observed, wrong))
                yield (name, kind, rate), runs


def averaged(results):
    return {key: float(np.mean([one[key] for one in results])) for key in KEYS if key in results[0]}


def line(head, values):
    numbers = (f"{values[key]:.3f}" if key in values else "-" for key in KEYS)
    return f"| {' | '.join(str(cell) for cell in head)} | {' | '.join(numbers)} |"


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", choices=list(EVERY), default=list(SETS))
    parser.add_argument("--others", action="store_true", help="the sets that constants were chosen on")
    parser.add_argument("--held-out", type=int, choices=[1, 2], help="sets of the first or second unseen look")
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--trees", type=int, default=30)
    parser.add_argument("--peers", type=int, default=1, help="0: ours alone")
    parser.add_argument("--forest", action="store_true", help="ours with the forest too, without peers")
    options = parser.parse_args(arguments)
    chosen = methods(options.trees, options.peers, options.forest)
    print(f"| set | errors | rate | method | {' | '.join(KEYS)} |\n|{'---|' * (4 + len(KEYS))}")
    everything = {method: {} for method in chosen}
    names = options.sets
    if options.others or options.held_out:
        names = list(OTHERS if options.others else HELD_OUT[options.held_out - 1])
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    for (name, kind, rate), runs in cells(names, options.rows, seeds, chosen):
        for method, results in runs.items():
            everything[method].setdefault(name, []).extend(results)
            print(line((name, kind, rate, method), averaged(results)), flush=True)
    for name in names:
        for method, results in everything.items():
            print(line((name, "all", "-", method), averaged(results[name])))
    for method, results in everything.items():
        print(line(("all", "all", "-", method), averaged([one for some in results.values() for one in some])))


if __name__ == "__main__":
    main()
