"""Features of pictures without a network: histograms of oriented gradients, and a small copy in grey and colour."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

SIDE = 32  # pixels of the square that gradients are taken in
CELL = 4  # pixels of a cell's side; 8 x 8 cells and the copy make fewer than 1,000 columns, which enter the ridge whole
BINS = 9  # directions from 0 to 180 degrees
GREY, COLOUR = 12, 8  # pixels of the sides of the copies: brightness, and each of two colour differences
FLAT = 0.02  # of the range of brightness: gradients of a cell below it are noise, and are not blown up

Pixels = NDArray[np.float32]


def picture_features(pictures: list[Any]) -> Pixels:
    """HOG and small copies of Pillow pictures, a row of 848 columns each.

    References
    ----------
    .. [1] Dalal, N., Triggs, B. (2005). Histograms of oriented gradients for human detection. CVPR.
    .. [2] Felzenszwalb, P., Girshick, R., McAllester, D., Ramanan, D. (2010). Object detection with discriminatively
       trained part-based models. IEEE TPAMI 32 (normalisation of a cell by its four blocks).
    """
    from PIL import Image

    shrink = Image.Resampling.BOX  # a mean of pixels, where a picture is made smaller
    layers = [picture.convert("YCbCr").split() for picture in pictures]
    gradients = histograms(_stacked([grey.resize((SIDE, SIDE), Image.Resampling.BILINEAR) for grey, _, _ in layers]))
    grey = _stacked([grey.resize((GREY, GREY), shrink) for grey, _, _ in layers])
    colours = [_stacked([layer[k].resize((COLOUR, COLOUR), shrink) for layer in layers]) for k in (1, 2)]
    parts = [gradients, grey, *colours]
    return np.concatenate([part.reshape(len(pictures), -1) for part in parts], axis=1)


def histograms(grey: Pixels) -> Pixels:
    """Histograms of oriented gradients of square pictures (n, side, side): (n, cells, cells, BINS).

    A gradient votes for the two directions nearest to its own, by its length. The votes of a cell are divided by the
    lengths of the four blocks of 2 x 2 cells that it is part of, clipped at .2 as by Dalal and Triggs, and averaged.
    """
    padded = np.pad(grey, ((0, 0), (1, 1), (1, 1)), mode="edge")
    across = padded[:, 1:-1, 2:] - padded[:, 1:-1, :-2]
    down = padded[:, 2:, 1:-1] - padded[:, :-2, 1:-1]
    length = np.hypot(across, down)
    direction = np.mod(np.arctan2(down, across), np.pi) * (BINS / np.pi)
    lower = np.floor(direction)
    weight = direction - lower
    cells = np.stack(
        [
            _cell_means(length * ((1 - weight) * (lower % BINS == k) + weight * ((lower + 1) % BINS == k)))
            for k in range(BINS)
        ],
        axis=-1,
    )
    return _normalised(cells)


def _cell_means(votes: Pixels) -> Pixels:
    n, side, _ = votes.shape
    cells = side // CELL
    return np.asarray(votes.reshape(n, cells, CELL, cells, CELL).mean(axis=(2, 4)))


def _normalised(cells: Pixels) -> Pixels:
    """The mean of a cell's votes over the lengths of its four blocks; cells outside count as the nearest inside."""
    energy = np.pad((cells**2).sum(axis=-1), ((0, 0), (1, 1), (1, 1)), mode="edge")
    blocks = energy[:, :-1, :-1] + energy[:, :-1, 1:] + energy[:, 1:, :-1] + energy[:, 1:, 1:]
    scale = 1 / np.sqrt(blocks + FLAT**2)
    sides = (slice(None, -1), slice(1, None))
    of_blocks = [np.minimum(cells * scale[:, i, j, None], 0.2) for i in sides for j in sides]
    return np.asarray(sum(of_blocks) / len(of_blocks), dtype=np.float32)


def _stacked(pictures: list[Any]) -> Pixels:
    """Grey Pillow pictures of one size as an array of numbers from 0 to 1."""
    return np.stack([np.asarray(picture, dtype=np.float32) for picture in pictures]) / np.float32(255)
