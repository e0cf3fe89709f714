"""Finding wrong labels: RobustRidgeClassifier against cleanlab on the same rows, labels and noise, in one run.

    python benchmarks/audit.py                      every part below
    python benchmarks/audit.py --only accuracy      16 sets, five kinds of noise and none: a table for each
    python benchmarks/audit.py --only unseen        the same for sets that took no part in any choice
    python benchmarks/audit.py --only coverage      200 runs: does the interval hold the number of wrong labels?

cleanlab gets standardised inputs, 5 shuffled stratified folds and its own defaults; of its variants (models and scores)
the one with the best mean is compared. Sets that are not at hand (see `noisewise.datasets.load`) are left out.
"""

from __future__ import annotations

import argparse
import os
import time
import zlib
from collections import defaultdict

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from cleanlab.filter import find_label_issues
from cleanlab.rank import get_label_quality_scores
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from noisewise.datasets import load
from noisewise.labels import RobustRidgeClassifier
from noisewise.noise import FlipMatrix, likely_wrong

SETS = [
    "iris", "wine", "breast_cancer", "digits", "heart", "ionosphere", "diabetes", "german_numeric",
    "segment", "landsat", "pendigits", "letter", "banana", "twonorm", "waveform", "thyroid",
]  # fmt: skip
UNSEEN = ["vehicle", "optdigits", "usps", "mushroom", "australian", "magic04", "titanic", "splice"]
COVERED = ["breast_cancer", "heart", "segment", "waveform", "pendigits"]
COVERAGE_SEEDS = range(30, 38)  # none of them used for choosing anything
MOST_ROWS = {"letter": 2600} | dict.fromkeys(("banana", "twonorm", "waveform", *UNSEEN), 1000)
KINDS = ("symmetric 10 %", "symmetric 30 %", "one-sided 30 %", "pair 20 %", "sparse 10-40 %", "clean")
PEERS = {
    "SVC": lambda: SVC(probability=True, random_state=0),
    "LR": lambda: LogisticRegression(max_iter=1000),
    "k-NN": lambda: KNeighborsClassifier(20),
    "HistGB": lambda: HistGradientBoostingClassifier(random_state=0),
}
SCORES = ("AUROC", "AP", "F1")


def noise_of(kind: str, n_classes: int, rng: np.random.Generator) -> FlipMatrix:
    """The flip matrix of a kind of noise; the classes, targets and rates of sparse noise are drawn."""
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


def cells(sets, seeds, kinds=KINDS):
    """Set, kind of noise, rows, observed labels and which of them are wrong."""
    for name in sets:
        try:
            X, y = load(name)
        except FileNotFoundError as error:
            print(f"without {name}: {error}")
            continue
        for seed in seeds:
            rows = np.random.default_rng([1, seed]).permutation(len(y))[: MOST_ROWS.get(name, 1500)]
            truth = np.unique(y[rows], return_inverse=True)[1]
            for k, kind in enumerate(kinds):
                rng = np.random.default_rng([seed, k, zlib.crc32(name.encode())])
                observed = noise_of(kind, truth.max() + 1, rng).corrupt(truth, rng)
                if np.bincount(observed, minlength=truth.max() + 1).min() >= 5:  # cleanlab's folds need five of each
                    yield name, kind, X[rows], observed, observed != truth


def measures(method, wrong, probability_wrong, picked, n_wrong, interval, seconds):
    n, found = len(wrong), wrong[picked].sum()
    row = {"method": method, "picked": len(picked) / n, "count error": abs(n_wrong - wrong.sum()) / n, "CPU s": seconds}
    if interval is not None:
        row["covers"], row["lower end 0"] = interval[0] <= wrong.sum() <= interval[1], interval[0] == 0
        row["above"], row["width"] = wrong.sum() > interval[1], (interval[1] - interval[0]) / n
        row["shown"] = row["picked"] * (interval[0] > 0)  # the audit picks no rows where noise is not proven
        row["stated"], row["stated wrong"] = (
            (probability_wrong >= 0.8).sum(),
            (wrong & (probability_wrong >= 0.8)).sum(),
        )
    if wrong.any():
        row["AUROC"], row["AP"] = (
            roc_auc_score(wrong, probability_wrong),
            average_precision_score(wrong, probability_wrong),
        )
        row["F1"] = 2 * found / (len(picked) + wrong.sum())
    return row


def ours(X, observed, wrong):
    start = time.process_time()
    model = RobustRidgeClassifier().fit(X, observed)
    probability_wrong = 1 - model.label_quality_
    seconds = time.process_time() - start
    picked = likely_wrong(probability_wrong)
    return measures("noisewise", wrong, probability_wrong, picked, model.n_wrong_, model.n_wrong_interval_, seconds)


