"""Small drawings for the report: SVG charts and PNG thumbnails, without a plotting library."""

from __future__ import annotations

import base64
import struct
import zlib
from html import escape
from typing import Any

import numpy as np
from scipy import sparse

from noisewise._inputs import Floats


def histogram(probability: Floats, bins: int = 20) -> str:
    """Bars of how many rows have each probability; those below one half are in the colour of doubt."""
    counts, edges = np.histogram(probability, bins=bins, range=(0, 1))
    heights = np.sqrt(counts / max(1, counts.max())) * 120  # the root keeps the small bars of doubt in sight
    bars = [
        f'<rect class="{"doubt" if edge < 0.5 else "bar"}" x="{20 + 16 * i}" y="{130 - height:.1f}" width="14" '
        f'height="{height:.1f}" rx="2"><title>{edge:.2f} to {edge + 1 / bins:.2f}: {count} rows</title></rect>'
        for i, (count, height, edge) in enumerate(zip(counts, heights, edges[:-1], strict=True))
    ]
    ticks = [f'<text x="{20 + 320 * at}" y="148" text-anchor="middle">{at:g}</text>' for at in (0, 0.5, 1)]
    return _svg(360, 155, "Histogram of the probability that a label is right (root scale)", bars + ticks)


def class_bars(names: list[str], shares: Floats, most: int = 20) -> str:
    """One bar a class, the most doubtful first."""
    order = np.argsort(-shares, kind="stable")[:most]
    widest = max(float(shares.max(initial=0)), 1e-9)
    bars = []
    for line, place in enumerate(order):
        y = 8 + 24 * line
        bars += [
            f'<text x="110" y="{y + 12}" text-anchor="end">{escape(names[place][:16])}</text>',
            f'<rect class="rail" x="118" y="{y}" width="180" height="16" rx="3"/>',
            f'<rect class="doubt" x="118" y="{y}" width="{180 * shares[place] / widest:.1f}" height="16" rx="3"/>',
            f'<text x="304" y="{y + 12}">{shares[place]:.1%}</text>',
        ]
    return _svg(360, 16 + 24 * len(order), "Expected share of wrong labels by class", bars)


def thumbnails(X: Any, rows: Any) -> list[str] | None:
    """PNG images (base64) of rows that look like square pictures; None if they do not."""
    if sparse.issparse(X) or not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind not in "iuf":
        return None
    side = int(np.sqrt(X.shape[1]))
    if side < 6 or side * side != X.shape[1]:
        return None
    low, high = float(np.nanmin(X)), float(np.nanmax(X))
    shade = (np.nan_to_num(X[rows].astype(float)) - low) / max(high - low, 1e-12)
    return [_png((255 * picture).astype(np.uint8).reshape(side, side)) for picture in shade]


def _png(pixels: Any) -> str:
    """A greyscale PNG of a (height, width) uint8 array, as base64."""
    height, width = pixels.shape
    raw = b"".join(b"\0" + line.tobytes() for line in pixels)
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)),
        (b"IDAT", zlib.compress(raw)),
        (b"IEND", b""),
    ]
    body = b"".join(struct.pack(">I", len(d)) + t + d + struct.pack(">I", zlib.crc32(t + d)) for t, d in chunks)
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + body).decode()


def _svg(width: int, height: int, label: str, parts: list[str]) -> str:
    return f'<svg viewBox="0 0 {width} {height}" width="100%" role="img" aria-label="{label}">{"".join(parts)}</svg>'
