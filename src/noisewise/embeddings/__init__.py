"""Texts and pictures as features: embeddings by any encoder, in blocks."""

from noisewise.embeddings.images import SUFFIXES as SUFFIXES
from noisewise.embeddings.images import data_uri as data_uri
from noisewise.embeddings.images import embed_images
from noisewise.embeddings.images import embed_readable as embed_readable
from noisewise.embeddings.images import is_readable as is_readable
from noisewise.embeddings.images import unreadable_sentence as unreadable_sentence
from noisewise.embeddings.networks import OnnxEncoder, TorchEncoder
from noisewise.embeddings.texts import TEXT_WIDTH as TEXT_WIDTH
from noisewise.embeddings.texts import WORDS as WORDS
from noisewise.embeddings.texts import default_text_encoder as default_text_encoder
from noisewise.embeddings.texts import embed_texts
from noisewise.embeddings.texts import hashed_words as hashed_words

__all__ = ["OnnxEncoder", "TorchEncoder", "embed_images", "embed_texts"]
__shared__ = [
    "SUFFIXES",
    "TEXT_WIDTH",
    "WORDS",
    "data_uri",
    "default_text_encoder",
    "embed_readable",
    "hashed_words",
    "is_readable",
    "unreadable_sentence",
]
