"""The flip rates of feedback, of all actions or of each."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from noisewise._inputs import Floats
from noisewise.noise import FlipMatrix
from noisewise.noise._actions import known_classes as known_classes

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
