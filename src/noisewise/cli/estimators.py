"""Classifiers by name: ours, recipes that learn from labels, and those of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

RECIPES = ("perceptron", "mpa", "mcw", "mscw", "arow", "nherd")
SHORT = {
    "svc": "SVC",
    "knn": "KNeighborsClassifier",
    "logistic": "LogisticRegression",
    "forest": "RandomForestClassifier",
    "boosting": "HistGradientBoostingClassifier",
}


def estimator_named(name: str, seed: int | None = None) -> Any:
    """A classifier with its defaults, seeded where it draws."""
    ours = _ours()
    if name in ours:
        return _seeded(ours[name](), seed)
    theirs = _scikit_learn()
    wanted = SHORT.get(name.lower(), name)
    if wanted == "SVC":
        return _svc_with_probabilities(seed)
    if wanted in theirs:
        return _seeded(theirs[wanted](), seed)
    names = {known.lower(): known for known in (*theirs, *ours, *SHORT)}
    near = get_close_matches(name.lower(), names, n=1)
    hint = f"did you mean {names[near[0]]!r}?" if near else f"there are {', '.join((*ours, *SHORT))} and scikit-learn's"
    raise ValueError(f"there is no estimator {name!r}; {hint}")


def known_names() -> list[str]:
    """Names that `estimator_named` takes."""
    return [*_ours(), *SHORT, *_scikit_learn()]


def _ours() -> dict[str, Callable[[], Any]]:
    from noisewise import labels
    from noisewise.online import OnlineClassifier, recipes

    makers = {name: getattr(labels, name) for name in labels.__all__ if hasattr(getattr(labels, name), "fit")}
    return makers | {OnlineClassifier.__name__: OnlineClassifier} | {name: getattr(recipes, name) for name in RECIPES}


def _scikit_learn() -> dict[str, Callable[[], Any]]:
    from inspect import Parameter, signature

    from sklearn.utils import all_estimators

    return {
        name: maker
        for name, maker in all_estimators(type_filter="classifier")
        if all(one.default is not Parameter.empty for one in signature(maker).parameters.values())
    }


def _svc_with_probabilities(seed: int | None) -> Any:
    """A support vector machine that gives probabilities."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.svm import SVC

    return CalibratedClassifierCV(SVC(random_state=seed), ensemble=False)


def _seeded(model: Any, seed: int | None) -> Any:
    return model.set_params(random_state=seed) if seed is not None and "random_state" in model.get_params() else model
