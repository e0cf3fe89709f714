"""SVG line chart with error bars: accuracy of each method over the rate of noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Any

import numpy as np

from noisewise._typing import Floats
from noisewise._words import percent
from noisewise.audit import svg


@dataclass(frozen=True)
class Line:
    """One method of the chart: its values and their intervals."""

    name: str
    values: Floats
    low: Floats
    high: Floats
    hue: str
    plain: bool = False


def line_chart(at: Sequence[float], lines: Sequence[Line]) -> str:
    """Values over the rates `at` with error bars, each line named at its right end."""
    known = np.concatenate([np.concatenate([line.low, line.high]) for line in lines])
    bottom = np.floor(10 * np.nanmin(known)) / 10
    top = max(np.ceil(10 * np.nanmax(known)) / 10, bottom + 0.1)
    x = 46 + 440 * (np.array(at) - at[0]) / max(at[-1] - at[0], 1e-12)
    parts = []
    for tick in np.arange(round(10 * bottom), round(10 * top) + 1) / 10:
        y = _height(tick, bottom, top)
        parts += [
            f'<path class="axis" d="M46 {y:.1f}H486"/>',
            f'<text x="40" y="{y + 4:.1f}" text-anchor="end">{percent(tick)}</text>',
        ]
    parts += [f'<text x="{position:.1f}" y="318" text-anchor="middle">{rate:g}</text>' for position, rate in zip(x, at)]
    label_heights = _apart([_height(line.values[~np.isnan(line.values)][-1:].sum(), bottom, top) for line in lines], 15)
    for i, (line, label_height) in enumerate(zip(lines, label_heights)):
        good = ~np.isnan(line.values)
        if not good.any():
            continue
        across = x[good] + 2.5 * (i - (len(lines) - 1) / 2)  # beside each other: intervals stay apart
        middle, low, high = (_height(values[good], bottom, top) for values in (line.values, line.low, line.high))
        points = "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(across, middle))
        whiskers = "".join(f"M{a:.1f} {b:.1f}V{c:.1f}" for a, b, c in zip(across, low, high))
        dots = "".join(f'<circle class="dot" r="2.8" cx="{a:.1f}" cy="{b:.1f}"/>' for a, b in zip(across, middle))
        parts.append(
            f'<g style="--hue: {line.hue}"><path class="whisker" d="{whiskers}"/>'
            f'<path class="line{" plain" if line.plain else ""}" d="M{points}"/>{dots}'
            f'<path class="axis" d="M{across[-1] + 4:.1f} {middle[-1]:.1f}L506 {label_height:.1f}"/>'
            f'<text x="510" y="{label_height + 4:.1f}">{escape(line.name)}</text></g>'
        )
    return svg(700, 326, "Accuracy by method under rising noise", parts)


def _height(value: Any, bottom: float, top: float) -> Any:
    return 300 - 290 * (value - bottom) / (top - bottom)


def _apart(heights: list[float], least: float) -> list[float]:
    """Heights of labels, moved apart by at least `least` so that they do not overlap."""
    order = np.argsort(heights, kind="stable")
    placed = np.array(heights, dtype=float)
    for above, below in pairwise(order):
        placed[below] = max(placed[below], placed[above] + least)
    placed[order[-1]] = min(placed[order[-1]], 304)
    for below, above in pairwise(order[::-1]):
        placed[above] = min(placed[above], placed[below] - least)
    return [float(value) for value in placed]
