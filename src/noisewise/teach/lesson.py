"""A lesson: sketches, what the learner took them for, and whether that was right; kept in a file and taken up again."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from noisewise.online import BanditClassifier, Decision, recipes
from noisewise.teach.sketch import sketch_features

RECENT = 20  # rounds that the present accuracy is of
LEARNERS: dict[str, Callable[[list[Any]], BanditClassifier]] = {
    "ucwl": lambda names: recipes.ucwl(classes=names, covariance="full"),
    "linucb": lambda names: recipes.linucb(classes=names, random_state=0),
    "confidit": lambda names: recipes.confidit(classes=names),
    "banditron": lambda names: recipes.banditron(classes=names, random_state=0),
}


class Lesson:
    """A learner that is taught sketches by yes and no alone.

    Parameters
    ----------
    names : sequence of str
        What there is to learn; the learner knows the names and nothing else.
    path : path, optional
        File of the rounds, one JSON object a line: each is on the disk before the next begins. A lesson whose file is
        there goes on where it ended.
    learner : {"ucwl", "linucb", "confidit", "banditron"}
        The paper's algorithm, or another.

    Examples
    --------
    >>> lesson = Lesson(["line", "dot"])
    >>> line, dot = [[[0, 0], [5, 5]]], [[[2, 2]]]
    >>> for sketch, name in [(line, "line"), (dot, "dot")] * 5:
    ...     lesson.answer(lesson.guess(sketch) == name)
    >>> lesson.guess(dot), lesson.guess(line)
    ('dot', 'line')
    """

    def __init__(self, names: Sequence[str], path: str | Path | None = None, learner: str = "ucwl") -> None:
        self.names = [str(name) for name in names]
        if len(set(self.names)) != len(self.names) or len(self.names) < 2 or not all(self.names):
            raise ValueError(f"names are {self.names}; two or more different ones are needed")
        if learner not in LEARNERS:
            raise ValueError(f"learner is {learner!r}; {', '.join(map(repr, LEARNERS))} would do")
        self.path = None if path is None else Path(path)
        if self.path is not None and not self.path.parent.is_dir():
            raise ValueError(f"{self.path.parent} is not a folder; the lesson is kept in a file of one that exists")
        self.learner: BanditClassifier = LEARNERS[learner](self.names)
        self.rights: list[bool] = []
        self._open: tuple[Any, Decision] | None = None
        if self.path is not None and self.path.exists():
            self._take_up(self.path)

    def guess(self, strokes: Any) -> str:
        """What the learner takes a sketch for; a guess that was not answered is dropped."""
        decision = self.learner.decide(sketch_features(strokes))
        self._open = strokes, decision
        return str(decision.action)

    def answer(self, right: bool) -> None:
        """Say whether the last guess was right; it is learnt and kept."""
        if self._open is None:
            raise ValueError("there is no guess to answer; draw something first")
        strokes, decision = self._open
        if self.path is not None:
            line = {"names": self.names, "sketch": strokes, "guess": str(decision.action), "right": bool(right)}
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
        self._learn(decision, bool(right))
        self._open = None

    def summary(self) -> dict[str, Any]:
        """Rounds so far, those that were right, the fraction among the last twenty, and that of each ten rounds."""
        n = len(self.rights)
        curve = [float(np.mean(self.rights[begin : begin + 10])) for begin in range(0, n - n % 10, 10)]
        recent = float(np.mean(self.rights[-RECENT:])) if n else None
        return {"names": self.names, "rounds": n, "right": sum(self.rights), "recent": recent, "curve": curve}

    def _learn(self, decision: Decision, right: bool) -> None:
        self.learner.learn(decision, right)
        self.rights.append(right)

    def _take_up(self, path: Path) -> None:
        """Play the rounds of the file again; the learner decides as it did, for its state is the same."""
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            try:
                kept = json.loads(line)
                names, strokes, action, right = (kept[key] for key in ("names", "sketch", "guess", "right"))
            except (ValueError, KeyError, TypeError):
                raise ValueError(f"line {number} of {path} is no round of a lesson; another file would do") from None
            if names != self.names:
                raise ValueError(f"{path} is a lesson on {', '.join(names)}; give these names, or another file")
            row = sketch_features(strokes)
            decision = self.learner.decide(row)
            if decision.action != action:  # taught by another learner: its rounds are learnt from as a log
                self.learner.learn_logged(row[None], [action], [right], [decision.probability])
                self.rights.append(bool(right))
            else:
                self._learn(decision, bool(right))
