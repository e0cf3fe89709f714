"""Noisy features: time as rows grow, beside orthogonal distance regression, and beside averaged copies, in one run.

    python benchmarks/features.py              all tables
    python benchmarks/features.py --rows 20000 --doublings 3
    python benchmarks/features.py --only averages --seeds 8
    python benchmarks/features.py --only peers --seeds 8     beside kernel ridge and logistic regression on the averages

The problems of the last table are those of tests/features/test_averaging_baseline.py (ratios of 1.1 at most).
odrpack (orthogonal distance regression) is given the true standard deviations of the noise in features and targets; so
is one row of ours, the others know the noise of the features only.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.base import is_classifier
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler

from noisewise import GaussianNoise
from noisewise.datasets import make_friedman_small
from noisewise.features import (
    DeconvolvedFourierRegressor,
    NoisyFeatureClassifier,
    NoisyFeatureRegressor,
    OnlineNoisyRegressor,
)

TRUE = np.array([1.0, -2.0, 0.5, 0.0, 3.0])


def seconds(call, *args, repeats=3, **options):
    best = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        found = call(*args, **options)
        best = min(best, time.perf_counter() - start)
    return best, found


def scaling(rows, doublings):
    print("| rows | DeconvolvedFourierRegressor, s | ratio | NoisyFeatureRegressor, s | ratio |\n|---|---|---|---|---|")
    noise, before, worst = GaussianNoise(0.04), None, 0.0
    for n in rows * 2 ** np.arange(doublings + 1):
        X, y = make_friedman_small(n, 0)
        copies = noise.copies(X, 2, np.random.default_rng(1))
        fourier = DeconvolvedFourierRegressor(noise, random_state=0)
        times = [
            seconds(learner.fit, copies[:, 0], y, copies=copies)[0]
            for learner in (fourier, NoisyFeatureRegressor(noise))
        ]
        ratios = ["", ""] if before is None else [f"{now / then:.2f}" for now, then in zip(times, before)]
        worst = worst if before is None else max(worst, times[0] / before[0])
        print(f"| {n} | {times[0]:.2f} | {ratios[0]} | {times[1]:.3f} | {ratios[1]} |", flush=True)
        before = times
    print(f"twice the rows take at most {worst:.2f} of the time\n")


def by_odr(noisy, y, feature_deviation, target_deviation):
    from odrpack import odr_fit

    d = noisy.shape[1]
    start = np.linalg.lstsq(np.column_stack([noisy, np.ones(len(y))]), y, rcond=None)[0]
    fit = odr_fit(
        lambda x, beta: beta[:d] @ x + beta[d],
        noisy.T,
        y,
        start,
        weight_x=feature_deviation**-2,
        weight_y=target_deviation**-2,
        jac_beta=lambda x, beta: np.vstack([x, np.ones(x.shape[1])]),
        jac_x=lambda x, beta: np.repeat(beta[:d, None], x.shape[1], axis=1),
    )
    return fit.beta[:d]


def by(learner, **known):
    return lambda noisy, y: learner(GaussianNoise(0.25), **known).fit(noisy, y).coef_


LEARNERS = {
    "odrpack": lambda noisy, y: by_odr(noisy, y, 0.5, 0.2),
    "NoisyFeatureRegressor": by(NoisyFeatureRegressor),
    "NoisyFeatureRegressor, target_noise": by(NoisyFeatureRegressor, target_noise=0.04),
    "OnlineNoisyRegressor": by(OnlineNoisyRegressor),
}


def against_odr(sizes):
    print("| rows | target | learner | coefficients, root mean square error | s |\n|---|---|---|---|---|")
    for kind in ("linear", "with a remainder"):
        for n in sizes:
            errors, times = {}, {}
            for seed in range(3):
                rng = np.random.default_rng(seed)
                X = rng.normal(size=(n, 5)) @ (np.eye(5) + 0.3)
                noisy = GaussianNoise(0.25).corrupt(X, rng)
                y = X @ TRUE + 0.2 * rng.normal(size=n)
                if kind != "linear":
                    y += X[:, 0] ** 2 - X[:, 1] ** 2  # what no line explains, and no measurement error
                for name, learner in LEARNERS.items():
                    spent, coef = seconds(learner, noisy, y, repeats=1 if name == "odrpack" else 2)
                    errors.setdefault(name, []).append(np.sqrt(np.mean((coef - TRUE) ** 2)))
                    times.setdefault(name, []).append(spent)
            for name in errors:
                print(
                    f"| {n} | {kind} | {name} | {np.mean(errors[name]):.4f} | {np.mean(times[name]):.3f} |", flush=True
                )


def against_averages(seeds):
    """Errors on clean rows with defaults on two copies, and of the same learner on their averages."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "features"))
    from test_averaging_baseline import LEARNERS as BY_DEFAULT
    from test_averaging_baseline import PROBLEMS, errors

    print("| problem | noise | learner | averaged copies | two copies, by default | ratio |\n|---|---|---|---|---|---|")
    worst = 0.0
    for make, deviation, error in PROBLEMS:
        for name, learner in BY_DEFAULT.items():
            averaged, ours = errors(learner, make, deviation, error, range(seeds))
            worst = max(worst, ours / averaged)
            print(
                f"| {make.__name__} | {deviation} | {name} | {averaged:.4g} | {ours:.4g} | {ours / averaged:.3f} |",
                flush=True,
            )
    print(f"at most {worst:.3f} of the error of averaging")


