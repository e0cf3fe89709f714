"""Verdicts of reviewers, read from what they hand back: a mapping, patch.csv, an export of Label Studio or Argilla."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import narwhals as nw

from noisewise._typing import Codes
from noisewise._validation import is_missing, listed
from noisewise._words import counted
from noisewise.audit.label_names import merge_labels

if TYPE_CHECKING:
    from noisewise.audit.result import LabelAudit

# decisions of a reviewer who leaves a row open
UNDECIDED = ("?", "can't tell", "cannot tell", "unsure", "not sure", "don't know", "skip")
DECISIONS = ("decision", "label")  # the column of the decision: that of patch.csv, or of a flat Label Studio export
SEPARATORS = ",;\t"  # that spreadsheets write
SUBMITTED = "submitted"  # state of a response of Argilla that counts
ENCODINGS = ("utf-8-sig", "latin-1")  # the same


class Given(NamedTuple):
    """A decision as it was handed back, and the label that the reviewer saw, where that is known."""

    row: Any
    decision: Any
    observed: Any = None


def read_verdicts(reviewed: Any, audit: LabelAudit) -> dict[int, int | None]:
    """The verdicts: row to the true label's index in `audit.classes`, None where the reviewer can't tell.

    Parameters
    ----------
    reviewed : mapping, frame, path or list of dict
        Row to label; or columns `row` and `decision` (patch.csv, patch.json); or the tasks of a Label Studio export,
        which name their row in `data`; or the records of Argilla, which name it in `metadata`. A blank decision means
        that the row was not reviewed, "?" that the reviewer can't tell.
    audit : LabelAudit
        The audit that the rows and the labels belong to. A decision about a row that had another label when it was
        reviewed is refused.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import numpy as np
    >>> audit = SimpleNamespace(classes=np.array(["cat", "dog"]), observed=np.zeros(10, dtype=int))
    >>> read_verdicts({3: "dog", 7: "?", 8: ""}, audit)
    {3: 1, 7: None}
    """
    return _verdicts(_decided(given_decisions(reviewed)), audit.classes.tolist(), audit.observed, {})


def verdicts_of(decisions: Iterable[Given], classes: list[Any], observed: Codes) -> dict[int, int | None]:
    """The verdicts about the labels of a table: `read_verdicts` has the rules.

    Where the reviewer saw merged labels and the table has the labels before that, decisions are the merged spelling.
    """
    decided = _decided(decisions)
    return _verdicts(decided, classes, observed, _merged_before(decided, classes, observed))


def _decided(decisions: Iterable[Given]) -> list[Given]:
    return [given for given in decisions if not is_blank(given.decision)]


def _verdicts(
    decided: list[Given], classes: list[Any], observed: Codes, merged: Mapping[Any, Any]
) -> dict[int, int | None]:
    """The verdicts, where labels were merged into others before they were seen."""
    labels = _Labels(classes, merged)
    verdicts: dict[int, int | None] = {}
    for given in decided:
        row, code = row_of(given.row, len(observed)), _code(given.decision, labels)
        label = classes[observed[row]]
        _check_observed(row, given, labels, merged.get(label, label))
        if verdicts.setdefault(row, code) != code:
            first, second = ("?" if c is None else str(classes[c]) for c in (verdicts[row], code))
            raise ValueError(f"row {row} has two decisions, {first!r} and {second!r}; one for each row is needed")
    if not verdicts:
        raise ValueError("no row has a decision; fill in the column 'decision', or pass a mapping of rows to labels")
    return verdicts


def earlier_decisions(path: Path, audit: LabelAudit) -> dict[int, str]:
    """Decisions that a file to be written anew holds, by row; none where there is no such file.

    They are refused where they were made about another table: about rows that are not there, or that had another label.
    """
    if not path.exists():
        return {}
    labels = _Labels(audit.classes.tolist())
    found: dict[int, str] = {}
    try:
        for given in given_decisions(path):
            if is_blank(given.decision):
                continue
            row = row_of(given.row, len(audit.observed))
            _check_observed(row, given, labels, labels.classes[audit.observed[row]])
            found[row] = _plain_text(given.decision, labels)
    except ValueError as error:
        raise ValueError(
            f"{path} is left as it is, with its decisions: {error}; move it, or name another folder"
        ) from None
    return found


def refuse_decided(path: Path) -> None:
    """Refuse to write over a file that holds decisions, where they can't be merged."""
    if path.exists() and (n := sum(not is_blank(given.decision) for given in given_decisions(path))):
        raise ValueError(f"{path} holds {counted(n, 'decision')}, which would be lost; move it, or name another folder")


