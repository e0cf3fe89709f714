"""Verdicts of reviewers, in every form in which they come back."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

from noisewise.audit import audit_probabilities
from noisewise.audit.verdicts import Given, new_labels, read_verdicts, verdicts_of


def audit_of(labels, n=60):
    p = np.random.default_rng(0).dirichlet(np.full(len(labels), 0.5), size=n)
    return audit_probabilities(p, np.array(labels, dtype=object)[p.argmax(axis=1)], classes=labels)


@pytest.fixture(scope="module")
def pets():
    return audit_of(["cat", "dog", "Dog", "ox"])


def filled(path, audit, decisions, **csv_options):
    """The patch of the first rows, with these decisions, as a spreadsheet would save it."""
    audit.patch(path, rows=np.arange(len(decisions)))
    pd.read_csv(path).assign(decision=decisions).to_csv(path, index=False, **csv_options)
    return path


@pytest.mark.parametrize("options", [{}, {"sep": ";"}, {"sep": "\t"}, {"encoding": "utf-8-sig"}])
def test_a_patch_comes_back_with_the_decisions_and_without_the_blanks(tmp_path, pets, options):
    path = filled(tmp_path / "patch.csv", pets, ["cat", "", "?", "OX", " dog ", "Can’t tell"], **options)
    assert read_verdicts(path, pets) == {0: 0, 2: None, 3: 3, 4: 1, 5: None}
    assert read_verdicts(str(path), pets) == {0: 0, 2: None, 3: 3, 4: 1, 5: None}


def test_mapping_frames_json_and_label_studio_say_the_same(tmp_path, pets):
    expected = {5: 2, 0: 1}
    columns = {"row": [5, 9, 0], "decision": ["Dog", None, "dog"]}
    pets.patch(tmp_path / "patch.json", rows=np.array([5, 9, 0]))
    entries = json.loads((tmp_path / "patch.json").read_text())
    for entry, decision in zip(entries, columns["decision"], strict=True):
        entry["decision"] = decision
    (tmp_path / "patch.json").write_text(json.dumps(entries))
    pl.DataFrame(columns).write_parquet(tmp_path / "patch.parquet")
    forms = [{5: "Dog", 9: None, 0: "dog"}, pd.DataFrame(columns), pl.DataFrame(columns), entries]
    for reviewed in [*forms, tmp_path / "patch.json", tmp_path / "patch.parquet", labelled_tasks(tmp_path, pets)]:
        assert read_verdicts(reviewed, pets) == expected


def labelled_tasks(folder, audit):
    """Tasks as Label Studio exports them: one labelled, one skipped, one labelled twice alike, one not yet."""
    audit.to_label_studio(folder / "tasks.json", rows=np.array([5, 9, 0, 1]))
    tasks = json.loads((folder / "tasks.json").read_text())

    def annotation(choice):
        return {"was_cancelled": False, "result": [{"type": "choices", "value": {"choices": [choice]}}]}

    skipped = {"was_cancelled": True, "result": annotation("cat")["result"]}
    for task, annotations in zip(tasks, [["Dog"], [], ["dog", "dog"], []], strict=True):
        task["annotations"] = [annotation(choice) for choice in annotations]
    tasks[1]["annotations"] = [skipped]
    (folder / "export.json").write_text(json.dumps(tasks))
    return folder / "export.json"


def test_a_flat_export_of_label_studio_names_the_decision_label(pets):
    observed = str(pets.classes[pets.observed[3]])
    assert read_verdicts([{"row": 3, "observed": observed, "label": "ox"}], pets) == {3: 3}


def test_a_decision_about_a_row_that_had_another_label_is_refused(pets):
    observed, other = str(pets.classes[pets.observed[3]]), str(pets.classes[pets.observed[3] - 1])
    entry = {"row": 3, "observed": other, "decision": "ox"}
    with pytest.raises(ValueError, match=f"had the label '{other}' when it was reviewed and has '{observed}' now"):
        read_verdicts([entry], pets)
    assert read_verdicts([entry | {"decision": observed}], pets) == {3: pets.observed[3]}  # it was put in since


def test_a_patch_that_a_spreadsheet_saved_in_latin_1_is_read(tmp_path):
    cafes = audit_of(["café", "bar"])
    path = filled(tmp_path / "patch.csv", cafes, ["café", "bar"], encoding="latin-1")
    assert read_verdicts(path, cafes) == {0: 0, 1: 1}


@pytest.mark.parametrize(
    ("labels", "given", "code"),
    [
        ([0, 1, 2], "2", 2),
        ([0, 1, 2], 0.0, 0),
        ([False, True], "TRUE", 1),
        (["01", "1"], "01", 0),
        ([0.5, 2.0], "2", 1),
    ],
)
def test_labels_that_are_no_text_are_found_by_their_text(labels, given, code):
    assert read_verdicts({0: given}, audit_of(labels)) == {0: code}


@pytest.mark.parametrize("labels", [["cat", "cat ", "dog"], ["cat ", "cat", "dog"], [1, "1", 2]])
def test_labels_that_differ_by_spaces_or_kind_are_taken_as_they_are_written(labels):
    audit = audit_of(labels)
    observed = {row: labels[code] for row, code in enumerate(audit.observed)}
    assert read_verdicts(observed, audit) == dict(enumerate(audit.observed))
    confirmed = audit.update(observed)
    assert confirmed.verdicts == observed


def test_labels_that_differ_by_spaces_come_back_from_a_patch(tmp_path):
    audit = audit_of(["cat", "cat ", "dog"])
    path = tmp_path / "patch.csv"
    audit.patch(path, rows=np.arange(6))
    patch = pl.read_csv(path, infer_schema=False)
    patch.with_columns(decision="observed").write_csv(path)
    audit.patch(path, rows=np.arange(3))  # decisions are kept, spaces too
    assert read_verdicts(path, audit) == dict(enumerate(audit.observed[:6]))


def test_spaces_around_a_decision_count_only_where_they_tell_labels_apart():
    assert read_verdicts({0: " cat", 1: "DOG "}, audit_of(["cat ", "dog"])) == {0: 0, 1: 1}
    with pytest.raises(ValueError, match=r"' cat' may be any of the labels 'cat', 'cat '; write it exactly so"):
        read_verdicts({0: " cat"}, audit_of(["cat", "cat ", "dog"]))
    assert new_labels([Given(0, " cat"), Given(1, "ox ")], ["cat", "cat ", "dog"]) == ["ox"]


def test_decisions_about_merged_labels_are_the_merged_spelling():
    classes, observed = ["cat", "cat ", "Cat", "dog"], np.array([0, 0, 0, 1, 2, 3, 3])
    seen = [Given(3, "cat", "cat"), Given(4, "dog", "cat"), Given(5, "CAT ", "dog")]
    assert verdicts_of(seen, classes, observed) == {3: 0, 4: 3, 5: 0}
    seen_as_they_are = [Given(3, "cat ", "cat "), Given(5, "Cat", "dog")]
    assert verdicts_of(seen_as_they_are, classes, observed) == {3: 1, 5: 2}
    with pytest.raises(ValueError, match="about another table"):
        verdicts_of([Given(3, "dog", "cat"), Given(4, "dog", "cat "), Given(5, "dog", "dog")], classes, observed)


def test_a_class_called_skip_is_a_decision():
    assert read_verdicts({0: "skip", 1: "?"}, audit_of(["keep", "skip"])) == {0: 1, 1: None}


@pytest.mark.parametrize("word", ["?", "can't tell", "Can’t tell", "not sure", " Not sure ", "don't know", "skip"])
def test_a_reviewer_who_cannot_tell_may_say_so_in_words(pets, word):
    assert read_verdicts({0: word}, pets) == {0: None}


@pytest.mark.parametrize(
    ("reviewed", "sentence"),
    [
        ({0: "cow"}, r"'cow' is not among the labels 'cat', 'dog'.*; '\?' leaves the row open"),
        ({60: "cat"}, "row 60 is not among the 60 rows"),
        ({-1: "cat"}, "row -1 is not among"),
        ({1.5: "cat"}, "row 1.5 is not among"),
        ({"x": "cat"}, "row 'x' is not among"),
        ([{"row": 1, "decision": "cat"}, {"row": 1, "decision": "ox"}], "row 1 has two decisions, 'cat' and 'ox'"),
        ([{"row": 1, "decision": "?"}, {"row": 1, "decision": "ox"}], r"row 1 has two decisions, '\?' and 'ox'"),
        ({1: "", 2: None}, "no row has a decision"),
        ({}, "no row has a decision"),
        (pd.DataFrame({"row": [1]}), "the columns 'row' and 'decision' are needed; there are 'row'"),
        ([{"data": {}, "annotations": []}], "has no 'row' in its data"),
        ([{"data": None, "annotations": []}], "has no 'row' in its data"),
        ([{"data": {"row": 1}, "annotations": ["cat"]}], "the annotations of row 1 can't be read"),
        ([{"data": {"row": 1}, "annotations": [{"result": [{"value": "cat"}]}]}], "annotations of row 1 can't be read"),
        ([{"data": {"row": 1}, "annotations": None}], "no row has a decision"),
        ([{"data": {"row": 1}, "predictions": []}], "no row has a decision"),
        (3, "reviewed is 3; a mapping of rows to labels"),
        ([3], "reviewed holds 3"),
        ("nowhere.csv", "there is no file 'nowhere.csv'"),
    ],
)
def test_what_is_no_verdict_gets_a_sentence(pets, reviewed, sentence):
    with pytest.raises(ValueError, match=sentence):
        read_verdicts(reviewed, pets)


def test_a_broken_json_file_gets_a_sentence(tmp_path, pets):
    (tmp_path / "broken.json").write_text("[{")
    with pytest.raises(ValueError, match=r"broken.json can't be read"):
        read_verdicts(tmp_path / "broken.json", pets)
