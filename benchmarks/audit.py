"""Finding wrong labels: audit_labels against cleanlab on the same rows, labels and noise, in one run.

    python benchmarks/audit.py                      every part below
    python benchmarks/audit.py --only accuracy      16 sets, five kinds of noise and none: a table for each
    python benchmarks/audit.py --only unseen        the same for sets that took no part in any choice
    python benchmarks/audit.py --only rows          noise that depends on the row
    python benchmarks/audit.py --only held-out      the same for other sets
    python benchmarks/audit.py --only coverage      200 runs: does the interval hold the number of wrong labels?

Ours is read as judgements (the default: the interval spans both readings) and as outcomes. Noise that depends on the
row is made with the out-of-bag probabilities p of a random forest fitted to the labels of the set; the truth is their
mode, what most careful annotators would say. "Tempered": the label is drawn from p^a. "Boundary": it becomes the
runner-up with a probability of at most one half that falls with the margin of the mode. The power and the factor are
those that give the wanted noise rate.

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
from scipy.optimize import brentq
from scipy.special import softmax
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from noisewise import audit_labels
from noisewise.datasets import load
from noisewise.noise import FlipMatrix, likely_wrong

SETS = [
    "iris", "wine", "breast_cancer", "digits", "heart", "ionosphere", "diabetes", "german_numeric",
    "segment", "landsat", "pendigits", "letter", "banana", "twonorm", "waveform", "thyroid",
]  # fmt: skip
UNSEEN = ["vehicle", "optdigits", "usps", "mushroom", "australian", "magic04", "titanic", "splice"]
ROWS_DEVELOPMENT = ["digits", "segment", "landsat", "heart", "ionosphere", "waveform", "banana"]
ROWS_HELD_OUT = ["pendigits", "letter", "optdigits", "usps", "breast_cancer", "thyroid", "twonorm", "vehicle"]
ROW_KINDS = ("tempered 10 %", "tempered 30 %", "boundary 10 %", "boundary 30 %")
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
OURS = ("noisewise", "noisewise, outcomes")
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


def row_dependent(kind: str, p: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Labels with noise that depends on the row, of the rate in the kind's name, from the classes' probabilities."""
    rate, rows, truth = int(kind.split()[1]) / 100, np.arange(len(p)), p.argmax(axis=1)
    if kind.startswith("tempered"):
        logits = np.log(p + 1e-3)

        def wrong(power):
            return 1 - softmax(power * logits, axis=1)[rows, truth].mean() - rate

        power = brentq(wrong, 0.01, 50) if wrong(50) < 0 else 50.0
        draws = softmax(power * logits, axis=1).cumsum(axis=1)
        return np.minimum((rng.random((len(truth), 1)) > draws).sum(axis=1), p.shape[1] - 1)
    others = p.copy()
    others[rows, truth] = -1
    near = np.exp(-3 * (p[rows, truth] - others.max(axis=1)))
    factor = brentq(lambda f: np.minimum(f * near, 0.5).mean() - rate, 0, 1e3)
    return np.where(rng.random(len(truth)) < np.minimum(factor * near, 0.5), others.argmax(axis=1), truth)


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
            if kinds is ROW_KINDS:
                forest = RandomForestClassifier(300, min_samples_leaf=2, oob_score=True, random_state=seed)
                p = forest.fit(X[rows], truth).oob_decision_function_
                truth = p.argmax(axis=1)
            for k, kind in enumerate(kinds):
                rng = np.random.default_rng([seed, k, zlib.crc32(name.encode())])
                if kinds is ROW_KINDS:
                    observed = row_dependent(kind, p, rng)
                else:
                    observed = noise_of(kind, truth.max() + 1, rng).corrupt(truth, rng)
                if np.bincount(observed, minlength=observed.max() + 1).min() >= 5:  # cleanlab's folds need five of each
                    yield name, kind, X[rows], observed, observed != truth


def measures(method, wrong, probability_wrong, picked, n_wrong, interval, seconds):
    n, found = len(wrong), wrong[picked].sum()
    row = {"method": method, "picked": len(picked) / n, "count error": abs(n_wrong - wrong.sum()) / n, "CPU s": seconds}
    if interval is not None:
        row["covers"], row["lower end 0"] = interval[0] <= wrong.sum() <= interval[1], interval[0] == 0
        row["above"], row["width"] = wrong.sum() > interval[1], (interval[1] - interval[0]) / n
        row["stated"], row["stated wrong"] = (
            (probability_wrong >= 0.8).sum(),
            (wrong & (probability_wrong >= 0.8)).sum(),
        )
        surely = probability_wrong > 0.95
        row["sure"], row["sure right"] = surely.sum(), (surely & ~wrong).sum()
        row["sure expected"] = (1 - probability_wrong[surely]).sum()
    if wrong.any():
        row["AUROC"], row["AP"] = (
            roc_auc_score(wrong, probability_wrong),
            average_precision_score(wrong, probability_wrong),
        )
        row["F1"] = 2 * found / (len(picked) + wrong.sum())
    return row


