"""Files for reviewers: what they hold, and that a decision in them is never overwritten."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_iris

from noisewise import audit_labels, audit_probabilities
from noisewise.audit.export import label_names
from noisewise.audit.verdicts import read_verdicts


@pytest.fixture(scope="module")
def flowers():
    X, y = load_iris(return_X_y=True, as_frame=True)
    names = np.array(["setosa", "versicolor", "virginica"])
    X = X.assign(id=[f"F-{row}" for row in range(150)], row=np.arange(150) % 7)
    return audit_labels(X, names[y])


def fill(path, decisions):
    """Decisions by row, put into a patch as a person would."""
    frame = pd.read_csv(path, dtype={"decision": object})
    for row, decision in decisions.items():
        frame.loc[frame["row"] == row, "decision"] = decision
    frame.to_csv(path, index=False)


def test_a_patch_shows_where_the_row_is_and_what_is_in_it(flowers, tmp_path):
    flowers.patch(tmp_path / "patch.csv", rows=[50, 7])
    patch = pl.read_csv(tmp_path / "patch.csv")
    assert patch.columns[:7] == [
        "row",
        "spreadsheet_row",
        "observed",
        "suggested",
        "probability",
        "suggested_probability",
        "decision",
    ]
    assert patch["row"].to_list() == [50, 7]
    assert patch["spreadsheet_row"].to_list() == [52, 9]  # the header is row 1 of a spreadsheet
    assert patch["id"].to_list() == ["F-50", "F-7"]
    assert patch["row (data)"].to_list() == [50 % 7, 0]  # a column of the table that is called as one of ours
    assert patch["sepal length (cm)"].to_list() == [7.0, 5.0]


def test_pixels_and_sparse_rows_are_left_out_and_texts_are_not(tmp_path):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 30)
    X = pd.DataFrame(rng.normal(size=(60, 120)) + y[:, None], columns=[f"e{j}" for j in range(120)])
    audit = audit_labels(X.assign(text=[f"some words {row}" for row in range(60)]), y)
    audit.patch(tmp_path / "patch.csv", rows=[3])
    patch = pl.read_csv(tmp_path / "patch.csv")
    assert patch["text"].to_list() == ["some words 3"]
    assert "e0" not in patch.columns
    p = np.where(y[:, None] == [0, 1], 0.9, 0.1)
    p = np.clip(p + rng.normal(0, 0.02, (60, 1)) * [1, -1], 0, 1)
    audit_probabilities(p, y).patch(tmp_path / "other.csv", rows=[3])
    assert pl.read_csv(tmp_path / "other.csv").width == 7


@pytest.mark.parametrize("name", ["patch.csv", "patch.json", "patch.xlsx"])
def test_writing_again_keeps_decisions_also_of_rows_no_longer_picked(flowers, tmp_path, name):
    pytest.importorskip("openpyxl")
    pytest.importorskip("fastexcel")
    path = tmp_path / name
    flowers.patch(path, rows=[0, 1, 2, 3])
    write_decisions(path, {1: "virginica", 2: "?", 3: "setosa"})
    flowers.patch(path, rows=[0, 1, 9])
    assert read_verdicts(path, flowers) == {1: 2, 2: None, 3: 0}
    assert decisions_in(path) == {0: None, 1: "virginica", 9: None, 2: "?", 3: "setosa"}
    flowers.patch(path, rows=[0])
    assert read_verdicts(path, flowers) == {1: 2, 2: None, 3: 0}


def write_decisions(path, decisions):
    """Fill in the column `decision` of a patch of any format."""
    from noisewise.tables import read_table, write_rows

    if path.suffix == ".csv":
        return fill(path, decisions)
    entries = json.loads(path.read_text()) if path.suffix == ".json" else read_table(str(path)).to_dicts()
    for entry in entries:
        entry["decision"] = decisions.get(entry["row"], "")
    return path.write_text(json.dumps(entries)) if path.suffix == ".json" else write_rows(entries, path)


def decisions_in(path):
    from noisewise.tables import read_table

    return {entry["row"]: entry["decision"] or None for entry in read_table(str(path)).to_dicts()}


def test_decisions_about_another_table_are_left_alone_with_a_sentence(flowers, tmp_path):
    path = tmp_path / "patch.csv"
    flowers.patch(path, rows=[0, 1])
    fill(path, {1: "virginica"})
    pd.read_csv(path).assign(observed="versicolor").to_csv(path, index=False)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"patch.csv is left as it is, with its decisions: row 1 had the label"):
        flowers.patch(path, rows=[0, 1])
    assert path.read_bytes() == before
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="'row' and 'decision' are needed"):
        flowers.patch(path)


def test_decisions_that_were_put_in_since_are_kept(flowers, tmp_path):
    flowers.patch(tmp_path / "patch.csv", rows=[0, 1])
    fill(tmp_path / "patch.csv", {1: "virginica"})
    labels = flowers.classes[flowers.observed].astype(object)
    labels[1] = "virginica"
    later = audit_labels(flowers.X, labels)
    later.patch(tmp_path / "patch.csv", rows=[5])
    assert read_verdicts(tmp_path / "patch.csv", later) == {1: 2}


def test_argilla_records_come_back_with_the_responses(flowers, tmp_path):
    flowers.to_argilla(tmp_path / "records.json", rows=[50, 7, 9])
    records = json.loads((tmp_path / "records.json").read_text())
    assert "id: F-50" in records[0]["fields"]["row"]
    assert records[0]["suggestions"]["label"]["value"] == str(flowers.suggested[50])
    records[0]["responses"] = {
        "label": [{"value": "virginica", "user_id": "a"}, {"value": "virginica", "user_id": "b"}]
    }
    records[1]["responses"] = {"label": [{"value": "virginica", "user_id": "a", "status": "discarded"}]}
    records[2]["responses"] = {"label": [{"value": "setosa", "user_id": "a", "status": "submitted"}]}
    assert read_verdicts(records, flowers) == {50: 2, 9: 0}
    records[2]["metadata"]["observed"] = "versicolor"
    records[2]["responses"]["label"][0]["value"] = "virginica"
    with pytest.raises(ValueError, match="the decisions are about another table"):
        read_verdicts(records, flowers)
    with pytest.raises(ValueError, match="no 'row' in its metadata"):
        read_verdicts([{"responses": {}}], flowers)


def test_argilla_reads_the_records(flowers, tmp_path):
    argilla = pytest.importorskip("argilla", reason="argilla reads its own records")
    flowers.to_argilla(tmp_path / "records.json", rows=[50])
    (record,) = [argilla.Record.from_dict(one) for one in json.loads((tmp_path / "records.json").read_text())]
    record.responses.add(argilla.Response("label", "virginica", user_id="00000000-0000-0000-0000-000000000001"))
    assert read_verdicts([record.to_dict()], flowers) == {50: 2}


def test_names_of_labels_are_told_apart():
    assert label_names(np.array([1.0, 2.0])) == ["1.0", "2.0"]
    assert label_names(np.array(["", "a"])) == ["''", "'a'"]
    assert label_names(np.array([True, "True"], dtype=object)) == ["True", "'True'"]
