"""Who takes a stress test: plain methods and those that know of noise, for each kind of noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisewise._typing import Codes
from noisewise.features import DeconvolvedFourierClassifier, NoisyFeatureClassifier
from noisewise.labels import RobustKNeighborsClassifier, RobustLogisticRegression, RobustRidgeClassifier
from noisewise.online import recipes

PASSES = 5  # of a stream of feedback over the rows


@dataclass(frozen=True)
class Spoilt:
    """Training rows after the noise, and what a method may know of it.

    Attributes
    ----------
    X : array or CSR of shape (n, d)
    y : array of int of shape (n,)
        Observed labels; for feedback, the true ones that the answers are about.
    noise : FlipMatrix or GaussianNoise
    seed : int
    """

    X: Any
    y: Codes
    noise: Any
    seed: int

    @cached_property
    def ridge(self) -> RobustRidgeClassifier:
        """The robust ridge of these rows: a contestant, and what another corrects labels by."""
        return RobustRidgeClassifier(random_state=self.seed).fit(self.X, self.y)


Contestant = Callable[[Spoilt], Any]  # gives something with `predict`


def _by(make: Callable[[int], Any]) -> Contestant:
    return lambda spoilt: make(spoilt.seed).fit(spoilt.X, spoilt.y)


def _knowing(make: Callable[[Any], Any]) -> Contestant:
    return lambda spoilt: make(spoilt.noise).fit(spoilt.X, spoilt.y)


def _logistic(seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=1000)


def _neighbors(seed: int) -> Any:
    from sklearn.neighbors import KNeighborsClassifier

    return KNeighborsClassifier(5)


def _forest(seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(100, random_state=seed)


def _corrected(spoilt: Spoilt) -> Any:
    """The audit's suggestions taken wherever it is in doubt, then a forest."""
    better = spoilt.ridge.classes_[spoilt.ridge.true_label_posterior_.argmax(axis=1)]
    return _forest(spoilt.seed).fit(spoilt.X, better)


def _playing(recipe: Callable[..., Any], told: bool) -> Contestant:
    def play(spoilt: Spoilt) -> Any:
        rng = np.random.default_rng(spoilt.seed)
        order = np.concatenate([rng.permutation(len(spoilt.y)) for _ in range(PASSES)])
        known = {"noise": spoilt.noise} if told else {}
        learner = recipe(classes=np.unique(spoilt.y).tolist(), random_state=spoilt.seed, **known)
        learner.play(_with_one(spoilt.X)[order], spoilt.y[order], noise=spoilt.noise, rng=rng)
        return _WithOne(learner)

    return play


@dataclass(frozen=True)
class _WithOne:
    """A learner without an intercept, given one."""

    learner: Any

    def predict(self, X: Any) -> NDArray[Any]:
        return np.asarray(self.learner.predict(_with_one(X)))


def _with_one(X: Any) -> Any:
    one = np.ones((X.shape[0], 1))
    if not hasattr(X, "tocsr"):
        return np.hstack([X, one])
    from scipy import sparse

    return sparse.csr_array(sparse.hstack([X, one]))


CONTESTANTS: dict[str, dict[str, Contestant]] = {
    "labels": {
        "logistic regression": _by(_logistic),
        "k-NN": _by(_neighbors),
        "random forest": _by(_forest),
        "RobustRidgeClassifier": lambda spoilt: spoilt.ridge,
        "RobustLogisticRegression": _by(lambda seed: RobustLogisticRegression()),
        "RobustKNeighborsClassifier": _by(lambda seed: RobustKNeighborsClassifier(random_state=seed)),
        "audit, then forest": _corrected,
    },
    "features": {
        "logistic regression": _by(_logistic),
        "k-NN": _by(_neighbors),
        "random forest": _by(_forest),
        "NoisyFeatureClassifier": _knowing(lambda noise: NoisyFeatureClassifier(noise=noise)),
        "DeconvolvedFourierClassifier": _knowing(
            lambda noise: DeconvolvedFourierClassifier(noise=noise, random_state=0)
        ),
    },
    "feedback": {
        "Banditron": _playing(recipes.banditron, told=False),
        "bandit PA": _playing(recipes.bandit_pa, told=False),
        "UCWL": _playing(recipes.ucwl, told=False),
        "rcnbf, told the noise": _playing(recipes.rcnbf, told=True),
        "corrected_ucwl, told the noise": _playing(recipes.corrected_ucwl, told=True),
        "linucb": _playing(recipes.linucb, told=False),
    },
}
PLAIN = {"logistic regression", "k-NN", "random forest", "Banditron", "bandit PA"}
