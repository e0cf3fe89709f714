"""The recommended classifier and its parts against a tuned SVM, cleanlab and a grid search: errors, ranking, speed.

    NOISEWISE_DATA=folder python benchmarks/robust_kernels.py [--only errors] [--splits 10] [--sets banana,thyroid]
                                                              [--methods voting,process,fisher,process-confident]

errors    Test error on clean labels, training sizes of the robust multi-kernel paper, symmetric noise and noise of one
          class (which one alternates with the split) pooled; the SVM's width and C by 3-fold cross-validation.
ranking   Area under the ROC curve of 1 - label_quality for the flipped training rows; cleanlab gets out-of-fold
          probabilities of an SVC, 5 folds. One-sided noise flips 30 % of class 0 or (odd splits) of class 1.
classes   Test error, mean flip rate and CPU seconds with many classes, 30 % noise, symmetric or to the next class: the
          methods and HistGradientBoosting.
speed     CPU seconds of the first method's fit against GridSearchCV over 21 widths x 21 C x 5 folds at 400 rows, and
          how they grow with the rows.
"""

import argparse
import time
import warnings
from typing import NamedTuple

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from noisewise import FlipMatrix
from noisewise.datasets import load
from noisewise.labels import RobustGaussianProcessClassifier, RobustKernelFisherClassifier, RobustVotingClassifier

METHODS = {
    "voting": RobustVotingClassifier(),
    "process": RobustGaussianProcessClassifier(),
    "fisher": RobustKernelFisherClassifier(),
    "process-confident": RobustGaussianProcessClassifier("confident"),
    "process-fisher": RobustGaussianProcessClassifier("fisher"),
}
SVM, CLEANLAB = "SVM, cross-validated", "cleanlab + SVC"
ROWS = {"banana": 400, "raetsch_diabetis": 468, "german": 700, "raetsch_heart": 170, "ringnorm": 400, "thyroid": 140}
ROWS |= {"titanic": 150, "twonorm": 400, "waveform": 400}
RANKED = {"banana": 400, "twonorm": 400, "heart": 270, "waveform": 400, "thyroid": 215, "diabetes": 468}
RANKED |= {"ionosphere": 351}
TESTED = 2000
MANY_CLASSES = [
    ("digits, 10 x 1,000", 1000, lambda: load_digits(return_X_y=True)),
    (
        "synthetic, 10 x 2,500",
        2500,
        lambda: make_classification(4500, 20, n_informative=12, n_classes=10, random_state=0),
    ),
    ("letter, 26 x 15,000", 15000, lambda: load("letter")),
]
PAPER_GRID = {"C": 2.0 ** np.arange(-10, 11), "gamma": 2.0 ** np.arange(-10, 11)}


def split(name, n_train, seed):
    """Standardised training rows, test rows, and both with labels 0 and 1."""
    X, y = load(name)
    y = np.unique(y, return_inverse=True)[1]
    order = np.random.default_rng([seed, len(y)]).permutation(len(y))
    train, test = order[:n_train], order[n_train : n_train + TESTED]
    scaler = StandardScaler().fit(X[train])
    return scaler.transform(X[train]), y[train], scaler.transform(X[test]) if len(test) else X[test], y[test]


def flips(kind, rate, seed):
    if kind == "symmetric":
        return FlipMatrix.symmetric(rate, 2)
    return FlipMatrix.binary(rate, 0.0) if seed % 2 == 0 else FlipMatrix.binary(0.0, rate)


def tuned_svm():
    grid = {"C": [0.25, 2, 16], "gamma": [1, 1 / 4, 1 / 16, 1 / 64]}
    return GridSearchCV(SVC(), grid, cv=StratifiedKFold(3, shuffle=True, random_state=0))


def mean_errors(sets, splits, names, rate):
    """Mean test error in per cent of every method on every set, and every method's longest fit in CPU seconds."""
    methods = {name: METHODS[name] for name in names} | {SVM: tuned_svm()}
    table = {method: [] for method in methods}
    longest = dict.fromkeys(methods, 0.0)
    for name in sets:
        found = {method: [] for method in methods}
        for seed in range(splits):
            X, y, X_test, y_test = split(name, ROWS[name], seed)
            for kind in ("symmetric", "asymmetric"):
                observed = flips(kind, rate, seed).corrupt(y, [seed, 1])
                for method, model in methods.items():
                    longest[method] = max(longest[method], cpu_seconds(lambda m=model, X=X, y=observed: m.fit(X, y)))
                    found[method].append(100 * np.mean(model.predict(X_test) != y_test))
        for method, values in found.items():
            table[method].append(float(np.mean(values)))
    return table, longest


def errors(sets, splits, names):
    for rate in (0.1, 0.3):
        table, longest = mean_errors(sets, splits, names, rate)
        print(f"\n{rate:.0%} noise, {splits} splits x 2 kinds: test error %; longest fit")
        print_table(sets, table, "10.1f", "10.2f", {method: f"{value:>8.2f} s" for method, value in longest.items()})


def svc_quality(X, observed):
    from cleanlab.rank import get_label_quality_scores

    machine = CalibratedClassifierCV(SVC(), cv=5, ensemble=False)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    posterior = cross_val_predict(machine, X, observed, cv=folds, method="predict_proba")
    return get_label_quality_scores(observed, posterior)


