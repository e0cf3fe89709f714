"""Oracles: noisy right/wrong feedback for one context at a time, and noisy copies (replicates) of features."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisewise._typing import Codes, Floats, RandomState
from noisewise._validation import encode_labels, generator


class Flips(Protocol):
    """Feedback noise: a 2 x 2 FlipMatrix, or anything that corrupts zeros and ones."""

    def corrupt(self, y: Any, rng: Any) -> Any:
        """Observed feedback for each true 0 (wrong) or 1 (right)."""


class Oracle:
    """Contexts one at a time, and noisy right/wrong (bandit) feedback on the action taken.

    Each loop over the oracle is a new pass: a new order if it is random, counters at zero; the random state goes on.

    Parameters
    ----------
    X : array or sparse array of shape (n, d)
        Contexts. Dense rows are yielded with shape (d,), sparse ones as CSR with shape (1, d).
    y : array of shape (n,)
        The right action for each row.
    noise : FlipMatrix with two classes, a sequence of them, or None
        ``matrix[right, observed]``: false positives are positive feedback for a wrong action. A sequence has one noise
        for each action, in the order of `classes`; None gives true feedback.
    rng : seed or numpy generator
        Random state of the order and of the noise.
    classes : sequence, optional
        All actions, where `y` may lack some. By default the labels in `y`, or 0, 1, ... up to the largest code.
    shuffle : bool
        Rows in random order.
    with_replacement : bool
        Draw each round's row anew from all rows.
    n_rounds : int, optional
        Number of rounds; by default as many as rows.

    Attributes
    ----------
    classes : list
        All actions.
    n_answered, mistakes : int
        Rounds with feedback in this pass, and how many of their actions were wrong (in truth, before noise).

    Examples
    --------
    >>> oracle = Oracle([[1.0, 0.0], [0.0, 1.0]], ["left", "right"])
    >>> [oracle.feedback("left") for context in oracle]
    [1, 0]
    >>> oracle.mistakes
    1
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        noise: Flips | Sequence[Flips] | None = None,
        rng: RandomState = None,
        *,
        classes: ArrayLike | None = None,
        shuffle: bool = False,
        with_replacement: bool = False,
        n_rounds: int | None = None,
    ) -> None:
        self.X = X.tocsr() if hasattr(X, "tocsr") else np.asarray(X)
        n_rows = check_lengths(self.X, y)
        self.n_rounds = n_rows if n_rounds is None else n_rounds
        if self.n_rounds < 1:
            raise ValueError(f"{self.n_rounds} rounds can't be played; at least one row and one round are needed")
        if self.n_rounds > n_rows and not with_replacement:
            raise ValueError(
                f"{self.n_rounds} rounds are more than the {n_rows} rows; with_replacement=True shows rows again"
            )
        self.shuffle, self.with_replacement = shuffle, with_replacement
        noises = _one_per_action(noise)
        self.classes, self._codes = _actions(y, classes, len(noises))
        self._codes_of = {label: code for code, label in enumerate(self.classes)}
        if len(noises) not in (1, len(self.classes)):
            raise ValueError(
                f"{len(noises)} noises were given for {len(self.classes)} actions; give one for all, or one for each"
            )
        self._noises = noises * (len(self.classes) if len(noises) == 1 else 1)
        self._rng = generator(rng)
        self._start()

    def __len__(self) -> int:
        return self.n_rounds

    def __iter__(self) -> Iterator[Any]:
        self._start()
        for row in self._order().tolist():
            self._row, self._open = row, True
            self._round += 1
            yield self.X[row : row + 1] if hasattr(self.X, "tocsr") else self.X[row]

    def feedback(self, action: Any) -> int:
        """1 if the action seems right for the current context, 0 if it seems wrong; once for each round."""
        if self._round == 0:
            raise RuntimeError(
                "no context has been shown yet; loop over the oracle, and ask for feedback inside the loop"
            )
        if not self._open:
            raise RuntimeError(f"round {self._round} has had its feedback already; take the next context first")
        try:
            code = self._codes_of[action]
        except (KeyError, TypeError):
            raise ValueError(
                f"{action!r} is not an action; known are {self.classes}, and `classes=` can name more"
            ) from None
        right = int(code == self._codes[self._row])
        observed = _observe(right, self._noises[code], self._rng)
        self._open = False
        self.n_answered += 1
        self.mistakes += 1 - right
        return observed

    def _start(self) -> None:
        self._row, self._round, self._open = -1, 0, False
        self.n_answered = self.mistakes = 0

    def _order(self) -> NDArray[Any]:
        n_rows = len(self._codes)
        if self.with_replacement:
            return self._rng.integers(n_rows, size=self.n_rounds)
        return (self._rng.permutation(n_rows) if self.shuffle else np.arange(n_rows))[: self.n_rounds]


def check_lengths(X: Any, y: Any) -> int:
    """Number of rows; X and y must have as many."""
    if X.ndim < 2 or X.shape[0] != len(y):
        raise ValueError(f"X has shape {X.shape} and y {len(y)} entries; one target for each row is needed")
    return int(X.shape[0])


def _observe(right: int, noise: Any, rng: np.random.Generator) -> int:
    if noise is None:
        return right
    if hasattr(noise, "matrix"):  # the same draw as corrupt's, without its checks in every round
        return int(rng.random() >= noise.matrix[right, 0])
    return int(noise.corrupt(np.array([right]), rng)[0])


def _one_per_action(noise: Any) -> list[Any]:
    noises = [noise] if noise is None or hasattr(noise, "corrupt") else list(noise)
    for one in noises:
        if one is not None and not hasattr(one, "corrupt"):
            raise ValueError(f"noise holds {one!r}; give a FlipMatrix, one FlipMatrix for each action, or None")
        n_classes = getattr(one, "n_classes", 2)
        if n_classes != 2:
            raise ValueError(
                f"feedback is right or wrong, so its noise has 2 classes; this one has {n_classes} "
                "(noise of labels is put on y itself: noise.corrupt(y, rng))"
            )
    return noises


def _actions(y: Any, classes: Any, n_noises: int) -> tuple[list[Any], Codes]:
    """All actions in order, and the code of the right one for each row."""
    found, codes = encode_labels(y)
    if classes is not None:
        known = classes.tolist() if hasattr(classes, "tolist") else list(classes)
    elif found.dtype.kind in "iu" and found[0] >= 0:
        known = list(range(max(int(found[-1]) + 1, n_noises)))  # codes: y may lack some below the largest
    else:
        known = found.tolist()
    codes_of = {label: code for code, label in enumerate(known)}
    if len(codes_of) < len(known):
        raise ValueError(f"classes name an action twice: {known}")
    strange = [label for label in found.tolist() if label not in codes_of]
    if strange:
        raise ValueError(f"y holds {strange[0]!r}, which is not among the classes {known}")
    return known, np.array([codes_of[label] for label in found.tolist()], dtype=np.intp)[codes]


class Copies(Protocol):
    """Feature noise: a GaussianNoise, or anything with the same method."""

    def copies(self, X: Any, n: int, rng: Any) -> Any:
        """`n` noisy copies of every row, of shape (rows, n, d)."""


class CopyOracle:
    """Targets one at a time, and noisy copies (replicates) of their features on request, never the clean features.

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
        Random state of the copies.

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
        self, X: ArrayLike | None, y: ArrayLike, noise: Copies | Callable[..., Any] | ArrayLike, rng: RandomState = None
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
