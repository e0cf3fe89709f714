"""What is decided about a row: its label, its tags or its number, each as a text that is stored and read back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from noisewise._typing import Codes
from noisewise._validation import find_labels, listed
from noisewise._words import number_text
from noisewise.audit import NO_TAGS, LabelAudit, TagAudit, TargetAudit, as_number, as_tags, label_names, patch_text
from noisewise.noise import Estimate, FlipMatrix

FEWEST = 50  # rows to look at where an audit picks none
MOST_CANDIDATES = 9  # that a digit key chooses
N_RANGES = 10  # of numbers, whose rows are compared with
DIGITS = 12  # significant ones of a number as text


class Comparison(NamedTuple):
    """Two classes of rows to compare a row with: those like its observed value, and like the suggested one."""

    audit: LabelAudit
    observed: int
    suggested: int
    names: tuple[str, str]


class Subject(Protocol):
    """An audit as a review sees it: texts in, texts out."""

    audit: Any
    names: list[str]

    def observed(self, row: int) -> str:
        """What the table says."""

    def suggested(self, row: int) -> str:
        """The most probable other value."""

    def candidates(self, row: int) -> list[str]:
        """More values, the most probable first."""

    def probability(self, row: int, text: str) -> float | None:
        """Probability that a value is right, where it is known."""

    def text_of(self, value: Any) -> str:
        """A value as text; one that can't be is refused."""

    def value_of(self, text: str) -> Any:
        """The value of a text, as `audit.update` and the mended table take it."""

    def comparison(self, row: int) -> Comparison:
        """What a row is compared with."""

    def default_rows(self) -> Codes:
        """The rows worth a look or, where there are none, the most suspicious ones."""

    def patch_text(self, rows: Codes, decisions: Mapping[int, str]) -> str:
        """Decided rows in the form of patch.csv."""


def subject_of(audit: Any) -> Subject:
    """The subject of a review, by the kind of audit."""
    kinds: dict[type, type] = {LabelAudit: LabelSubject, TagAudit: TagSubject, TargetAudit: NumberSubject}
    if type(audit) not in kinds:
        raise ValueError(f"a {type(audit).__name__} can't be reviewed; audits of labels, tags and numbers can")
    found: Subject = kinds[type(audit)](audit)
    return found


class _Subject:
    def __init__(self, audit: Any) -> None:
        self.audit = audit
        self.names: list[str] = []  # of a few values; tags and numbers are typed

    def default_rows(self) -> Codes:
        """The rows worth a look or, where there are none, the most suspicious ones."""
        picked: Codes = self.audit.picked
        return picked if len(picked) else self.audit.order[:FEWEST]

    def patch_text(self, rows: Codes, decisions: Mapping[int, str]) -> str:
        """Decided rows in the form of patch.csv."""
        return str(self.audit.patch_text(rows, decisions=decisions))


class LabelSubject(_Subject):
    """One label of a few classes."""

    audit: LabelAudit

    def __init__(self, audit: LabelAudit) -> None:
        super().__init__(audit)
        self.names = label_names(audit.classes)
        self._code_of = {name: code for code, name in enumerate(self.names)}
        self._labels = audit.classes.tolist()

    def observed(self, row: int) -> str:
        """What the table says."""
        return str(self.names[self.audit.observed[row]])

    def suggested_code(self, row: int) -> int:
        """Code of the most probable label besides the observed one."""
        posterior = self.audit.posterior[row].copy()
        posterior[self.audit.observed[row]] = -1
        return int(np.argmax(posterior))

    def suggested(self, row: int) -> str:
        """The most probable other value."""
        return self.names[self.suggested_code(row)]

    def candidates(self, row: int) -> list[str]:
        """More values, the most probable first."""
        order = np.argsort(-self.audit.posterior[row], kind="stable").tolist()
        named = (int(self.audit.observed[row]), self.suggested_code(row))
        return [self.names[code] for code in order if code not in named][:MOST_CANDIDATES]

    def probability(self, row: int, text: str) -> float | None:
        """Probability that a value is right, where it is known."""
        return float(self.audit.posterior[row, self._code_of[text]])

    def text_of(self, value: Any) -> str:
        """A value as text; one that can't be is refused."""
        return self.names[int(find_labels([value], self.audit.classes)[0])]

    def value_of(self, text: str) -> Any:
        """The value of a text."""
        if text not in self._code_of:
            raise ValueError(f"there is no label {text!r}; known are {listed(self.names)}")
        return self._labels[self._code_of[text]]

    def comparison(self, row: int) -> Comparison:
        """What a row is compared with."""
        observed, suggested = int(self.audit.observed[row]), self.suggested_code(row)
        return Comparison(self.audit, observed, suggested, (self.names[observed], self.names[suggested]))

    def patch_text(self, rows: Codes, decisions: Mapping[int, str]) -> str:
        """Decided rows in the form of patch.csv."""
        return patch_text(self.audit, rows, decisions=decisions)


