"""Adapters for River: a classifier and a contextual bandit policy that learn from dict rows, one at a time.

Needs the extra ``noisewise[river]``.
"""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Hashable, Iterable, Sequence
from numbers import Real
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.base import clone

from noisewise._loops import state as codes
from noisewise._typing import Floats
from noisewise._validation import check_label
from noisewise.online.learners.bandit import BanditClassifier
from noisewise.online.learners.decision import Decision, check_feedback
from noisewise.online.learners.online_classifier import OnlineClassifier, grown
from noisewise.online.recipes import arow

CONSTANT = ()  # no feature of a dict has this name and a number
FIRST_WIDTH = 16  # columns of a new classifier; doubled when features outgrow them
MOST_PENDING = 1000  # pulls that wait for their update
LARGEST = 1e150  # the sum of squares of a row must not overflow


def _bases() -> tuple[Any, Any]:
    try:
        from river import bandit, base
    except ImportError:
        return object, object  # importing this module works; its constructors then raise
    return base.Classifier, bandit.base.ContextualPolicy


RiverBase: Any
RiverPolicyBase: Any
RiverBase, RiverPolicyBase = _bases()


class RiverClassifier(RiverBase):
    """An online classifier that learns from River's dict rows, whose features and labels may appear at any time.

    Text is one-hot encoded (``name=word``), None is a missing value. A new label starts with zero weights; before there
    are two labels there is nothing to learn.

    Parameters
    ----------
    model
        One of the recipes that learn from labels, such as `arow()` (the default), `mscw()` or `perceptron()`.
    classes
        Labels that are known from the start.
    intercept
        Whether every row gets a constant feature.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing  # doctest: +SKIP
    >>> model = preprocessing.StandardScaler() | RiverClassifier(arow())  # doctest: +SKIP
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())  # doctest: +SKIP
    Accuracy: 8...%
    """

    def __init__(
        self, model: OnlineClassifier | None = None, classes: Sequence[Any] | None = None, intercept: bool = True
    ) -> None:
        _need_river()
        if model is not None and not isinstance(model, OnlineClassifier):
            raise ValueError(f"model is {model!r:.60}; one that learns from labels is needed, such as arow()")
        if isinstance(classes, str):
            raise ValueError(f"classes is {classes!r}; a list of labels is needed")
        labels = () if classes is None else list(classes)
        for label in labels:
            check_label(label, "classes", classes)
        if len(set(labels)) < len(labels):
            raise ValueError(f"classes is {classes!r:.60}; every label is named once")
        self.model = model
        self.classes = classes
        self.intercept = intercept
        self._labels: dict[Any, int] = {label: code for code, label in enumerate(labels)}
        self._columns: dict[Hashable, int] = {}
        self._learner: OnlineClassifier | None = None

    def learn_one(self, x: dict[Hashable, Any], y: Any) -> None:
        """Learn the label of one row."""
        features = _features(x, self.intercept)
        check_label(y, "y", y)
        self._labels.setdefault(y, len(self._labels))
        if len(self._labels) < 2:
            return
        columns = [self._columns.setdefault(name, len(self._columns)) for name in features]
        learner = self._learner = self._with_capacity()
        row = np.zeros((1, learner.n_features_in_))
        row[0, columns] = list(features.values())
        learner._learn(row, np.array([self._labels[y]]))

    def predict_proba_one(self, x: dict[Hashable, Any], **kwargs: Any) -> dict[Any, float]:
        """Probability of each label: the softmax of the scores, which is not calibrated."""
        if self._learner is None:
            return {label: 1 / len(self._labels) for label in self._labels}
        probabilities = softmax(self._scores(x, self._learner))
        return {label: float(probabilities[code]) for label, code in self._labels.items()}

    @property
    def _multiclass(self) -> bool:
        return True

    def _scores(self, x: dict[Hashable, Any], learner: OnlineClassifier) -> Floats:
        features = _features(x, self.intercept)
        known = {self._columns[name]: value for name, value in features.items() if name in self._columns}
        if not known:
            return np.zeros(len(learner.classes_))
        kinds, rows = learner.kinds_, learner.table_[list(known)]
        weights = codes.means(rows, int(kinds[codes.COLUMNS]), int(kinds[codes.COVARIANCE]))
        return np.asarray(np.array(list(known.values())) @ weights, dtype=np.float64)

    def _with_capacity(self) -> OnlineClassifier:
        """The learner, grown to hold all features and labels so far."""
        if self._learner is None:
            width, old = FIRST_WIDTH, arow() if self.model is None else self.model
        else:
            width, old = self._learner.n_features_in_, self._learner
            if len(self._columns) <= width and len(self._labels) == len(old.classes_):
                return old
        while width < len(self._columns):
            width *= 2  # amortised
        return grown(old, width, len(self._labels))


