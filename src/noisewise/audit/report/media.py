"""Rows as a person would look at them: their pictures, and their texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from noisewise._typing import Codes
from noisewise.audit.report.features import features_of
from noisewise.audit.report.thumbnails import thumbnails
from noisewise.embeddings import data_uri

if TYPE_CHECKING:
    from noisewise.audit.result import LabelAudit

LEAST_WORDS = 3  # on average, of columns that are shown as text
MOST_UNFOLDED = 160  # characters of a text that are shown before it is unfolded


def pictures_of(audit: LabelAudit, rows: Codes, side: int = 160) -> list[str] | None:
    """Pictures of these rows as data URIs, of at most so many pixels a side; "" where a file is gone.

    None if the rows of the audit are no pictures.
    """
    if audit.images is not None:
        return [_uri(audit.images[row], side) for row in rows]
    found = thumbnails(audit.X, rows)
    return None if found is None else [f"data:image/png;base64,{png}" for png in found]


def texts_of(X: Any, rows: Codes) -> dict[str, list[str]]:
    """The columns of X that hold text of several words, whole, for these rows."""
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.DataFrame | nw.LazyFrame):
        strings = [name for name, kind in frame.collect_schema().items() if kind in (nw.String, nw.Object)]
        found = features_of(frame.select(strings).to_native(), rows) if strings else {}
    else:
        found = features_of(X, rows) if np.dtype(getattr(X, "dtype", float)).kind == "O" else {}
    texts = {name: ["" if value is None else str(value) for value in values] for name, values in found.items()}
    return {name: values for name, values in texts.items() if _n_words(values) >= LEAST_WORDS}


def folded(text: str) -> dict[str, Any]:
    """The cell of a text: a long one begins folded.

    >>> folded("short")
    {'text': 'short', 'key': 'short', 'kind': 'text'}
    """
    cell = {"text": text, "key": text, "kind": "text"}
    return cell if len(text) <= MOST_UNFOLDED else cell | {"start": " ".join(text[:MOST_UNFOLDED].split())}


def _n_words(texts: list[str]) -> float:
    return float(np.mean([len(text.split()) for text in texts if text] or [0]))


def _uri(image: Any, side: int) -> str:
    try:
        return data_uri(image, side)
    except ValueError:
        return ""
