"""Finding wrong labels: RobustRidgeClassifier against cleanlab on the same rows, labels and noise, in one run.

    python benchmarks/audit.py                  accuracy, one table for each kind of noise
    python benchmarks/audit.py --seeds 0 1      more subsamples
    python benchmarks/audit.py --speed          time and memory on 100,000 rows instead

cleanlab gets standardised inputs, 5 shuffled stratified folds and its own defaults. Sets that are not at hand (see
`noisewise.datasets.load`) are left out.
"""

from __future__ import annotations

import argparse
import os
import time
import tracemalloc
from collections import defaultdict

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from cleanlab.filter import find_label_issues
from cleanlab.rank import get_label_quality_scores
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from noisewise.datasets import load
from noisewise.labels._ridge import RobustRidgeClassifier
from noisewise.noise._calibration import likely_wrong
from noisewise.noise._flip import FlipMatrix

SETS = [
    "iris", "wine", "breast_cancer", "digits", "heart", "ionosphere", "diabetes", "german_numeric", "vehicle",
    "segment", "landsat", "pendigits", "letter", "optdigits", "magic04", "banana", "twonorm", "waveform", "thyroid",
]  # fmt: skip
UNSEEN = [
    "australian", "fourclass", "housing", "image", "ringnorm", "splice", "usps", "breast_cancer_wisconsin",
    "mushroom", "fashion_mnist",
]  # fmt: skip
KINDS = ("symmetric 10 %", "symmetric 30 %", "one-sided 30 %", "pair 20 %", "sparse 10-40 %", "clean")
PEERS = {
    "SVC": lambda: SVC(probability=True, random_state=0),
    "LR": lambda: LogisticRegression(max_iter=1000),
    "k-NN": lambda: KNeighborsClassifier(20),
}


