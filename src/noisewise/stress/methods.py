"""Methods that a stress test compares, for each kind of noise: standard ones and noise-robust ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisewise._typing import Codes
from noisewise.features import DeconvolvedFourierClassifier, NoisyFeatureClassifier
from noisewise.labels import RobustKNeighborsClassifier, RobustLogisticRegression, RobustRidgeClassifier
from noisewise.online import recipes

PASSES = 5  # epochs of an online learner over the training rows


@dataclass(frozen=True)
class Corrupted:
    """Corrupted training rows, and the noise that corrupted them, for methods that are told it.

    Attributes
    ----------
    X : array or CSR of shape (n, d)
    y : array of int of shape (n,)
        Observed labels; for feedback, the true ones: the feedback is corrupted in each round.
    noise : FlipMatrix or GaussianNoise
    seed : int
    """

    X: Any
    y: Codes
    noise: Any
    seed: int

    @cached_property
    def ridge(self) -> RobustRidgeClassifier:
        """The robust ridge of these rows: a method itself, and what `audit, then forest` corrects labels by."""
        return RobustRidgeClassifier(random_state=self.seed).fit(self.X, self.y)


Method = Callable[[Corrupted], Any]  # returns something with `predict`


def _fit(make: Callable[[int], Any]) -> Method:
    return lambda corrupted: make(corrupted.seed).fit(corrupted.X, corrupted.y)


def _fit_told_noise(make: Callable[[Any], Any]) -> Method:
    return lambda corrupted: make(corrupted.noise).fit(corrupted.X, corrupted.y)


def _logistic(seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=1000)


def _neighbors(seed: int) -> Any:
    from sklearn.neighbors import KNeighborsClassifier

    return KNeighborsClassifier(5)


def _forest(seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(100, random_state=seed)


def _corrected(corrupted: Corrupted) -> Any:
    """A forest on the labels that the audit suggests, argmax of the posterior of the true class."""
    suggested = corrupted.ridge.classes_[corrupted.ridge.true_label_posterior_.argmax(axis=1)]
    return _forest(corrupted.seed).fit(corrupted.X, suggested)


def _play(recipe: Callable[..., Any], told_noise: bool) -> Method:
    def play(corrupted: Corrupted) -> Any:
        rng = np.random.default_rng(corrupted.seed)
        order = np.concatenate([rng.permutation(len(corrupted.y)) for _ in range(PASSES)])
        known = {"noise": corrupted.noise} if told_noise else {}
        learner = recipe(classes=np.unique(corrupted.y).tolist(), random_state=corrupted.seed, **known)
        learner.play(_with_constant(corrupted.X)[order], corrupted.y[order], noise=corrupted.noise, rng=rng)
        return _WithIntercept(learner)

    return play


@dataclass(frozen=True)
class _WithIntercept:
    """An online learner, its rows extended by a constant 1 for the intercept."""

    learner: Any

    def predict(self, X: Any) -> NDArray[Any]:
        return np.asarray(self.learner.predict(_with_constant(X)))


def _with_constant(X: Any) -> Any:
    one = np.ones((X.shape[0], 1))
    if not hasattr(X, "tocsr"):
        return np.hstack([X, one])
    from scipy import sparse

    return sparse.csr_array(sparse.hstack([X, one]))


METHODS: dict[str, dict[str, Method]] = {
    "labels": {
        "logistic regression": _fit(_logistic),
        "k-NN": _fit(_neighbors),
        "random forest": _fit(_forest),
        "RobustRidgeClassifier": lambda corrupted: corrupted.ridge,
        "RobustLogisticRegression": _fit(lambda seed: RobustLogisticRegression()),
        "RobustKNeighborsClassifier": _fit(lambda seed: RobustKNeighborsClassifier(random_state=seed)),
        "audit, then forest": _corrected,
    },
    "features": {
        "logistic regression": _fit(_logistic),
        "k-NN": _fit(_neighbors),
        "random forest": _fit(_forest),
        "NoisyFeatureClassifier": _fit_told_noise(lambda noise: NoisyFeatureClassifier(noise=noise)),
        "DeconvolvedFourierClassifier": _fit_told_noise(
            lambda noise: DeconvolvedFourierClassifier(noise=noise, random_state=0)
        ),
    },
    "feedback": {
        "Banditron": _play(recipes.banditron, told_noise=False),
        "bandit PA": _play(recipes.bandit_pa, told_noise=False),
        "UCWL": _play(recipes.ucwl, told_noise=False),
        "rcnbf, told the noise": _play(recipes.rcnbf, told_noise=True),
        "corrected_ucwl, told the noise": _play(recipes.corrected_ucwl, told_noise=True),
        "linucb": _play(partial(recipes.linucb, intercept=False), told_noise=False),
    },
}
PLAIN = {  # standard methods, without a correction for noise
    "logistic regression",
    "k-NN",
    "random forest",
    "Banditron",
    "bandit PA",
}
