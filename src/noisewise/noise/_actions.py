"""Actions by name, and as places among the classes of a learner or a log."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence, Set
from reprlib import repr as shortened
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisewise._inputs import Codes, find_labels, is_missing


def known_classes(n_classes: int | None, classes: Sequence[Any] | None) -> NDArray[Any]:
    """The labels to choose from: 0, 1, ... or those given, in the order given.

    >>> known_classes(None, ["b", "a"])
    array(['b', 'a'], dtype='<U1')
    """
    if (n_classes is None) == (classes is None):
        raise ValueError("give either n_classes=, for labels 0, 1, ..., or classes=, the labels themselves")
    if classes is None:
        if not isinstance(n_classes, int | np.integer) or n_classes < 2:
            raise ValueError(f"n_classes is {n_classes!r}; a whole number is needed, two or more")
        return np.arange(n_classes)
    given = getattr(classes, "tolist", lambda: classes)()
    if isinstance(given, str | bytes | Set) or not isinstance(given, Collection):  # a set has no order
        raise ValueError(f"classes is {classes!r:.60}; a list of labels such as text or numbers is needed")
    labels = list(given)
    for label in labels:
        check_label(label, "classes", labels)
    if len(set(labels)) != len(labels) or len(labels) < 2:
        raise ValueError(f"classes is {labels!r}; two or more different labels are needed")
    if all(isinstance(label, str) for label in labels) or all(type(label) is int for label in labels):
        return np.array(labels)
    known = np.empty(len(labels), dtype=object)
    known[:] = labels
    return known


def check_label(label: Any, name: str, given: Any) -> None:
    """Refuse what names no class, in what was given under a name.

    >>> check_label("cat", "classes", ["cat", "dog"])
    """
    try:
        hash(label)
    except TypeError:
        sentence = f"{name} is {given!r:.60}; text, numbers and other values that do not change can be labels"
        raise ValueError(sentence) from None
    if is_missing(label):
        raise ValueError(f"{name} is {given!r:.60}; a missing value is no label")


def find_actions(given: Any, classes: NDArray[Any], what: str = "action") -> Codes:
    """Each action's place among the classes; one that does not exist is refused by its name.

    >>> find_actions(["b", "b"], np.array(["a", "b"]))
    array([1, 1])
    """
    try:
        return find_labels(given, classes)
    except ValueError:  # looked at only here, because many actions are found more quickly than looked at one by one
        listed = given.tolist() if hasattr(given, "tolist") else given
        if isinstance(listed, str) or not isinstance(listed, Iterable):
            raise ValueError(f"one {what} for each row is needed, not {given!r:.60}") from None
        known = set(classes.tolist())
        for one in listed:
            if not _is_among(one, known):
                names = shortened(classes.tolist())
                raise ValueError(f"the {what} {one!r:.60} is not among the classes {names}") from None
        raise


def _is_among(label: Any, known: set[Any]) -> bool:
    try:
        return label in known
    except TypeError:  # a list, say, is no label
        return False