def new_labels(decisions: Iterable[Given], classes: list[Any]) -> list[str]:
    """Decisions that are no label so far, in the order in which they come.

    >>> new_labels([Given(0, "ox"), Given(1, "CAT"), Given(2, "?"), Given(3, "")], ["cat", "dog"])
    ['ox']
    """
    labels = _Labels(classes)
    texts = [
        str(given.decision).strip()
        for given in decisions
        if not is_blank(given.decision) and not labels.fits(given.decision)
    ]
    return [text for text in dict.fromkeys(texts) if not is_undecided(text)]


def given_decisions(reviewed: Any) -> Iterator[Given]:
    """What was handed back: every row with its decision, blank ones too."""
    if isinstance(reviewed, str | Path):
        reviewed = _entries(Path(reviewed))
    if isinstance(reviewed, Mapping):
        yield from (Given(row, decision) for row, decision in reviewed.items())
        return
    frame = nw.from_native(reviewed, pass_through=True, eager_only=True)
    entries = frame.iter_rows(named=True) if isinstance(frame, nw.DataFrame) else reviewed
    if not isinstance(entries, Iterable):
        raise ValueError(f"reviewed is {reviewed!r:.60}; a mapping of rows to labels, a frame or a path would do")
    for entry in entries:
        if not isinstance(entry, Mapping):
            raise ValueError(f"reviewed holds {entry!r:.60}; entries with a row and a decision are needed")
        if "annotations" in entry or "predictions" in entry:  # a task that nobody has annotated has the latter alone
            yield from _of_task(entry)
        elif "responses" in entry:
            yield from _of_record(entry)
        else:
            yield _of_entry(entry)


def _entries(path: Path) -> Any:
    """Entries of a file: JSON, text with separators, or another table."""
    if not path.is_file():
        raise ValueError(f"there is no file {str(path)!r}")
    if path.suffix.lower() not in (".json", ".csv", ".tsv", ".txt"):
        from noisewise.tables import read_table

        return read_table(str(path))
    try:
        text = _text(path)
        if path.suffix.lower() == ".json":
            return json.loads(text)
    except ValueError as error:
        raise ValueError(f"{path} can't be read ({error}); patch.csv or a Label Studio export would do") from None
    header = text.partition("\n")[0]
    return list(csv.DictReader(io.StringIO(text), delimiter=max(SEPARATORS, key=header.count)))


def _text(path: Path) -> str:
    raw = path.read_bytes()
    try:
        return raw.decode(ENCODINGS[0])
    except UnicodeDecodeError:
        return raw.decode(ENCODINGS[1])


def _of_entry(entry: Mapping[str, Any]) -> Given:
    """Row and decision of an entry of patch.csv, or of a flat export."""
    name = next((name for name in DECISIONS if name in entry), None)
    if name is None or "row" not in entry:
        raise ValueError(f"the columns 'row' and 'decision' are needed; there are {listed(list(entry))}")
    return Given(entry["row"], entry[name], entry.get("observed"))


def _of_task(task: Mapping[str, Any]) -> Iterator[Given]:
    """Row and decision of each annotation of a Label Studio task; skipped ones have none."""
    data = task.get("data") or {}
    if "row" not in data:
        raise ValueError("a Label Studio task has no 'row' in its data; tasks of audit.to_label_studio have")
    try:
        for annotation in task.get("annotations") or []:
            if annotation.get("was_cancelled"):
                continue
            for result in annotation.get("result", []):
                for choice in result.get("value", {}).get("choices", []):
                    yield Given(data["row"], choice, data.get("observed"))
    except (AttributeError, TypeError):
        raise ValueError(
            f"the annotations of row {data['row']!r:.40} can't be read; the JSON export of Label Studio would do"
        ) from None


def _of_record(record: Mapping[str, Any]) -> Iterator[Given]:
    """Row and decision of each response to a record of Argilla; drafts and discarded ones are none."""
    metadata = record.get("metadata") or {}
    if "row" not in metadata:
        raise ValueError("an Argilla record has no 'row' in its metadata; records of audit.to_argilla have")
    responses = record["responses"] or {}
    for response in responses.get("label", []):
        if response.get("status", SUBMITTED) == SUBMITTED:
            yield Given(metadata["row"], response.get("value"), metadata.get("observed"))


