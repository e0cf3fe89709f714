"""Tables of an audit: by row, by class and by annotator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from noisewise._typing import Codes, Floats
from noisewise._validation import row_numbers
from noisewise._words import counted, some_of
from noisewise.audit.ordered import steps_of
from noisewise.noise import Estimate, likely_wrong

if TYPE_CHECKING:
    from noisewise.audit.result import LabelAudit

SMALL_CLASS = 5  # rows; the flip rates of fewer can't be estimated
MOST_NAMED = 20  # classes in a note
LEAST_SHOWN = 0.001  # probability that is written with three decimals; smaller ones are not known so well
LEAST_EXPECTED = 0.5  # wrong labels; with fewer, none is the likeliest number
LEAST_CONFUSED = 0.5  # expected rows of a pair of classes that is worth a sentence
NORMAL_95 = 1.645  # quantile of the standard normal distribution, for two-sided 90 % intervals
PRIOR_WRONG, PRIOR_LABELS = 1, 10  # beta prior of an annotator's error rate: one wrong label of ten


READINGS = {  # what labels are, and when one is wrong
    "judgements": (
        "judgements of what the row shows",
        "most careful annotators would say otherwise of such a row; errors may be more frequent on hard rows",
    ),
    "outcomes": (
        "outcomes that the row only hints at",
        "it was changed, at a rate that depends on its class alone; the overlap of classes is no error",
    ),
}


def headline(audit: LabelAudit) -> str:
    """How many labels look wrong, what is proven, and how many rows are worth a look, in a sentence."""
    wrong, n = audit.expected_errors, len(audit.observed)
    if wrong.low > 0 or audit.labels_are != "outcomes":
        found = f"about {some_of(wrong, n, 'label', 'look')} wrong ({wrong.low:,.0f} to {wrong.high:,.0f})"
    else:
        found = f"label noise is not proven: between 0 and {wrong.high:,.0f} of {n:,} labels may be wrong"
    return f"{found}; {worth_a_look(len(audit.picked))}"


def worth_a_look(n_picked: int) -> str:
    """How many rows are worth a look, for a reader.

    >>> worth_a_look(12), worth_a_look(0)
    ('12 rows are worth a look', 'no row is worth a look')
    """
    return f"{counted(n_picked, 'row', 'are') if n_picked else 'no row is'} worth a look"


def chosen_rows(audit: Any, rows: Any) -> Codes:
    """These rows of an audit, given by their numbers or as a mask of all rows; by default those worth a look."""
    return np.asarray(audit.picked) if rows is None else row_numbers(rows, len(audit.observed))


def rows_worth_a_look(probability_wrong: Floats) -> Codes:
    """Indices of the rows to look at, worst first: by `likely_wrong`; none where less than half an error is expected.

    >>> rows_worth_a_look(np.array([0.1, 0.9, 0.05])), rows_worth_a_look(np.array([0.1, 0.2, 0.05]))
    (array([1]), array([], dtype=int64))
    """
    if np.sum(probability_wrong, dtype=np.float64) < LEAST_EXPECTED:
        return np.empty(0, dtype=np.intp)
    return likely_wrong(probability_wrong)


def is_open(audit: LabelAudit) -> bool:
    """Whether the number of wrong labels depends on a reading that nobody has chosen."""
    return bool(audit.readings) and audit.labels_are is None


def readings_sentence(audit: LabelAudit) -> str:
    """The number of wrong labels by each reading, and what it assumes, in a sentence."""
    counts = {name: count_with_interval(reading.expected_errors) for name, reading in audit.readings.items()}
    if len(set(counts.values())) == 1:
        return f"about {counts['outcomes']} labels are wrong, whether they are {' or '.join(counts)}"
    return "; ".join(f"if labels are {READINGS[name][0]}, about {count} are wrong" for name, count in counts.items())


def probability_text(probability: float) -> str:
    """A probability for a reader; how small a small one is no table could prove. Zero is that of a verdict.

    >>> probability_text(0.25), probability_text(0.000213), probability_text(0.0)
    ('0.250', 'below 1 in 1,000', '0.000')
    """
    return f"below 1 in {1 / LEAST_SHOWN:,.0f}" if 0 < probability < LEAST_SHOWN else f"{probability:.3f}"


def count_with_interval(count: Estimate) -> str:
    """A number of rows with its interval, for a reader.

    >>> count_with_interval(Estimate(18240.3, 16000.0, 20110.7))
    '18,240 (16,000 to 20,111)'
    """
    return f"{count:,.0f} ({count.low:,.0f} to {count.high:,.0f})"


def columns_of_rows(audit: LabelAudit, rows: Codes) -> dict[str, NDArray[Any]]:
    """Row, observed, suggested and the probability that the observed label is right."""
    columns = {
        "row": rows,
        "observed": audit.classes[audit.observed[rows]],
        "suggested": audit.suggested[rows],
        "probability": audit.probability[rows],
    }
    return columns | ({"steps": steps_of(audit)[rows]} if audit.ordered else {})


def confusions(audit: LabelAudit, most: int = 8) -> list[tuple[str, str, float]]:
    """The pairs of classes that are confused most: true label, observed label, expected number of rows."""
    k = len(audit.classes)
    rows = np.zeros((k, k))
    np.add.at(rows, audit.observed, audit.posterior)
    np.fill_diagonal(rows, 0)
    largest = np.argsort(-rows, axis=None, kind="stable")[:most]
    pairs = [np.unravel_index(index, rows.shape) for index in largest]
    found = [(str(audit.classes[j]), str(audit.classes[i]), float(rows[i, j])) for i, j in pairs]
    return [pair for pair in found if pair[2] >= LEAST_CONFUSED]


def columns_by_class(audit: LabelAudit) -> dict[str, NDArray[Any]]:
    """By class: rows that carry the label, expected wrong ones, their fraction, their most frequent true label."""
    k = len(audit.classes)
    carriers = np.bincount(audit.observed, minlength=k)
    truth = np.zeros((k, k))
    np.add.at(truth, audit.observed, audit.posterior)
    wrong = carriers - np.diag(truth)
    np.fill_diagonal(truth, -1)
    return {
        "label": audit.classes,
        "rows": carriers,
        "expected_wrong": wrong,
        "share": wrong / np.maximum(carriers, 1),
        "most_often": audit.classes[np.argmax(truth, axis=1)],
    }


def columns_by_annotator(audit: LabelAudit) -> dict[str, NDArray[Any]]:
    """By annotator, worst first: expected error rate and its 90 % credible interval."""
    names, of_row = np.unique(np.asarray(audit.annotators), return_inverse=True)
    wrong = 1 - audit.probability
    labels = np.bincount(of_row)
    expected = np.bincount(of_row, wrong)
    # mean and variance of the beta posterior, plus the variance of the expected number of wrong labels
    mean = (expected + PRIOR_WRONG) / (labels + PRIOR_LABELS)
    std = np.sqrt(
        mean * (1 - mean) / (labels + PRIOR_LABELS + 1) + np.bincount(of_row, wrong * (1 - wrong)) / labels**2
    )
    order = np.argsort(-mean, kind="stable")
    columns = {
        "annotator": names,
        "labels": labels,
        "expected_wrong": expected,
        "share": expected / labels,
        "low": np.clip(mean - NORMAL_95 * std, 0, 1),
        "high": np.clip(mean + NORMAL_95 * std, 0, 1),
    }
    return {name: values[order] for name, values in columns.items()}


def is_small(observed: Codes, n_classes: int) -> NDArray[np.bool_]:
    """Which classes have too few rows to judge."""
    return np.bincount(observed, minlength=n_classes) < SMALL_CLASS


def small_classes(classes: NDArray[Any], observed: Codes) -> tuple[str, ...]:
    """A note on classes with too few rows to judge."""
    counts = np.bincount(observed, minlength=len(classes))
    small = [f"{classes[k]!s} ({counts[k]})" for k in np.flatnonzero(is_small(observed, len(classes)))]
    if not small:
        return ()
    more = f" and {len(small) - MOST_NAMED} more" if len(small) > MOST_NAMED else ""
    return (
        f"classes with fewer than {SMALL_CLASS} rows are too small to judge: {', '.join(small[:MOST_NAMED])}{more}",
    )


def alike_classes(classes: NDArray[Any]) -> tuple[str, ...]:
    """A note on classes whose names differ in case or spaces only.

    >>> alike_classes(np.array(["bug", "Bug ", "feature"]))
    ("labels 'bug' and 'Bug ' differ in case or spaces only: merge_labels (--merge-labels) makes them one class",)
    """
    groups: dict[str, list[str]] = {}
    for name in classes.tolist():
        if isinstance(name, str):
            groups.setdefault(" ".join(name.casefold().split()), []).append(repr(name))
    return tuple(
        f"labels {', '.join(names[:-1])} and {names[-1]} differ in case or spaces only: "
        "merge_labels (--merge-labels) makes them one class"
        for names in groups.values()
        if len(names) > 1
    )
