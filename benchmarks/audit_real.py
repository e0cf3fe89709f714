"""Wrong labels of people: audit_probabilities against cleanlab on the same out-of-fold probabilities, in one run.

    NOISEWISE_DATA=... python benchmarks/audit_real.py                          every set and model
    NOISEWISE_DATA=... python benchmarks/audit_real.py --sets cifar10n_worst    one set
    NOISEWISE_DATA=... python benchmarks/audit_real.py --limit                  F1 with the truth known
    NOISEWISE_DATA=... python benchmarks/audit_real.py --power 6 --favour 1     networks too sure, which favour classes

The folder real_noise of NOISEWISE_DATA has an npz file for each set: `p_<model>`, out-of-fold probabilities, `y`, the
observed labels, and `truth`. CIFAR-10N (Wei et al. 2022) with the models of cleanlab's published benchmark was used for
choosing the constants of the judgement reading; so its numbers are those of development sets.

Scores rank all rows: AUROC, AP, and lift at the number of errors (precision among so many worst rows over the error
rate). Picked rows have an F1 score and, with an interval where there is one, a count. The columns "rows(.8)" and
"rows(.9)" have the precision of the rows that are asked for with that one.

The limit: softmax regression of the true class on a model's log-probabilities and the observed label, and boosted trees
that also see the largest probabilities and their classes, trained on the true labels of the other folds; rows are
picked where the F1 score is largest. Class-conditional flips, biases and confusions of classes are all of this form;
without the truth, no method can be expected to find more. Beside it, how far our F1 score is above that of cleanlab's
default filter, with its standard error (bootstrap of rows).
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
from sklearn.ensemble import HistGradientBoostingClassifier
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
PRECISIONS = {"rows(.8)": 0.8, "rows(.9)": 0.9}  # of `rows`: the fraction that is really wrong
LIMIT_KEYS = ("F1", "above cleanlab")
KEYS = ("AUROC", "AP", "lift", "F1", "count", "count / errors", "interval", "holds", *PRECISIONS, "CPU s")


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


def precision(wrong, rows):
    """The fraction of these rows that is wrong, if there are any."""
    return float(wrong[rows].mean()) if len(rows) else None


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
            **{key: precision(wrong, audit.rows(at)) for key, at in PRECISIONS.items()},
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


def best_f1(wrong, score):
    """The largest F1 score of all cuts of a ranking."""
    found = np.cumsum(wrong[np.argsort(-score, kind="stable")])
    return float((2 * found / (np.arange(1, len(wrong) + 1) + wrong.sum())).max())


def trained_on_truth(p, y, truth):
    """P(the label is wrong) by two models that know the truth of the rows of the other folds."""
    rows, folds = np.arange(len(y)), StratifiedKFold(5, shuffle=True, random_state=0)
    logits = np.log(np.maximum(p, LEAST_PROBABILITY))
    logits -= logits.mean(axis=1, keepdims=True)
    of_truth = cross_val_predict(
        LogisticRegression(max_iter=500),
        np.hstack([logits, 3 * np.eye(p.shape[1])[y]]),
        truth,
        cv=folds,
        method="predict_proba",
    )
    yield "softmax regression on the truth, best cut", 1 - of_truth[rows, y]
    order = np.argsort(-p, axis=1)[:, :4]
    largest = np.log(np.maximum(p[rows[:, None], order], LEAST_PROBABILITY))
    columns = np.column_stack([logits, np.eye(p.shape[1])[y], logits[rows, y], largest, order])
    trees = HistGradientBoostingClassifier(max_iter=200, learning_rate=0.08, max_leaf_nodes=15, random_state=0)
    of_error = cross_val_predict(trees, columns, y != truth, cv=folds, method="predict_proba")
    yield "boosted trees on the truth, best cut", of_error[:, 1]


def difference(wrong, ours, theirs, draws=200):
    """F1 of our picks less that of others, with its standard error by a bootstrap of the rows."""
    picked = np.zeros((2, len(wrong)))
    picked[0, ours] = picked[1, theirs] = 1
    weights = np.vstack([np.ones(len(wrong)), np.random.default_rng(0).poisson(1.0, (draws, len(wrong)))])
    f1 = 2 * weights @ (picked * wrong).T / (weights @ picked.T + (weights @ wrong)[:, None])
    apart = f1[:, 0] - f1[:, 1]
    return f"{apart[0]:+.4f} ± {apart[1:].std():.4f}"


def limits(*given):
    """The largest F1 score with the truth known, beside our picks and those of cleanlab's default filter."""
    path, (models, y, truth) = given[0], load(*given)
    wrong = y != truth
    for model, p in models.items():
        audit = audit_probabilities(p, y, labels_are="judgements")
        issues = find_label_issues(y, p / p.sum(axis=1, keepdims=True), return_indices_ranked_by="self_confidence")
        methods = {name: {"F1": best_f1(wrong, score)} for name, score in trained_on_truth(p, y, truth)}
        methods["noisewise, judgements"] = picks(wrong, audit.picked)
        methods["cleanlab, default filter"] = picks(wrong, issues)
        apart = {"noisewise, judgements": {"above cleanlab": difference(wrong, audit.picked, issues)}}
        for name, row in methods.items():
            yield (
                {"set": path.stem, "errors": int(wrong.sum()), "model": model, "method": name}
                | row
                | apart.get(name, {})
            )


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
    columns = ("set", "errors", "model", "method", *(LIMIT_KEYS if options.limit else KEYS))
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for path in paths:
        for row in (limits if options.limit else rows)(path, options.rows, options.power, options.favour):
            print(f"| {' | '.join(text(row.get(key)) for key in columns)} |", flush=True)


if __name__ == "__main__":
    main()
