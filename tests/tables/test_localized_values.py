"""Localized numbers and dates of a CSV are parsed; labels stay as they are."""

from datetime import date, datetime

import numpy as np
import polars as pl
import pytest

from noisewise.datasets import TableEncoder
from noisewise.tables.labelled import read_labelled
from noisewise.tables.read import read_table

VALUES = [1234.5, -0.25, 1234567.0, 7.0, 12.125]


def read(tmp_path, text, say=lambda sentence: None):
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    return read_table(str(tmp_path / "a.csv"), say)


def german(value):
    return f"{value:,.3f}".translate(str.maketrans(",.", ".,"))


def test_days_with_points_leave_decimal_commas_alone(tmp_path):
    rows = "".join(f"{str(v).replace('.', ',')};{day:02d}.12.2024;p\n" for day, v in enumerate(VALUES, 21))
    frame = read(tmp_path, "a;day;y\n" + rows)
    assert frame["a"].to_list() == VALUES
    assert frame["day"].to_list() == [date(2024, 12, day) for day in range(21, 26)]


@pytest.mark.parametrize("sign", ["{}", "{} €", "€{}", "{}%"])
def test_points_between_thousands_where_commas_are_decimal(tmp_path, sign):
    frame = read(tmp_path, "a;b;y\n" + "".join(f"{sign.format(german(v))};1,5;p\n" for v in VALUES))
    assert frame["a"].to_list() == VALUES
    assert frame["b"].to_list() == [1.5] * len(VALUES)


def test_points_stand_between_thousands_only_in_a_file_with_decimal_commas(tmp_path):
    rows = [("12.345", "1,5"), ("999", "2,5"), ("1.000", "3,0")]
    frame = read(tmp_path, "a;b;y\n" + "".join(f"{a};{b};p\n" for a, b in rows))
    assert frame["a"].to_list() == [12345, 999, 1000]
    frame = read(tmp_path, "a;b;y\n" + "".join(f"{a};beats 1,5 times;p\n" for a, _ in rows))
    assert frame["a"].to_list() == [12.345, 999, 1]


@pytest.mark.parametrize("sign", ["{}", "${}", "{} €", "{}%"])
def test_commas_between_thousands_and_signs(tmp_path, sign):
    messages = []
    frame = read(tmp_path, "a,y\n" + "".join(f'"{sign.format(f"{v:,.3f}")}",p\n' for v in VALUES), messages.append)
    assert frame["a"].to_list() == VALUES
    assert messages == [f"{tmp_path}/a.csv has numbers with signs or marks between thousands in 'a': read as numbers"]


def test_what_is_no_number_stays_text(tmp_path):
    for texts in (["0,123", "1,234"], ["$5", "€5"], ["1,2", "3,4"], ["12%", "much"], ["5 $ a day", "$6"]):
        frame = read(tmp_path, "a,y\n" + "".join(f'"{text}",p\n' for text in texts))
        assert frame["a"].to_list() == texts


def test_a_few_words_among_many_prices_are_missing_values(tmp_path):
    prices = [f'"${v:,}"' for v in 900 + 37 * np.arange(300) % 1001] + ["free", "?"]
    notes = TableEncoder().fit(read(tmp_path, "a,y\n" + "".join(f"{v},p\n" for v in prices)).drop("y")).notes_
    assert notes[0] == "column 'a' holds 2 values other than numbers ('free', '?'): taken as missing"


@pytest.mark.parametrize(
    ("shape", "month_first"),
    [
        ("%m/%d/%Y", True),
        ("%m/%d/%y", True),
        ("%d.%m.%y", False),
        ("%m/%d/%Y %H:%M", True),
        ("%d/%m/%Y %H:%M:%S", False),
        ("%m/%d/%Y %I:%M %p", True),
    ],
)
def test_days_are_read_whichever_comes_first(tmp_path, shape, month_first):
    hours = (8, 20) if "%H" in shape or "%I" in shape else (0, 0)
    moments = [datetime(2024, 12, 25, hours[0]), datetime(1999, 1, 2, hours[1])]
    messages = []
    frame = read(
        tmp_path, "a,y\n" + "".join(f"{moment.strftime(shape)},p\n" for moment in moments) + "?,p\n", messages.append
    )
    assert frame["a"].cast(pl.Datetime).to_list() == [*moments, None]
    assert ("month first in 'a'" in "".join(messages)) == month_first


def test_labels_are_taken_as_they_are(tmp_path):
    (tmp_path / "a.csv").write_text("a,y\n" + "$1.5,5%\n$2.5,10%\n" * 3)
    table = read_labelled(str(tmp_path / "a.csv"), "y")
    assert table.labels == ["5%", "10%"] * 3
    assert table.features["a"].to_list() == [1.5, 2.5] * 3


@pytest.mark.parametrize("separator", [",", ";"])
def test_spaces_around_the_names_are_taken_off_everywhere(tmp_path, separator):
    messages = []
    rows = "".join(f" {i} {separator} {word} {separator} {i % 2} \n" for i, word in enumerate(["p", "q q", "r"]))
    frame = read(tmp_path, f" a {separator} b {separator} y\n{rows}", messages.append)
    assert frame.to_dict(as_series=False) == {"a": [0, 1, 2], "b": ["p", "q q", "r"], "y": [0, 1, 0]}
    assert "spaces around 'a'" in messages[-1]


def test_a_localized_table_is_read_as_a_plain_one(tmp_path):
    rng = np.random.default_rng(0)
    values = np.round(rng.normal(5000, 2000, (300, 2)), 2)
    labels = np.where(values[:, 0] > 5000, "dear", "cheap")
    plain = pl.DataFrame({"a": values[:, 0], "b": values[:, 1], "y": labels})
    plain.write_csv(tmp_path / "plain.csv")
    written = [f"{german(a)} €;{german(b)};{y}\n" for a, b, y in zip(*values.T, labels, strict=True)]
    assert read(tmp_path, "a;b;y\n" + "".join(written)).equals(read_table(str(tmp_path / "plain.csv")))