def against_peers(seeds, names=None):
    """Clean and noisy test rows of bundled sets, two copies of each training row; peers get their averages.

    For noisy rows the peers are fitted to single copies. The peer of OnlineNoisyRegressor is its step "root", with the
    copies. Squared errors, or wrong labels; the standard error of their difference is over splits.
    """
    print("| set | noise | test rows | learner | ours | peer | ours - peer |\n|---|---|---|---|---|---|---|")
    grid = {"alpha": 10.0 ** np.arange(-4, 2), "gamma": [0.003, 0.01, 0.03, 0.1, 0.3]}
    ridge = TransformedTargetRegressor(GridSearchCV(KernelRidge(kernel="rbf"), grid), transformer=StandardScaler())
    sets = {
        "diabetes": (load_diabetes(return_X_y=True), DeconvolvedFourierRegressor(random_state=0), ridge),
        "friedman": (make_friedman_small(700, 0), DeconvolvedFourierRegressor(random_state=0), ridge),
        "diabetes, online": (load_diabetes(return_X_y=True), OnlineNoisyRegressor(), OnlineNoisyRegressor(step="root")),
        "cancer": (load_breast_cancer(return_X_y=True), NoisyFeatureClassifier(), LogisticRegression(max_iter=1000)),
        "digits": (load_digits(return_X_y=True), NoisyFeatureClassifier(), LogisticRegression(max_iter=1000)),
        "iris": (load_iris(return_X_y=True), NoisyFeatureClassifier(), LogisticRegression(max_iter=1000)),
        "wine": (load_wine(return_X_y=True), NoisyFeatureClassifier(), LogisticRegression(max_iter=1000)),
    }
    for name in names or sets:
        (X, y), ours, peer = sets[name]
        for deviation in (0.1, 0.5, 1.0):
            noise, found = GaussianNoise(deviation**2), []
            for seed in range(seeds):
                rng = np.random.default_rng(seed)
                order, n = rng.permutation(len(y)), int(0.7 * len(y))
                rows, targets = StandardScaler().fit_transform(X)[order], np.asarray(y)[order]
                copies, later = noise.copies(rows[:n], 2, rng), noise.corrupt(rows[n:], rng)
                ours.fit(copies[:, 0], targets[:n], copies=copies)
                if isinstance(peer, OnlineNoisyRegressor):  # the other step, and corrected alike
                    peer.fit(copies[:, 0], targets[:n], copies=copies)
                    others = peer.predict(rows[n:]), peer.predict(later, noisy=True)
                else:
                    others = (
                        peer.fit(copies.mean(axis=1), targets[:n]).predict(rows[n:]),
                        peer.fit(copies[:, 0], targets[:n]).predict(later),
                    )
                predicted = [ours.predict(rows[n:]), others[0], ours.predict(later, noisy=True), others[1]]
                apart = np.not_equal if is_classifier(ours) else np.subtract
                found.append([np.mean(np.asarray(apart(one, targets[n:]), float) ** 2) for one in predicted])
            for rows_are, each in zip(("clean", "noisy"), np.reshape(found, (-1, 2, 2)).swapaxes(0, 1)):
                (mine, theirs), apart = each.mean(axis=0), each[:, 0] - each[:, 1]
                error = apart.std(ddof=1) / np.sqrt(seeds)
                print(
                    f"| {name} | {deviation} | {rows_are} | {type(ours).__name__} | {mine:.4g} | {theirs:.4g} | "
                    f"{apart.mean():.2g} +- {error:.2g} |",
                    flush=True,
                )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--doublings", type=int, default=3)
    parser.add_argument("--sizes", nargs="+", type=int, default=[1_000, 10_000, 40_000])
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--only", choices=["scaling", "odr", "averages", "peers"])
    parser.add_argument("--sets", nargs="+", help="of the peers' table; all by default")
    options = parser.parse_args()
    tables = {
        "scaling": lambda: scaling(options.rows, options.doublings),
        "odr": lambda: against_odr(options.sizes),
        "averages": lambda: against_averages(options.seeds),
        "peers": lambda: against_peers(options.seeds, options.sets),
    }
    for name, table in tables.items():
        if options.only in (None, name):
            table()


if __name__ == "__main__":
    main()
