"""With defaults, no learner from noisy copies is a tenth worse than the same one on averaged copies."""

from typing import NamedTuple

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split

from noisewise import GaussianNoise
from noisewise.datasets import load, make_california_like, make_friedman_small, make_noisy_moons, make_sine
from noisewise.features import DeconvolvedFourierRegressor, NoisyFeatureRegressor, NoisyKernelRegressor

LEARNERS = {
    "linear": NoisyFeatureRegressor,
    "fourier": lambda: DeconvolvedFourierRegressor(random_state=0),
    "kernel": lambda: NoisyKernelRegressor(random_state=0),
}


class Split(NamedTuple):
    """Clean rows to be blurred for training, and clean rows to test on."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def diabetes(seed):
    X, y = load("diabetes_progression")
    X, X_test, y, y_test = train_test_split(X / X.std(axis=0), y, test_size=0.25, random_state=seed)
    return Split(X, y, X_test, y_test)


def california(seed, n=5000):
    X, y = make_california_like(n + 5000, random_state=seed)
    return Split(X[:n], y[:n], X[n:], y[n:])


def sine(seed):
    return Split(*make_sine(1000, seed), *make_sine(3000, seed + 100))


def moons(seed):
    return Split(*make_noisy_moons(1000, random_state=seed)[:2], *make_noisy_moons(3000, random_state=seed + 100)[:2])


def friedman(seed):
    return Split(*make_friedman_small(1000, seed), *make_friedman_small(3000, seed + 100))


def squared(predicted, y):
    return np.mean((predicted - y) ** 2)


def misclassified(predicted, y):
    return np.mean(np.sign(predicted) != y)


def errors(learner, make, deviation, error=squared, seeds=range(8)):
    """Mean errors on clean rows: on averaged copies without correction, and with defaults on two copies."""
    found = []
    for seed in seeds:
        split = make(seed)
        copies = GaussianNoise(deviation**2).copies(split.X, 2, np.random.default_rng([1, seed]))
        averaged = learner().fit(copies.mean(axis=1), split.y)
        model = learner().fit(copies[:, 0], split.y, copies=copies)
        found.append([error(fitted.predict(split.X_test), split.y_test) for fitted in (averaged, model)])
    return np.mean(found, axis=0)


PROBLEMS = [
    *((make, deviation, squared) for make in (diabetes, california) for deviation in (0.3, 0.6, 1.0)),
    (sine, 0.3, squared),
    (sine, 0.5, squared),
    (moons, 0.3, misclassified),
    (moons, 0.4, misclassified),
    (friedman, 0.3, squared),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "deviation", "error"), PROBLEMS, ids=[f"{make.__name__}-{deviation}" for make, deviation, _ in PROBLEMS]
)
@pytest.mark.parametrize("learner", LEARNERS)
def test_never_a_tenth_worse_than_averaging_the_copies(learner, make, deviation, error):
    seeds = range(20 if make is diabetes else 8)
    averaged, ours = errors(LEARNERS[learner], make, deviation, error, seeds)
    assert ours <= 1.1 * averaged


@pytest.mark.parametrize(
    ("learner", "make", "deviation"),
    [("linear", diabetes, 1.0), ("fourier", sine, 0.3), ("kernel", sine, 0.3), ("kernel", friedman, 0.3)],
)
def test_a_few_splits_are_no_worse_than_averaging_the_copies(learner, make, deviation):
    averaged, ours = errors(LEARNERS[learner], make, deviation, seeds=range(3))
    assert ours <= 1.1 * averaged


def test_the_averaged_kernel_fit_is_as_good_as_kernel_ridge():
    """The reference model of the k-standard-error rule is a strong one."""
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.model_selection import GridSearchCV

    grid = {"gamma": [0.15, 0.5], "alpha": [0.1, 1.0]}
    found = []
    for seed in range(2):
        split = friedman(seed)
        rows = GaussianNoise(0.09).copies(split.X, 2, np.random.default_rng([1, seed])).mean(axis=1)
        plain = GridSearchCV(KernelRidge(kernel="rbf"), grid, cv=3).fit(rows, split.y)
        ours = NoisyKernelRegressor().fit(rows, split.y)
        found.append([squared(model.predict(split.X_test), split.y_test) for model in (plain, ours)])
    plain, ours = np.mean(found, axis=0)
    assert ours <= 1.1 * plain


def test_descent_alone_is_worse_than_averaging_on_five_columns():
    """With the best of several steps, Algorithm 3 has more variance than the noise has bias."""
    split = friedman(0)
    copies = GaussianNoise(0.09).copies(split.X, 2, np.random.default_rng(1))
    descents = [
        NoisyKernelRegressor(step=step).fit(copies[:, 0], split.y, copies=copies) for step in (0.3, 0.1, 0.03, 0.01)
    ]
    model = NoisyKernelRegressor().fit(copies[:, 0], split.y, copies=copies)
    worse = min(squared(fitted.predict(split.X_test), split.y_test) for fitted in descents)
    assert worse > 1.1 * squared(model.predict(split.X_test), split.y_test)
    assert (descents[0].correction_, model.correction_) == (1, 0)


def test_noise_that_costs_much_is_corrected_for():
    """On many rows the k-standard-error rule selects the correction, which is nearer to the clean function."""
    X, y = make_sine(4000, 0)
    X_test, y_test = make_sine(3000, 1)
    copies = GaussianNoise(0.25).copies(X, 2, np.random.default_rng(1))
    model = NoisyKernelRegressor().fit(copies[:, 0], y, copies=copies)
    averaged = NoisyKernelRegressor().fit(copies.mean(axis=1), y)
    assert model.correction_ == 1
    assert squared(model.predict(X_test), y_test) < 0.8 * squared(averaged.predict(X_test), y_test)


def test_a_line_through_the_averages_is_matched_on_clean_rows():
    """The reference model of the linear estimator is a strong one too."""
    split = california(0, n=1000)
    rows = GaussianNoise(0.36).copies(split.X, 2, np.random.default_rng(1)).mean(axis=1)
    plain, ours = (model.fit(rows, split.y) for model in (LinearRegression(), NoisyFeatureRegressor()))
    assert squared(ours.predict(split.X_test), split.y_test) <= 1.1 * squared(plain.predict(split.X_test), split.y_test)
