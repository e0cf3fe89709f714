"""Out-of-fold probabilities of any classifier: rows in the user's own columns, groups, time, weights, repeats."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold, check_cv
from sklearn.pipeline import Pipeline

from noisewise._frames import frame_like
from noisewise._progress import step
from noisewise._typing import Codes, Floats
from noisewise._validation import check_weights, is_missing, one_column
from noisewise._words import some_of

FOLDS = 5


@dataclass(frozen=True)
class Folds:
    """How rows are held out where a model scores them: by class, or as `cv` and `groups` say.

    Attributes
    ----------
    cv : int, splitter or iterable of (training rows, test rows), optional
        Repeats give several arrays of probabilities; rows of no test fold are not judged.
    groups : array of shape (n,), optional
        Rows of one group are held out together.
    sample_weight : array of shape (n,), optional
        Passed to the model's `fit`.
    n_jobs : int, optional
        Folds fitted at a time.
    """

    cv: Any = None
    groups: NDArray[np.intp] | None = None
    sample_weight: Floats | None = None
    n_jobs: int | None = None

    @classmethod
    def of(cls, observed: Codes, cv: Any, groups: Any, sample_weight: Any, n_jobs: int | None) -> Folds:
        """Check groups and weights against the labels."""
        names = None if groups is None else _group_codes(groups, len(observed))
        weights = None if sample_weight is None else check_weights(sample_weight, observed)
        return cls(cv, names, weights, n_jobs)

    @property
    def asked(self) -> bool:
        """Whether rows must be held out otherwise than one by one."""
        return self.cv is not None or self.groups is not None

    def splits(self, observed: Codes, chosen: NDArray[np.intp]) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Training and test rows of every fold, among the chosen rows."""
        labels = observed[chosen]
        counts = np.bincount(labels)
        fewest = int(counts[counts > 0].min())
        groups = None if self.groups is None else self.groups[chosen]
        if self.cv is not None:
            splitter = check_cv(self.cv, labels, classifier=True)
        elif groups is not None:
            most = min(FOLDS, len(np.unique(groups)))
            splitter = StratifiedGroupKFold(most, shuffle=True, random_state=0)
        elif fewest < 2:
            raise ValueError("a class has one row only; out-of-fold probabilities need two or more rows of every class")
        else:
            splitter = StratifiedKFold(min(FOLDS, fewest), shuffle=True, random_state=0)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The least populated class")
            return [
                (chosen[one], chosen[other])
                for one, other in splitter.split(np.zeros((len(chosen), 1)), labels, groups)
            ]

    def plain_splits(self, n: int, seed: int = 0) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Training and test rows of every fold of n numbers, which have no classes to balance."""
        splitter: Any = KFold(FOLDS, shuffle=True, random_state=seed)
        if self.cv is not None:
            splitter = check_cv(self.cv)
        elif self.groups is not None:
            splitter = GroupKFold(min(FOLDS, len(np.unique(self.groups))), shuffle=True, random_state=seed)
        return list(splitter.split(np.zeros((n, 1)), groups=self.groups))


def _group_codes(groups: Any, n: int) -> NDArray[np.intp]:
    """The group of each row as an integer; groups may have any names."""
    if isinstance(groups, str):
        raise ValueError(f"groups is {groups!r}; the group of each row is needed, not the name of a column")
    names = one_column(groups).tolist()
    if len(names) != n:
        raise ValueError(f"groups has length {len(names)}, and there are {n} labels; one for each label is needed")
    if unknown := sum(map(is_missing, names)):
        raise ValueError(f"{some_of(unknown, n, 'row', 'have')} no group; each row needs one, its own if need be")
    codes: dict[Any, int] = {}
    found = np.array([codes.setdefault(name, len(codes)) for name in names], dtype=np.intp)
    if len(codes) < 2:
        raise ValueError("groups holds one group only; rows are judged by those of other groups")
    return found


def out_of_fold(
    model: Any, rows: Any, observed: Codes, n_classes: int, folds: Folds | None = None, included: Any = None
) -> list[Floats]:
    """Out-of-fold probabilities of the included rows: an array, or one for each repeat of the folds.

    A row that is in no test fold has NaN; one that is not included is scored by a model fitted to all that are.
    """
    if not hasattr(model, "predict_proba"):
        raise ValueError(f"{type(model).__name__} has no predict_proba; the audit needs probabilities")
    folds = folds or Folds()
    chosen = np.arange(len(observed)) if included is None else np.flatnonzero(included)
    splits = folds.splits(observed, chosen)
    rest = np.setdiff1d(np.arange(len(observed)), chosen)
    jobs = [*splits, *([(chosen, rest)] if len(rest) else [])]
    found = in_parallel(
        folds.n_jobs,
        [delayed(_predicted)(model, rows, observed, n_classes, folds.sample_weight, *split) for split in jobs],
    )
    times = np.zeros(len(observed), dtype=np.intp)
    n_repeats = int(np.bincount(np.concatenate([test for _, test in splits])).max())
    arrays = [np.full((len(observed), n_classes), np.nan) for _ in range(n_repeats)]
    for (_, test), p in zip(jobs, found, strict=True):
        for repeat in np.unique(times[test]):
            now = times[test] == repeat
            arrays[repeat][test[now]] = p[now]
        times[test] += 1
    for array in arrays[1:]:  # rows of fewer repeats than others
        array[rest] = arrays[0][rest]
        missing = np.isnan(array[:, 0])
        array[missing] = arrays[0][missing]
    return arrays


def in_parallel(n_jobs: int | None, jobs: list[Any]) -> list[Any]:
    """What joblib's delayed calls return, in their order; each is a step of the progress."""
    found = []
    for result in Parallel(n_jobs=n_jobs, return_as="generator")(jobs):
        found.append(result)
        step(len(found), len(jobs))
    return found