def ours(X, observed, wrong, readings=(None, "outcomes")):
    for labels_are in readings:
        start = time.process_time()
        audit = audit_labels(X, observed, labels_are=labels_are)
        seconds = time.process_time() - start
        count, picked = audit.expected_errors, likely_wrong(1 - audit.probability)
        name = f"noisewise, {labels_are}" if labels_are else "noisewise"
        yield measures(name, wrong, 1 - audit.probability, picked, float(count), count.interval, seconds)


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


def print_margins(rows):
    """How far the default is above the best variant of cleanlab, with the standard error over the runs."""
    for key in SCORES:
        values = {name: np.array([r[key] for r in rows if r["method"] == name]) for name in {r["method"] for r in rows}}
        default, best = values[OURS[0]], max(set(values) - set(OURS), key=lambda name: values[name].mean())
        margins = default - values[best]
        error = margins.std(ddof=1) / np.sqrt(len(margins)) if len(margins) > 1 else np.nan
        print(f"{key}: {margins.mean():+.3f} ± {error:.3f} over {best}")


def accuracy(sets, seeds, kinds=KINDS):
    """Tables by noise and by set, and the margins over the best variant of cleanlab."""
    by_kind, by_set = defaultdict(list), defaultdict(list)
    for name, kind, *cell in cells(sets, seeds, kinds):
        rows = [*ours(*cell)] + [row for peer in ("SVC", "LR", "k-NN") for row in cleanlab(*cell, peer)]
        by_kind[kind] += rows
        by_set[name] += [row for row in rows if kind != "clean"]
    for kind in kinds:
        print_table(kind, by_kind[kind])
        if kind != "clean":
            print_margins(by_kind[kind])
    noisy = [row for rows in by_set.values() for row in rows]
    print_table("mean of all noisy runs", noisy)
    best = {}
    for key in SCORES:
        means = {
            method: mean_of([r for r in noisy if r["method"] == method], key) for method in {r["method"] for r in noisy}
        }
        mine = [means.pop(method) for method in OURS]
        best[key] = max(means, key=means.get)
        margins = ", ".join(f"{method} {mean - means[best[key]]:+.3f}" for method, mean in zip(OURS, mine))
        print(f"{key} over the best variant of cleanlab ({best[key]}): {margins}")
    for method in OURS:
        clean, runs = ([row for row in rows if row["method"] == method] for rows in (by_kind["clean"], noisy))
        if clean:
            flagged, zero = mean_of(clean, "picked"), mean_of(clean, "lower end 0")
            print(f"{method}: clean rows flagged {flagged:.1%}; lower end 0 in {zero:.0%}")
        print(f"{method}: the interval holds the truth in {mean_of(runs, 'covers'):.1%} of the noisy runs")
    print("\nby set, mean of the noisy runs: AUROC / AP / F1, and how often the interval holds the truth")
    print(f"| set | {' | '.join(OURS)} | {best['AP']} |\n|---|---|---|---|")
    for name, rows in by_set.items():
        parts = [[r for r in rows if r["method"] == method] for method in (*OURS, best["AP"])]
        scores = [" / ".join(f"{mean_of(part, key):.3f}" for key in SCORES) for part in parts]
        holds = [f", {mean_of(part, 'covers'):.2f}" for part in parts[:2]] + [""]
        print(f"| {name} | {' | '.join(map(''.join, zip(scores, holds)))} |")


def coverage():
    """How often the 90 % interval holds the number of wrong labels, and stated probabilities come true."""
    by_kind, by_set = defaultdict(list), defaultdict(list)
    for name, kind, *cell in cells(COVERED, COVERAGE_SEEDS):
        [row] = ours(*cell, readings=("outcomes",))
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
    sure, expected, right = (sum(row[key] for row in rows) for key in ("sure", "sure expected", "sure right"))
    print(f"{sure:,} labels are right with less than .05: {expected:.0f} are expected to be right, {right} are")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=["accuracy", "unseen", "rows", "held-out", "coverage"])
    parser.add_argument("--sets", nargs="+", help="other sets than those of the part")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1])
    options = parser.parse_args()
    parts = {
        "accuracy": lambda: accuracy(options.sets or SETS, options.seeds),
        "unseen": lambda: accuracy(options.sets or UNSEEN, options.seeds),
        "rows": lambda: accuracy(options.sets or ROWS_DEVELOPMENT, options.seeds, ROW_KINDS),
        "held-out": lambda: accuracy(options.sets or ROWS_HELD_OUT, options.seeds, ROW_KINDS),
        "coverage": coverage,
    }
    for name in [options.only] if options.only else parts:
        print(f"\n== {name}", flush=True)
        parts[name]()


if __name__ == "__main__":
    main()
