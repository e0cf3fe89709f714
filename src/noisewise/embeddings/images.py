"""Embeddings of pictures: by histograms of gradients and pixels, or by any encoder; and pictures for a page."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisewise._numerics.blocks import blocks
from noisewise.embeddings.encoders import encoded, encoder_of
from noisewise.embeddings.hog import picture_features

SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".webp")
MOST_SIDE = 384  # pixels of the longer side that encoders get; few take more
IMAGE_BLOCK = 64  # pictures in memory at a time, 28 MB
SMALL_SIDE = 64  # pixels; smaller pictures are shown as they are, without loss
MOST_NAMED = 3  # unreadable files in a sentence

Progress = Callable[[int, int], None]  # pictures done, of so many


def embed_images(images: Sequence[Any], encoder: Any = None, *, progress: Progress | None = None) -> Any:
    """Features of pictures, a row each.

    Parameters
    ----------
    images : sequence of paths, Pillow pictures or arrays of shape (height, width) or (height, width, 3)
    encoder : optional
        A function of a list of Pillow pictures (RGB, at most 384 pixels a side), an object with `encode` (CLIP of
        sentence-transformers), a torch module, an .onnx file, or "hog", the default: histograms of oriented gradients
        and a small copy of the picture, which need no model.
    progress : callable, optional
        Called with the number of pictures done, and of all.

    Returns
    -------
    array of shape (n, d)

    Examples
    --------
    >>> pictures = [np.zeros((28, 28), dtype=np.uint8), np.eye(28, dtype=np.uint8) * 255]
    >>> embed_images(pictures).shape
    (2, 848)
    """
    rows, unreadable = embed_readable(images, encoder, progress)
    if unreadable:
        raise ValueError(f"{unreadable_sentence(images, unreadable)}; mend these files, or drop their rows")
    return rows


def embed_readable(
    images: Sequence[Any], encoder: Any = None, progress: Progress | None = None
) -> tuple[NDArray[np.floating[Any]], dict[int, str]]:
    """Features of the pictures that can be read, and by index why the others can't."""
    function = encoder_of("hog" if encoder is None else encoder, {"hog": picture_features})
    parts, unreadable = [], {}
    for block in blocks(len(images), IMAGE_BLOCK):
        pictures = []
        for i in range(block.start, block.stop):
            try:
                pictures.append(read_picture(images[i]))
            except ValueError as error:
                unreadable[i] = str(error)
        if pictures:
            parts.append(encoded(function, pictures))
        if progress is not None:
            progress(block.stop, len(images))
    if not parts:
        raise ValueError(unreadable_sentence(images, unreadable) if unreadable else "there are no pictures")
    return np.concatenate(parts), unreadable


def unreadable_sentence(images: Sequence[Any], unreadable: Mapping[int, str]) -> str:
    """Which pictures can't be read, and why.

    >>> print(unreadable_sentence(["a.png", "b.png"], {1: "no such file"}))
    1 of 2 pictures can't be read: b.png (no such file)
    """
    named = [f"{_name(images[i], i)} ({why})" for i, why in list(unreadable.items())[:MOST_NAMED]]
    more = ", ..." if len(unreadable) > MOST_NAMED else ""
    return f"{len(unreadable)} of {len(images)} pictures can't be read: {', '.join(named)}{more}"


def is_readable(image: Any) -> bool:
    """Whether a picture can be read."""
    try:
        read_picture(image)
    except ValueError:
        return False
    return True


def read_picture(image: Any, most: int = MOST_SIDE) -> Any:
    """An RGB Pillow picture of at most so many pixels a side, upright, on white where it is transparent.

    Raises ValueError with a reason in a few words.
    """
    Image, ImageOps = _pillow()
    try:
        picture = _in_rgb(ImageOps.exif_transpose(_opened(image, Image, most)), Image)
    except FileNotFoundError:
        raise ValueError("no such file") from None
    except IsADirectoryError:
        raise ValueError("a folder") from None
    except Image.UnidentifiedImageError:
        raise ValueError("no picture") from None
    except (OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise ValueError(str(error).splitlines()[0][:80] or type(error).__name__) from None
    picture.thumbnail((most, most))
    return picture


def data_uri(image: Any, most: int = 160) -> str:
    """The picture as a data URI for a page: PNG where it is small, else a JPEG of at most so many pixels a side."""
    picture = read_picture(image, most)
    small = max(picture.size) <= SMALL_SIDE
    file = io.BytesIO()
    picture.save(file, "PNG" if small else "JPEG", **({} if small else {"quality": 85}))
    return f"data:image/{'png' if small else 'jpeg'};base64,{base64.b64encode(file.getvalue()).decode()}"


def _opened(image: Any, Image: Any, most: int) -> Any:
    if image is None:
        raise ValueError("no path")
    if isinstance(image, Image.Image):
        return image.copy()
    if isinstance(image, str | Path):
        with Image.open(image) as picture:
            picture.draft("RGB", (2 * most, 2 * most))  # a large JPEG is decoded at a fraction of its size
            picture.load()
            return picture
    pixels = np.asarray(image)
    if pixels.ndim == 3 and pixels.shape[2] == 1:
        pixels = pixels[:, :, 0]
    if pixels.dtype == np.uint8 and (pixels.ndim == 2 or (pixels.ndim == 3 and pixels.shape[2] in (3, 4))):
        return Image.fromarray(pixels)
    raise ValueError(f"shape {pixels.shape} and type {pixels.dtype}; bytes of grey or RGB are needed")


def _in_rgb(picture: Any, Image: Any) -> Any:
    """RGB, also of pictures with more than 8 bits, whose brightness is scaled, and of transparent ones, on white."""
    if picture.mode[0] in "IF":
        values = np.asarray(picture, dtype=np.float64)
        top = next((top for top in (255, 65535) if values.max() <= top), values.max())
        picture = Image.fromarray(np.clip(255 * values / top, 0, 255).astype(np.uint8))
    if picture.has_transparency_data:
        layer = picture.convert("RGBA")
        picture = Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer)
    return picture.convert("RGB")


def _name(image: Any, index: int) -> str:
    return str(image) if isinstance(image, str | Path) else f"row {index}"


def _pillow() -> tuple[Any, Any]:
    try:
        from PIL import Image, ImageOps
    except ImportError:
        raise ImportError("pictures need Pillow; `pip install 'noisewise[images]'` brings it") from None
    return Image, ImageOps
