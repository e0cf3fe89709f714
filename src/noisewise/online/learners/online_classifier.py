"""Online linear classification from labels: one pass over the rows, in order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.validation import check_consistent_length

from noisewise._loops import state as codes
from noisewise._typing import Floats
from noisewise._validation import check_binary_or_more, encode_labels, find_labels
from noisewise.online.learners.base import RoundLearner, blank_log, seeded_rng
from noisewise.online.learners.policies import Greedy
from noisewise.online.learners.record import Lock
from noisewise.online.learners.rows import check_rows
from noisewise.online.learners.rules import Additive, Rule
from noisewise.online.learners.signals import LABEL_SIGNALS, signal_code


class OnlineClassifier(ClassifierMixin, RoundLearner):
    """A linear classifier that learns from each row once, in order: Perceptron, PA, CW, SCW, AROW, NHERD.

    Every class has a weight vector; a row is given to the class with the highest score. There is no intercept: add a
    constant feature if the classes need one. Float32 rows are learnt from in float32. Threads may share a classifier:
    each call is atomic, in the order in which they come.

    Parameters
    ----------
    rule : rule, default=Additive()
        The update rule: how far to move.
    signal : {"rival", "label"}, default="rival"
        "rival" compares the true class with the best wrong one in every row; "label" learns from mistakes only.
    covariance : {"diagonal", "full"}, default="diagonal"
        Covariance of the weights of a class, for the rules that keep one.

    Attributes
    ----------
    classes_ : the labels, in order
    n_updates_, mistakes_, n_rounds_ : how often it moved, guessed wrong (before learning) and learnt in all
    coef_ : mean weights, of shape (n_classes, n_features)

    Examples
    --------
    >>> model = OnlineClassifier().fit([[1.0, 0.0], [0.0, 1.0], [1.0, 0.1], [0.0, 2.0]], ["a", "b", "a", "b"])
    >>> model.predict([[3.0, 1.0], [1.0, 3.0]])
    array(['a', 'b'], dtype='<U1')
    >>> model.mistakes_
    1
    """

    _not_saved_ = (*RoundLearner._not_saved_, "_made_lock")

    def __init__(self, rule: Rule | None = None, signal: str = "rival", covariance: str = "diagonal") -> None:
        self.rule = rule
        self.signal = signal
        self.covariance = covariance

    @property
    def _lock(self) -> Lock:
        """Made when first needed: the constructor of a scikit-learn classifier stores nothing but its parameters."""
        made: Lock = self.__dict__.setdefault("_made_lock", Lock())
        return made

    def fit(self, X: Any, y: Any) -> OnlineClassifier:
        """Reset, and learn from the rows in order."""
        with self._lock, self._all_or_nothing():
            rows = check_rows(self, X, reset=True)
            classes, codes = encode_labels(y)
            check_binary_or_more(classes)
            check_consistent_length(rows, codes)
            self._start(classes, rows)
            self._learn(rows, codes)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> OnlineClassifier:
        """Go on learning; the first call needs all `classes` that will ever come."""
        with self._lock, self._all_or_nothing():
            fresh = not hasattr(self, "table_")
            rows = check_rows(self, X, reset=fresh, dtype=None if fresh else self.table_.dtype)
            known = self._known(classes, fresh)
            codes = find_labels(y, known)
            check_consistent_length(rows, codes)
            if fresh:
                self._start(known, rows)
            self._learn(rows, codes)
        return self

    def _known(self, classes: Any, fresh: bool) -> NDArray[Any]:
        """All labels that will ever come."""
        if not fresh:
            if classes is not None and encode_labels(classes)[0].tolist() != self.classes_.tolist():
                raise ValueError(
                    f"classes is {classes!r}, not the same as on last call to partial_fit: {self.classes_!r}"
                )
            return self.classes_
        if classes is None:
            raise ValueError("the first call of partial_fit needs classes=, all labels that will ever come")
        known = encode_labels(classes)[0]
        check_binary_or_more(known)
        return known

    def decision_function(self, X: Any) -> Floats:
        """Score of each class; for two classes that of the second over the first."""
        with self._lock:
            scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the highest score."""
        with self._lock:
            best = self._scores(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    @property
    def coef_(self) -> NDArray[Any]:
        """Mean weights of each class."""
        self._check_started()
        return self._weights().T

    def _start(self, classes: NDArray[Any], rows: Any) -> None:
        rule = Additive() if self.rule is None else self.rule
        code = signal_code(self.signal, LABEL_SIGNALS)
        self.classes_ = classes
        self.rng_state_ = seeded_rng(0)  # greedy: never used
        no_flips = np.zeros((len(classes), 2))
        self._begin(rows.shape[1], rows.dtype, Greedy(), rule, code, self.covariance, no_flips)

    def _learn(self, rows: Any, codes: NDArray[Any]) -> None:
        no_flips = np.zeros((len(self.classes_), 2))
        self._run(rows, blank_log(codes.astype(np.int64, copy=False), no_flips, np.zeros(0)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def grown(learner: OnlineClassifier, n_features: int, n_classes: int) -> OnlineClassifier:
    """The same learner with more features and classes, whose weights are those before the first round."""
    larger: OnlineClassifier = clone(learner)
    larger.n_features_in_ = n_features
    larger._start(np.arange(n_classes), np.empty((0, n_features)))
    if not hasattr(learner, "table_"):
        return larger
    old_width, old_classes = learner.n_features_in_, len(learner.classes_)
    parts = 2 if learner.kinds_[codes.COVARIANCE] == codes.DIAGONAL else 1  # means and variances, by SIMD vectors
    old, new = (one.table_.reshape(len(one.table_), -1, parts, codes.SIMD_WIDTH) for one in (learner, larger))
    for column in range(old_classes):
        vector, index = divmod(column, codes.SIMD_WIDTH)
        new[:old_width, vector, :, index] = old[:, vector, :, index]
    larger.sigma_[:old_classes, :old_width, :old_width] = learner.sigma_
    larger.sums_[...], larger.counts_[...] = learner.sums_, learner.counts_
    return larger
