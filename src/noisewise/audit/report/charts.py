"""Small drawings for the reports: SVG charts, without a plotting library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Any

import numpy as np

from noisewise._typing import Floats

LEAST_WIDEST = 0.1  # a share that fills the rail; small doubts are drawn small
TOO_SMALL = "too few rows to judge"


def histogram(probability: Floats, bins: int = 20) -> str:
    """Bars of how many rows have each probability; those below one half are in the colour of doubt."""
    counts, edges = np.histogram(probability, bins=bins, range=(0, 1))
    heights = np.sqrt(counts / max(1, int(counts.max()))) * 120  # the root keeps the small bars of doubt in sight
    bars = [
        f'<rect class="{"doubt" if edge < 0.5 else "bar"}" x="{20 + 16 * i}" y="{130 - height:.1f}" width="14" '
        f'height="{height:.1f}" rx="2"><title>{edge:.2f} to {edge + 1 / bins:.2f}: {count} rows</title></rect>'
        for i, (count, height, edge) in enumerate(zip(counts, heights, edges[:-1], strict=True))
    ]
    ticks = [f'<text x="{20 + 320 * at}" y="148" text-anchor="middle">{at:g}</text>' for at in (0, 0.5, 1)]
    return _svg(360, 155, "Histogram of the probability that a label is right (root scale)", bars + ticks)


def class_bars(names: list[str], shares: Floats, most: int = 20) -> str:
    """One bar a class, the most doubtful first, from 0 to at least a tenth; NaN says that there were too few rows."""
    order = np.argsort(-shares, kind="stable")[:most]
    widest = max(float(np.nanmax(shares, initial=0)), LEAST_WIDEST)
    bars = []
    for line, place in enumerate(order):
        y = 8 + 24 * line
        bars.append(f'<text x="110" y="{y + 12}" text-anchor="end">{escape(names[place][:16])}</text>')
        if np.isnan(shares[place]):
            bars.append(f'<text x="118" y="{y + 12}">{TOO_SMALL}</text>')
            continue
        bars += [
            f'<rect class="rail" x="118" y="{y}" width="180" height="16" rx="3"/>',
            f'<rect class="doubt" x="118" y="{y}" width="{180 * shares[place] / widest:.1f}" height="16" rx="3"/>',
            f'<text x="304" y="{y + 12}">{shares[place]:.1%}</text>',
        ]
    bottom = 20 + 24 * len(order)
    bars += [
        f'<text x="{x}" y="{bottom}" text-anchor="middle">{share:.0%}</text>' for x, share in ((118, 0), (298, widest))
    ]
    return _svg(360, bottom + 6, "Expected share of wrong labels by class", bars)


@dataclass(frozen=True)
class Curve:
    """A line and the interval around each of its points."""

    name: str
    values: Floats
    low: Floats
    high: Floats
    hue: str
    plain: bool = False


def curves(at: Sequence[float], lines: Sequence[Curve]) -> str:
    """Lines over the places `at`, with their intervals, each named at its right end."""
    known = np.concatenate([np.concatenate([line.low, line.high]) for line in lines])
    bottom = np.floor(10 * np.nanmin(known)) / 10
    top = max(np.ceil(10 * np.nanmax(known)) / 10, bottom + 0.1)
    x = 46 + 440 * (np.array(at) - at[0]) / max(at[-1] - at[0], 1e-12)
    parts = []
    for tick in np.arange(round(10 * bottom), round(10 * top) + 1) / 10:
        y = _height(tick, bottom, top)
        parts += [
            f'<path class="axis" d="M46 {y:.1f}H486"/>',
            f'<text x="40" y="{y + 4:.1f}" text-anchor="end">{tick:.0%}</text>',
        ]
    parts += [f'<text x="{place:.1f}" y="318" text-anchor="middle">{rate:g}</text>' for place, rate in zip(x, at)]
    ends = _apart([_height(line.values[~np.isnan(line.values)][-1:].sum(), bottom, top) for line in lines], 15)
    for number, (line, end) in enumerate(zip(lines, ends)):
        good = ~np.isnan(line.values)
        if not good.any():
            continue
        across = x[good] + 2.5 * (number - (len(lines) - 1) / 2)  # beside each other: intervals stay apart
        middle, low, high = (_height(values[good], bottom, top) for values in (line.values, line.low, line.high))
        points = "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(across, middle))
        whiskers = "".join(f"M{a:.1f} {b:.1f}V{c:.1f}" for a, b, c in zip(across, low, high))
        dots = "".join(f'<circle class="dot" r="2.8" cx="{a:.1f}" cy="{b:.1f}"/>' for a, b in zip(across, middle))
        parts.append(
            f'<g style="--hue: {line.hue}"><path class="whisker" d="{whiskers}"/>'
            f'<path class="curve{" plain" if line.plain else ""}" d="M{points}"/>{dots}'
            f'<path class="axis" d="M{across[-1] + 4:.1f} {middle[-1]:.1f}L506 {end:.1f}"/>'
            f'<text x="510" y="{end + 4:.1f}">{escape(line.name)}</text></g>'
        )
    return _svg(700, 326, "Accuracy by method under rising noise", parts)


def _height(value: Any, bottom: float, top: float) -> Any:
    return 300 - 290 * (value - bottom) / (top - bottom)


def _apart(heights: list[float], least: float) -> list[float]:
    """The heights moved as little as keeps them from running into each other."""
    order = np.argsort(heights, kind="stable")
    placed = np.array(heights, dtype=float)
    for above, below in pairwise(order):
        placed[below] = max(placed[below], placed[above] + least)
    placed[order[-1]] = min(placed[order[-1]], 304)
    for below, above in pairwise(order[::-1]):
        placed[above] = min(placed[above], placed[below] - least)
    return [float(value) for value in placed]


def _svg(width: int, height: int, label: str, parts: list[str]) -> str:
    return f'<svg viewBox="0 0 {width} {height}" width="100%" role="img" aria-label="{label}">{"".join(parts)}</svg>'
