"""Probabilities of models that are too sure, favour classes or count votes: audit_probabilities against cleanlab.

    python benchmarks/audit_models.py                          tables of no choice
    python benchmarks/audit_models.py --sets usps landsat      other tables
    python benchmarks/audit_models.py --blur 0.5               models that see blurred columns, and err more themselves

Each table has at most 1,000 rows, noise by row (as in `audit.py`: drawn from a tempered forest, 10 and 30 %), pairs of
classes flipped (20 %), or none. Five models give out-of-fold probabilities: a network without weight decay, boosted
trees, logistic regression with hardly a ridge and balanced classes, five neighbours, and a forest. cleanlab gets the
same probabilities; of its scores the one with the best mean in a line is shown, and its default filter.

"fitted": fraction of the runs in which the probabilities are far from the observed labels and are fitted to them.
"holds": whether the 90 % interval of the number of wrong labels holds it, read as judgements, and by the default, which
spans both readings. The rules that fit probabilities were looked at on usps, landsat and vehicle.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections import defaultdict

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from cleanlab.filter import find_label_issues
from cleanlab.rank import get_label_quality_scores
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from audit import KINDS, ROW_KINDS, cells
from noisewise import audit_probabilities

SETS = ["segment", "optdigits", "pendigits", "digits", "waveform", "letter"]
MOST_ROWS = 1000
CHOSEN = ("tempered 10 %", "tempered 30 %", "pair 20 %", "clean")
MODELS = {
    "network": lambda: MLPClassifier((100,), alpha=0.0, max_iter=300, random_state=0),
    "boosting": lambda: HistGradientBoostingClassifier(max_iter=60, learning_rate=0.3, random_state=0),
    "balanced": lambda: LogisticRegression(C=100.0, max_iter=500, class_weight="balanced"),
    "5-NN": lambda: KNeighborsClassifier(5),
    "forest": lambda: RandomForestClassifier(100, random_state=0),
}
SCORES = ("self_confidence", "normalized_margin", "confidence_weighted_entropy")
KEYS = (
    "runs",
    "fitted",
    "AP",
    "F1",
    "count / errors",
    "holds, judgements",
    "holds, default",
    "AP, cleanlab",
    "F1, cleanlab",
)


def f1(wrong, picked):
    return 2 * wrong[picked].sum() / max(len(picked) + wrong.sum(), 1)


def holds(estimate, n_wrong):
    return estimate.interval[0] <= n_wrong <= estimate.interval[1]


def measured(p, y, wrong):
    """One run: ours by the judgement reading, which ranks by default, and cleanlab's scores."""
    audit = audit_probabilities(p, y, progress=False)
    judged, n_wrong = audit.readings["judgements"].expected_errors, int(wrong.sum())
    row = {
        "fitted": any("fitted to the labels" in note for note in audit.notes),
        "holds, judgements": holds(judged, n_wrong),
        "holds, default": holds(audit.expected_errors, n_wrong),
    }
    if n_wrong:
        row |= {
            "AP": average_precision_score(wrong, 1 - audit.probability),
            "F1": f1(wrong, audit.picked),
            "count / errors": float(judged) / n_wrong,
            "F1, cleanlab": f1(wrong, np.flatnonzero(find_label_issues(y, p, n_jobs=1))),
        }
        for score in SCORES:
            quality = get_label_quality_scores(y, p, method=score, adjust_pred_probs=False)
            row[score] = average_precision_score(wrong, 1 - quality)
    return row


def runs(sets, seeds, blur=0.0):
    """Kind of noise, model and measures of every run; models see columns blurred by so many standard deviations."""
    for kinds in (ROW_KINDS, KINDS):
        for _, kind, X, y, wrong in cells(sets, seeds, kinds):
            if kind not in CHOSEN:
                continue
            X, y, wrong = X[:MOST_ROWS], y[:MOST_ROWS], wrong[:MOST_ROWS]
            X = X + blur * X.std(axis=0) * np.random.default_rng(0).normal(size=X.shape)
            folds = StratifiedKFold(5, shuffle=True, random_state=0)
            for name, model in MODELS.items():
                pipeline = make_pipeline(StandardScaler(), model())
                yield (
                    kind,
                    name,
                    measured(cross_val_predict(pipeline, X, y, cv=folds, method="predict_proba"), y, wrong),
                )


def line(kind, name, found):
    def mean(key):
        values = [row[key] for row in found if key in row]
        return float(np.mean(values)) if values else np.nan

    means = {"runs": len(found), "AP, cleanlab": max(mean(score) for score in SCORES)}
    values = [means[key] if key in means else mean(key) for key in KEYS]
    said = (
        f"{value}" if key == "runs" else "-" if np.isnan(value) else f"{value:.3f}" for key, value in zip(KEYS, values)
    )
    return f"| {kind} | {name} | {' | '.join(said)} |"


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--blur", type=float, default=0.0, help="standard deviations of each column")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    found = defaultdict(list)
    for kind, name, row in runs(options.sets, options.seeds, options.blur):
        for group in ((kind, name), (kind, "all")):
            found[group].append(row)
    print(f"| noise | model | {' | '.join(KEYS)} |\n|---|---|{'---|' * len(KEYS)}")
    for kind in CHOSEN:
        for name in (*MODELS, "all"):
            if (kind, name) in found:
                print(line(kind, name, found[kind, name]))


if __name__ == "__main__":
    main()
