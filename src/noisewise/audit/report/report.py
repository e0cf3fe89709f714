"""The audit as one self-contained HTML page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from noisewise._typing import Codes
from noisewise._words import counted, number_text, percent
from noisewise.audit.ordered import order_sentences
from noisewise.audit.reliability import held_out_bands, verdict_bands
from noisewise.audit.report.charts import TOO_SMALL, class_bars, histogram, matrix_map
from noisewise.audit.report.features import features_of
from noisewise.audit.report.media import folded, pictures_of, texts_of
from noisewise.audit.report.pages import page, worst_rows
from noisewise.audit.summaries import (
    READINGS,
    columns_by_annotator,
    columns_by_class,
    confusions,
    count_with_interval,
    is_open,
    is_small,
    probability_text,
)

if TYPE_CHECKING:
    from noisewise.audit.result import LabelAudit

GONE = "the file is gone"
MOST_COLUMNS, MOST_CLASSES = 6, 26  # shown: features of a row, classes of the heat map
MOST_MAPPED = 300  # classes of the map without numbers


def report_page(audit: LabelAudit, title: str, truth: Any = None, precision: float | None = None) -> str:
    """The page as text."""
    return page("report.html", report_content(audit, title, truth, precision))


def report_content(audit: LabelAudit, title: str, truth: Any = None, precision: float | None = None) -> dict[str, Any]:
    """Everything the template shows, as plain values."""
    from markupsafe import Markup

    names = [str(name) for name in audit.classes]
    n = len(audit.observed)
    chosen = audit.picked if precision is None else audit.rows(precision)
    columns, rows = _worst_rows(audit)
    small = is_small(audit.observed, len(names))
    order = list(range(len(names))) if audit.ordered else np.argsort(small, kind="stable").tolist()  # small ones last
    return {
        "title": title,
        "proven": audit.expected_errors.low > 0 or audit.labels_are != "outcomes",
        "reading": audit.labels_are or "judgements",
        "readings": _readings(audit) if is_open(audit) else [],
        "n": f"{n:,}",
        "k": len(names),
        "count": f"{audit.expected_errors:,.0f}",
        "low": f"{audit.expected_errors.low:,.0f}",
        "high": f"{audit.expected_errors.high:,.0f}",
        "error_rate": percent(audit.expected_errors / n, 1),
        "picked": f"{len(chosen):,}",
        "precision": None if precision is None else percent(precision),
        "promise": percent(1 - audit.probability[chosen].mean()) if len(chosen) else None,
        "truth": None if truth is None else _against_truth(audit, truth, chosen),
        "bands": _bands(audit),
        "held_out": _reliability(held_out_bands(audit)),
        "reviewed": _reliability(verdict_bands(audit)),
        "names": [names[k] for k in order],
        "confusions": [
            f"{true} is labelled {label}: {counted(rows, 'row')}" for true, label, rows in confusions(audit)
        ],
        "steps": order_sentences(audit) if audit.ordered else [],
        "map": Markup(matrix_map(audit.noise.matrix, names)) if MOST_CLASSES < len(names) <= MOST_MAPPED else None,
        "heat": _heat(audit, names, small, order) if len(names) <= MOST_CLASSES else None,
        "too_small": TOO_SMALL,
        "flips": _largest_flips(audit.noise.matrix[~small], names, np.flatnonzero(~small)),
        "histogram": Markup(histogram(audit.probability)),
        "class_bars": Markup(class_bars(names, np.where(small, np.nan, columns_by_class(audit)["share"]))),
        "annotators": _annotators(audit),
        "notes": audit.notes,
        "columns": columns,
        "rows": rows,
        "folded": any("start" in cell for row in rows for cell in row),
    }


def _readings(audit: LabelAudit) -> list[dict[str, str]]:
    """By reading: what labels are, how many are wrong, and what that means."""
    return [
        {"labels": READINGS[name][0], "wrong": READINGS[name][1], "count": count_with_interval(reading.expected_errors)}
        for name, reading in audit.readings.items()
    ]


def _against_truth(audit: LabelAudit, truth: Any, chosen: Codes) -> dict[str, str]:
    counts = audit.found(truth, chosen)
    return {
        "wrong": f"{counts['wrong']:,}",
        "top": f"{counts['wrong']:,}",
        "found": f"{counts['found']:,}",
        "recall": percent(counts["found"] / max(1, counts["wrong"])),
        "found_picked": f"{counts['right']:,}",
        "precision": percent(counts["right"] / max(1, len(chosen))),
    }


def _bands(audit: LabelAudit) -> list[dict[str, str]]:
    """Rows by their probability of being wrong, and the expected number of wrong ones among them."""
    wrong = 1 - audit.probability
    edges = [(0.8, 1.0), (0.5, 0.8), (0.2, 0.5), (0.0, 0.2)]
    parts = [(low, high, wrong[(wrong >= low) & ((wrong < high) | (high == 1))]) for low, high in edges]
    return [
        {"range": f"{percent(low)} to {percent(high)}", "rows": f"{len(part):,}", "wrong": f"{part.sum():,.0f}"}
        for low, high, part in parts
    ]


def _reliability(columns: dict[str, NDArray[Any]] | None) -> list[dict[str, str]]:
    """Bands of predicted probabilities, beside how often it happened."""
    return [
        {
            "range": f"{percent(low)} to {percent(high)}",
            "cases": f"{cases:,}",
            "predicted": f"{100 * mean:.1f}",
            "happened": f"{100 * rate:.1f} ({100 * least:.1f} to {100 * most:.1f})",
        }
        for low, high, cases, mean, rate, least, most in zip(*(columns or {}).values(), strict=True)
    ]


def _heat(audit: LabelAudit, names: list[str], small: NDArray[np.bool_], order: list[int]) -> list[dict[str, Any]]:
    low, high = audit.noise_interval
    return [
        {
            "name": names[j],
            "small": bool(small[j]),
            "cells": [
                {
                    "name": names[k],
                    "text": f"{100 * p:.0f}",
                    "range": f"{100 * low[j, k]:.1f} to {100 * high[j, k]:.1f}",
                    "shade": round(100 * (p if j == k else np.sqrt(p)), 1),  # root scale: rare flips stay visible
                    "same": j == k,
                }
                for k, p in zip(order, audit.noise.matrix[j, order])
            ],
        }
        for j in order
    ]


def _annotators(audit: LabelAudit, most: int = 20) -> list[dict[str, str]]:
    if audit.annotators is None:
        return []
    columns = columns_by_annotator(audit)
    entries = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    return [
        {
            "name": str(entry["annotator"]),
            "labels": f"{entry['labels']:,}",
            "error_rate": f"{100 * entry['share']:.1f}",
            "range": f"{100 * entry['low']:.1f} to {100 * entry['high']:.1f}",
        }
        for entry in entries[:most]
    ]


def _largest_flips(
    matrix: NDArray[np.float64], names: list[str], of_row: Codes, most: int = 15
) -> list[dict[str, str]]:
    """The largest flip rates T[true, observed]; row i of the matrix is that of true class `of_row[i]`."""
    flips = np.where(np.arange(len(names)) == of_row[:, None], 0.0, matrix)
    largest = np.argsort(-flips, axis=None, kind="stable")[:most]
    pairs = [np.unravel_index(index, flips.shape) for index in largest]
    return [{"true": names[of_row[j]], "observed": names[k], "text": f"{100 * flips[j, k]:.1f}"} for j, k in pairs]


def _worst_rows(audit: LabelAudit) -> tuple[list[str], list[list[dict[str, Any]]]]:
    worst = worst_rows(audit.order, audit.probability)
    images = pictures_of(audit, worst)
    pixels = images is not None and audit.images is None
    features = {} if pixels or sparse.issparse(audit.X) else features_of(audit.X, worst, MOST_COLUMNS)
    texts = {} if pixels else texts_of(audit.X, worst)
    columns = [
        "row",
        *(["picture"] if images else []),
        "observed",
        "suggested",
        "P(label is right)",
        *(features | texts),
    ]
    rows = []
    for i, row in enumerate(worst):
        cells = [cell(int(row))]
        if images:
            cells.append({"image": images[i], "key": int(row), "text": GONE, "kind": "pixels" if pixels else "photo"})
        cells += [cell(str(audit.classes[audit.observed[row]])), cell(str(audit.suggested[row]))]
        cells.append({"text": probability_text(audit.probability[row]), "key": float(audit.probability[row])})
        for name, values in (features | texts).items():
            kind = "path" if audit.images is not None and str(audit.images[row]).endswith(str(values[i])) else "value"
            cells.append(folded(values[i]) if name in texts else {**cell(values[i]), "kind": kind})
        rows.append(cells)
    return columns, rows


def cell(value: Any) -> dict[str, Any]:
    """A cell of the table of rows: its text, and what it is sorted by."""
    text = number_text(value, 4) if isinstance(value, float) else "" if value is None else str(value)
    return {"text": text, "key": text if isinstance(value, float) else str(value)}
