"""A drawn sketch as features: where its lines go within its own frame, and in which directions."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from noisewise._typing import Floats

SIZE = 8  # cells to a side of the frame
DIRECTIONS = 4  # horizontal, vertical and the two diagonals: a line has one in each cell that it crosses
STEP = 0.25  # cells between two points of a line
MOST_POINTS = 5000
N_FEATURES = SIZE * SIZE * DIRECTIONS + 1


def sketch_features(strokes: Any) -> Floats:
    """Features of a sketch, whatever its place and size: ink in each cell of its frame and direction, and a constant.

    Parameters
    ----------
    strokes : list of lists of [x, y]
        The lines, each as the points that the pen passed.

    Examples
    --------
    >>> across = sketch_features([[[0, 0], [10, 0]]])
    >>> np.array_equal(across, sketch_features([[[50, 7], [950, 7]]]))  # elsewhere, and larger
    True
    >>> round(float(across @ sketch_features([[[0, 0], [0, 10]]])), 2)  # one that goes down has only the constant alike
    0.5
    """
    lines = _checked(strokes)
    points = np.concatenate(lines)
    low, high = points.min(axis=0), points.max(axis=0)
    side = max(float((high - low).max()), 1e-9)
    ink = np.zeros((SIZE, SIZE, DIRECTIONS))
    for line in lines:
        inside = (line - (low + high) / 2) / side * (SIZE - 1) + (SIZE - 1) / 2  # the longer side fills the frame
        for begin, end in pairwise(inside):
            _add_line(ink, begin, end)
        if len(inside) == 1:
            ink[tuple(np.rint(inside[0, ::-1]).astype(int))] += 1 / DIRECTIONS
    row = np.sqrt(ink.ravel())  # a line drawn twice is not twice the line
    return np.asarray(np.append(row / max(float(np.linalg.norm(row)), 1e-12), 1.0) / np.sqrt(2))


def _add_line(ink: Floats, begin: Floats, end: Floats) -> None:
    """Add a straight line: its length in each cell, shared between the two directions next to its own."""
    way = end - begin
    length = float(np.hypot(*way))
    if not length:
        return
    n = int(np.ceil(length / STEP))
    middles = begin + way * ((np.arange(n) + 0.5) / n)[:, None]
    cells = np.rint(middles).astype(int)
    angle = np.arctan2(way[1], way[0]) % np.pi / np.pi * DIRECTIONS
    first, second = int(angle) % DIRECTIONS, (int(angle) + 1) % DIRECTIONS
    for x, y in cells:
        ink[y, x, first] += length / n * (1 - angle % 1)
        ink[y, x, second] += length / n * (angle % 1)


def _checked(strokes: Any) -> list[Floats]:
    try:
        lines = [np.asarray(stroke, dtype=np.float64) for stroke in strokes]
    except (TypeError, ValueError):
        lines = []
    if not lines or any(line.ndim != 2 or line.shape[1:] != (2,) or not len(line) for line in lines):
        raise ValueError("a sketch is a list of lines, and a line a list of points [x, y]; there must be one")
    if sum(map(len, lines)) > MOST_POINTS:
        raise ValueError(f"the sketch has {sum(map(len, lines))} points; at most {MOST_POINTS} would do")
    if not all(np.isfinite(line).all() for line in lines):
        raise ValueError("the sketch has a point that is not finite")
    return lines
