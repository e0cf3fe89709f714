"""Standardisation inside the learner: columns of numbers are centred and scaled by what has been learnt from so far."""

from __future__ import annotations

import numpy as np

from noisewise._loops.action_state import FACTOR, N_SCALING, NUMERIC, SHIFT
from noisewise._typing import Floats
from noisewise.online.actions.feature_rows import Rows

LEAST_STD = 1e-9  # relative to the root mean square: less is rounding


def widened(scaling: Floats, numeric: list[bool], rows: Rows) -> Floats:
    """The array with new columns, a number's scaled by the first value that is not 0 among `rows`."""
    known = scaling.shape[1]
    made = np.zeros((N_SCALING, len(numeric)))
    made[:, :known] = scaling
    made[FACTOR, known:], made[NUMERIC, known:] = 1.0, numeric[known:]
    for column, value in zip(rows.columns[::-1].tolist(), rows.values[::-1].tolist()):  # the first one stays
        if column >= known and numeric[column] and value:
            made[FACTOR, column] = 1 / abs(value)
    return made


def rescale(scaling: Floats) -> tuple[Floats, Floats]:
    """Set shifts and factors to those of the rows so far; a standardised value x becomes ratio * x + offset.

    Columns of numbers that every row had are centred; where a feature is often absent, absent means 0.
    """
    count, mean, squares, shift, factor, numeric = scaling
    known = (numeric > 0) & (count > 0)
    always = known & (count == count[0])  # the constant is in every row
    variance = np.divide(squares, count, out=np.zeros_like(count), where=known)
    size = np.sqrt(variance + mean**2)
    varies = always & (np.sqrt(variance) > LEAST_STD * size)
    new_shift = np.where(varies, mean, 0.0)
    scale = np.where(varies, np.sqrt(variance), size)
    new_factor = np.where(known & (scale > 0), 1 / np.where(scale > 0, scale, 1.0), factor)
    ratio, offset = new_factor / factor, (shift - new_shift) * new_factor
    scaling[SHIFT], scaling[FACTOR] = new_shift, new_factor
    return ratio, offset
