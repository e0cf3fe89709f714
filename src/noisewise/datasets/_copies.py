"""Targets one at a time, and as many noisy copies of the features as are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from noisewise._inputs import Chance, Floats, generator
from noisewise.datasets._streams import check_lengths


class Copies(Protocol):
    """What makes noisy copies: a GaussianNoise, or anything with the same method."""

    def copies(self, X: Any, n: int, rng: Any) -> Any:
        """`n` noisy copies of every row, of shape (rows, n, d)."""


class CopyOracle:
    """Shows targets one at a time and hands out noisy copies of the features, never the features themselves.

    Parameters
    ----------
    X : array of shape (n, d), or None
        Clean features. None will do where `noise` is a fixed supply of copies.
    y : array of shape (n,)
        Targets; a loop over the oracle gives them one by one.
    noise : GaussianNoise, callable or array of shape (n, m, d)
        Where copies come from: an object with ``copies(X, n, rng)``; a function ``draw(row, n, rng)`` that returns an
        array of shape (n, d); or m copies of each row, handed out in order until they run dry.
    rng : seed or numpy generator
        Chance for the copies.

    Attributes
    ----------
    n_copies : int
        Copies handed out in this pass.

    Examples
    --------
    >>> oracle = CopyOracle(None, [5.0, 7.0], [[[1.0], [1.5]], [[2.0], [2.5]]])
    >>> [(target, oracle.copies(2).tolist()) for target in oracle]
    [(5.0, [[1.0], [1.5]]), (7.0, [[2.0], [2.5]])]
    """

    def __init__(
        self, X: ArrayLike | None, y: ArrayLike, noise: Copies | Callable[..., Any] | ArrayLike, rng: Chance = None
    ) -> None:
        self.X = None if X is None else np.asarray(X, dtype=np.float64)
        self.y = np.asarray(y)
        self._rng = generator(rng)
        self._draw = self._source(noise)
        self._start()

    def __len__(self) -> int:
        return len(self.y)

    def __iter__(self) -> Iterator[Any]:
        self._start()
        for row, target in enumerate(self.y.tolist()):
            self._row, self._used = row, 0
            yield target

    def copies(self, n: int = 1) -> Floats:
        """`n` fresh noisy copies of the current row, of shape (n, d)."""
        row = self._current()
        if n < 0:
            raise ValueError(f"{n} copies were asked for; 0 or more can be had")
        drawn = np.asarray(self._draw(row, n), dtype=np.float64)
        self._used += n
        self.n_copies += n
        return drawn

    @property
    def clean(self) -> Floats:
        """The current row without noise, for scoring a learner (regret is measured on clean rows)."""
        if self.X is None:
            raise RuntimeError("the clean features are not known: the oracle was made with X=None")
        return np.asarray(self.X[self._current()])

    def _start(self) -> None:
        self._row, self._used, self.n_copies = -1, 0, 0

    def _current(self) -> int:
        if self._row < 0:
            raise RuntimeError("no row has been shown yet; loop over the oracle, and ask for copies inside the loop")
        return self._row

    def _source(self, noise: Any) -> Callable[[int, int], Any]:
        if not (hasattr(noise, "copies") or callable(noise)):
            return self._from_supply(np.asarray(noise, dtype=np.float64))
        if self.X is None:
            raise ValueError("noise is added to clean features: give X, or a supply of copies of shape (n, m, d)")
        X = self.X
        check_lengths(X, self.y)
        if hasattr(noise, "copies"):
            return lambda row, n: noise.copies(X[row : row + 1], n, self._rng)[0] if n else X[:0]
        return lambda row, n: noise(X[row], n, self._rng)

    def _from_supply(self, supply: Floats) -> Callable[[int, int], Floats]:
        if supply.ndim != 3:
            raise ValueError(f"a supply of copies has shape (n, m, d); this one has {supply.shape}")
        check_lengths(supply, self.y)
        if self.X is not None and self.X.shape != (supply.shape[0], supply.shape[2]):
            raise ValueError(
                f"the copies have shape {supply.shape}, and X has {self.X.shape}: (n, m, d) and (n, d) agree"
            )

        def draw(row: int, n: int) -> Floats:
            if self._used + n > supply.shape[1]:
                raise RuntimeError(
                    f"the copies of row {row} ran dry: {supply.shape[1]} were supplied, {self._used} are used up and "
                    f"{n} more were asked for; supply more, or give a noise to draw from"
                )
            return supply[row, self._used : self._used + n]

        return draw
