"""Ordered classes: audit_labels with and without their order, on grades made from a regression target, in one run.

    NOISEWISE_DATA=... python benchmarks/audit_ordered.py

Targets of the sets of `audit_targets.py` are cut into five grades of equal size. One label in seven is changed: to a
neighbouring grade, to any other that is rarer by .4 for each step, or to any other. AP ranks rows by P(wrong); "right
grade" is how often the best other grade of a changed row is the true one; "far" is the AP of changes by two steps or
more. The model was chosen on other data: Friedman's first function, columns of Wisconsin breast cancer, Pima, vehicle.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from audit_targets import SETS, load
from sklearn.metrics import average_precision_score

from noisewise import audit_labels

N_GRADES = 5
RATE = 1 / 7
DECAYS = {"neighbours": 0.0, "rarer each step": 0.4, "any": 1.0}
KEYS = ("AP", "right grade", "far")


def grades(y):
    """Five grades of about equal size."""
    return np.searchsorted(np.quantile(y, np.arange(1, N_GRADES) / N_GRADES), y)


def corrupt(truth, decay, rng):
    """Grades of which one in seven is changed; further ones are rarer by `decay` a step."""
    observed = truth.copy()
    for row in rng.choice(len(truth), round(RATE * len(truth)), replace=False):
        steps = np.abs(np.arange(N_GRADES) - truth[row])
        weights = np.where(steps > 0, decay ** np.maximum(steps - 1.0, 0), 0.0)  # 0 ** 0 is 1: neighbours alone
        observed[row] = rng.choice(N_GRADES, p=weights / weights.sum())
    return observed


def scores(audit, observed, truth):
    wrong, steps = observed != truth, np.abs(observed - truth)
    others = np.where(np.eye(N_GRADES, dtype=bool)[observed], -1, audit.posterior)
    found = {"AP": average_precision_score(wrong, 1 - audit.probability)}
    found["right grade"] = float(np.mean((others.argmax(axis=1) == truth)[wrong]))
    far = steps > 1
    return found | ({"far": average_precision_score(far, 1 - audit.probability)} if far.any() else {})


def line(head, values):
    numbers = (f"{values[key]:.3f}" if key in values else "-" for key in KEYS)
    return f"| {' | '.join(head)} | {' | '.join(numbers)} |"


def averaged(results):
    return {key: float(np.mean([one[key] for one in results if key in one])) for key in KEYS if key in results[0]}


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--rows", type=int, default=400)
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args(arguments)
    print(f"| set | changed to | order | {' | '.join(KEYS)} |\n|{'---|' * (3 + len(KEYS))}")
    for name in options.sets:
        X, y = load(name, options.rows)
        truth = grades(y)
        for change, decay in DECAYS.items():
            runs = {"unknown": [], "given": []}
            for seed in range(options.seeds):
                observed = corrupt(truth, decay, np.random.default_rng(seed))
                for order, ordered in (("unknown", None), ("given", True)):
                    runs[order].append(scores(audit_labels(X, observed, ordered=ordered), observed, truth))
            for order, results in runs.items():
                print(line((name, change, order), averaged(results)), flush=True)


if __name__ == "__main__":
    main()
