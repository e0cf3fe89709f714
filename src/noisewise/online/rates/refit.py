"""Rounds kept for refitting: what trackers that estimate from all past rounds have in common."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from noisewise._typing import Codes, Floats
from noisewise.noise import check_n_classes


class PlainState:
    """Base of classes whose state is their attributes, so that model files can hold them."""

    def __noisewise_state__(self) -> dict[str, Any]:
        return dict(vars(self))

    @classmethod
    def __from_noisewise_state__(cls, state: dict[str, Any]) -> Self:
        restored = cls.__new__(cls)
        vars(restored).update(state)
        return restored


class RoundLog(PlainState):
    """All rounds so far, in arrays that grow by doubling."""

    def __init__(self, n_features: int) -> None:
        self.n = 0
        self.rows = np.zeros((1024, n_features))
        self.played = np.zeros(1024, dtype=np.int64)
        self.feedback = np.zeros(1024, dtype=np.int64)
        self.annotators = np.zeros(1024, dtype=np.int64)
        self.targets = np.zeros(1024)
        self.importance = np.zeros(1024)
        self.propensities = np.ones(1024)

    @classmethod
    def __from_noisewise_state__(cls, state: dict[str, Any]) -> Self:
        unknown = np.ones(len(state["played"]))  # of an earlier version: as if nothing had been explored
        return super().__from_noisewise_state__({**state, "propensities": state.get("propensities", unknown)})

    def append(
        self,
        X: Any,
        actions: ArrayLike,
        feedback: ArrayLike,
        annotators: ArrayLike = 0,
        targets: ArrayLike = 0.0,
        importance: ArrayLike = 1.0,
        propensities: ArrayLike = 1.0,
    ) -> None:
        """Add rounds: features, actions, feedback codes, who gave it, target and importance learnt, propensities."""
        rows = np.atleast_2d(np.asarray(X, dtype=np.float64))
        columns = {"rows": rows, "played": actions, "feedback": feedback, "annotators": annotators}
        last = self.n + len(rows)
        columns |= {"targets": targets, "importance": importance, "propensities": propensities}
        for name, values in columns.items():
            while last > len(stored := getattr(self, name)):
                setattr(self, name, np.concatenate([stored, np.zeros_like(stored)]))
            stored[self.n : last] = values
        self.n = last

    @property
    def X(self) -> Floats:
        """Features of all rounds."""
        return self.rows[: self.n]

    @property
    def actions(self) -> Codes:
        """Played actions."""
        return self.played[: self.n]


class Refitter(PlainState):
    """Keeps all rounds, and is due for a refit each time there are `growth` times as many."""

    def __init__(self, n_classes: int, ridge: float, first: int, growth: float) -> None:
        check_n_classes(n_classes)
        self.n_classes = n_classes
        self.ridge = ridge
        self.growth = growth
        self.next_refit = first
        self.log: RoundLog | None = None

    @property
    def due(self) -> bool:
        """Whether enough rounds have come in since the last refit."""
        return self.log is not None and self.log.n >= self.next_refit

    def _keep(self, X: Any, *columns: ArrayLike, **named: ArrayLike) -> None:
        """Add rounds to the log, whose width is that of the first row."""
        rows = np.atleast_2d(np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64))
        if self.log is None:
            self.log = RoundLog(rows.shape[1])
        self.log.append(rows, *columns, **named)
