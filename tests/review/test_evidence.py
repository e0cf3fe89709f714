"""What a row is compared with: independent formulas, and cases that can be checked by eye."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from scipy.stats import median_abs_deviation
from sklearn.datasets import load_digits

from noisewise import audit_labels, audit_probabilities
from noisewise.audit import audit_images
from noisewise.review import compared
from noisewise.review.compared import ComparedRows
from noisewise.review.evidence import Evidences, as_text, robust_z


@pytest.fixture(scope="module")
def pets():
    """Cats are light and quiet, dogs heavy and loud; row 0 is a dog that is called a cat."""
    rng = np.random.default_rng(0)
    is_dog = np.arange(120) % 2 == 0
    words = np.where(is_dog, "it barks and wags its tail", "it purrs and naps in the sun")
    table = pd.DataFrame(
        {
            "name": [f"pet {row} of {3 * row}" if row % 2 else f"p{row}" for row in range(120)],
            "weight": np.where(is_dog, 20, 4) + rng.normal(size=120),
            "height": rng.normal(size=120),
            "voice": np.where(is_dog, "loud", "quiet"),
            "colour": rng.choice(["black", "white"], 120),
            "legs": rng.integers(3, 5, 120),
            "story": [f"{text} {row}" for row, text in enumerate(words)],
        }
    )
    labels = np.where(is_dog, "dog", "cat")
    labels[0] = "cat"
    return audit_labels(table.drop(columns="name"), labels)


@pytest.mark.parametrize("kind", ["pandas", "polars", "lazy"])
def test_columns_that_tell_the_classes_apart_speak_for_the_suggestion(pets, kind):
    X = pets.X if kind == "pandas" else pl.from_pandas(pets.X)
    audit = audit_labels(X.lazy() if kind == "lazy" else X, pets.classes[pets.observed])
    rows = Evidences(ComparedRows(audit, np.array([0])))
    found = {one.name: one for one in rows.columns(0, suggested=1, observed=0)}
    assert [one.name for one in rows.columns(0, 1, 0)][:2] in (["weight", "voice"], ["voice", "weight"])
    assert found["weight"].score > 5
    assert found["voice"].score > 3
    assert abs(found["height"].score) < 3
    assert found["voice"].suggested == "100 % of rows"
    assert found["voice"].observed == "0 % of rows"
    assert set(found) == {"weight", "height", "voice", "colour", "legs"}
    reverse = {one.name: one.score for one in rows.columns(0, suggested=0, observed=1)}
    assert reverse == pytest.approx({name: -one.score for name, one in found.items()})


def test_identifiers_are_shown_and_not_compared(pets):
    X = pets.X.assign(number=np.arange(1000, 1120), code=[f"pet-{row}" for row in range(120)])
    rows = ComparedRows(audit_labels(X, pets.classes[pets.observed]), np.array([70, 0, 3]))
    assert rows.unused == ["number", "code"]
    assert (rows.cell("number", 3), rows.cell("code", 70)) == (1003, "pet-70")


def test_the_z_score_is_that_of_scipy(rng):
    values = rng.normal(size=41)
    wanted = abs(2.5 - np.median(values)) / median_abs_deviation(values, scale="normal")
    assert robust_z(2.5, values) == pytest.approx(wanted, rel=1e-4)
    assert robust_z(1.0, np.zeros(9)) == pytest.approx(20)  # equal values: one part in twenty of the column's


def test_what_is_usual_are_the_quartiles_in_units_of_the_table(pets):
    rows = ComparedRows(pets, np.array([0]))
    (weight,) = [one for one in Evidences(rows).columns(0, 1, 0) if one.name == "weight"]
    dogs = np.sort(pets.X["weight"].to_numpy()[rows.rows[rows.members(1)]])
    low, high = (dogs[round(at * (len(dogs) - 1))] for at in (0.25, 0.75))
    assert weight.suggested == f"{as_text(low)} to {as_text(high)}"


def test_words_are_marked_and_the_text_stays_whole(pets):
    parts = Evidences(ComparedRows(pets, np.array([0]))).words("story", 0, 1, 0)
    assert "".join(text for text, _ in parts) == "it barks and wags its tail 0"
    assert [text for text, side in parts if side == 1] == ["barks", "wags", "its", "tail"]
    assert not [text for text, side in parts if side == -1]


def test_nearest_rows_are_those_of_all_distances():
    X, y = load_digits(return_X_y=True)
    X, y = X[:300], y[:300].copy()
    y[5] = 0
    audit = audit_labels(X, y)
    rows = ComparedRows(audit, np.array([5, 6]))
    for label in (0, 5):
        members = [i for i in range(300) if y[i] == label and audit.probability[i] >= 0.5 and i != 5]
        wanted = sorted(members, key=lambda i: np.sum((X[i] - X[5]) ** 2))[:3]
        assert rows.nearest(5, label) == wanted
    assert rows.are_pixels
    assert rows.names == []
    sparse_rows = ComparedRows(audit_labels(sparse.csr_array(X), y), np.array([5]))
    assert sparse_rows.names == []
    assert len(sparse_rows.nearest(5, 5)) == 3


def test_pictures_are_shown_with_those_most_like_them(tmp_path):
    Image = pytest.importorskip("PIL.Image", reason="Pillow reads pictures")
    rng = np.random.default_rng(0)
    for k in range(2):
        (tmp_path / "pictures" / f"{'ab'[k]} of two").mkdir(parents=True)
        for i in range(12):
            shade = rng.integers(0, 60, (80, 80)).astype(np.uint8)
            shade[20:60] += np.uint8(150 * k)
            Image.fromarray(shade).save(tmp_path / "pictures" / f"{'ab'[k]} of two" / f"{i}.png")
    audit = audit_images(tmp_path / "pictures")
    rows = ComparedRows(audit, np.array([0]))
    assert not rows.are_pixels
    assert rows.names == rows.unused == ["image"]
    assert Evidences(rows).columns(0, 1, 0) == []
    (picture,) = rows.pictures([0], 640)
    assert picture.startswith("data:image/jpeg;base64,")
    assert all(audit.observed[row] == 1 for row in rows.nearest(0, 1))
    assert len(rows.nearest(0, 1)) == 3
    (tmp_path / "pictures" / "b of two" / "3.png").unlink()
    gone = ComparedRows(audit, np.array([0]))
    assert gone.nearest(0, 1) == []


def test_a_large_table_is_sampled(pets, monkeypatch):
    monkeypatch.setattr(compared, "MOST_VALUES", 30 * 6)
    rows = ComparedRows(pets, np.array([0, 1]))
    assert rows.sampled
    assert len(rows.rows) == 32
    assert rows.nearest(0, 1)


def test_texts_in_an_array_are_shown_whole(pets):
    texts = pets.X["story"].to_numpy(dtype=str)
    p = np.clip(np.where(pets.observed[:, None] == [0, 1], 0.8, 0.2), 0, 1)
    p[0] = [0.1, 0.9]
    rows = ComparedRows(audit_probabilities(p, pets.classes[pets.observed], X=texts), np.array([0]))
    (name,) = rows.texts
    assert rows.cell(name, 0) == texts[0]
    assert rows.nearest(0, 1)


def test_probabilities_without_rows_have_nothing_to_show():
    y = np.arange(40) % 2
    p = np.clip(np.where(y[:, None] == [0, 1], 0.8, 0.2) + np.linspace(-0.1, 0.1, 40)[:, None] * [1, -1], 0, 1)
    rows = ComparedRows(audit_probabilities(p, y), np.array([0]))
    assert Evidences(rows).columns(0, 1, 0) == []
    assert rows.nearest(0, 1) == []
    assert rows.texts == rows.unused == []
