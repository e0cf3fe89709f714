"""Logged right/wrong feedback: contexts, actions, propensities and feedback."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from noisewise._typing import Codes, Floats, RandomState
from noisewise._validation import encode_labels, find_actions, find_labels, generator, known_classes, naming_columns
from noisewise.online.learners.decision import check_feedbacks, check_probabilities
from noisewise.online.learners.rows import check_csr, feature_names, refuse_unusable
from noisewise.online.logs.logged_round import NO_FEATURES, Choice, LoggedRound, check_dropped

MOST_COLUMNS = 2**24  # learners keep weights for each column and class: a stray large number would fill the memory


class NamedRows:
    """Rows of named features, gathered into a sparse matrix."""

    def __init__(self, features: Sequence[str] | int | None) -> None:
        self.given = features
        names = [str(column) for column in range(features)] if isinstance(features, int) else features or []
        self.index = {name: column for column, name in enumerate(names)}
        self.columns: list[int] = []
        self.values: list[float] = []
        self.starts = [0]

    def add(self, features: Mapping[str, float]) -> None:
        """The features of the next round."""
        for name, value in features.items():
            if self.given is not None and name not in self.index:
                raise ValueError(f"round {len(self.starts)}: feature {name!r} is not among the features given")
            self.columns.append(self.index.setdefault(name, len(self.index)))
            self.values.append(value)
        self.starts.append(len(self.columns))

    def matrix(self) -> tuple[Any, list[str] | None]:
        """The rows, and the names of their columns; None where these are numbers."""
        names, columns, width = list(self.index), np.array(self.columns, dtype=np.int64), len(self.index)
        numbered = isinstance(self.given, int)
        if self.given is None and names and all(map(_is_column, names)):
            numbered, indices = True, np.array([int(name) for name in names])
            columns, width = indices[columns], int(indices.max()) + 1
        rows = sp.csr_array((np.array(self.values), columns, self.starts), shape=(len(self.starts) - 1, width))
        return rows, None if numbered else names


def _is_column(name: str) -> bool:
    """Whether a name is the number of a column, and not so large that it must be a name, as of a person or an article.

    >>> _is_column("3"), _is_column("03"), _is_column("999999999999")
    (True, False, False)
    """
    return name.isdecimal() and len(name) < 19 and str(int(name)) == name and int(name) < MOST_COLUMNS


@dataclass(frozen=True, eq=False)
class FeedbackLog:
    """A log of right/wrong feedback, to be learnt from or to value another policy with.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_rounds, n_features)
        Context of each round.
    actions : labels that were played
    feedback : 1 for right and 0 for wrong, as observed
    probabilities : propensity of each action, the probability with which it was drawn, above 0
    classes : the labels to choose from; by default those that were played, in order
    feature_names : a name for each column of X; by default those of a data frame, else "0", "1", ...
    offered : for each round every `Choice` there was, in order, or None if every label could be played
    ids : a name for each round
    extra : what else came with the log, to be given back by `to_open_bandit`
    dropped : for each round, the probability with which a round like it was left out of the log, below 1; None if the
        log is whole. `off_policy_value` counts each round for the 1 / (1 - dropped) that it stands for; a learner needs
        `repeated`.

    Examples
    --------
    >>> log = FeedbackLog([[1.0, 0.0], [0.0, 2.0]], ["cat", "dog"], [1, 0], [0.9, 0.1])
    >>> len(log), log.classes.tolist()
    (2, ['cat', 'dog'])
    >>> next(log.rounds()).features
    {'0': 1.0}
    >>> from noisewise.online.recipes import linucb
    >>> learner = linucb(classes=["cat", "dog"])
    >>> learner.learn_logged(log.X, log.actions, log.feedback, log.probabilities).predict(log.X).tolist()
    ['cat', 'cat']
    """

    X: Any
    actions: NDArray[Any]
    feedback: NDArray[np.int8]
    probabilities: Floats
    classes: Any = None
    feature_names: Sequence[str] | None = None
    offered: Sequence[tuple[Choice, ...]] | None = None
    ids: Sequence[str] | None = None
    extra: Mapping[str, Any] | None = None
    dropped: Floats | None = None

    def __post_init__(self) -> None:
        names = feature_names(self.X) if self.feature_names is None else self.feature_names
        with naming_columns(self.X):
            X = sp.csr_array(self.X, dtype=np.float64) if sp.issparse(self.X) else np.array(self.X, dtype=np.float64)
        if X.ndim != 2:
            raise ValueError(f"X has shape {X.shape}; a log needs one row of features for each round")
        X = check_csr(X) if sp.issparse(X) else X
        refuse_unusable(X)
        classes = _played(self.actions) if self.classes is None else known_classes(None, self.classes)
        codes = find_actions(self.actions, classes)
        parts: dict[str, Any] = {"actions": codes, "feedback": check_feedbacks(self.feedback)}
        parts["probabilities"] = check_probabilities(self.probabilities)
        parts["dropped"] = None if self.dropped is None else check_dropped(self.dropped)
        for name, part in parts.items():
            if part is not None and part.shape != (X.shape[0],):
                raise ValueError(f"{name} has shape {part.shape}; X has {X.shape[0]} rounds, and each needs one")
        for name, more in (("offered", self.offered), ("ids", self.ids)):
            if more is not None and len(more) != X.shape[0]:
                raise ValueError(f"{name} has {len(more)} entries; X has {X.shape[0]} rounds")
        if names is not None and len(set(names)) != X.shape[1]:
            raise ValueError(f"{len(set(names))} different feature names for {X.shape[1]} columns of X")
        _check_offered(self.offered, classes[codes])
        parts |= {"X": X, "actions": classes[codes], "classes": classes, "feature_names": names}
        for name, value in parts.items():
            object.__setattr__(self, name, value)

    @classmethod
    def from_rounds(
        cls, rounds: Iterable[LoggedRound], classes: Any = None, features: Sequence[str] | int | None = None
    ) -> FeedbackLog:
        """Gather rounds, with X sparse.

        `features` names the columns of X, or says how many numbered ones there are. Without it a column is made for
        each name when it first comes, or, if all names are whole numbers below 2^24, they are the columns.
        """
        gathered = NamedRows(features)
        rest: list[LoggedRound] = []
        for one in rounds:
            gathered.add(one.features)
            rest.append(one._replace(features=NO_FEATURES))
        if not rest:
            raise ValueError("the log has no rounds")
        X, names = gathered.matrix()
        ids = [one.id for one in rest]
        played: list[Any] = [one.action for one in rest]
        offered = [one.offered for one in rest]
        dropped = np.array([one.dropped for one in rest])
        if classes is None:
            every = [choice.action for choices in offered for choice in choices]
            classes = _in_order(played + every)
        return cls(
            X,
            _labels(played),
            np.array([one.feedback for one in rest]),
            np.array([one.probability for one in rest]),
            classes,
            names,
            offered if any(offered) else None,
            None if None in ids else [str(one) for one in ids],
            dropped=dropped if dropped.any() else None,
        )

    def rounds(self) -> Iterator[LoggedRound]:
        """One round after the other, with features by name; zeros are left out."""
        names = self.feature_names or [str(column) for column in range(self.X.shape[1])]
        for number, (action, feedback) in enumerate(zip(self.actions.tolist(), self.feedback.tolist())):
            offered = () if self.offered is None else tuple(self.offered[number])
            name = None if self.ids is None else self.ids[number]
            probability = float(self.probabilities[number])
            dropped = 0.0 if self.dropped is None else float(self.dropped[number])
            yield LoggedRound(self._features(number, names), action, feedback, probability, offered, name, dropped)

    def repeated(self, random_state: RandomState = None) -> FeedbackLog:
        """A log for learners: each round comes as often as it stands for, the rounds that were dropped included.

        That is 1 / (1 - dropped) times; the fractional part is drawn at random, so that the mean is right. Without
        dropped rounds it is the log itself; else it comes without `extra`. It is not for intervals: the same round
        again is no further evidence.

        >>> log = FeedbackLog([[1.0], [2.0]], ["cat", "dog"], [1, 0], [0.9, 0.1], dropped=[0.0, 0.75])
        >>> log.repeated().actions.tolist()
        ['cat', 'dog', 'dog', 'dog', 'dog']
        """
        if self.dropped is None:
            return self
        times = np.floor(self.weights + generator(random_state).random(len(self))).astype(np.int64)
        indices = np.repeat(np.arange(len(self)), times).tolist()
        return replace(
            self,
            X=self.X[indices],
            actions=self.actions[indices],
            feedback=self.feedback[indices],
            probabilities=self.probabilities[indices],
            offered=None if self.offered is None else [self.offered[index] for index in indices],
            ids=None if self.ids is None else [self.ids[index] for index in indices],
            extra=None,
            dropped=None,
        )

    @property
    def weights(self) -> Floats:
        """How many rounds each round stands for, itself and those that were dropped."""
        return np.ones(len(self)) if self.dropped is None else 1 / (1 - self.dropped)

    @property
    def codes(self) -> Codes:
        """The actions as indices into the classes."""
        return find_labels(self.actions, self.classes)

    def __len__(self) -> int:
        return len(self.actions)

    def _features(self, number: int, names: Sequence[str]) -> dict[str, float]:
        if sp.issparse(self.X):
            start, stop = self.X.indptr[number : number + 2]
            columns, values = self.X.indices[start:stop].tolist(), self.X.data[start:stop].tolist()
        else:
            columns = np.flatnonzero(self.X[number]).tolist()
            values = self.X[number, columns].tolist()
        return {names[column]: value for column, value in zip(columns, values) if value != 0}


def _played(actions: Any) -> NDArray[Any]:
    """The different actions of a log, in order."""
    if isinstance(actions, str) or not isinstance(actions, Iterable):
        raise ValueError(f"one action for each row is needed, not {actions!r:.60}")
    played = encode_labels(actions)[0]
    if len(played) < 2:
        only = f"the action {played.item(0)!r} alone was" if len(played) else "nothing was"
        raise ValueError(f"{only} played; name all actions there were in classes=")
    return played


def _check_offered(offered: Sequence[tuple[Choice, ...]] | None, actions: NDArray[Any]) -> None:
    for number, (choices, action) in enumerate(zip(offered or (), actions.tolist())):
        if choices and action not in [choice.action for choice in choices]:
            raise ValueError(f"round {number + 1} played {action!r}, which was not offered there")


def _in_order(labels: list[Any]) -> list[Any]:
    """The different labels: sorted where that is possible, else as they first came; numbers from 1 without gaps."""
    different = list(dict.fromkeys(labels))
    if all(type(label) is int for label in different):
        return list(range(1, max(max(different), 2) + 1)) if min(different) > 0 else sorted(different)
    return sorted(different) if all(isinstance(label, str) for label in different) else different


def _labels(labels: list[Any]) -> NDArray[Any]:
    made = np.empty(len(labels), dtype=object)
    made[:] = labels
    return made
