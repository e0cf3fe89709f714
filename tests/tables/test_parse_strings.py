"""Numbers, dates and times that come as text are what they are; codes stay names."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

from noisewise import load, save
from noisewise.datasets import TableEncoder
from noisewise.tables.parse_strings import number_of


def texts(odd, n=400, seed=0):
    """Measured numbers as text, the first of them something else; and the numbers, NaN for these."""
    numbers = np.random.default_rng(seed).normal(size=n)
    numbers[: len(odd)] = np.nan
    return [*odd, *map(repr, numbers[len(odd) :].tolist())], numbers


@pytest.mark.parametrize("library", [pd, pl])
@pytest.mark.parametrize("odd", ["N/A", "n/a", "#N/A", "None", "<NA>", "-nan", "#NA", "1.#IND", "null", " NA ", ""])
def test_usual_words_for_missing_are_gaps_in_numbers(library, odd):
    values, numbers = texts([odd] * 150)
    encoder, peer = TableEncoder(), TableEncoder()
    rows = encoder.fit_transform(library.DataFrame({"a": values}))
    np.testing.assert_array_equal(rows, peer.fit_transform(pl.DataFrame({"a": numbers}, nan_to_null=True)))
    assert encoder.notes_ == ("column 'a' has 150 missing values: filled with the median and marked",)


@pytest.mark.parametrize("library", [pd, pl])
def test_a_few_values_that_are_no_numbers_are_missing(library):
    values, numbers = texts(["?", "bad", "?"])
    encoder, peer = TableEncoder(), TableEncoder()
    rows = encoder.fit_transform(library.DataFrame({"a": values}))
    np.testing.assert_array_equal(rows, peer.fit_transform(pl.DataFrame({"a": numbers}, nan_to_null=True)))
    assert encoder.notes_[0] == "column 'a' holds 3 values other than numbers ('?', 'bad'): taken as missing"
    assert encoder.notes_[1].startswith("column 'a' has 3 missing values")


def test_objects_of_pandas_are_numbers_where_nearly_all_are():
    numbers = texts(["?"])[1]
    encoder = TableEncoder()
    rows = encoder.fit_transform(pd.DataFrame({"a": ["?", pd.NA, *numbers[2:]]}, dtype=object))
    numbers[1] = np.nan
    np.testing.assert_array_equal(rows, TableEncoder().fit_transform(pd.DataFrame({"a": numbers})))
    assert encoder.notes_[0] == "column 'a' holds 1 value other than numbers ('?'): taken as missing"


@pytest.mark.parametrize("mark", ["?", "-", "unknown"])
def test_likely_words_for_missing_may_be_many(mark):
    encoder = TableEncoder().fit(pl.DataFrame({"a": texts([mark] * 150)[0]}))
    assert encoder.notes_[0] == f"column 'a' holds 150 values other than numbers ({mark!r}): taken as missing"


def with_some(values, odd):
    return [*odd, *values[len(odd) :]]


@pytest.mark.parametrize("odd", [["?"], ["?", "?", "unknown"], ["N/A"]])
def test_years_are_numbers_where_only_a_word_for_missing_makes_them_text(odd):
    years = [1890 + i * 7919 % 140 for i in range(400)]
    encoder, peer = TableEncoder(), TableEncoder()
    rows = encoder.fit_transform(pl.DataFrame({"built": with_some(list(map(str, years)), odd)}))
    np.testing.assert_array_equal(
        rows, peer.fit_transform(pl.DataFrame({"built": with_some(years, [None] * len(odd))}))
    )


@pytest.mark.parametrize(
    ("values", "note"),
    [
        ([f"{i * 7919 % 90_000 + 10_000}" for i in range(400)], "distinct names"),  # postal codes, all different
        (with_some([f"{i * 7919 % 90_000 + 10_000}" for i in range(400)], ["K1A", "SW1A"]), "distinct names"),
        (with_some([f"{i * 7919 % 90_000:05d}" for i in range(400)], ["?"]), "distinct names"),  # leading zeros
        (with_some([str(i * 31) for i in range(400)], ["A12", "B7"]), "distinct names"),
        (with_some([str(i) for i in range(400)], ["?"]), "counts the rows"),
        (with_some([str(i / 10) for i in range(400)], ["bad"] * 30), "distinct names"),  # more than a few
    ],
)
def test_codes_and_identifiers_are_left_out_as_before(values, note):
    encoder = TableEncoder().fit(pl.DataFrame({"code": values, "size": texts([])[1]}))
    assert list(encoder.columns_) == ["size"]
    assert note in encoder.notes_[0]


@pytest.mark.parametrize(
    "values",
    [
        ["1", "2", "3"] * 100,  # text by choice
        pd.Categorical(["1.5", "2.5", "N/A"] * 100),
        with_some(["1", "2", "3"] * 100, ["A", "B"]),
        with_some(["250.8", "276", "648.1"] * 100, ["V57", "E90"]),
        with_some([f"10{i % 5}{i % 7}" for i in range(300)], ["K1A"]),
        [str(1990 + i % 30) for i in range(300)],  # years, but as text by choice
        with_some([str(1990 + i % 30) for i in range(300)], ["later"]),
        with_some([str(1990 + i % 30) for i in range(300)], ["2210", "?"]),  # postal codes, with years among them
        ["1.5", "2.5", "x"],
    ],
)
def test_codes_that_make_categories_stay_categories(values):
    frame = pd.DataFrame({"code": values})
    rows = TableEncoder().fit_transform(frame)
    assert rows.shape[1] == frame["code"].nunique()
    np.testing.assert_array_equal(rows.sum(axis=1), 1)


@pytest.mark.parametrize("text", ["\x1f3", "3\x1c", "\xa03 ", " 3\n", "\u20033"])
def test_white_space_of_any_kind_around_a_number_is_none_of_it(text):
    assert number_of(text) == 3


@pytest.mark.parametrize("text", ["\u0131nf", "\u0130NF", "1_000", "\uff11", "\u0663", "\xb2", "1 2", "", "nan"])
def test_what_only_looks_like_a_number_is_none(text):
    assert np.isnan(number_of(text))


DAYS = [datetime.date(2022, 1, 1) + datetime.timedelta(days=5 * i % 738) for i in range(900)]


@pytest.mark.parametrize("library", [pd, pl])
def test_iso_dates_are_dates_also_as_text(library):
    encoder, peer = TableEncoder(), TableEncoder()
    rows = encoder.fit_transform(library.DataFrame({"day": [str(day) for day in DAYS]}))
    np.testing.assert_array_equal(rows, peer.fit_transform(pl.DataFrame({"day": DAYS})))
    assert encoder.notes_ == peer.notes_ == ("column 'day' holds dates: read as days",)


@pytest.mark.parametrize("pattern", ["%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S.500000Z"])
def test_moments_as_text_are_those_that_polars_reads_in_csv(pattern, tmp_path):
    moments = [datetime.datetime(2022, 1, 1) + i * datetime.timedelta(hours=7, minutes=13) for i in range(300)]
    frame = pl.DataFrame({"at": [moment.strftime(pattern) for moment in moments]})
    parsed = pl.read_csv(frame.write_csv().encode(), try_parse_dates=True)
    assert parsed["at"].dtype.is_temporal()
    encoder, peer = TableEncoder(), TableEncoder()
    np.testing.assert_allclose(encoder.fit_transform(frame), peer.fit_transform(parsed), atol=1e-9)
    assert encoder.notes_ == peer.notes_


def test_times_of_day_as_text_are_times():
    times = [datetime.time(i % 24, i % 60, i % 59) for i in range(300)]
    encoder, peer = TableEncoder(), TableEncoder()
    rows = encoder.fit_transform(pl.DataFrame({"t": list(map(str, times))}))
    np.testing.assert_array_equal(rows, peer.fit_transform(pl.DataFrame({"t": times})))
    assert encoder.notes_ == peer.notes_


def test_what_is_no_date_is_missing_and_noted():
    values = ["2022-02-30", "soon", *map(str, DAYS)]
    encoder = TableEncoder().fit(pl.DataFrame({"day": values}))
    assert "column 'day' holds 2 values other than dates ('2022-02-30', 'soon'): taken as missing" in encoder.notes_


@pytest.mark.parametrize(
    "values", [["20220101", "20220202"] * 30, ["1.2.2022", "2.2.2022"] * 30, ["2022-01", "2022-02"] * 30]
)
def test_what_only_resembles_a_date_is_none(values):
    assert not any("dates" in note for note in TableEncoder().fit(pl.DataFrame({"a": values, "x": values})).notes_)


def test_later_rows_are_read_as_the_first_whatever_their_type(tmp_path):
    numbers = texts([])[1]
    first = pl.DataFrame({"a": ["?", *map(str, numbers[1:])], "day": map(str, (DAYS * 2)[:400]), "flag": numbers > 0})
    encoder = TableEncoder().fit(first)
    save(encoder, tmp_path / "encoder.nw")
    encoder = load(tmp_path / "encoder.nw")
    later = pl.DataFrame({"a": [1.5, None], "day": [datetime.date(2022, 3, 4), None], "flag": [True, False]})
    as_text = pl.DataFrame({"a": ["1.5", "N/A"], "day": ["2022-03-04", "n/a"], "flag": ["True", "false"]})
    np.testing.assert_array_equal(encoder.transform(as_text), encoder.transform(later))


def test_later_values_that_cannot_be_read_are_missing_with_a_warning():
    encoder = TableEncoder().fit(pl.DataFrame({"a": [1.0, None, 3.0], "day": DAYS[:3]}))
    with pytest.warns(RuntimeWarning) as caught:
        rows = encoder.transform(pl.LazyFrame({"a": ["x", "?", "2"], "day": [1, 2, 3]}))
    assert [str(one.message) for one in caught] == [
        "column 'a' holds 2 values other than numbers ('x', '?'): taken as missing",
        "column 'day' holds 3 values other than dates ('1', '2', '3'): taken as missing",
    ]
    gone = pl.DataFrame({"a": [None, None, 2.0], "day": [None] * 3}, schema_overrides={"day": pl.Date})
    np.testing.assert_array_equal(rows, encoder.transform(gone))


def test_infinite_numbers_as_text_are_refused_as_others_are():
    with pytest.raises(ValueError, match="column 'a' holds infinite"):
        TableEncoder().fit(pl.DataFrame({"a": ["1.5", "2.5", "inf"]}))
