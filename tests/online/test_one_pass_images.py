"""One pass over USPS and MNIST, raw pixels in [0, 1]: the mistakes of an independent implementation, by label noise."""

import os

import numpy as np
import pytest

from noisewise.datasets import load
from noisewise.online import OnlineClassifier, recipes

pytestmark = pytest.mark.skipif("NOISEWISE_DATA" not in os.environ, reason="NOISEWISE_DATA names no folder of data")
# mistake rates where 0, 10, 20 and 30 % of the shown labels are moved; parameters tuned once for each noise
RATES = {
    ("usps", "ucwl"): (0.133, 0.144, 0.162, 0.187),
    ("usps", "confidit"): (0.139, 0.173, 0.223, 0.309),
    ("usps", "mscw"): (0.088, 0.109, 0.124, 0.146),
    ("usps", "mcw"): (0.096, 0.201, 0.294, 0.394),
    ("usps", "arow"): (0.093, 0.134, 0.182, 0.260),
    ("mnist", "ucwl"): (0.113, 0.120, 0.128, 0.141),
    ("mnist", "confidit"): (0.138, 0.143, 0.156, 0.188),
    ("mnist", "mscw"): (0.096, 0.105, 0.120, 0.142),
    ("mnist", "mcw"): (0.113, 0.274, 0.400, 0.500),
    ("mnist", "arow"): (0.096, 0.137, 0.177, 0.236),
}
STEPS = {
    "ucwl": [(2.4, 0.125), (2.4, 0.125), (1.6, 0.125), (1.6, 0.125)],
    "mscw": [(0.95, 0.125), (0.85, 2**-5), (0.95, 2**-5), (0.95, 2**-5)],
}
MAKE = {
    "ucwl": lambda place: recipes.ucwl(
        10, width_in_std=STEPS["ucwl"][place][0], confidence=0.95, C=STEPS["ucwl"][place][1]
    ),
    "confidit": lambda place: recipes.confidit(10, width_in_std=0.2),
    "mscw": lambda place: recipes.mscw(*STEPS["mscw"][place]),
    "mcw": lambda place: recipes.mcw(0.95),
    "arow": lambda place: recipes.arow(100.0),
}
# what the means of five orders (USPS) or two (MNIST) were said to vary by, for each noise
WITHIN = {
    ("usps", "ucwl"): (0.006, 0.008, 0.010, 0.012),
    ("usps", "confidit"): (0.012, 0.012, 0.012, 0.035),  # at 30 % single orders lie between .28 and .41
    ("usps", "mscw"): (0.004,) * 4,
    ("usps", "mcw"): (0.006, 0.008, 0.006, 0.006),
    ("usps", "arow"): (0.006,) * 4,
    ("mnist", "ucwl"): (0.006,) * 4,
    ("mnist", "confidit"): (0.006, 0.006, 0.006, 0.012),
    ("mnist", "mscw"): (0.006, 0.004, 0.004, 0.004),
    ("mnist", "mcw"): (0.006,) * 4,
    ("mnist", "arow"): (0.006,) * 4,
}
ORDERS = {"usps": 15, "mnist": 2}


class Watched(OnlineClassifier):
    """Keeps its guesses: mistakes count against the true labels, not the shown ones."""

    def _run(self, X, log):
        super()._run(X, log)
        self.guesses_ = log.actions


def pixels(name, dtype=np.float64):
    data = load(name, dtype=dtype)
    low, high = data.X.min(), data.X.max()
    return (data.X - low) / (high - low), np.asarray(data.y).astype(int)


def shuffled(X, y, noise, seed):
    """Rows in a random order, their labels, and the labels shown: another class with probability `noise`."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    true = y[order]
    moved = (true + rng.integers(1, 10, len(true))) % 10
    return X[order], true, np.where(rng.random(len(true)) < noise, moved, true)


def mistake_rate(learner, X, true, shown):
    """Share of rounds whose guess, before learning, was not the true label."""
    if isinstance(learner, OnlineClassifier):
        return np.mean(Watched(learner.rule, learner.signal, learner.covariance).fit(X, shown).guesses_ != true)
    return np.mean(learner.play(X, shown).actions != true)


def test_ucwl_makes_the_same_updates_on_usps_in_its_own_order():
    X, y = pixels("usps")
    learner = recipes.ucwl(10, width_in_std=1.6, confidence=0.95, C=0.5)
    assert abs(learner.play(X, y).mistake_rate - 0.137) < 0.003
    assert abs(learner.n_updates_ - 3968) <= 40


@pytest.mark.slow
@pytest.mark.parametrize("name", ["usps", "mnist"])
def test_one_pass_makes_the_mistakes_of_an_independent_implementation(name):
    X, y = pixels(name, np.float64 if name == "usps" else np.float32)
    for place, noise in enumerate((0.0, 0.1, 0.2, 0.3)):
        found = {method: [] for method in MAKE}
        for seed in range(ORDERS[name]):
            stream = shuffled(X, y, noise, seed)
            for method, make in MAKE.items():
                found[method].append(mistake_rate(make(place), *stream))
        means = {method: float(np.mean(rates)) for method, rates in found.items()}
        for method, mean in means.items():
            target, within = RATES[name, method][place], WITHIN[name, method][place]
            assert abs(mean - target) <= within, (method, noise, mean)
        assert means["mscw"] < means["ucwl"] < means["confidit"]
        if noise >= 0.2:
            assert means["ucwl"] < min(means["mcw"], means["arow"])


@pytest.mark.slow
def test_ucwl_moves_in_less_than_half_of_the_rounds():
    for name, most in (("usps", 0.45), ("mnist", 0.30)):
        X, y = pixels(name, np.float32)
        learner = recipes.ucwl(10, width_in_std=2.4, confidence=0.95, C=0.125)
        learner.play(X, y)
        assert learner.n_updates_ <= most * len(y)
