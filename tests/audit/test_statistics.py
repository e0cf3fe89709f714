"""Is what the audit says about many runs true? Minutes of simulation, so all of it is slow."""

from collections import defaultdict

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_classification

from noisewise.labels import RobustRidgeClassifier
from noisewise.noise import FlipMatrix, likely_wrong

pytestmark = pytest.mark.slow


def overlapping():
    return make_classification(700, 8, n_informative=6, n_classes=3, class_sep=0.9, flip_y=0, random_state=5)


SETS = {
    "iris": lambda: load_iris(return_X_y=True),
    "wine": lambda: load_wine(return_X_y=True),
    "breast cancer": lambda: load_breast_cancer(return_X_y=True),
    "digits": lambda: tuple(part[:700] for part in load_digits(return_X_y=True)),
    "overlapping": overlapping,
}


def noises(n_classes, rng):
    pair = 0.8 * np.eye(n_classes) + 0.2 * np.roll(np.eye(n_classes), 1, axis=1)
    one_sided, sparse = np.eye(n_classes), np.eye(n_classes)
    one_sided[0, :2] = 0.7, 0.3
    true, observed = rng.choice(n_classes, 2, replace=False)
    rate = rng.uniform(0.1, 0.4)
    sparse[true, [true, observed]] = 1 - rate, rate
    symmetric = [FlipMatrix.symmetric(rate, n_classes) for rate in (0.1, 0.3)]
    return [*symmetric, FlipMatrix(pair), FlipMatrix(one_sided), FlipMatrix(sparse)]


@pytest.fixture(scope="module")
def runs():
    """Probability of each label to be wrong, which are, and the interval: five sets, five noises, eight draws."""
    found = defaultdict(list)
    for name, data in SETS.items():
        X, y = data()
        for seed in range(8):
            rng = np.random.default_rng(seed)
            for noise in noises(y.max() + 1, rng):
                observed = noise.corrupt(y, rng)
                model = RobustRidgeClassifier().fit(X, observed)
                found[name].append((1 - model.label_quality_, observed != y, model.n_wrong_interval_))
    return found


def test_the_interval_holds_the_number_of_wrong_labels(runs):
    inside = [low <= wrong.sum() <= high for part in runs.values() for _, wrong, (low, high) in part]
    assert len(inside) == 200
    assert 0.9 <= np.mean(inside) <= 0.97


def test_rows_stated_as_wrong_are_wrong(runs):
    for part in runs.values():
        stated = np.concatenate([wrong[probability >= 0.8] for probability, wrong, _ in part])
        assert len(stated) > 50
        assert stated.mean() >= 0.7


@pytest.mark.parametrize("name", SETS)
def test_clean_labels_are_hardly_flagged(name):
    X, y = SETS[name]()
    model = RobustRidgeClassifier().fit(X, y)
    assert model.n_wrong_interval_[0] == 0
    assert len(likely_wrong(1 - model.label_quality_)) <= 0.04 * len(y)
    assert model.n_wrong_ <= 0.04 * len(y)
