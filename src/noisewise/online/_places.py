"""Actions as places among the classes of a learner or a log."""

from __future__ import annotations

from collections.abc import Iterable
from reprlib import repr as shortened
from typing import Any

from numpy.typing import NDArray

from noisewise._inputs import Codes, find_labels


def find_actions(given: Any, classes: NDArray[Any], what: str = "action") -> Codes:
    """Each action's place among the classes; one that does not exist is refused by its name.

    >>> import numpy as np
    >>> find_actions(["b", "b"], np.array(["a", "b"]))
    array([1, 1])
    """
    try:
        return find_labels(given, classes)
    except ValueError:  # looked at only here, because many actions are found more quickly than looked at one by one
        listed = given.tolist() if hasattr(given, "tolist") else given
        if isinstance(listed, str) or not isinstance(listed, Iterable):
            raise ValueError(f"one {what} for each row is needed, not {given!r:.60}") from None
        for one in listed:
            if not _is_among(one, set(classes.tolist())):
                known = shortened(classes.tolist())
                raise ValueError(f"the {what} {one!r:.60} is not among the classes {known}") from None
        raise


def _is_among(label: Any, known: set[Any]) -> bool:
    try:
        return label in known
    except TypeError:  # a list, say, is no label
        return False
