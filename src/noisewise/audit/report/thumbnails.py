"""Thumbnails of rows that are images."""

from __future__ import annotations

import base64
import re
import struct
import zlib
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from noisewise._typing import Codes, Floats
from noisewise.audit.report.features import features_of

LEAST_SIDE = 6  # pixels; rows of fewer than 36 columns are not taken for images


def thumbnails(X: Any, rows: Codes) -> list[str] | None:
    """PNG images (base64) of rows that look like square greyscale images; None if they do not.

    Arrays do if their columns are as many as a square has; frames if, besides, they hold numbers from 0 to 255 in
    columns that are called alike but for numbers, such as pixel0, pixel1, ...
    """
    pixels = _pixels(X, rows)
    if pixels is None:
        return None
    shades, low, high = pixels
    side = int(np.sqrt(shades.shape[1]))
    grey = 255 * np.clip((np.nan_to_num(shades) - low) / max(high - low, 1e-12), 0, 1)
    return [_png(picture.astype(np.uint8).reshape(side, side)) for picture in grey]


def _pixels(X: Any, rows: Codes) -> tuple[Floats, float, float] | None:
    """Pixels of these rows, and the values of black and white."""
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.DataFrame | nw.LazyFrame):
        schema = frame.collect_schema()
        names = {re.sub(r"[\d_x,. ]+", "", str(name)) for name in schema.names()}
        if not _is_square(len(schema)) or len(names) > 1 or not all(kind.is_numeric() for kind in schema.dtypes()):
            return None
        shades = np.array(list(features_of(X, rows).values()), dtype=np.float64).T
        fits = shades.size and np.nanmin(shades) >= 0 and np.nanmax(shades) <= 255
        return (shades, 0.0, float(np.nanmax(shades))) if fits else None
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind not in "iuf" or not _is_square(X.shape[1]):
        return None
    return X[rows].astype(np.float64), float(np.nanmin(X)), float(np.nanmax(X))


def _is_square(n_columns: int) -> bool:
    side = int(np.sqrt(n_columns))
    return side >= LEAST_SIDE and side * side == n_columns


def _png(pixels: NDArray[np.uint8]) -> str:
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
