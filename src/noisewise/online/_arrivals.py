"""How rows, labels and decisions come to a feedback learner: checked, as arrays and places among its classes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisewise._inputs import Codes, find_labels
from noisewise.online._core import RoundLearner
from noisewise.online._decision import Decision, check_probabilities
from noisewise.online._rates import known_classes
from noisewise.online._rows import NOT_FINITE, check_kept_row, check_rows, one_row


class FeedbackLearner(RoundLearner):
    """A learner that starts with the first row it is shown, and numbers the decisions it makes."""

    n_classes: int | None
    classes: Sequence[Any] | None
    n_decisions_: int
    learnt_: NDArray[np.uint8]

    @abstractmethod
    def _start(self, n_features: int, dtype: Any) -> None:
        """Arrays for the first row; nothing is kept if a parameter is wrong."""

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """A first stream that is refused leaves a learner that has seen nothing."""
        fresh = not hasattr(self, "table_")
        try:
            yield
        except Exception:
            if fresh:
                for name in [name for name in vars(self) if name.endswith("_")]:
                    delattr(self, name)
            raise

    def _one_row(self, x: Any) -> Any:
        if "table_" in self.__dict__:
            return one_row(x, self.n_features_in_, self.table_.dtype)
        dtype = np.float32 if getattr(x, "dtype", None) == np.float32 else np.float64
        row = one_row(x, None, dtype)
        width = x.shape[-1] if isinstance(row, tuple) else len(row)
        if not np.isfinite(row[1] if isinstance(row, tuple) else row).all():
            raise ValueError(NOT_FINITE.format(row=0))
        self._start(width, dtype)
        return row if isinstance(row, tuple) else row.astype(self.table_.dtype, copy=False)

    def _rows(self, X: Any) -> Any:
        if hasattr(self, "table_"):
            return check_rows(self, X, reset=False, dtype=self.table_.dtype)
        rows = check_rows(self, X, reset=True)
        self._start(rows.shape[1], rows.dtype)
        return rows

    def _find(self, labels: Any) -> Codes:
        return find_labels(labels, self.classes_).astype(np.int64, copy=False)

    def _allowed(self, actions: Iterable[Any]) -> NDArray[np.bool_]:
        classes = self.classes_ if "classes_" in self.__dict__ else known_classes(self.n_classes, self.classes)
        allowed = np.zeros(len(classes), dtype=np.bool_)
        allowed[find_labels(list(actions), classes)] = True
        if not allowed.any():
            raise ValueError("actions is empty; at least one label must be allowed")
        return allowed

    def _check_decision(self, decision: Decision) -> tuple[int, int]:
        """Refuse a decision that is not this learner's, has been damaged where it was kept, or has been learnt.

        Returned is what will mark it as learnt: a place among the bytes of `learnt_`, and the byte with its bit.
        """
        if not isinstance(decision, Decision):
            raise ValueError(f"learn takes the Decision that decide returned, not {decision!r:.60}")
        action, probability, number, row, code, best, _ = decision
        if "table_" not in self.__dict__ or not 0 <= number < self.n_decisions_:
            raise ValueError(f"decision {number!r} was not made by this learner")
        if not 0 <= code < len(self.classes_) or self.classes_.item(code) != action:
            raise ValueError(f"the action {action!r} is not one of the classes")
        if not 0 <= best < len(self.classes_):  # the loops would write where it points
            raise ValueError(f"the best action {best!r} is not the place of a class; keep decisions as they are")
        if not 0 < probability <= 1:
            check_probabilities(probability)
        check_kept_row(row, self.n_features_in_)
        return self._check_unlearnt(number)

    def _check_unlearnt(self, number: int) -> tuple[int, int]:
        """Refuse the number of a decision that has been learnt; what will mark it, as of `_check_decision`."""
        place, bit, learnt = number >> 3, 1 << (number & 7), self.learnt_
        byte = learnt.item(place) if place < len(learnt) else 0
        if byte & bit:
            raise ValueError(f"decision {number} has been learnt from already; each counts once")
        return place, byte | bit

    def _mark_learnt(self, place: int, byte: int) -> None:
        """Keep a byte of marks; there are more of them as decisions are made."""
        if place >= len(self.learnt_):
            more = np.zeros(max(64, self.n_decisions_ // 4) - len(self.learnt_), dtype=np.uint8)
            self.learnt_ = np.concatenate([self.learnt_, more])
        self.learnt_[place] = byte
