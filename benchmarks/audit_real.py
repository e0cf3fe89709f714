"""Wrong labels of people: audit_probabilities against cleanlab on the same out-of-fold probabilities, in one run.

    NOISEWISE_DATA=... python benchmarks/audit_real.py                          every set and model
    NOISEWISE_DATA=... python benchmarks/audit_real.py --sets cifar10n_worst    one set
    NOISEWISE_DATA=... python benchmarks/audit_real.py --limit                  F1 with the truth known
    NOISEWISE_DATA=... python benchmarks/audit_real.py --power 6 --favour 1     networks too sure, which favour classes

The folder real_noise of NOISEWISE_DATA has an npz file for each set: `p_<model>`, out-of-fold probabilities, `y`, the
observed labels, and `truth`. CIFAR-10N (Wei et al. 2022) with the models of cleanlab's published benchmark was used for
choosing the constants of the judgement reading; so its numbers are those of development sets.

Scores rank all rows: AUROC, AP, and lift at the number of errors (precision among so many worst rows over the error
rate). Picked rows have an F1 score and, with an interval where there is one, a count.

The limit: softmax regression of the true class on a model's log-probabilities and the observed label, trained on the
true labels of the other folds, and rows picked where the F1 score is largest. Class-conditional flips, biases and
confusions of classes are all of this form; without the truth, no method can be expected to find more.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from cleanlab.filter import find_label_issues
from cleanlab.rank import get_label_quality_scores
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from noisewise import audit_labels, audit_probabilities

SCORES = ("self_confidence", "normalized_margin", "confidence_weighted_entropy")
FILTERS = (
    "prune_by_noise_rate", "prune_by_class", "both", "confident_learning", "predicted_neq_given",
    "low_normalized_margin", "low_self_confidence",
)  # fmt: skip
LEAST_PROBABILITY = 1e-6  # before its logarithm is taken
KEYS = ("AUROC", "AP", "lift", "F1", "count", "count / errors", "interval", "holds", "CPU s")


def folder() -> Path:
    """The folder of the sets."""
    found = Path(os.environ.get("NOISEWISE_DATA", "")) / "real_noise"
    if "NOISEWISE_DATA" not in os.environ or not found.is_dir():
        raise SystemExit("set NOISEWISE_DATA to a folder with real_noise/*.npz")
    return found


def ranking(wrong, score):
    n_wrong = int(wrong.sum())
    worst = np.argsort(-score, kind="stable")[:n_wrong]
    lift = wrong[worst].mean() / wrong.mean()
    return {"AUROC": roc_auc_score(wrong, score), "AP": average_precision_score(wrong, score), "lift": lift}


def picks(wrong, picked, count=None):
    n_wrong, counted = wrong.sum(), len(picked) if count is None else count
    found = 2 * wrong[picked].sum() / (len(picked) + n_wrong)
    return {"F1": found, "count": f"{counted:,.0f}", "count / errors": counted / n_wrong}


def ours(audit_of, arrays, y, wrong):
    """Both readings, with the time of the audit, which computes both."""
    start = time.process_time()
    audits = {which: audit_of(arrays, y, labels_are=which) for which in ("judgements", "outcomes")}
    seconds = (time.process_time() - start) / 2
    for which, audit in audits.items():
        low, high = audit.expected_errors.interval
        row = ranking(wrong, 1 - audit.probability) | picks(wrong, audit.picked, float(audit.expected_errors))
        holds = "yes" if low <= wrong.sum() <= high else "no"
        yield {
            "method": f"noisewise, {which}",
            **row,
            "interval": f"{low:,.0f} to {high:,.0f}",
            "holds": holds,
            "CPU s": seconds,
        }


def cleanlab(p, y, wrong):
    """Every score; every filter, with the self-confidence that orders its rows."""
    p = p / p.sum(axis=1, keepdims=True)
    for score in SCORES:
        start = time.process_time()
        quality = get_label_quality_scores(y, p, method=score, adjust_pred_probs=False)
        yield {"method": f"cleanlab, {score}", **ranking(wrong, 1 - quality), "CPU s": time.process_time() - start}
    for name in FILTERS:
        start = time.process_time()
        issues = find_label_issues(y, p, filter_by=name, return_indices_ranked_by="self_confidence", n_jobs=1)
        yield {"method": f"cleanlab, {name}", **picks(wrong, issues), "CPU s": time.process_time() - start}


def distorted(p, power, favour):
    """The same probabilities by a model that is surer by a power, and favours classes by normal offsets of a std."""
    offsets = favour * np.random.default_rng(0).standard_normal(p.shape[1])
    return softmax(power * np.log(np.maximum(p.astype(np.float64), 1e-30)) + offsets, axis=1)


def load(path: Path, most: int | None = None, power: float = 1.0, favour: float = 0.0):
    """The probabilities of each model, observed and true labels."""
    with np.load(path) as data:
        models = {name[2:]: data[name][:most].astype(np.float64) for name in data.files if name.startswith("p_")}
        if (power, favour) != (1, 0):
            models = {name: distorted(p, power, favour) for name, p in models.items()}
        return models, data["y"][:most].astype(int), data["truth"][:most].astype(int)


def limits(*given):
    """The largest F1 score with the truth known, beside our picks and those of cleanlab's default filter."""
    path, (models, y, truth) = given[0], load(*given)
    wrong, labels = y != truth, np.eye(truth.max() + 1)[y]
    for model, p in models.items():
        logits = np.log(np.maximum(p, LEAST_PROBABILITY)).astype(np.float64)
        logits -= logits.mean(axis=1, keepdims=True)
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        regression = LogisticRegression(max_iter=500)
        of_truth = cross_val_predict(
            regression, np.hstack([logits, 3 * labels]), truth, cv=folds, method="predict_proba"
        )
        right = of_truth[np.arange(len(y)), y]
        found = np.cumsum(wrong[np.argsort(right)])
        audit = audit_probabilities(p, y, labels_are="judgements")
        issues = find_label_issues(y, p / p.sum(axis=1, keepdims=True), return_indices_ranked_by="self_confidence")
        methods = {
            "trained on the truth, best cut": (2 * found / (np.arange(1, len(y) + 1) + wrong.sum())).max(),
            "noisewise, judgements": picks(wrong, audit.picked)["F1"],
            "cleanlab, default filter": picks(wrong, issues)["F1"],
        }
        for method, score in methods.items():
            yield {"set": path.stem, "errors": int(wrong.sum()), "model": model, "method": method, "F1": float(score)}


