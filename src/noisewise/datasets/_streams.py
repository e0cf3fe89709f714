"""Rows one at a time, and a teacher who says right or wrong, through noise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisewise._inputs import Chance, Codes, encode_labels, generator


class Flips(Protocol):
    """What flips answers: a 2 x 2 FlipMatrix, or anything that corrupts zeros and ones."""

    def corrupt(self, y: Any, rng: Any) -> Any:
        """What is observed for each true 0 (wrong) or 1 (right)."""


class Oracle:
    """Shows contexts one at a time and says, through noise, whether the action taken was right.

    Each loop over the oracle is a new pass: a new order if it is random, counters at zero, chance going on.

    Parameters
    ----------
    X : array or sparse array of shape (n, d)
        Contexts. Dense rows are shown with shape (d,), sparse ones as CSR with shape (1, d).
    y : array of shape (n,)
        The right action for each row.
    noise : FlipMatrix with two classes, a sequence of them, or None
        ``matrix[right, observed]``: false positives are praise for a wrong action. A sequence has one noise for each
        action, in the order of `classes`; None answers truly.
    rng : seed or numpy generator
        Chance for the order and for the noise.
    classes : sequence, optional
        All actions, where `y` may lack some. By default the labels in `y`, or 0, 1, ... up to the largest code.
    shuffle : bool
        Show the rows in random order.
    with_replacement : bool
        Draw each round's row anew from all rows.
    n_rounds : int, optional
        Number of rounds; by default as many as rows.

    Attributes
    ----------
    classes : list
        All actions.
    n_answered, mistakes : int
        Actions answered in this pass, and how many of them were wrong (in truth, whatever the noise said).

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
        rng: Chance = None,
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
        self._places = {label: place for place, label in enumerate(self.classes)}
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
            raise RuntimeError(f"round {self._round} was answered already; take the next context before asking again")
        try:
            place = self._places[action]
        except (KeyError, TypeError):
            raise ValueError(
                f"{action!r} is not an action; known are {self.classes}, and `classes=` can name more"
            ) from None
        right = int(place == self._codes[self._row])
        answer = _observe(right, self._noises[place], self._rng)
        self._open = False
        self.n_answered += 1
        self.mistakes += 1 - right
        return answer

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
    """All actions in order, and the right one's place for each row."""
    found, codes = encode_labels(y)
    if classes is not None:
        known = classes.tolist() if hasattr(classes, "tolist") else list(classes)
    elif found.dtype.kind in "iu" and found[0] >= 0:
        known = list(range(max(int(found[-1]) + 1, n_noises)))  # codes: y may lack some below the largest
    else:
        known = found.tolist()
    places = {label: place for place, label in enumerate(known)}
    if len(places) < len(known):
        raise ValueError(f"classes name an action twice: {known}")
    strange = [label for label in found.tolist() if label not in places]
    if strange:
        raise ValueError(f"y holds {strange[0]!r}, which is not among the classes {known}")
    return known, np.array([places[label] for label in found.tolist()], dtype=np.intp)[codes]
