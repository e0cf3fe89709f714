"""The papers' own files, where NOISEWISE_DATA names a folder that holds them."""

import os
from pathlib import Path

import numpy as np
import pytest

from noisewise import datasets
from noisewise.datasets.catalogue import ENTRIES

FOLDER = Path(os.environ.get("NOISEWISE_DATA") or os.devnull)
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="NOISEWISE_DATA names no folder")


def _need(file):
    if not (FOLDER / file).is_file():
        pytest.skip(f"needs {file} in the folder NOISEWISE_DATA names")


@pytest.mark.parametrize("entry", [entry for entry in ENTRIES if not entry.bundled], ids=lambda entry: entry.name)
def test_the_catalogue_tells_the_size_of_each_file(entry):
    _need(entry.file)
    X, y = datasets.load(entry.name)
    labels, counts = np.unique(y, return_counts=True)
    assert X.shape == (entry.rows, entry.columns)
    assert tuple(counts) == entry.counts
    assert labels.tolist() == ([-1, 1] if entry.raetsch else list(range(entry.classes)))


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("twonorm", datasets.make_twonorm),
        ("ringnorm", datasets.make_ringnorm),
        ("waveform", lambda n, seed: datasets.make_waveform(n, seed, binary=True)),
    ],
)
def test_generators_have_the_moments_of_the_files(name, make):
    _need(f"raetsch_{name}.npz")
    X, y = datasets.load(name)
    X_drawn, y_drawn = make(200_000, 0)
    if name == "waveform":  # the file's columns are standardised
        X, X_drawn = ((rows - rows.mean(axis=0)) / rows.std(axis=0) for rows in (X, X_drawn))
    _assert_same_mean(y, y_drawn)
    for sign in (-1, 1):
        file, drawn = X[y == sign], X_drawn[y_drawn == sign]
        _assert_same_mean(file, drawn)
        _assert_same_mean(file**2, drawn**2)
        _assert_same_mean(file[:, :-1] * file[:, 1:], drawn[:, :-1] * drawn[:, 1:])


def _assert_same_mean(one, two):
    standard_error = np.sqrt(one.var(axis=0) / len(one) + two.var(axis=0) / len(two))
    assert np.max(np.abs(one.mean(axis=0) - two.mean(axis=0)) / standard_error) < 5


def test_the_crowd_agrees_with_the_truth_as_often_as_published():
    _need("crowd_rte.npz")
    items, annotators, labels, gold = datasets.load_crowd("rte")
    assert (len(items), len(np.unique(annotators)), len(gold)) == (8000, 164, 800)
    assert abs((labels == gold[items]).mean() - 0.729) < 0.001
