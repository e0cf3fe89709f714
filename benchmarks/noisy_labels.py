"""Accuracy on clean test labels of the robust k-NN paper's methods over its ten smaller sets, by its protocol.

    NOISEWISE_DATA=folder python benchmarks/noisy_labels.py [--splits 2]

Columns in [-1, 1], three quarters to train, sets of many classes split into two groups at random; true noise rates for
IR, LD and UE, as in the paper. Its kernel machines have the best width of an SVM on clean training labels; which C, it
does not say: one row takes the SVM's C, another the width and C that are best on clean labels after noisy training.
"""

import argparse

import numpy as np
from sklearn.model_selection import GridSearchCV, ParameterGrid, StratifiedKFold, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC

from noisewise import FlipMatrix
from noisewise.datasets import load
from noisewise.labels import (
    ImportanceReweightedClassifier,
    LabelDependentClassifier,
    RobustKNeighborsClassifierCV,
    UnbiasedLogisticRegression,
)
from noisewise.online.recipes import arow, nherd

SETS = ["heart", "ionosphere", "housing", "breast_cancer_wisconsin", "diabetes"]
SETS += ["vehicle", "fourclass", "german_numeric", "splice_libsvm", "optdigits"]
PAIRS = [(0.1, 0.2), (0.3, 0.1), (0.4, 0.4)]  # (tau_plus, tau_minus)


PENALTIES = [0.25, 1, 4, 16]
CHECKED = 1500  # rows by which width and C are chosen


def candidates(X):
    widths = [2.0**power / X.shape[1] for power in (-3, -1, 1, 3, 5)]
    return {"C": PENALTIES, "gamma": widths}


def best_on_clean(X, y):
    """The best plain SVM on clean labels."""
    return SVC(**GridSearchCV(SVC(), candidates(X), cv=4).fit(X[:CHECKED], y[:CHECKED]).best_params_)


def best_through_noise(noise, X, observed, clean):
    """The machine that label-dependent costs make best on clean labels, fitted to noisy ones of the other folds."""
    X, observed, clean = X[:CHECKED], observed[:CHECKED], clean[:CHECKED]
    folds = list(StratifiedKFold(4).split(X, observed))

    def accuracy(machine):
        models = (
            LabelDependentClassifier(machine, noise).fit(X[a], observed[a]).score(X[b], clean[b]) for a, b in folds
        )
        return np.mean(list(models))

    return max((SVC(**candidate) for candidate in ParameterGrid(candidates(X))), key=accuracy)


def methods(machine, noise, X, observed, clean):
    return {
        "IR-KSVM, C of the clean SVM": ImportanceReweightedClassifier(machine, noise),
        "LD-KSVM, C of the clean SVM": LabelDependentClassifier(machine, noise),
        "LD-KSVM, C best after noise": LabelDependentClassifier(best_through_noise(noise, X, observed, clean), noise),
        "RobustKNeighborsClassifierCV": RobustKNeighborsClassifierCV(),
        "k-NN, 15 voters": KNeighborsClassifier(15),
        "UE, rates known": UnbiasedLogisticRegression(noise),
        "AROW": arow(10.0),
        "NHERD": nherd(0.1),
    }


def scores_of(name, seed):
    """Test accuracy of every method at every noise, on one split of one set."""
    data = load(name)
    rng = np.random.default_rng(seed)
    codes = np.unique(data.y, return_inverse=True)[1]
    n_classes = codes.max() + 1
    y = codes if n_classes == 2 else np.isin(codes, rng.permutation(n_classes)[: n_classes // 2]).astype(int)
    X = np.column_stack([MinMaxScaler((-1, 1)).fit_transform(data.X), np.ones(len(y))])
    train, test, y_train, y_test = train_test_split(X, y, random_state=seed, stratify=y)
    machine = best_on_clean(train, y_train)
    found = {}
    for plus, minus in PAIRS:
        noise = FlipMatrix.binary(false_positive=minus, false_negative=plus)
        observed = noise.corrupt(y_train, 100 + seed)
        for method, model in methods(machine, noise, train, observed, y_train).items():
            found.setdefault(method, []).append(model.fit(train, observed).score(test, y_test))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=2)
    splits = parser.parse_args().splits
    try:
        runs = [scores_of(name, seed) for name in SETS for seed in range(splits)]
    except FileNotFoundError as error:
        print(f"left out: {error}")
        return
    print(f"mean accuracy over {len(SETS)} sets, {splits} splits; (tau_plus, tau_minus)")
    print(f"{'':30}" + "".join(f"{pair!s:>12}" for pair in PAIRS))
    for method in runs[0]:
        means = np.mean([run[method] for run in runs], axis=0)
        print(f"{method:30}" + "".join(f"{mean:>12.3f}" for mean in means))


if __name__ == "__main__":
    main()
