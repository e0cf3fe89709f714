"""Tables are read from every usual format, or one sentence says what would do."""

import gzip
import os
import sys
import threading
from io import BytesIO, TextIOWrapper
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from noisewise.tables import TableEncoder, column_names, read_labelled, read_table

TABLE = pl.DataFrame({"size": [1.5, 2.5, None, 4.25], "name": ["Zoë", "Åsa", "Ann", "Bob"], "y": ["p", "q", "p", "q"]})


def semicolons(path):
    path.write_text(TABLE.write_csv(separator=";"))


def excel(path):
    path.write_bytes(TABLE.write_csv(line_terminator="\r\n", include_bom=True).encode())


def decimal_commas(path):
    path.write_text(TABLE.write_csv(separator=";").replace(".", ","))


def latin(path):
    path.write_bytes(TABLE.write_csv().encode("latin-1"))


def utf_16(path):
    path.write_bytes(TABLE.write_csv().encode("utf-16"))


def zipped(path):
    path.write_bytes(gzip.compress(TABLE.write_csv().encode()))


def zipped_lines(path):
    path.write_bytes(gzip.compress(TABLE.write_ndjson().encode()))


@pytest.mark.parametrize(
    ("name", "write", "told"),
    [
        ("table.csv", lambda path: TABLE.write_csv(path), ""),
        ("table.csv", excel, ""),
        ("table.csv", semicolons, "read with semicolons"),
        ("table.csv", decimal_commas, "read with semicolons"),
        ("table.csv", latin, "not UTF-8: read as latin-1"),
        ("table.csv", utf_16, "not UTF-8: read as utf-16"),
        ("table.csv.gz", zipped, ""),
        ("table.jsonl.gz", zipped_lines, ""),
        ("table.json", lambda path: TABLE.write_json(path), ""),
        ("table.json", lambda path: TABLE.write_ndjson(path), ""),
        ("table.pq", lambda path: TABLE.write_parquet(path), ""),
        ("table", lambda path: TABLE.write_parquet(path), ""),
    ],
)
def test_every_format_is_the_same_table(tmp_path, name, write, told):
    write(tmp_path / name)
    sentences = []
    frame = read_table(str(tmp_path / name), sentences.append)
    assert frame.select(TABLE.columns).equals(TABLE)
    assert told in " ".join(sentences)
    assert bool(told) == bool(sentences)


@pytest.mark.parametrize("written", [TABLE.write_csv().encode(), TABLE.write_ndjson().encode(), zipped])
def test_standard_input_is_recognised(monkeypatch, tmp_path, written):
    if callable(written):
        written(tmp_path / "table")
        written = (tmp_path / "table").read_bytes()
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(written)))
    assert read_table("-").equals(TABLE)


def test_a_pipe_is_a_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=(TABLE.write_csv(),))
    writer.start()
    assert read_table(str(tmp_path / "pipe")).equals(TABLE)
    writer.join()


def test_parquet_files_with_other_columns_in_one_folder_are_refused_in_one_sentence(tmp_path):
    TABLE.write_parquet(tmp_path / "1.parquet")
    TABLE.with_columns(more=pl.lit(1)).write_parquet(tmp_path / "2.parquet")
    for lazy in (False, True):
        with pytest.raises(ValueError, match=r"2.parquet has other columns, or types of them, than the first file"):
            read_labelled(str(tmp_path), "y", lazy=lazy)


def test_a_folder_of_parquet_files_is_one_table(tmp_path):
    TABLE[:2].write_parquet(tmp_path / "1.parquet")
    TABLE[2:].write_parquet(tmp_path / "2.parquet")
    table = read_labelled(str(tmp_path), "y", lazy=True)
    assert table.features.collect().equals(TABLE.drop("y"))
    assert table.labels == ["p", "q", "p", "q"]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("junk.csv", np.random.default_rng(0).bytes(3000), "can't be read as a table"),
        ("junk.csv.gz", b"\x1f\x8b" + bytes(50), "can't be read as a table"),
        ("junk.parquet", b"PAR1 and no more", "can't be read as a table"),
        ("junk.json", b"[1, 2", "can't be read as a table"),
        ("table.xlsx", b"PK", "can't be read as a table|fastexcel"),
    ],
)
def test_what_is_no_table_gets_a_sentence(tmp_path, name, content, sentence):
    (tmp_path / name).write_bytes(content)
    with pytest.raises((ValueError, ImportError), match=sentence):
        read_table(str(tmp_path / name))


def test_a_misspelt_file_is_guessed(tmp_path):
    (tmp_path / "measurements.csv").write_text("a,y\n1,p\n")
    with pytest.raises(ValueError, match=r"did you mean 'measurements.csv'\?"):
        read_table(str(tmp_path / "mesurements.csv"))
    with pytest.raises(ValueError, match="folder without Parquet files"):
        read_table(str(tmp_path))


def test_quoted_commas_separate_nothing(tmp_path):
    (tmp_path / "a.csv").write_text('"height, cm";y\n1;p\n2;q\n')
    assert read_table(str(tmp_path / "a.csv")).columns == ["height, cm", "y"]