class TagSubject(_Subject):
    """Several tags, of which any may be wrong or missing."""

    audit: TagAudit

    @cached_property
    def _known(self) -> dict[str, Any]:
        return {str(tag): tag for tag in self.audit.tags}

    @cached_property
    def _audits(self) -> dict[int, LabelAudit]:
        """The audit of each judged tag by its column, with the rows as they were given."""
        audits = {self.audit.tags.index(tag): audit for tag, audit in self.audit.audits.items()}
        return {column: replace(audit, X=self.audit.X) for column, audit in audits.items()}

    def _doubtful(self, row: int) -> list[int]:
        """Columns of the judged tags, the most doubtful first."""
        right = self.audit.tag_probability[row]
        return sorted(self._audits, key=lambda column: right[column])

    def _text(self, matrix: NDArray[np.bool_], row: int) -> str:
        return self.audit.joined(self.audit.tags_of(matrix, row))

    def _flipped(self, row: int, column: int) -> str:
        """The observed tags with one added or taken away."""
        changed = self.audit.observed[[row]].copy()
        changed[0, column] ^= True
        return self._text(changed, 0)

    def observed(self, row: int) -> str:
        """What the table says."""
        return self._text(self.audit.observed, row)

    def suggested(self, row: int) -> str:
        """The most probable other value."""
        text = self._text(self.audit.suggested, row)
        return text if text != self.observed(row) else self._flipped(row, self._doubtful(row)[0])

    def candidates(self, row: int) -> list[str]:
        """More values, the most probable first."""
        texts = [self._flipped(row, column) for column in self._doubtful(row)]
        return [text for text in texts if text != self.suggested(row)][:MOST_CANDIDATES]

    def probability(self, row: int, text: str) -> float | None:
        """Probability that a value is right, where it is known."""
        there = np.array([tag in self.value_of(text) for tag in self.audit.tags])
        right = self.audit.tag_probability[row]
        return float(np.prod(np.where(there == self.audit.observed[row], right, 1 - right)))

    def text_of(self, value: Any) -> str:
        """A value as text; one that can't be is refused."""
        return self.audit.joined(as_tags(value, self._known, self.audit.separator))

    def value_of(self, text: str) -> tuple[Any, ...]:
        """The value of a text."""
        return as_tags(text, self._known, self.audit.separator)

    def comparison(self, row: int) -> Comparison:
        """What a row is compared with."""
        column = self._doubtful(row)[0]
        observed = int(self.audit.observed[row, column])
        names = f"without {self.audit.tags[column]}", f"with {self.audit.tags[column]}"
        return Comparison(self._audits[column], observed, 1 - observed, (names[observed], names[1 - observed]))


class NumberSubject(_Subject):
    """A number."""

    audit: TargetAudit

    def observed(self, row: int) -> str:
        """What the table says."""
        return self.text_of(self.audit.observed[row])

    def suggested(self, row: int) -> str:
        """The most probable other value."""
        return self.text_of(self.audit.suggested[row])

    def candidates(self, row: int) -> list[str]:
        """More values, the most probable first."""
        return []

    def probability(self, row: int, text: str) -> float | None:
        """Probability that a value is right, where it is known."""
        return float(self.audit.probability[row]) if text == self.observed(row) else None

    def text_of(self, value: Any) -> str:
        """A value as text; one that can't be is refused."""
        number = as_number(value)
        if not np.isfinite(number):
            return NO_TAGS
        return f"{number:.{DIGITS}g}"

    def value_of(self, text: str) -> float:
        """The value of a text."""
        return float("nan") if text == NO_TAGS else as_number(text)

    @cached_property
    def _edges(self) -> Any:
        return np.unique(np.nanquantile(self.audit.observed, np.arange(1, N_RANGES) / N_RANGES))

    @cached_property
    def _by_range(self) -> LabelAudit:
        """Rows by the range of their number, as classes: each about as right as its number is."""
        ranges = np.searchsorted(self._edges, self.audit.observed, side="right")
        n, k = len(ranges), len(self._edges) + 1
        posterior = np.zeros((n, k))
        posterior[np.arange(n), ranges] = self.audit.probability
        none = FlipMatrix(np.eye(k))
        return LabelAudit(
            self.audit.X, np.arange(k), ranges, posterior, none, np.zeros((k, k)), Estimate(0.0, 0.0, 0.0)
        )

    def comparison(self, row: int) -> Comparison:
        """What a row is compared with."""
        values = self.audit.observed[row], self.audit.suggested[row]
        observed, suggested = (int(np.searchsorted(self._edges, value, side="right")) for value in values)
        names = self._range(observed), self._range(suggested)
        if observed == suggested:  # no rows tell one from the other
            observed, names = len(self._edges) + 1, (self.observed(row), names[1])
        return Comparison(self._by_range, observed, suggested, names)

    def _range(self, index: int) -> str:
        """A range of numbers, for a reader."""
        if index == 0:
            return f"below {number_text(self._edges[0], 4)}"
        if index == len(self._edges):
            return f"{number_text(self._edges[-1], 4)} and more"
        return f"{number_text(self._edges[index - 1], 4)} to {number_text(self._edges[index], 4)}"
