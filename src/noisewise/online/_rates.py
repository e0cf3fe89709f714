"""Actions by name, and the flip rates of their feedback."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisewise._inputs import Floats, is_missing
from noisewise.noise import FlipMatrix

Noise = FlipMatrix | Iterable[FlipMatrix] | None


def flip_rates(noise: Noise, n_classes: int) -> Floats:
    """P(called right | wrong) and P(called wrong | right) [rho0, rho1] of each action.

    >>> flip_rates(FlipMatrix.binary(false_positive=0.1, false_negative=0.3), 2)
    array([[0.1, 0.3],
           [0.1, 0.3]])
    """
    if noise is None:
        return np.zeros((n_classes, 2))
    each = list(noise) if isinstance(noise, Iterable) else [noise] * n_classes
    if len(each) != n_classes:
        raise ValueError(
            f"{len(each)} noises were given; one for all, or one for each of {n_classes} actions, is needed"
        )
    for one in each:
        if not isinstance(one, FlipMatrix) or one.n_classes != 2:
            raise ValueError(
                f"feedback is wrong or right, so its noise is a FlipMatrix of two classes, e.g. "
                f"FlipMatrix.binary(false_positive=0.1, false_negative=0.2); this is {one!r}"
            )
    return np.array([[one.matrix[0, 1], one.matrix[1, 0]] for one in each])


def rates_as_noise(rates: Floats) -> FlipMatrix | list[FlipMatrix]:
    """The noise with these rates: one if they are equal for all actions, else one for each."""
    each = [FlipMatrix.binary(false_positive, false_negative) for false_positive, false_negative in rates]
    return each[0] if (rates == rates[0]).all() else each


def known_classes(n_classes: int | None, classes: Sequence[Any] | None) -> NDArray[Any]:
    """The labels to choose from: 0, 1, ... or those given, in the order given.

    >>> known_classes(None, ["b", "a"])
    array(['b', 'a'], dtype='<U1')
    """
    if (n_classes is None) == (classes is None):
        raise ValueError("give either n_classes=, for labels 0, 1, ..., or classes=, the labels themselves")
    if classes is None:
        if not isinstance(n_classes, int | np.integer) or n_classes < 2:
            raise ValueError(f"n_classes is {n_classes!r}; two or more labels are needed to choose from")
        return np.arange(n_classes)
    given = getattr(classes, "tolist", lambda: classes)()
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
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