@pytest.mark.parametrize("name", ["a.csv", "a.json", "a.jsonl", "a.parquet"])
def test_labels_are_what_they_say_and_features_are_read_alike_in_every_format(tmp_path, name):
    days = pl.date_range(pl.date(2022, 1, 1), pl.date(2022, 10, 27), eager=True).cast(pl.String)
    numbers = ["?", "N/A", *(str(i * 37 % 101 / 8) for i in range(298))]
    labels = ["None", "N/A", "?"] * 100
    frame = pl.DataFrame({"a": numbers, "day": days, "y": labels})
    writer = {".csv": "write_csv", ".json": "write_json", ".jsonl": "write_ndjson", ".parquet": "write_parquet"}
    getattr(frame, writer[Path(name).suffix])(tmp_path / name)
    table = read_labelled(str(tmp_path / name), "y")
    assert table.labels == labels
    assert TableEncoder().fit(table.features).notes_ == (
        "column 'a' holds 1 value other than numbers ('?'): taken as missing",
        "column 'a' has 2 missing values: filled with the median and marked",
        "column 'day' holds dates: read as days",
    )


@pytest.mark.parametrize("odd", [["?"], ["?", "N/A", "unknown"]])
def test_a_word_for_missing_among_decimal_commas_changes_no_number(tmp_path, odd):
    numbers = [*odd, *(f"{i * 37 % 101 / 8:.3f}" for i in range(100)), "-1.5e-3", "7"]
    names = [["1,5", "1,5 kg", "3 , 4", "?"][i % 4] for i in range(len(numbers))]
    table = pl.DataFrame({"a": numbers, "b": names, "y": ["l", "r"] * (len(numbers) // 2) + ["l"] * (len(numbers) % 2)})
    written = table.with_columns(pl.col("a").str.replace(".", ",", literal=True)).write_csv(separator=";")
    (tmp_path / "a.csv").write_text(written)
    frame = read_table(str(tmp_path / "a.csv"))
    assert frame["a"].to_list() == numbers
    assert frame["b"].to_list() == names


def test_columns_are_known_without_the_rows(tmp_path):
    TABLE.write_csv(tmp_path / "a.csv", separator=";")
    TABLE.write_parquet(tmp_path / "a.parquet")
    TABLE.write_ndjson(tmp_path / "a.jsonl")
    for name in ("a.csv", "a.parquet", "a.jsonl"):
        assert column_names(str(tmp_path / name)) == TABLE.columns


def test_codes_keep_their_leading_zeros(tmp_path):
    (tmp_path / "codes.csv").write_text("zip,n,y\n06330,10,a\n12345,0,b\n")
    frame = read_table(str(tmp_path / "codes.csv"))
    assert frame["zip"].to_list() == ["06330", "12345"]
    assert frame["n"].to_list() == [10, 0]


def test_a_first_line_of_numbers_is_a_row_where_a_header_may_be_missing(tmp_path):
    (tmp_path / "bare.csv").write_text("0.5,0.5,0\n1,0,0\n")
    said = []
    frame = read_table(str(tmp_path / "bare.csv"), said.append, may_lack_header=True)
    assert frame.rows() == [(0.5, 0.5, 0), (1, 0, 0)]
    assert "has no header: its first line is taken for a row" in said[0]
    with pytest.raises(ValueError, match=r"has two columns called '0\.5'"):
        read_table(str(tmp_path / "bare.csv"))
    (tmp_path / "named.csv").write_text("2,0,1\n0.1,0.2,0.7\n")
    assert read_table(str(tmp_path / "named.csv"), may_lack_header=True).columns == ["2", "0", "1"]


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("2024-01-31", pl.Date),
        ('"2024-01-31"', pl.Date),
        ("2024-01-31 12:00", pl.Datetime("us")),
        ("2024-01-31T12:00:00.5", pl.Datetime("us")),
        ("2024-01-31T12:00:00Z", pl.Datetime("us", "UTC")),
        ("12:30:00", pl.Time),
    ],
)
def test_dates_and_times_are_parsed_whatever_their_column_is_called(written, kind, tmp_path):
    path = tmp_path / "dated.csv"
    path.write_text(f'"k, l",,day,mixed\nNA,{written},{written},{written}\n{written},,{written},a b\n')
    frame = read_table(str(path))
    assert frame.dtypes == [kind, kind, kind, pl.String]
    assert frame.null_count().row(0) == (1, 1, 0, 0)
    assert frame[1, 0] == frame[0, 1] == frame[0, 2] == frame[1, 2]


def test_no_text_is_tried_as_a_date(tmp_path, monkeypatch):
    tried = []
    read_csv = pl.read_csv

    def recorded(source, **options):
        tried.extend([source] * options.get("try_parse_dates", False))
        return read_csv(source, **options)

    monkeypatch.setattr(pl, "read_csv", recorded)
    path = tmp_path / "dated.csv"
    path.write_text("day,text\n" + "2024-05-31,first\n" + "2024-06-01,later\n" * 9)
    assert read_table(str(path)).dtypes == [pl.Date, pl.String]
    assert tried
    assert not any(b"later" in source for source in tried)