def mean_ranking(sets, splits, names, kind):
    """Mean area under the ROC curve of every method on every set, 30 % noise."""
    methods = [*names, CLEANLAB]
    table = {method: [] for method in methods}
    for name in sets:
        found = {method: [] for method in methods}
        for seed in range(splits):
            X, y, *_ = split(name, RANKED[name], seed)
            observed = flips(kind, 0.3, seed).corrupt(y, [seed, 2])
            for method in names:
                quality = METHODS[method].fit(X, observed).label_quality(X, observed)
                found[method].append(roc_auc_score(observed != y, 1 - quality))
            found[CLEANLAB].append(roc_auc_score(observed != y, 1 - svc_quality(X, observed)))
        for method, values in found.items():
            table[method].append(float(np.mean(values)))
    return table


def ranking(sets, splits, names):
    for title, kind in (("one-sided", "asymmetric"), ("symmetric", "symmetric")):
        print(f"\nranking of flipped rows, {title} 30 %, {splits} splits: area under the ROC curve")
        print_table(sets, mean_ranking(sets, splits, names, kind), "10.3f", "10.3f")


def print_table(sets, table, cell, last, notes=None):
    names = "".join(f"{name.removeprefix('raetsch_')[:9]:>10}" for name in sets)
    print(f"{'':24}{names}      mean")
    for method, values in table.items():
        cells = "".join(f"{value:{cell}}" for value in values)
        print(f"{method:24}{cells}{np.mean(values):{last}}{(notes or {}).get(method, '')}", flush=True)


def many_classes(names, sizes):
    """Digits, letters and a synthetic set, as many of them as there are data for."""
    methods = {name: METHODS[name] for name in names} | {"boosting": HistGradientBoostingClassifier(random_state=0)}
    print("\nmany classes, 30 % noise")
    print("| rows | noise | method | test error % | mean flip rate | CPU s |\n|---|---|---|---|---|---|")
    for title, rows, load_rows in MANY_CLASSES:
        if rows not in sizes:
            continue
        try:
            X, y = load_rows()
        except FileNotFoundError as error:
            print(f"left out: {error}")
            continue
        y = np.unique(y, return_inverse=True)[1]
        order, n_classes = np.random.default_rng(0).permutation(len(y)), int(y.max()) + 1
        train, test = order[:rows], order[rows : rows + TESTED]
        pairs = 0.7 * np.eye(n_classes) + 0.3 * np.roll(np.eye(n_classes), 1, axis=1)
        for kind, noise in (("symmetric", FlipMatrix.symmetric(0.3, n_classes)), ("pairs", FlipMatrix(pairs))):
            observed = noise.corrupt(y[train], 1)
            for name, model in methods.items():
                seconds = cpu_seconds(lambda m=model, X=X[train], y=observed: m.fit(X, y))
                error = 100 * np.mean(model.predict(X[test]) != y[test])
                rate = f"{1 - np.diag(model.noise_.matrix).mean():.2f}" if hasattr(model, "noise_") else ""
                print(f"| {title} | {kind} | {name} | {error:.1f} | {rate} | {seconds:.1f} |", flush=True)


def cpu_seconds(fit):
    start = time.process_time()
    fit()
    return time.process_time() - start


def grid_search_seconds(model):
    """CPU seconds at 400 rows: our fit, and the grid search of the paper; ours before and after, the least."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    observed = FlipMatrix.symmetric(0.2, 2).corrupt((np.square(X).sum(axis=1) > 1.4).astype(int), 1)
    ours = [cpu_seconds(lambda: model.fit(X, observed)) for _ in range(3)]
    grid = cpu_seconds(lambda: GridSearchCV(SVC(), PAPER_GRID, cv=5).fit(X, observed))
    ours += [cpu_seconds(lambda: model.fit(X, observed)) for _ in range(3)]
    return min(ours), grid


class Run(NamedTuple):
    """One fit on the low-rank path."""

    n_rows: int
    seconds: float
    accuracy: float


def growth(model, sizes):
    """The less of two timings for each size, in turn."""
    for n in sizes:
        X, y = make_classification(n, 20, n_informative=8, random_state=0)
        observed = FlipMatrix.binary(0.0, 0.3).corrupt(y, 1)
        seconds = min(cpu_seconds(lambda X=X, y=observed: model.fit(X, y)) for _ in range(2))
        yield Run(n, seconds, model.score(X[:5000], y[:5000]))


def speed(name, sizes):
    ours, grid = grid_search_seconds(METHODS[name])
    print(f"\n{name}, 400 rows: fit {ours:.2f} s, GridSearchCV(SVC) {grid:.1f} s, ratio {grid / ours:.0f}")
    before = None
    for run in growth(METHODS[name], sizes):
        ratio = f" ({run.seconds / before:.2f} times the line above)" if before else ""
        print(f"{run.n_rows:>7} rows x 20: {run.seconds:.1f} s{ratio}; accuracy {run.accuracy:.3f}", flush=True)
        before = run.seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=["errors", "ranking", "classes", "speed"])
    parser.add_argument("--sets", help="names with commas; by default all of the table")
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--methods", default="voting,process", help=f"with commas, of {', '.join(METHODS)}")
    parser.add_argument("--rows", default="10000,20000,40000,80000", help="sizes to time")
    parser.add_argument("--class-rows", default="1000,2500,15000", help="sizes of the sets of many classes")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    names = options.methods.split(",")
    chosen = options.sets.split(",") if options.sets else None
    try:
        if options.only in (None, "errors"):
            errors(chosen or list(ROWS), options.splits, names)
        if options.only in (None, "ranking"):
            ranking(chosen or list(RANKED), options.splits, names)
    except FileNotFoundError as error:
        print(f"left out: {error}")
    if options.only in (None, "classes"):
        many_classes(names, [int(size) for size in options.class_rows.split(",")])
    if options.only in (None, "speed"):
        speed(names[0], [int(size) for size in options.rows.split(",")])


if __name__ == "__main__":
    main()