def _predicted(
    model: Any, rows: Any, observed: Codes, n_classes: int, weights: Floats | None, train: Any, test: Any
) -> Floats:
    """Probabilities of the test rows by a model fitted to the training rows, a column for each class."""
    options = {}
    if weights is not None:
        last = f"{model.steps[-1][0]}__" if isinstance(model, Pipeline) else ""
        options[f"{last}sample_weight"] = weights[train]
    fitted = clone(model).fit(rows_of(rows, train), observed[train], **options)
    p = np.zeros((len(test), n_classes))
    p[:, fitted.classes_] = fitted.predict_proba(rows_of(rows, test))
    return p


def rows_of(X: Any, indices: NDArray[np.intp]) -> Any:
    """These rows of an array, a pandas or polars frame or column, or a list.

    >>> rows_of(["a", "b", "c"], np.array([2, 0]))
    ['c', 'a']
    """
    if hasattr(X, "iloc"):
        return X.iloc[indices]
    return [X[i] for i in indices] if isinstance(X, list | tuple) else X[indices]


def in_columns(X: Any) -> Any:
    """Texts (a list, an array or a column of strings) as a frame of one column; anything else as it is."""
    if hasattr(X, "to_frame"):
        return X.to_frame()
    if not isinstance(X, list | tuple | np.ndarray) or not len(X) or not isinstance(X[0], str):
        return X
    return frame_like({"text": np.asarray(X, dtype=object)})


def takes_own_columns(model: Any, X: Any) -> bool:
    """Whether the model may expect rows as they were given: a frame or texts, to a pipeline or a class of one's own."""
    if (isinstance(X, np.ndarray) and X.dtype.kind in "fiub") or hasattr(X, "tocsr"):
        return False
    inner = getattr(model, "estimator", model)  # of a search or a calibrated classifier
    own = not type(inner).__module__.startswith(("sklearn.", "noisewise."))
    frame = nw.from_native(X, pass_through=True, allow_series=True)
    known = isinstance(frame, nw.DataFrame | nw.Series) or (isinstance(X, list) and len(X) and isinstance(X[0], str))
    return bool(known or isinstance(X, np.ndarray)) and (own or isinstance(inner, Pipeline))