def noise_of(kind: str, n_classes: int, rng: np.random.Generator) -> FlipMatrix:
    if kind == "clean":
        return FlipMatrix.none(n_classes)
    if kind.startswith("symmetric"):
        return FlipMatrix.symmetric(int(kind.split()[1]) / 100, n_classes)
    matrix = np.eye(n_classes)
    if kind.startswith("one-sided"):
        matrix[0, :2] = 0.7, 0.3
    elif kind.startswith("pair"):
        matrix = 0.8 * matrix + 0.2 * np.roll(matrix, 1, axis=1)
    else:
        for true in rng.permutation(n_classes)[: max(1, n_classes // 2)]:
            observed = rng.choice(np.delete(np.arange(n_classes), true))
            matrix[true, true] -= (rate := rng.uniform(0.1, 0.4))
            matrix[true, observed] += rate
    return FlipMatrix(matrix)


def rows_of(name: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = load(name)
    most = 2600 if name == "letter" else 1000 if y.min() < 0 or name in UNSEEN else 1500
    rows = np.random.default_rng([1, seed]).permutation(len(y))[:most]
    return X[rows], np.unique(y[rows], return_inverse=True)[1]


def measures(name, wrong, chance, picked, n_wrong, interval, seconds):
    n, found = len(wrong), wrong[picked].sum()
    row = {"method": name, "picked": len(picked) / n, "count error": abs(n_wrong - wrong.sum()) / n, "CPU s": seconds}
    if interval is not None:
        row["covers"] = interval[0] <= wrong.sum() <= interval[1]
        row["stated"], row["stated wrong"] = (chance >= 0.8).sum(), (wrong & (chance >= 0.8)).sum()
    if wrong.any():
        row["AUROC"], row["AP"] = roc_auc_score(wrong, chance), average_precision_score(wrong, chance)
        row["F1"] = 2 * found / (len(picked) + wrong.sum())
    return row


def ours(X, observed, wrong):
    start = time.process_time()
    model = RobustRidgeClassifier().fit(X, observed)
    chance = 1 - model.label_quality_
    seconds = time.process_time() - start
    return [
        measures("noisewise", wrong, chance, likely_wrong(chance), model.n_wrong_, model.n_wrong_interval_, seconds)
    ]


def cleanlab(X, observed, wrong, peer):
    start = time.process_time()
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    model = make_pipeline(StandardScaler(), PEERS[peer]())
    p = cross_val_predict(model, X, observed, cv=folds, method="predict_proba")
    issues = find_label_issues(observed, p, return_indices_ranked_by="self_confidence", n_jobs=1)
    seconds = time.process_time() - start
    for score in ("self_confidence", "normalized_margin"):
        chance = 1 - get_label_quality_scores(observed, p, method=score)
        yield measures(f"cleanlab {peer}, {score}", wrong, chance, issues, len(issues), None, seconds)


def accuracy(sets, seeds):
    results = defaultdict(list)
    for name in sets:
        try:
            parts = [rows_of(name, seed) for seed in seeds]
        except FileNotFoundError as error:
            print(f"without {name}: {error}")
            continue
        for seed, (X, y) in zip(seeds, parts):
            for k, kind in enumerate(KINDS):
                rng = np.random.default_rng([seed, k])
                observed = noise_of(kind, y.max() + 1, rng).corrupt(y, rng)
                if np.bincount(observed).min() < 5:
                    continue  # cleanlab's folds need five of each
                results[kind] += ours(X, observed, observed != y)
                for peer in PEERS:
                    results[kind] += cleanlab(X, observed, observed != y, peer)
        print(f"{name} done", flush=True)
    return results


def mean_of(rows, key):
    values = [row[key] for row in rows if key in row]
    return f"{np.mean(values):.3f}" if values else "-"


def print_table(title, rows):
    keys = ["AUROC", "AP", "F1", "picked", "count error", "covers", "CPU s"]
    print(f"\n{title}\n| method | {' | '.join(keys)} |\n|{'---|' * (len(keys) + 1)}")
    for method in dict.fromkeys(row["method"] for row in rows):
        mine = [row for row in rows if row["method"] == method]
        print(f"| {method} | {' | '.join(mean_of(mine, key) for key in keys)} |")


def compare(results):
    for kind, rows in results.items():
        print_table(kind, rows)
    noisy = [row for kind, rows in results.items() if kind != "clean" for row in rows]
    print_table("mean of all noisy runs", noisy)
    means = defaultdict(dict)
    for method in {row["method"] for row in noisy}:
        for key in ("AUROC", "AP", "F1"):
            means[key][method] = np.mean([row[key] for row in noisy if row["method"] == method])
    print("\nover the best variant of cleanlab:")
    for key, values in means.items():
        peer = max((method for method in values if method != "noisewise"), key=values.get)
        print(f"  {key} {values['noisewise'] - values[peer]:+.3f} ({peer})")
    stated = [row for row in noisy if "stated" in row]
    share = sum(row["stated wrong"] for row in stated) / max(1, sum(row["stated"] for row in stated))
    print(f"  rows stated as wrong with probability .8 or more: {share:.1%} are")


def speed(n_rows, n_classes):
    for n in (n_rows, 2 * n_rows):
        X, y = make_classification(
            n, 50, n_informative=20, n_classes=n_classes, n_clusters_per_class=1, flip_y=0, random_state=0
        )
        rng = np.random.default_rng(0)
        observed = noise_of("pair 20 %", n_classes, rng).corrupt(y, rng)
        rows = ours(X, observed, observed != y) + list(cleanlab(X, observed, observed != y, "LR"))
        print_table(f"{n} rows, 50 columns, {n_classes} classes", rows)
        tracemalloc.start()
        RobustRidgeClassifier().fit(X, observed)
        peak = tracemalloc.get_traced_memory()[1] / X.nbytes
        tracemalloc.stop()
        print(f"noisewise takes {rows[0]['CPU s'] / rows[1]['CPU s']:.2f} of the time and {peak:.2f} of X in memory")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=SETS, help="names, or `unseen`")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--classes", type=int, default=10)
    options = parser.parse_args()
    if options.speed:
        speed(options.rows, options.classes)
    else:
        compare(accuracy(UNSEEN if options.sets == ["unseen"] else options.sets, options.seeds))


if __name__ == "__main__":
    main()
