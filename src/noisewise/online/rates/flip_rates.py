"""Flip rates of feedback, one pair for all actions or one for each, and scores corrected for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from reprlib import repr as shortened
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisewise._typing import Floats
from noisewise.noise import FlipMatrix

LEAST_CORRECTED_SIGNAL = 0.15  # 1 - rho0 - rho1; below it, scores by elimination are more accurate than corrected ones
Noise = FlipMatrix | Iterable[FlipMatrix] | Mapping[Any, FlipMatrix] | None


def flip_rates(noise: Noise, classes: Sequence[Any] | NDArray[Any]) -> Floats:
    """P(positive feedback | wrong) and P(negative feedback | right) [rho0, rho1] of each action.

    >>> flip_rates(FlipMatrix.binary(false_positive=0.1, false_negative=0.3), ["cat", "dog"])
    array([[0.1, 0.3],
           [0.1, 0.3]])
    """
    if noise is None:
        return np.zeros((len(classes), 2))
    each = _of_each(noise, getattr(classes, "tolist", lambda: list(classes))())
    for one in each:
        if not isinstance(one, FlipMatrix) or one.n_classes != 2:
            given = f"one of {one.n_classes} classes" if isinstance(one, FlipMatrix) else repr(one)
            raise ValueError(
                f"feedback is wrong or right, so its noise is a FlipMatrix of two classes, e.g. "
                f"FlipMatrix.binary(false_positive=0.1, false_negative=0.2); this is {given:.60}"
            )
    return np.array([[one.matrix[0, 1], one.matrix[1, 0]] for one in each])


def corrected_scores(
    scores: Floats, baseline: Floats, false_positive: Floats, signal: Floats, uninformative: NDArray[np.bool_]
) -> Floats:
    """Estimated P(right | x) of each action from regressions of its noisy feedback (`scores`) and of 1 (`baseline`).

    The regression of feedback has the mean rho0 + (1 - rho0 - rho1) P(right | x), so that P(right | x) is
    (score - rho0 baseline) / signal, with signal = 1 - rho0 - rho1. Exactly one action is right: what the others leave
    of a probability of one is divided evenly among the uninformative actions (not all of them). The last axis is that
    of actions. `_loops.policies.fill_corrected` is the compiled form, whose sum over actions is sequential where
    NumPy's is pairwise: they agree up to rounding.

    >>> scores, baseline, rho0 = np.array([0.5, 0.2, 0.1]), np.ones(3), np.array([0.1, 0.0, 0.1])
    >>> corrected_scores(scores, baseline, rho0, np.array([0.8, 0.9, 0.1]), np.array([False, False, True])).round(3)
    array([0.5  , 0.222, 0.278])
    """
    corrected = (scores - false_positive * baseline) / signal
    if uninformative.any():
        left = 1 - np.maximum(corrected[..., ~uninformative], 0).sum(axis=-1, keepdims=True)
        corrected[..., uninformative] = left / uninformative.sum()
    return np.asarray(corrected)


def _of_each(noise: Any, classes: list[Any]) -> list[Any]:
    """The noise of each action: by name, in order, or the same for all."""
    if isinstance(noise, Mapping):
        if set(noise) != set(classes):
            named, wanted = shortened(list(noise)), shortened(classes)
            raise ValueError(f"noise is given for {named}; one for each of the classes {wanted} is needed")
        return [noise[label] for label in classes]
    if isinstance(noise, str) or not isinstance(noise, Iterable):
        return [noise] * len(classes)
    each = list(noise)
    if len(each) != len(classes):
        raise ValueError(
            f"{len(each)} noises were given; one for all, or one for each of {len(classes)} actions, is needed"
        )
    return each


def rates_as_noise(rates: Floats) -> FlipMatrix | list[FlipMatrix]:
    """The noise with these rates: one if they are equal for all actions, else one for each."""
    each = [FlipMatrix.binary(false_positive, false_negative) for false_positive, false_negative in rates]
    return each[0] if (rates == rates[0]).all() else each