class RiverPolicy(RiverPolicyBase):
    """A bandit classifier as a contextual policy of River: pull an arm, then update it with 0 or 1.

    An update uses the propensity of the pull, also if it comes late (the last 1,000 pulls are stored, and of several
    for the same arm and context the oldest is updated first); an update of an arm that was not pulled for this context
    has a propensity of one.

    Parameters
    ----------
    learner
        One of the recipes that learn from feedback, with ``classes=`` the arms; its noise, if any, is corrected for.
    n_features
        Columns for the features of contexts. Each name gets its own in order of appearance; once they are used up, new
        names are hashed to one of them.
    intercept
        Whether every context gets a constant feature.
    reward_obj, burn_in
        As in River's own policies.

    Examples
    --------
    >>> from noisewise.online.recipes import linucb
    >>> policy = RiverPolicy(linucb(classes=["cat", "dog"], random_state=0))  # doctest: +SKIP
    >>> arm = policy.pull(["cat", "dog"], context={"barks": 1})  # doctest: +SKIP
    >>> policy.update(arm, {"barks": 1}, int(arm == "dog"))  # doctest: +SKIP
    >>> policy.pull(["cat", "dog"], context={"barks": 1})  # doctest: +SKIP
    'dog'
    """

    def __init__(
        self,
        learner: BanditClassifier,
        n_features: int = 64,
        intercept: bool = True,
        reward_obj: Any = None,
        burn_in: int = 0,
    ) -> None:
        _need_river()
        if not isinstance(learner, BanditClassifier):
            raise ValueError(f"learner is {learner!r:.60}; one that learns from feedback is needed, such as linucb()")
        if not isinstance(n_features, int | np.integer) or n_features < 1:
            raise ValueError(f"n_features is {n_features!r}; at least one column is needed")
        super().__init__(reward_obj=reward_obj, burn_in=burn_in)
        self.learner = learner
        self.n_features = n_features
        self.intercept = intercept
        self._learner = clone(learner).set_params(intercept=learner.intercept and not intercept)  # one is enough
        self._columns: dict[Hashable, int] = {}
        self._pending: deque[tuple[Hashable, Decision]] = deque(maxlen=MOST_PENDING)

    def update(self, arm_id: Any, context: dict[Hashable, Any] | None, *reward_args: Any, **reward_kwargs: Any) -> None:
        """Learn whether an arm was right (1) or wrong (0) for a context."""
        if len(reward_args) != 1:
            raise ValueError("one reward is needed: 1 (right) or 0 (wrong)")
        feedback = check_feedback(reward_args[0])
        check_label(arm_id, "arm_id", arm_id)
        (row, new), key = self._row(context), _key(arm_id, context)
        index = next((index for index, (pending, _) in enumerate(self._pending) if pending == key), None)
        if index is not None:  # the oldest pull, if there are several
            self._learner.learn(self._pending[index][1], feedback)
            del self._pending[index]
        else:
            self._learner.learn_logged(row[None], [arm_id], [feedback], [1.0])
            self._columns.update(new)
        super().update(arm_id, context, feedback, **reward_kwargs)

    def _pull(self, arm_ids: Iterable[Any], context: dict[Hashable, Any] | None) -> Any:
        row, new = self._row(context)
        decision = self._learner.decide(row, actions=list(arm_ids))
        self._columns.update(new)
        self._pending.append((_key(decision.action, context), decision))
        return decision.action

    def _row(self, context: dict[Hashable, Any] | None) -> tuple[Floats, dict[Hashable, int]]:
        """The context as a row, and columns for new names, assigned once nothing has been refused."""
        features, known = _features(context or {}, self.intercept), self._columns
        unknown = [name for name in features if name not in known][: self.n_features - len(known)]
        new = {name: len(known) + index for index, name in enumerate(unknown)}
        row = np.zeros(self.n_features)
        for name, value in features.items():
            hashed = zlib.crc32(repr(name).encode()) % self.n_features
            row[known.get(name, new.get(name, hashed))] += value
        return row, new

    @classmethod
    def _unit_test_params(cls) -> Iterable[dict[str, Any]]:
        from noisewise.online.recipes import ucwl

        yield {"learner": ucwl(n_classes=3, random_state=0)}


def _need_river() -> None:
    if RiverBase is object:
        raise ImportError("River is not installed; pip install 'noisewise[river]' brings it")


def _features(x: dict[Hashable, Any], intercept: bool) -> dict[Hashable, float]:
    """Features by name, in an order that does not depend on the dict's."""
    features: dict[Hashable, float] = {CONSTANT: 1.0} if intercept else {}
    for name, value in x.items():
        is_number = isinstance(value, Real | np.bool_)
        if isinstance(value, str):
            features[name, "=", value] = 1.0
        elif is_number and abs(value) <= LARGEST:
            features[name] = float(value)
        elif value is not None:
            wanted = f"numbers up to {LARGEST:g}, text and None (missing) can be learnt from"
            raise ValueError(f"feature {name!r} is {value!r:.60}; {wanted}")
    return dict(sorted(features.items(), key=lambda item: repr(item[0])))


def _key(arm: Any, context: dict[Hashable, Any] | None) -> Hashable:
    items = frozenset((context or {}).items())
    return hash(items), arm, items  # integers are the quickest to compare
