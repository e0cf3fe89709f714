"""Validation of rows, labels and decisions of a feedback learner, as arrays and class indices."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisewise._loops import state as codes
from noisewise._typing import Codes
from noisewise._validation import find_actions, known_classes
from noisewise.online.learners.base import RoundLearner
from noisewise.online.learners.decision import BOOLEAN_TYPES, NUMBER_TYPES, Decision
from noisewise.online.learners.record import DecisionRecord, Lock
from noisewise.online.learners.rows import (
    check_rows,
    feature_names,
    has_finite_squares,
    one_row,
    refuse_other_names,
    stored_row,
    unusable_row,
)


class FeedbackLearner(DecisionRecord, RoundLearner):
    """A learner that starts with its first row, and keeps a record of the decisions it makes.

    A lock of its own makes its rounds atomic: threads may share a learner.
    """

    _not_saved_ = (*RoundLearner._not_saved_, "_maker", "_signed_from", "_lock")
    _lock: Lock
    n_classes: int | None
    classes: Sequence[Any] | None

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._lock = Lock()  # a copy has its own

    @abstractmethod
    def _start(self, n_features: int, dtype: Any) -> None:
        """Arrays for the first row; nothing is stored if a parameter is wrong."""

    def _one_row(self, x: Any) -> Any:
        if "table_" in self.__dict__:
            if type(x) is not np.ndarray:
                refuse_other_names(x, getattr(self, "feature_names_in_", None))
            return one_row(x, self.n_features_in_, self.table_.dtype)
        dtype = np.float32 if getattr(x, "dtype", None) == np.float32 else np.float64
        row = one_row(x, None, dtype)
        width = x.shape[-1] if isinstance(row, tuple) else len(row)
        if not np.isfinite(row[1] if isinstance(row, tuple) else row).all():
            raise unusable_row(row)
        with self._all_or_nothing():
            self._start(width, dtype)
            row = stored_row(row, width, self.table_.dtype)
            self._refuse_overflow(row)
        if (names := feature_names(x)) is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        return row

    def _refuse_overflow(self, row: Any) -> None:
        """Refuse a first row whose sum of squares overflows, as the loops would, but before anything is stored."""
        values = row[1] if isinstance(row, tuple) else row
        if self.counters_[codes.COVARIANCE] == codes.IDENTITY:
            values = values.astype(np.float64)  # as the loops sum squares then
        if self.counters_[codes.RULE] != codes.ADDITIVE and not has_finite_squares(values):
            raise unusable_row(row)

    def _rows(self, X: Any) -> Any:
        if hasattr(self, "table_"):
            return check_rows(self, X, reset=False, dtype=self.table_.dtype)
        rows = check_rows(self, X, reset=True)
        self._start(rows.shape[1], rows.dtype)
        return rows

    def _find(self, labels: Any, what: str) -> Codes:
        return find_actions(labels, self.classes_, what).astype(np.int64, copy=False)

    def _allowed(self, actions: Iterable[Any]) -> NDArray[np.bool_]:
        classes = self.classes_ if "classes_" in self.__dict__ else known_classes(self.n_classes, self.classes)
        given = getattr(actions, "tolist", lambda: actions)()
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise ValueError(f"actions is {given!r}; a list of actions is needed, such as [{given!r}]")
        labels = np.fromiter(given, dtype=object)  # one by one, whatever their types
        if any(isinstance(label, BOOLEAN_TYPES) for label in labels) and not any(
            isinstance(one, BOOLEAN_TYPES) for one in classes
        ):
            raise ValueError("actions holds True and False; it lists the actions that may be played, and is not a mask")
        allowed = np.zeros(len(classes), dtype=np.bool_)
        allowed[find_actions(labels, classes)] = True
        if not allowed.any():
            raise ValueError("actions is empty; at least one action must be allowed")
        return allowed

    def _check_decision(self, decision: Decision) -> tuple[Any, tuple[int, int]]:
        """Refuse a decision that is not this learner's, has been damaged in storage, or has been learnt.

        Those that carry no maker, or were made before the learner was saved or copied, are identified by id alone.
        Returned are its row and what will mark it as learnt: an index into the bytes of `learnt_`, and the byte with
        its bit set.
        """
        if not isinstance(decision, Decision):
            raise ValueError(f"learn takes the Decision that decide returned, not {decision!r:.60}")
        action, probability, number, row, code, best, _, maker = decision
        for name, whole in (("id", number), ("code", code), ("best", best)):
            if not isinstance(whole, int | np.integer):
                raise ValueError(f"the decision's {name} is {whole!r}, not a whole number; keep decisions as they are")
        self._check_own(number, maker, "table_" in self.__dict__)
        if not 0 <= code < len(self.classes_) or self.classes_.item(code) != action:
            find_actions([action], self.classes_)
            raise ValueError(f"the action {action!r} is not class {code}; keep decisions as they are")
        if not 0 <= best < len(self.classes_):  # the loops would write where it points
            raise ValueError(f"the best action {best!r} is not the index of a class; keep decisions as they are")
        if not isinstance(probability, NUMBER_TYPES) or not 0 < probability <= 1:
            raise ValueError(f"a probability is {probability!r}; what was played had one above 0 and at most 1")
        return stored_row(row, self.n_features_in_, self.table_.dtype), self._check_unlearnt(number)
