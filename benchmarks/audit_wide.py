"""Finding wrong labels where columns are many: RobustRidgeClassifier against cleanlab, on the same rows and labels.

    python benchmarks/audit_wide.py                     every kind of table, three seeds: about two minutes
    python benchmarks/audit_wide.py --kinds counts      one of them
    python benchmarks/audit_wide.py --seeds 10 11 12    with seeds that took no part in any choice
    python benchmarks/audit_wide.py --rows 2000         tables of five classes with so many rows

cleanlab gets the probabilities of scikit-learn's LogisticRegression on the rows as they are, from 5 shuffled stratified
folds; standardised columns (`--methods`) do it no good.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import scipy.sparse as sp
from cleanlab.filter import find_label_issues
from cleanlab.rank import get_label_quality_scores
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from noisewise.labels import RobustRidgeClassifier
from noisewise.noise import FlipMatrix, likely_wrong

TWO, FIVE = 300, {"few_columns": 500, "all_columns": 500, "embeddings": 500, "counts": 800, "tf_idf": 800}  # rows
NOISES = ("symmetric 20 %", "one-sided 30 %")
KEYS = ("AUROC", "AP", "F1", "covers", "CPU s")
COLUMNS = 2000
WORDS = 10_000


def few_columns(truth, rng):
    """Ten of 2,000 columns are informative about each class; the others are noise."""
    X = rng.normal(size=(len(truth), COLUMNS))
    for c in range(truth.max() + 1):
        X[:, 10 * c : 10 * c + 10] += 1.2 * (truth[:, None] == c)
    return X


def all_columns(truth, rng):
    """Each of 2,000 columns is weakly informative."""
    X = rng.normal(size=(len(truth), COLUMNS))
    return X + 0.12 * rng.normal(size=(truth.max() + 1, COLUMNS))[truth]


def embeddings(truth, rng):
    """Thirty latent factors of decreasing weight in 2,000 columns, all weakly informative of the class, and noise."""
    hidden = rng.normal(size=(len(truth), 30)) + rng.normal(size=(truth.max() + 1, 30))[truth] * 0.8
    directions = rng.normal(size=(30, COLUMNS)) * (np.arange(1, 31) ** -0.7)[:, None]
    return hidden @ directions + rng.normal(size=(len(truth), COLUMNS))


def counts(truth, rng):
    """Word counts of texts of 20 to 300 words out of 10,000: Zipf frequencies, some words likelier in each class."""
    frequencies = rng.permutation(np.arange(1, WORDS + 1) ** -1.0)
    factors = np.where(rng.random((truth.max() + 1, WORDS)) < 0.02, 4.0, 1.0)
    probabilities = frequencies * factors
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    lengths = np.clip(rng.lognormal(4.0, 0.7, len(truth)), 20, 300).astype(int)
    columns = np.concatenate([rng.choice(WORDS, length, p=probabilities[c]) for length, c in zip(lengths, truth)])
    rows = np.repeat(np.arange(len(truth)), lengths)
    return sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(truth), WORDS))


def tf_idf(truth, rng):
    """The same, weighted by how rare the words are, in rows of length one."""
    return sp.csr_array(TfidfTransformer(sublinear_tf=True).fit_transform(counts(truth, rng)))


KINDS = {make.__name__: make for make in (few_columns, all_columns, embeddings, counts, tf_idf)}


def flips(noise, n_classes):
    if noise.startswith("symmetric"):
        return FlipMatrix.symmetric(0.2, n_classes)
    matrix = np.eye(n_classes)
    matrix[0, :2] = 0.7, 0.3
    return FlipMatrix(matrix)


def tables(kinds, seeds, rows=None):
    """Kind, noise, rows, observed labels and which of them are wrong."""
    for number, kind in enumerate(KINDS):
        for n_classes, n in ((2, TWO), (5, rows or FIVE[kind])) if kind in kinds else ():
            for seed in seeds:
                rng = np.random.default_rng([seed, number, n])
                truth = rng.permutation(np.arange(n) % n_classes)
                X = KINDS[kind](truth, rng)
                for noise in NOISES:
                    observed = flips(noise, n_classes).corrupt(truth, rng)
                    yield f"{kind}, {n} x {X.shape[1]:,}, {n_classes} classes", noise, X, observed, observed != truth


def measures(wrong, probability_wrong, picked, seconds, interval=None):
    found = wrong[picked].sum()
    row = {
        "AUROC": roc_auc_score(wrong, probability_wrong),
        "AP": average_precision_score(wrong, probability_wrong),
        "CPU s": seconds,
    }
    row["F1"] = 2 * found / (len(picked) + wrong.sum())
    row["covers"] = np.nan if interval is None else float(interval[0] <= wrong.sum() <= interval[1])
    return row


def ours(X, observed, wrong):
    start = time.process_time()
    model = RobustRidgeClassifier().fit(X, observed)
    seconds = time.process_time() - start
    probability_wrong = 1 - model.label_quality_
    return measures(wrong, probability_wrong, likely_wrong(probability_wrong), seconds, model.n_wrong_interval_)


def cleanlab(X, observed, wrong, standardised):
    start = time.process_time()
    model = LogisticRegression(max_iter=1000)
    if standardised:
        model = make_pipeline(StandardScaler(with_mean=not sp.issparse(X)), model)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    p = cross_val_predict(model, X, observed, cv=folds, method="predict_proba")
    issues = find_label_issues(observed, p, return_indices_ranked_by="self_confidence", n_jobs=1)
    seconds = time.process_time() - start
    return measures(wrong, 1 - get_label_quality_scores(observed, p), issues, seconds)


METHODS = {
    "noisewise": ours,
    "cleanlab": lambda *table: cleanlab(*table, standardised=False),
    "cleanlab, standardised": lambda *table: cleanlab(*table, standardised=True),
}


def mean_of(found, key, method):
    return np.mean([row[key] for _, by, row in found if by == method])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=["noisewise", "cleanlab"])
    parser.add_argument("--rows", type=int, help="of the tables of five classes")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", category=FutureWarning)
    found = []
    for kind, noise, *table in tables(options.kinds, options.seeds, options.rows):
        found += [((kind, noise), name, METHODS[name](*table)) for name in options.methods]
    print(f"AUROC / AP, means of {len(options.seeds)} seeds\n| table | noise | {' | '.join(options.methods)} |")
    print("|---" * (2 + len(options.methods)) + "|")
    for about in dict.fromkeys(about for about, *_ in found):
        part = [entry for entry in found if entry[0] == about]
        scores = (f"{mean_of(part, 'AUROC', m):.3f} / {mean_of(part, 'AP', m):.3f}" for m in options.methods)
        print(f"| {' | '.join((*about, *scores))} |")
    print(f"\nmean of all\n| method | {' | '.join(KEYS)} |\n{'|---' * (1 + len(KEYS))}|")
    for method in options.methods:
        print(f"| {method} | {' | '.join(f'{mean_of(found, key, method):.3f}' for key in KEYS)} |")


if __name__ == "__main__":
    main()