def rows(*given):
    """All methods on each model of a set, and ours on all models together."""
    path, (models, y, truth) = given[0], load(*given)
    wrong = y != truth
    for model, p in models.items():
        for row in (*ours(audit_probabilities, [p], y, wrong), *cleanlab(p, y, wrong)):
            yield {"set": path.stem, "errors": int(wrong.sum()), "model": model} | row
        for row in ours(audit_labels, np.log(np.maximum(p, LEAST_PROBABILITY)), y, wrong):
            yield {"set": path.stem, "errors": int(wrong.sum()), "model": f"logits of {model} as rows"} | row
    if len(models) > 1:
        for row in ours(audit_probabilities, list(models.values()), y, wrong):
            yield {"set": path.stem, "errors": int(wrong.sum()), "model": "all"} | row


def text(value):
    if value is None:
        return "-"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+")
    parser.add_argument("--rows", type=int, help="the first rows of each set only")
    parser.add_argument("--limit", action="store_true", help="the largest F1 score with the truth known")
    parser.add_argument("--power", type=float, default=1.0, help="of the probabilities: above 1, too sure")
    parser.add_argument("--favour", type=float, default=0.0, help="standard deviation of offsets of the classes")
    options = parser.parse_args(arguments)
    paths = sorted(path for path in folder().glob("*.npz") if not options.sets or path.stem in options.sets)
    columns = ("set", "errors", "model", "method", *KEYS)
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for path in paths:
        for row in (limits if options.limit else rows)(path, options.rows, options.power, options.favour):
            print(f"| {' | '.join(text(row.get(key)) for key in columns)} |", flush=True)


if __name__ == "__main__":
    main()
