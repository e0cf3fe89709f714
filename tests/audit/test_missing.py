"""Labels that are missing or misspelt, as arguments of the audit."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from noisewise import audit_images, audit_labels


def labelled(rng):
    x = rng.normal(size=(150, 2))
    labels = np.where(x[:, 0] > 0, "account", "billing").astype(object)
    labels[3], labels[11] = "acount" if x[3, 0] > 0 else "biling", None
    labels[20] = float("nan")
    return x, labels


@pytest.mark.parametrize("frame", [lambda x: x, pd.DataFrame, lambda x: pl.DataFrame(x, schema=["a", "b"])])
def test_rows_without_a_label_are_left_out(frame, rng):
    x, labels = labelled(rng)
    audit = audit_labels(frame(x), labels, missing="skip", merge=True, annotators=["ann"] * 150)
    kept = np.delete(np.arange(150), [11, 20])
    np.testing.assert_array_equal(audit.kept, kept)
    assert len(audit.annotators) == 148
    alone = audit_labels(x[kept], np.where(x[kept, 0] > 0, "account", "billing"))
    np.testing.assert_allclose(audit.posterior, alone.posterior, atol=1e-6)
    assert audit.predicted is None
    assert "2 rows have no label, left out" in " ".join(audit.notes)


def test_missing_labels_are_predicted(rng):
    x, labels = labelled(rng)
    audit = audit_labels(pd.DataFrame(x), labels, missing="predict", merge=True)
    assert audit.predicted["row"].tolist() == [11, 20]
    wanted = np.where(x[[11, 20], 0] > 0, "account", "billing")
    np.testing.assert_array_equal(audit.predicted["label"], wanted)


def test_what_was_merged_is_noted(rng):
    x, labels = labelled(rng)
    audit = audit_labels(x, labels, missing="skip", merge=True)
    assert audit.classes.tolist() == ["account", "billing"]
    assert any(note.startswith(("merged 'acount' into", "merged 'biling' into")) for note in audit.notes)


def test_pictures_without_a_label_are_left_out(rng):
    pictures = rng.integers(0, 255, (40, 8, 8)).astype(np.uint8)
    labels = np.array(["a", "b"] * 20, dtype=object)
    labels[5] = None
    audit = audit_images(pictures, labels, missing="skip")
    assert len(audit.images) == len(audit.observed) == 39


def test_none_is_refused_and_other_words_too(rng):
    x, labels = labelled(rng)
    with pytest.raises(ValueError, match="missing is 'drop'; 'skip', 'predict' or None"):
        audit_labels(x, labels, missing="drop")
    with pytest.raises(ValueError, match="can't be left out; collect it"):
        audit_labels(pl.DataFrame(x).lazy(), labels, missing="skip")
