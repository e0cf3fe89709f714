"""The record a learner keeps of its decisions: who made them, and which have been learnt from."""

from __future__ import annotations

from secrets import randbits
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Lock(type(RLock())):  # type: ignore[misc]
    """A lock of its own for each copy of what holds it."""

    def __reduce__(self) -> tuple[type[Lock], tuple[()]]:
        return Lock, ()


class DecisionRecord:
    """Gives an index and a signature to each decision, and remembers which have been learnt.

    The signature is random, so it is not part of what is saved, copied or replayed; decisions made before that are
    identified by their index only.
    """

    _maker: int | None = None
    _signed_from: int
    n_decisions_: int
    learnt_: NDArray[np.uint8]

    def _sign(self) -> int:
        """A random signature for the decisions from now on."""
        self._maker, self._signed_from = 1 + randbits(52), self.n_decisions_  # as JSON and float64 keep it
        return self._maker

    def _check_own(self, number: Any, maker: int | None, started: bool) -> None:
        """Refuse a decision that another learner made."""
        if not started or not 0 <= number < self.n_decisions_:
            raise ValueError(f"decision {number!r} was not made by this learner")
        if self._maker is not None and number >= self._signed_from and maker not in (None, self._maker):
            raise ValueError(f"decision {number} was made by another learner, or by another copy of this one")

    def _check_unlearnt(self, number: int) -> tuple[int, int]:
        """Refuse the id of a decision that has been learnt; what will mark it, for `_mark_learnt`."""
        index, bit, learnt = number >> 3, 1 << (number & 7), self.learnt_
        byte = learnt.item(index) if index < len(learnt) else 0
        if byte & bit:
            raise ValueError(f"decision {number} has been learnt from already; each counts once")
        return index, byte | bit

    def _mark_learnt(self, index: int, byte: int) -> None:
        """Store a byte of the bitmap of learnt decisions, which grows as decisions are made."""
        if index >= len(self.learnt_):
            more = np.zeros(max(64, self.n_decisions_ // 4) - len(self.learnt_), dtype=np.uint8)
            self.learnt_ = np.concatenate([self.learnt_, more])
        self.learnt_[index] = byte