class _Labels:
    """Classes by what a decision may be: the label itself, its text, or what a person or a spreadsheet makes of it.

    The first of these that fits any class decides, so that "cat" and "cat " are two labels where both are classes.
    Classes that were merged into others are no choice.
    """

    def __init__(self, classes: list[Any], merged: Mapping[Any, Any] | None = None) -> None:
        self.classes = classes
        chosen = [(code, name) for code, name in enumerate(classes) if name not in (merged or {})]
        self._codes: list[dict[Any, list[int]]] = []
        for form in FORMS:
            codes: dict[Any, list[int]] = {}
            for code, name in chosen:
                codes.setdefault(form(name), []).append(code)
            self._codes.append(codes)

    def fits(self, decision: Any) -> list[int]:
        """Indices of the classes that a decision may be: one, none, or several if it does not tell them apart."""
        found = (codes.get(form(decision)) for form, codes in zip(FORMS, self._codes, strict=True))
        return next((codes for codes in found if codes), [])


def _itself(label: Any) -> Any:
    """A label as a key; the text of what can't be one."""
    try:
        hash(label)
    except TypeError:
        return str(label)
    return label


def _stripped(label: Any) -> str:
    return str(label).strip()


def _loose(label: Any) -> str:
    """A label in lower case, whole numbers without decimals: spreadsheets turn True into TRUE and 3 into 3.0.

    >>> _loose(3.0), _loose("Cat "), _loose("007")
    ('3', 'cat', '007')
    """
    text = str(label).strip().casefold()
    return text.partition(".")[0] if re.fullmatch(r"-?(0|[1-9]\d*)\.0+", text) else text


FORMS: tuple[Callable[[Any], Any], ...] = (_itself, str, _stripped, _loose)  # the most exact first


def _plain_text(decision: Any, labels: _Labels) -> str:
    """A decision as text, without spaces around it unless they tell two labels apart."""
    text = str(decision)
    return text.strip() if labels.fits(text) == labels.fits(text.strip()) else text


def _merged_before(decided: list[Given], classes: list[Any], observed: Codes) -> dict[Any, Any]:
    """What labels of the table were merged into before a reviewer saw them; nothing where they were seen as they are.

    >>> _merged_before([Given(2, "ox", "cat")], ["cat", "Cat", "ox"], [0, 0, 1, 2])
    {'Cat': 'cat'}
    """
    labels = [classes[observed[row_of(given.row, len(observed))]] for given in decided]
    seen = [
        (label, str(given.observed))
        for label, given in zip(labels, decided, strict=True)
        if not is_missing(given.observed) and str(label) != str(given.decision)  # else it may have been put in since
    ]
    if all(str(label) == text for label, text in seen):
        return {}
    merged = merge_labels([classes[code] for code in observed])[1]
    return merged if all(str(merged.get(label, label)) == text for label, text in seen) else {}


def is_blank(decision: Any) -> bool:
    """Whether nobody has decided."""
    return is_missing(decision) or not str(decision).strip()


def is_undecided(decision: Any) -> bool:
    """Whether a reviewer can't tell."""
    return _loose(decision).replace("’", "'") in UNDECIDED


def _code(decision: Any, labels: _Labels) -> int | None:
    """Index of the decision; None where there is none. What is the name of a class is a decision."""
    codes = labels.fits(decision)
    if len(codes) > 1:
        fitting = listed([labels.classes[code] for code in codes])
        raise ValueError(f"the decision {decision!r:.60} may be any of the labels {fitting}; write it exactly so")
    if not codes and not is_undecided(decision):
        raise ValueError(
            f"the decision {decision!r:.60} is not among the labels {listed(labels.classes)}; '?' leaves the row open"
        )
    return codes[0] if codes else None


def _check_observed(row: int, given: Given, labels: _Labels, label: Any) -> None:
    """Refuse a decision about a row whose label was another one; the decided label may have been put in since."""
    code = labels.fits(label)[0]
    if is_missing(given.observed) or any(code in labels.fits(seen) for seen in (given.observed, given.decision)):
        return
    raise ValueError(
        f"row {row} had the label {given.observed!r:.60} when it was reviewed and has {str(label)!r:.60} now: the "
        "decisions are about another table"
    )


def row_of(given: Any, n: int) -> int:
    """A row number, or a sentence on what is none."""
    try:
        row = int(float(given))
        whole = row == float(given)
    except (TypeError, ValueError, OverflowError):
        whole = False
    if not whole or not 0 <= row < n:
        raise ValueError(f"row {given!r:.40} is not among the {n} rows of the audit, counted from 0")
    return row