def cleanlab(X, observed, wrong, peer):
    start = time.process_time()
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    model = make_pipeline(StandardScaler(), PEERS[peer]())
    p = cross_val_predict(model, X, observed, cv=folds, method="predict_proba")
    issues = find_label_issues(observed, p, return_indices_ranked_by="self_confidence", n_jobs=1)
    seconds = time.process_time() - start
    for score in ("self_confidence", "normalized_margin"):
        probability_wrong = 1 - get_label_quality_scores(observed, p, method=score)
        yield measures(f"cleanlab {peer}, {score}", wrong, probability_wrong, issues, len(issues), None, seconds)


def mean_of(rows, key):
    values = [row[key] for row in rows if key in row]
    return np.mean(values) if values else np.nan


def print_table(title, rows, keys=(*SCORES, "picked", "count error", "covers", "CPU s")):
    print(f"\n{title}\n| method | {' | '.join(keys)} |\n|{'---|' * (len(keys) + 1)}")
    for method in dict.fromkeys(row["method"] for row in rows):
        means = [mean_of([row for row in rows if row["method"] == method], key) for key in keys]
        print(f"| {method} | {' | '.join('-' if np.isnan(mean) else f'{mean:.3f}' for mean in means)} |")


def accuracy(sets, seeds):
    """Tables by noise and by set, and the margins over the best variant of cleanlab."""
    by_kind, by_set = defaultdict(list), defaultdict(list)
    for name, kind, *cell in cells(sets, seeds):
        rows = [ours(*cell)] + [row for peer in ("SVC", "LR", "k-NN") for row in cleanlab(*cell, peer)]
        by_kind[kind] += rows
        by_set[name] += [row for row in rows if kind != "clean"]
    for kind in KINDS:
        print_table(kind, by_kind[kind])
    noisy = [row for rows in by_set.values() for row in rows]
    print_table("mean of all noisy runs", noisy)
    best = {}
    for key in SCORES:
        means = {
            method: mean_of([r for r in noisy if r["method"] == method], key) for method in {r["method"] for r in noisy}
        }
        mine = means.pop("noisewise")
        best[key] = max(means, key=means.get)
        print(f"{key} over the best variant of cleanlab: {mine - means[best[key]]:+.3f} ({best[key]})")
    clean = [row for row in by_kind["clean"] if row["method"] == "noisewise"]
    print(
        f"clean rows flagged: {mean_of(clean, 'picked'):.1%}; lower end 0 in {mean_of(clean, 'lower end 0'):.0%}, "
        f"so that the audit shows {mean_of(clean, 'shown'):.1%}"
    )
    print(f"the interval holds the truth in {mean_of(noisy, 'covers'):.1%} of the noisy runs")
    print("\nby set, mean of the noisy runs: AUROC / AP / F1; how often the interval holds the truth")
    print(f"| set | noisewise | {best['AP']} | holds |\n|---|---|---|---|")
    for name, rows in by_set.items():
        pairs = [[r for r in rows if r["method"] == method] for method in ("noisewise", best["AP"])]
        scores = " | ".join(" / ".join(f"{mean_of(p, key):.3f}" for key in SCORES) for p in pairs)
        print(f"| {name} | {scores} | {mean_of(rows, 'covers'):.2f} |")


def coverage():
    """How often the 90 % interval holds the number of wrong labels, and stated probabilities come true."""
    by_kind, by_set = defaultdict(list), defaultdict(list)
    for name, kind, *cell in cells(COVERED, COVERAGE_SEEDS):
        row = ours(*cell)
        by_kind[kind].append(row | {"method": kind})
        by_set[name] += [row | {"method": name}] * (kind != "clean")
    keys = ("covers", "above", "width", "lower end 0", "count error", "picked")
    rows = [row for part in by_set.values() for row in part]
    print_table(
        "coverage by noise (above: the truth lies above the interval)",
        [row for part in by_kind.values() for row in part],
        keys,
    )
    print_table("by set, noisy runs", rows, keys)
    print(f"{len(rows)} noisy runs: the interval holds the truth in {mean_of(rows, 'covers'):.1%}")
    fraction = sum(row["stated wrong"] for row in rows) / sum(row["stated"] for row in rows)
    each = [row["stated wrong"] / row["stated"] >= 0.7 for row in rows if row["stated"] >= 5]
    print(f"rows stated wrong with .8 or more: {fraction:.1%} are; 70 % or more in {np.mean(each):.0%} of the runs")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=["accuracy", "unseen", "coverage"])
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1])
    options = parser.parse_args()
    parts = {
        "accuracy": lambda: accuracy(options.sets, options.seeds),
        "unseen": lambda: accuracy(UNSEEN, options.seeds),
        "coverage": coverage,
    }
    for name in [options.only] if options.only else parts:
        print(f"\n== {name}", flush=True)
        parts[name]()


if __name__ == "__main__":
    main()
