"""Every classifier for noisy labels on the same rows: test error on clean labels, and CPU seconds of a fit.

    NOISEWISE_DATA=folder python benchmarks/label_classifiers.py [--splits 4] [--rate 0.3] [--methods fisher,ridge]

Nine sets of Raetsch's with the training sizes of the robust multi-kernel paper; symmetric noise, and noise of one class
(which one alternates with the split). Defaults everywhere: nothing is tuned by hand.
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from noisewise import FlipMatrix, labels
from noisewise.datasets import load

ROWS = {"banana": 400, "raetsch_diabetis": 468, "german": 700, "raetsch_heart": 170, "ringnorm": 400, "thyroid": 140}
ROWS |= {"titanic": 150, "twonorm": 400, "waveform": 400}
TESTED = 2000
GRID = {"C": [0.25, 2, 16], "gamma": [1, 1 / 4, 1 / 16, 1 / 64]}
METHODS = {
    "voting": labels.RobustVotingClassifier(),
    "process": labels.RobustGaussianProcessClassifier(),
    "fisher": labels.RobustKernelFisherClassifier(),
    "kernel": labels.RobustKernelLogisticRegression(),
    "multikernel": labels.RobustMultiKernelLogisticRegression(),
    "linear": labels.RobustLogisticRegression(),
    "ridge": labels.RobustRidgeClassifier(),
    "neighbors": labels.RobustKNeighborsClassifierCV(),
    "svm": GridSearchCV(SVC(), GRID, cv=3),
}


def split(name, seed, kind, rate):
    X, y = load(name)
    y = np.unique(y, return_inverse=True)[1]
    order = np.random.default_rng([seed, len(y)]).permutation(len(y))
    train, test = order[: ROWS[name]], order[ROWS[name] : ROWS[name] + TESTED]
    one_sided = FlipMatrix.binary(rate, 0.0) if seed % 2 else FlipMatrix.binary(0.0, rate)
    noise = FlipMatrix.symmetric(rate, 2) if kind == "symmetric" else one_sided
    return X[train], noise.corrupt(y[train], [seed, 1]), X[test], y[test]


def measure(model, splits, rate):
    """Mean test error on each set for symmetric and for one-sided noise, and mean seconds of a fit."""
    errors, seconds = {"symmetric": [], "one-sided": []}, []
    for kind, means in errors.items():
        for name in ROWS:
            found = []
            for seed in range(splits):
                X, observed, X_test, y_test = split(name, seed, kind, rate)
                start = time.process_time()
                fitted = make_pipeline(StandardScaler(), model).fit(X, observed)
                seconds.append(time.process_time() - start)
                found.append(100 * (1 - fitted.score(X_test, y_test)))
            means.append(np.mean(found))
    return errors, np.mean(seconds)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--rate", type=float, default=0.3)
    parser.add_argument("--methods", default=",".join(METHODS))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{options.rate:.0%} noise, {options.splits} splits; test error %, mean of the two kinds by set")
    header = "".join(f"{name.removeprefix('raetsch_')[:9]:>10}" for name in ROWS)
    print(f"{'':12}{header}{'symmetric':>12}{'one-sided':>11}{'mean':>7}{'CPU s':>8}")
    for method in options.methods.split(","):
        try:
            errors, seconds = measure(METHODS[method], options.splits, options.rate)
        except FileNotFoundError as error:
            print(f"left out: {error}")
            return
        both = np.array(list(errors.values()))
        cells = "".join(f"{value:>10.1f}" for value in both.mean(axis=0))
        kinds = f"{both[0].mean():>12.1f}{both[1].mean():>11.1f}{both.mean():>7.2f}"
        print(f"{method:12}{cells}{kinds}{seconds:>8.2f}", flush=True)


if __name__ == "__main__":
    main()
