"""The closed list of classes and functions a model file may name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

from noisewise.persistence.migrations import current_class

PACKAGES = tuple(
    f"noisewise.{name}" for name in ("tables", "noise", "kernels", "losses", "datasets", "labels", "online", "features")
)

# Those of scikit-learn whose fitted state is numbers, arrays and others of this list, and never goes unchecked into
# compiled code; trees, neighbour indices and support vector machines are not among them.
SCIKIT_LEARN = {
    "sklearn.compose": "ColumnTransformer",
    "sklearn.decomposition": "PCA TruncatedSVD",
    "sklearn.discriminant_analysis": "LinearDiscriminantAnalysis QuadraticDiscriminantAnalysis",
    "sklearn.dummy": "DummyClassifier DummyRegressor",
    "sklearn.impute": "SimpleImputer MissingIndicator",
    "sklearn.kernel_approximation": "Nystroem RBFSampler",
    "sklearn.kernel_ridge": "KernelRidge",
    "sklearn.linear_model": "ElasticNet Lasso LinearRegression LogisticRegression Ridge RidgeClassifier",
    "sklearn.naive_bayes": "BernoulliNB GaussianNB MultinomialNB",
    "sklearn.pipeline": "Pipeline",
    "sklearn.preprocessing": "FunctionTransformer LabelBinarizer LabelEncoder MaxAbsScaler MinMaxScaler Normalizer "
    "OneHotEncoder OrdinalEncoder PolynomialFeatures RobustScaler StandardScaler",
    "sklearn.svm": "LinearSVC LinearSVR",
}


class Registry:
    """Public names of classes and functions; `extra` ones are called by their module and name."""

    def __init__(self, extra: Iterable[Any] = ()) -> None:
        self._extra = {f"{thing.__module__}.{thing.__qualname__}": thing for thing in extra}
        self.used: set[str] = set()

    def name(self, thing: Any) -> str | None:
        """The public name of a class or function; None if it is not on the list."""
        home = str(getattr(thing, "__module__", ""))
        candidates = [f"{home}.{getattr(thing, '__qualname__', '')}"]  # one of the extra
        if home.startswith("noisewise."):
            package = ".".join(home.split(".")[:2])
            candidates += [f"{package}.{public}" for public in _public(package)]
        elif home.startswith("sklearn."):
            candidates += [f"{module}.{thing.__name__}" for module in SCIKIT_LEARN if home.startswith(module)]
        return next((name for name in candidates if self._look_up(name) is thing), None)

    def find_class(self, name: str) -> Any:
        """The class of a public name."""
        return self._find(name, inspect.isclass)

    def find_function(self, name: str) -> Any:
        """The function of a public name."""
        return self._find(name, inspect.isfunction)

    def _find(self, name: str, fits: Callable[[Any], bool]) -> Any:
        thing = self._look_up(name)
        if thing is None or not fits(thing):  # a function instead of a class would be called
            raise ValueError(
                f"it holds a {name}, which is not among what this version can load; "
                "upgrade noisewise, or name a class of your own with load(path, extra=[...])"
            )
        self.used.add(name)
        return thing

    def _look_up(self, name: str) -> Any:
        name = current_class(name)
        if name in self._extra:
            return self._extra[name]
        module, _, public = name.rpartition(".")
        known = _public(module) if module in PACKAGES else SCIKIT_LEARN.get(module, "").split()
        return getattr(import_module(module), public) if public in known else None


def _public(package: str) -> list[str]:
    """Classes and functions that a package defines itself and makes public, or names as parts of its models.

    An empty list if the package needs something that is not installed.
    """
    try:
        module = import_module(package)
    except ImportError:
        return []
    names = getattr(module, "__all__", [name for name in vars(module) if not name.startswith("_")])
    things = {name: getattr(module, name, None) for name in (*names, *getattr(module, "__model_parts__", ()))}
    return [name for name, thing in things.items() if _is_own(thing, package)]


def _is_own(thing: Any, package: str) -> bool:
    return (inspect.isclass(thing) or inspect.isfunction(thing)) and f"{thing.__module__}.".startswith(f"{package}.")
