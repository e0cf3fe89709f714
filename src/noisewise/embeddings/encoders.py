"""What an encoder may be, and how it is called: a list of texts or pictures in, a row of numbers for each out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisewise._validation import listed
from noisewise.embeddings.networks import OnnxEncoder, TorchEncoder

Encoder = Callable[[list[Any]], Any]
METHODS = ("encode", "embed")  # of sentence-transformers and model2vec; of WordLlama and its like


def encoder_of(given: Any, named: Mapping[str, Encoder]) -> Encoder:
    """An encoder from its name, an .onnx file, an object with `encode` or `embed`, a torch module or a function."""
    if isinstance(given, str | Path):
        if str(given) in named:
            return named[str(given)]
        if Path(given).suffix.lower() == ".onnx":
            return OnnxEncoder(given)
        raise ValueError(f"encoder is {str(given)!r}; {listed(list(named))}, an .onnx file or a function would do")
    for method in METHODS:
        if callable(getattr(given, method, None)):
            return getattr(given, method)  # type: ignore[no-any-return]
    if hasattr(given, "forward") and hasattr(given, "parameters"):  # a torch module, known without importing torch
        return TorchEncoder(given)
    if not callable(given):
        raise ValueError(
            f"encoder is a {type(given).__name__}; a function of a list, an object with `encode`, a torch module or an "
            ".onnx file would do"
        )
    return given  # type: ignore[no-any-return]


def encoded(encoder: Encoder, items: list[Any]) -> NDArray[np.floating[Any]]:
    """A block of texts or pictures as an array of one row each."""
    found = encoder(items)
    array = np.asarray(found.detach().cpu() if hasattr(found, "detach") else found)
    if array.ndim != 2 or len(array) != len(items) or array.dtype.kind not in "fiu":
        raise ValueError(
            f"the encoder gave an array of shape {array.shape} and type {array.dtype} for {len(items)} items; one row "
            "of numbers for each is needed"
        )
    if not np.isfinite(array).all():
        raise ValueError("the encoder gave NaN or infinity; finite numbers are needed")
    return array.astype(np.float32) if array.dtype.itemsize < 4 or array.dtype.kind != "f" else array
