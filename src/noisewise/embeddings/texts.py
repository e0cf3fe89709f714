"""Embeddings of texts: by WordLlama, whose package carries its weights, or by any encoder."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisewise._numerics.blocks import blocks
from noisewise.embeddings.encoders import encoded, encoder_of

WORDS, WORDLLAMA = "words", "wordllama"
TEXT_WIDTH = 2**10  # hashed columns
TEXT_BLOCK = 256  # texts that an encoder gets at a time; it divides the blocks of streamed rows: the same there


def embed_texts(texts: Any, encoder: Any = None) -> Any:
    """Features of texts, a row each.

    Parameters
    ----------
    texts : sequence of str
        None and NaN count as empty.
    encoder : optional
        A function of a list of texts, an object with `encode` or `embed` (sentence-transformers, model2vec, WordLlama),
        an .onnx file whose input are strings, "wordllama", or "words" (hashed words, without a model). By default
        "wordllama" where its package is installed, else "words".

    Returns
    -------
    array of shape (n, d); CSR for "words"

    Examples
    --------
    >>> embed_texts(["red shoes", "blue shoes"], encoder=lambda texts: [[len(text)] for text in texts]).tolist()
    [[9.0], [10.0]]
    """
    if isinstance(texts, str):
        raise ValueError("texts is one string; a list of texts is needed")
    plain = ["" if text is None or text != text else str(text) for text in texts]
    if not plain:
        raise ValueError("there are no texts")
    chosen = default_text_encoder() if encoder is None else encoder
    if chosen == WORDS:
        return hashed_words(plain)
    function = encoder_of(chosen, {WORDLLAMA: _wordllama, WORDS: hashed_words})
    return np.concatenate([encoded(function, plain[block]) for block in blocks(len(plain), TEXT_BLOCK)])


def default_text_encoder() -> str:
    """WordLlama where its package is installed, else hashed words."""
    return WORDLLAMA if find_spec("wordllama") else WORDS


def hashed_words(texts: Any, width: int = TEXT_WIDTH) -> Any:
    """Word counts, hashed, as CSR rows of unit length."""
    from sklearn.feature_extraction.text import HashingVectorizer

    return HashingVectorizer(n_features=width, alternate_sign=False, norm="l2").transform(texts)


def _wordllama(texts: list[str]) -> NDArray[np.float32]:
    """Means of token embeddings; a text without tokens is zero.

    Each text is averaged by itself: WordLlama's own `embed` pads a batch to its longest text, which takes memory.
    """
    tokenizer, vectors = _wordllama_parts()
    tokens = tokenizer.encode_batch(texts, add_special_tokens=False)
    empty = np.zeros(vectors.shape[1], dtype=np.float32)
    return np.stack([vectors[text.ids].mean(axis=0) if text.ids else empty for text in tokens])


@cache
def _wordllama_parts() -> tuple[Any, NDArray[np.float32]]:
    """Tokenizer and token embeddings, from the files in the package: nothing is downloaded.

    The package itself is not imported: it would set up the logging of the whole program.
    """
    found = find_spec("wordllama")
    if found is None or found.origin is None:
        raise ImportError("sentence embeddings need wordllama; `pip install 'noisewise[texts]'` brings it") from None
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    folder = Path(found.origin).parent
    tokenizer = Tokenizer.from_file(str(folder / "tokenizers" / "l2_supercat_tokenizer_config.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    vectors = load_file(folder / "weights" / "l2_supercat_256.safetensors")["embedding.weight"]
    return tokenizer, vectors.astype(np.float32)
