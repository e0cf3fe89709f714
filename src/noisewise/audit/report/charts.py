"""SVG charts of the report: a histogram, bars by class, and a map of many classes."""

from __future__ import annotations

from html import escape

import numpy as np

from noisewise._typing import Floats
from noisewise._words import counted, percent

LEAST_WIDEST = 0.1  # smallest fraction that fills the bar, so that a small error rate looks small
LEAST_SHOWN = 0.005  # flip rate of a cell in the map of many classes
TOO_SMALL = "too few rows to judge"


def histogram(probability: Floats, bins: int = 20) -> str:
    """Histogram of the probability that a label is right; below one half, bars are coloured as wrong."""
    counts, edges = np.histogram(probability, bins=bins, range=(0, 1))
    heights = np.sqrt(counts / max(1, int(counts.max()))) * 120  # root scale: the few wrong labels stay visible
    shown = [counted(count, "row") for count in counts]
    bars = [
        f'<rect class="{"wrong" if edge < 0.5 else "bar"}" x="{20 + 16 * i}" y="{130 - height:.1f}" width="14" '
        f'height="{height:.1f}" rx="2"><title>{edge:.2f} to {edge + 1 / bins:.2f}: {rows}</title></rect>'
        for i, (rows, height, edge) in enumerate(zip(shown, heights, edges[:-1], strict=True))
    ]
    ticks = [f'<text x="{20 + 320 * at}" y="148" text-anchor="middle">{at:g}</text>' for at in (0, 0.5, 1)]
    for part in (0.0, 0.25, 1.0):  # of the highest bar; on the root scale 0, 1/2 and 1
        y = 130 - 120 * np.sqrt(part)
        ticks.append(f'<line class="axis" x1="18" x2="342" y1="{y:.0f}" y2="{y:.0f}"/>')
        ticks.append(f'<text x="348" y="{y + 4:.0f}">{part * counts.max():,.0f}</text>')
    return svg(395, 155, "Histogram of the probability that a label is right (root scale)", ticks + bars)


def class_bars(names: list[str], rates: Floats, most: int = 20) -> str:
    """One bar a class, the highest error rate first, on an axis to at least 10 %; NaN: too few rows."""
    order = np.argsort(-rates, kind="stable")[:most]
    widest = max(float(np.nanmax(rates, initial=0)), LEAST_WIDEST)
    bars = []
    for line, k in enumerate(order):
        y = 8 + 24 * line
        bars.append(f'<text x="110" y="{y + 12}" text-anchor="end">{escape(names[k][:16])}</text>')
        if np.isnan(rates[k]):
            bars.append(f'<text x="118" y="{y + 12}">{TOO_SMALL}</text>')
            continue
        bars += [
            f'<rect class="rail" x="118" y="{y}" width="180" height="16" rx="3"/>',
            f'<rect class="wrong" x="118" y="{y}" width="{180 * rates[k] / widest:.1f}" height="16" rx="3"/>',
            f'<text x="304" y="{y + 12}">{percent(rates[k], 1)}</text>',
        ]
    bottom = 20 + 24 * len(order)
    bars += [
        f'<text x="{x}" y="{bottom}" text-anchor="middle">{percent(rate)}</text>'
        for x, rate in ((118, 0), (298, widest))
    ]
    return svg(360, bottom + 6, "Expected fraction of wrong labels by class", bars)


def matrix_map(matrix: Floats, names: list[str]) -> str:
    """The flip rates between many classes, true in rows, observed in columns; those that are confused side by side.

    The order is that of the leaves of a hierarchical clustering, by average linkage.
    """
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    flips = np.where(np.eye(len(names), dtype=bool), 0.0, matrix)
    near = np.minimum(flips + flips.T, 1.0)
    order = leaves_list(linkage(squareform(1 - near, checks=False), "average", optimal_ordering=len(names) <= 100))
    place = np.argsort(order)
    side = 360 / len(names)
    size = f'width="{side:.2f}" height="{side:.2f}"'
    cells = [
        f'<rect class="wrong" x="{side * place[k]:.2f}" y="{side * place[j]:.2f}" {size} '
        f'opacity="{min(np.sqrt(flips[j, k]), 1):.2f}"><title>true {escape(names[j])}, observed {escape(names[k])}: '
        f"{percent(flips[j, k], 1)}</title></rect>"
        for j, k in np.argwhere(flips >= LEAST_SHOWN)
    ]
    ground = '<rect class="rail" width="360" height="360" opacity=".4"/><path class="axis" d="M0 0L360 360"/>'
    return svg(360, 360, "Flip rates between all classes", [ground, *cells])


def svg(width: int, height: int, label: str, parts: list[str]) -> str:
    """An SVG drawing from its parts."""
    return f'<svg viewBox="0 0 {width} {height}" width="100%" role="img" aria-label="{label}">{"".join(parts)}</svg>'
