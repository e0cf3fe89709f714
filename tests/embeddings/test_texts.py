"""Texts as features: offline sentence embeddings, hashed words, or any encoder."""

import subprocess
import sys

import numpy as np
import pytest

from noisewise.embeddings import embed_texts
from noisewise.embeddings.texts import TEXT_BLOCK, TEXT_WIDTH

TEXTS = ["my invoice is wrong", "the bill has an error", "the app crashes at start", "it stops with a fault on launch"]


def test_texts_come_in_blocks_and_in_order():
    sizes = []

    def encoder(block):
        sizes.append(len(block))
        return [[len(text)] for text in block]

    texts = ["x" * (i % 7) for i in range(TEXT_BLOCK + 5)]
    assert embed_texts(texts, encoder)[:, 0].tolist() == [len(text) for text in texts]
    assert sizes == [TEXT_BLOCK, 5]


def test_missing_texts_are_empty():
    given = []
    embed_texts(["a", None, np.nan], lambda block: given.extend(block) or np.zeros((3, 1)))
    assert given == ["a", "", ""]


def test_words_are_hashed_without_a_model():
    rows = embed_texts(TEXTS, "words")
    assert rows.shape == (4, TEXT_WIDTH)
    np.testing.assert_allclose((rows.toarray() ** 2).sum(axis=1), 1)


@pytest.mark.parametrize(
    ("texts", "encoder", "sentence"),
    [("one text", None, "one string"), ([], None, "no texts"), (["a"], "bert", "encoder is 'bert'")],
)
def test_bad_input_is_told_in_a_sentence(texts, encoder, sentence):
    with pytest.raises(ValueError, match=sentence):
        embed_texts(texts, encoder)


def test_texts_of_like_meaning_are_near_though_they_share_no_words():
    pytest.importorskip("wordllama")
    rows = embed_texts(TEXTS, "wordllama")
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    alike = rows @ rows.T
    assert min(alike[0, 1], alike[2, 3]) > max(alike[0, 2], alike[0, 3], alike[1, 2], alike[1, 3])


def test_an_embedding_is_that_of_wordllama_itself_and_does_not_depend_on_its_neighbours():
    wordllama = pytest.importorskip("wordllama")
    from pathlib import Path

    texts = [*TEXTS, "", "long " * 700]
    rows = embed_texts(texts, "wordllama")
    model = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
    np.testing.assert_allclose(rows, model.embed(texts), atol=1e-5)
    np.testing.assert_array_equal(rows[1:2], embed_texts(texts[1:2], "wordllama"))


def test_wordllama_is_loaded_without_a_network_and_without_touching_the_logging():
    pytest.importorskip("wordllama")
    code = (
        "import socket, logging\n"
        "def refuse(*arguments): raise OSError('no network')\n"
        "socket.socket.connect = refuse\n"
        "from noisewise.embeddings import embed_texts\n"
        "assert embed_texts(['a text'], 'wordllama').shape == (1, 256)\n"
        "assert not logging.root.handlers\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
