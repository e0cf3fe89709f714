"""Wrong tags: audit_multilabel against cleanlab's multilabel_classification on the same probabilities, in one run.

    python benchmarks/audit_tags.py

Tags of three simulated sets are changed, each at a rate of its own: scikit-learn's multi-label generator; tags that are
thresholds of linear scores of Gaussian rows; rare tags that are regions of a table. Probabilities are out of fold, of a
forest. Scores rank cells (a row and a tag) and rows (any tag wrong).
"""

from __future__ import annotations

import argparse
import os
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import KFold, cross_val_predict

from noisewise import audit_multilabel

SETS = ("generator", "thresholds", "regions")


def load(name, n, rng):
    if name == "generator":
        seed = int(rng.integers(1000))
        return make_multilabel_classification(n_samples=n, n_classes=6, n_labels=2, random_state=seed)
    X = rng.normal(size=(n, 8))
    if name == "thresholds":
        return X, (X @ rng.normal(size=(8, 5)) > rng.normal(0, 2, 5)).astype(int)
    centers = rng.normal(size=(6, 8))
    return X, (np.square(X[:, None] - centers).sum(axis=2) < 9).astype(int)


def corrupt(Y, rng):
    """Tags are taken away at up to 20 %, and added at up to 6 %."""
    lost, added = rng.uniform(0.05, 0.2, Y.shape[1]), rng.uniform(0.0, 0.06, Y.shape[1])
    return np.where(rng.random(Y.shape) < np.where(Y == 1, lost, added), 1 - Y, Y)


def probabilities(X, Y):
    forest = RandomForestClassifier(60, min_samples_leaf=2, random_state=0)
    folds = KFold(4, shuffle=True, random_state=0)
    return np.column_stack([cross_val_predict(forest, X, y, cv=folds, method="predict_proba")[:, 1] for y in Y.T])


def run(name, n, seed):
    from cleanlab.multilabel_classification import get_label_quality_scores
    from cleanlab.multilabel_classification.rank import get_label_quality_scores_per_class

    rng = np.random.default_rng(seed)
    X, Y = load(name, n, rng)
    observed = corrupt(Y, rng)
    p, wrong = probabilities(X, observed), observed != Y
    lists = [np.flatnonzero(row).tolist() for row in observed]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        audit = audit_multilabel(None, observed, probabilities=p)
        by_tag, by_row = get_label_quality_scores_per_class(lists, p), get_label_quality_scores(lists, p)
    counts = {tag: found.expected_errors for tag, found in audit.audits.items()}
    holds = np.mean([count.low <= wrong[:, tag].sum() <= count.high for tag, count in counts.items()])
    return {
        "noisewise": (*scores(wrong, audit.tag_probability, audit.probability), holds),
        "cleanlab": (*scores(wrong, by_tag, by_row), np.nan),
    }


def scores(wrong, cells, rows):
    any_wrong = wrong.any(axis=1)
    return (
        average_precision_score(wrong.ravel(), -cells.ravel()),
        roc_auc_score(wrong.ravel(), -cells.ravel()),
        average_precision_score(any_wrong, -rows),
        roc_auc_score(any_wrong, -rows),
    )


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--seeds", type=int, default=2)
    options = parser.parse_args(arguments)
    print("| set | method | AP of cells | AUROC of cells | AP of rows | AUROC of rows | interval holds |")
    print("|" + "---|" * 7)
    for name in SETS:
        runs = [run(name, options.rows, seed) for seed in range(options.seeds)]
        for method in runs[0]:
            means = np.mean([one[method] for one in runs], axis=0)
            print(f"| {name} | {method} | {' | '.join(f'{value:.3f}' for value in means)} |", flush=True)


if __name__ == "__main__":
    main()
