"""A mended table differs from the table in the changed labels, and in nothing else."""

import csv
import io

import polars as pl
import pytest

from noisewise.tables import mend_table
from noisewise.tables.mend import cell_spans

CSV = '''id,price,note,kind
007,"1,50","he said ""no, no""",cat
008,2.0,,dog
009,NA,"two
lines","cat"
010,3e1,é,dog
'''


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_a_csv_changes_in_the_cells_of_the_labels_alone(tmp_path, encoding, ends):
    text = CSV.replace("\n", ends)
    (tmp_path / "a.csv").write_bytes(text.encode(encoding))
    mend_table(str(tmp_path / "a.csv"), "kind", {0: "dog", 3: "cat"}, tmp_path / "b.csv")
    wanted = text.replace('no""",cat', 'no""",dog').replace("é,dog", "é,cat")
    assert (tmp_path / "b.csv").read_bytes().decode(encoding) == wanted
    assert (tmp_path / "a.csv").read_bytes() == text.encode(encoding)


def test_separators_and_a_missing_last_newline_stay(tmp_path):
    (tmp_path / "a.csv").write_text("x;y\n1,5;p\n2,5;q\n3,5;p")
    mend_table(str(tmp_path / "a.csv"), "y", {2: "q"}, tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_text() == "x;y\n1,5;p\n2,5;q\n3,5;q"


def test_truth_values_and_numbers_are_written_as_in_other_rows(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,true\n2,false\n3,true\n")
    mend_table(str(tmp_path / "a.csv"), "y", {0: False}, tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_text() == "x,y\n1,false\n2,false\n3,true\n"
    (tmp_path / "c.csv").write_text("x,y\n1,1.00\n2,2.00\n3,1.00\n")
    mend_table(str(tmp_path / "c.csv"), "y", {0: 2.0}, tmp_path / "d.csv")
    assert (tmp_path / "d.csv").read_text() == "x,y\n1,2.00\n2,2.00\n3,1.00\n"


def test_cells_are_found_as_the_csv_module_finds_them(rng):
    for _ in range(200):
        rows = [["".join(rng.choice(list('ab,"\n '), rng.integers(0, 5))) for _ in range(3)] for _ in range(4)]
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
        cells = [text.getvalue()[start:end] for start, end in cell_spans(text.getvalue(), ",", 1)]
        assert [next(csv.reader(io.StringIO(cell)), [""])[0] for cell in cells] == [row[1] for row in rows]


@pytest.mark.parametrize("source", ["csv", "tsv", "parquet", "json", "jsonl", "xlsx"])
@pytest.mark.parametrize("target", ["csv", "tsv", "parquet", "json", "jsonl", "xlsx"])
def test_every_format_becomes_every_other(tmp_path, source, target):
    pytest.importorskip("openpyxl")
    pytest.importorskip("fastexcel")
    frame = pl.DataFrame({"x": [1.5, 2.5, 3.5], "t": ["=1+1", "b", None], "y": [3, 4, 3]})
    made = tmp_path / f"a.{source}"
    {
        "csv": frame.write_csv,
        "tsv": lambda path: frame.write_csv(path, separator="\t"),
        "parquet": frame.write_parquet,
        "json": frame.write_json,
        "jsonl": frame.write_ndjson,
        "xlsx": lambda path: write_sheet(frame, path),
    }[source](made)
    out = tmp_path / f"b.{target}"
    mend_table(str(made), "y", {0: 4}, out)
    found = read(out)
    assert found["y"].to_list() == [4, 4, 3]
    assert found["x"].to_list() == [1.5, 2.5, 3.5]
    assert found["t"].to_list() == ["=1+1", "b", None]


def write_sheet(frame, path):
    from noisewise.tables import write_rows

    write_rows(frame.to_dicts(), path)


def read(path):
    from noisewise.tables import read_table

    return read_table(str(path))


def test_a_workbook_keeps_its_other_sheets_and_its_formats(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("fastexcel")
    book = openpyxl.Workbook()
    for line in [["x", "y"], [1, "p"], [2, "q"], [None, None], [3, "p"]]:
        book.active.append(line)
    book.active["A2"].number_format = "0.00"
    book.create_sheet("more")["A1"] = "=1+1"
    book.save(tmp_path / "a.xlsx")
    mend_table(str(tmp_path / "a.xlsx"), "y", {2: "q"}, tmp_path / "b.xlsx")
    mended = openpyxl.load_workbook(tmp_path / "b.xlsx")
    assert [[cell.value for cell in row] for row in mended.worksheets[0].iter_rows()] == [
        ["x", "y"],
        [1, "p"],
        [2, "q"],
        [None, None],
        [3, "q"],
    ]
    assert mended.worksheets[0]["A2"].number_format == "0.00"
    assert mended["more"]["A1"].value == "=1+1"


def test_the_table_itself_is_never_written(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("x,y\n1,p\n2,q\n")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link.csv").symlink_to("a.csv")
    for out in ("a.csv", "./a.csv", "link.csv"):
        with pytest.raises(ValueError, match="is the table itself"):
            mend_table("a.csv", "y", {0: "q"}, tmp_path / out)
    with pytest.raises(ValueError, match="the ending says the format"):
        mend_table("a.csv", "y", {0: "q"}, tmp_path / "b.doc")
    assert (tmp_path / "a.csv").read_text() == "x,y\n1,p\n2,q\n"
