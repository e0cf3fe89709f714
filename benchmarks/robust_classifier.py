"""What to fit: RobustClassifier beside its parts, cleanlab's CleanLearning and plain learners; error on clean labels.

    NOISEWISE_DATA=folder python benchmarks/robust_classifier.py [--only two,many,large] [--methods robust,trees]
                                       [--seeds 100] [--every] [--store FILE] [--fresh robust] [--write PAGE]

two     14 sets of two classes, at most 600 training rows: five pairs of unequal flip rates and symmetric 30 %, two of
        them for each set in turn (all with --every).
many    Six sets of 4 to 10 classes, 1,000 rows at most: symmetric 30 %, every class to the next 30 %, and flip rates
        drawn at random, 30 % on average; two of the three for each set (all with --every).
large   magic04, letter, a synthetic table, w8a and shuttle, 10,000 training rows.

A cell (set, noise, seed, method) is appended to the store when it is done, and not computed again; --fresh computes
those of the methods named anew. --write puts the table into a page, between the marks that are there.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from noisewise import FlipMatrix, labels
from noisewise.datasets import load

TESTED = 2000
TWO = {"banana": 400, "raetsch_breast_cancer": 200, "raetsch_diabetis": 468, "flare_solar": 600, "german": 600}
TWO |= {"raetsch_heart": 170, "image": 600, "ringnorm": 400, "splice": 600, "thyroid": 140, "titanic": 150}
TWO |= {"twonorm": 400, "waveform": 400, "ionosphere": 230}
MANY = {"vehicle": 560, "segment": 1000, "landsat": 1000, "optdigits": 1000, "pendigits": 1000, "usps": 1000}
LARGE = {"magic04": 10_000, "letter": 10_000, "synthetic": 10_000, "w8a": 10_000, "shuttle": 10_000}
# Looked at while the classifier was made, with other seeds, flip rates and numbers of rows.
SEEN = {"banana", "german", "image", "splice", "thyroid", "waveform", "ionosphere", "vehicle", "pendigits", "usps"}
SEEN |= set(LARGE)
PAIRS = ["0.10 0.30", "0.25 0.05", "0.20 0.40", "0.00 0.30", "0.40 0.10", "symmetric 0.30"]
KINDS = ["symmetric 0.30", "next 0.30", "random 0.30"]
LARGE_KINDS = {"magic04": "0.10 0.30", "synthetic": "0.30 0.10", "w8a": "0.05 0.30"}  # others: symmetric 30 %


def tuned_svm():
    grid = {"svc__C": [0.25, 2, 16], "svc__gamma": [1, 1 / 4, 1 / 16, 1 / 64]}
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    return GridSearchCV(make_pipeline(StandardScaler(), SVC()), grid, cv=folds)


def forest():
    return RandomForestClassifier(100, random_state=0)


def boosting():
    return HistGradientBoostingClassifier(random_state=0)


def clean_learning(model):
    from cleanlab.classification import CleanLearning

    return CleanLearning(model, seed=0)


METHODS = {
    "robust": ("`RobustClassifier`", labels.RobustClassifier),
    "trees": ("`RobustTreesClassifier`", labels.RobustTreesClassifier),
    "ridge": ("`RobustRidgeClassifier`", labels.RobustRidgeClassifier),
    "fisher": ("`RobustKernelFisherClassifier`", labels.RobustKernelFisherClassifier),
    "voting": ("`RobustVotingClassifier`", labels.RobustVotingClassifier),
    "reweighted": ("`ImportanceReweightedClassifier`, forest", lambda: labels.ImportanceReweightedClassifier(forest())),
    "cl-forest": ("cleanlab `CleanLearning`, forest", lambda: clean_learning(forest())),
    "cl-boosting": ("cleanlab `CleanLearning`, boosting", lambda: clean_learning(boosting())),
    "forest": ("random forest", forest),
    "boosting": ("`HistGradientBoostingClassifier`", boosting),
    "svm": ("SVM, width and C by cross-validation", tuned_svm),
}
PEERS = ["cl-forest", "cl-boosting"]
COSTLY = {"large": {"voting", "svm", "reweighted", "fisher"}}  # minutes a fit
GROUPS = {"two": ("two classes", TWO), "many": ("4 to 10 classes", MANY), "large": ("10,000 rows", LARGE)}


def kinds(group, index, name, every):
    """The kinds of noise of a set: by turns, so that each kind is met as often."""
    if group == "large":
        return [LARGE_KINDS.get(name, "symmetric 0.30")]
    known = PAIRS if group == "two" else KINDS
    if every:
        return known
    return [known[(index + step) % len(known)] for step in ((0, 2) if group == "two" else (0, 1))]


def flips(kind, n_classes, rng):
    first, rate = kind.split()
    rate = float(rate)
    if first == "symmetric":
        return FlipMatrix.symmetric(rate, n_classes)
    if first == "next":
        return FlipMatrix((1 - rate) * np.eye(n_classes) + rate * np.roll(np.eye(n_classes), 1, axis=1))
    if first == "random":
        wrong = rng.dirichlet(np.full(n_classes - 1, 0.5), n_classes) * rng.uniform(0.2, 1.8, (n_classes, 1)) * rate
        matrix = np.stack([np.insert(row, true, 1 - row.sum()) for true, row in enumerate(wrong)])
        return FlipMatrix(matrix)
    return FlipMatrix.binary(float(first), rate)


def rows_of(name):
    if name == "synthetic":
        return make_classification(13_000, 20, n_informative=10, n_clusters_per_class=4, random_state=1)
    X, y = load(name)
    return np.asarray(X, dtype=np.float64), np.unique(y, return_inverse=True)[1]


def split(name, n_train, kind, seed):
    """Training rows with observed labels, and test rows with true ones."""
    X, y = rows_of(name)
    rng = np.random.default_rng([seed, len(y)])
    order = rng.permutation(len(y))
    train, test = order[:n_train], order[n_train : n_train + TESTED]
    return X[train], flips(kind, int(y.max()) + 1, rng).corrupt(y[train], rng), X[test], y[test]


def cells(options):
    for group, (_, sets) in GROUPS.items():
        if group not in options.only.split(","):
            continue
        for seed in map(int, options.seeds.split(",")):
            for index, (name, n_train) in enumerate(sets.items()):
                for kind in kinds(group, index, name, options.every):
                    yield group, name, n_train, kind, seed


def run(options, rows):
    """Compute the cells that are not stored, all methods of a split one after another."""
    with options.store.open("a") as store:
        for group, name, n_train, kind, seed in cells(options):
            missing = [
                method
                for method in options.methods.split(",")
                if method not in COSTLY.get(group, ()) and (group, name, kind, seed, method) not in rows
            ]
            if not missing:
                continue
            X, observed, X_test, y_test = split(name, n_train, kind, seed)
            for method in missing:
                start = time.process_time()
                error = 100 * float(np.mean(METHODS[method][1]().fit(X, observed).predict(X_test) != y_test))
                seconds = time.process_time() - start
                key = (group, name, kind, seed, method)
                rows[key] = error, seconds
                store.write(json.dumps([*key, round(error, 3), round(seconds, 2)]) + "\n")
                store.flush()
                print(f"{name:22}{kind:16}{seed:>4} {method:12}{error:>7.2f} %{seconds:>8.1f} s", flush=True)


def stored(options):
    rows = {}
    if options.store.exists():
        for line in options.store.read_text().splitlines():
            *key, error, seconds = json.loads(line)
            if key[-1] not in options.fresh.split(","):
                rows[tuple(key)] = error, seconds
        options.store.write_text("".join(json.dumps([*key, *row]) + "\n" for key, row in rows.items()))
    return rows


def mean_of(rows, wanted, method):
    """Mean error over the cells, and mean seconds; None where one is missing."""
    found = [rows.get((group, name, kind, seed, method)) for group, name, _, kind, seed in wanted]
    return None if not found or None in found else tuple(np.mean(found, axis=0))


def table(options, rows):
    """Markdown: a line for each method, a column for each group, and for the sets that nothing was chosen on."""
    every = list(cells(options))
    columns = []
    for group, (title, sets) in GROUPS.items():
        of_group = [cell for cell in every if cell[0] == group]
        if not of_group:
            continue
        columns.append((f"{title}, {len(sets)} sets", of_group))
        if group == "large":
            columns += [(name, [cell for cell in of_group if cell[1] == name]) for name in sets]
        elif unseen := [cell for cell in of_group if cell[1] not in SEEN]:
            columns.append((f"of these, {len({cell[1] for cell in unseen})} sets not seen before", unseen))
    columns = [column for column in columns if any(mean_of(rows, column[1], method) for method in METHODS)]
    lines = ["| test error % | " + " | ".join(title for title, _ in columns) + " |", "|---" * (1 + len(columns)) + "|"]
    for method, (title, _) in METHODS.items():
        means = [mean_of(rows, wanted, method) for _, wanted in columns]
        shown = [f"{mean[0]:.1f}" if mean else "" for mean in means]
        if any(shown):
            lines.append(f"| {title} | " + " | ".join(shown) + " |")
    return lines, columns


def verdicts(rows, columns):
    """Whether the first method is within .3 points of the best other one, and 1 point below CleanLearning."""
    for title, wanted in columns:
        means = {method: mean_of(rows, wanted, method) for method in METHODS}
        errors = {method: mean[0] for method, mean in means.items() if mean}
        others = {method: error for method, error in errors.items() if not method.startswith("robust")}
        if "robust" in errors and others:
            best, ours = min(others, key=others.get), errors["robust"]
            peer = min((errors[method] for method in PEERS if method in errors), default=np.nan)
            seconds = means["robust"][1]
            beside = f"best other {others[best]:.2f} ({best}), CleanLearning {peer:.2f}"
            print(f"{title}: {ours:.2f}, {beside}; {seconds:.1f} s")


def write_page(page, lines):
    text = page.read_text()
    start, end = "<!-- robust_classifier: begin -->\n", "<!-- robust_classifier: end -->"
    before, rest = text.split(start)
    page.write_text(before + start + "\n".join(lines) + "\n" + end + rest.split(end)[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(GROUPS))
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--seeds", default="100")
    parser.add_argument("--every", action="store_true", help="all kinds of noise for every set")
    parser.add_argument("--store", type=Path, default=Path("robust_classifier.jsonl"))
    parser.add_argument("--fresh", default="", help="methods to compute anew")
    parser.add_argument("--write", type=Path, help="page to put the table into")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = stored(options)
    try:
        run(options, rows)
    except FileNotFoundError as error:
        print(f"left out: {error}")
        return
    lines, columns = table(options, rows)
    print("\n".join(lines))
    verdicts(rows, columns)
    if options.write:
        write_page(options.write, lines)


if __name__ == "__main__":
    main()
