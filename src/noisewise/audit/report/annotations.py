"""The audit of annotations as one self-contained HTML page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from noisewise._typing import Codes
from noisewise._words import percent
from noisewise.audit.questions import choose_questions
from noisewise.audit.report.charts import histogram
from noisewise.audit.report.features import features_of
from noisewise.audit.report.pages import page, worst_rows
from noisewise.audit.report.report import MOST_COLUMNS, cell
from noisewise.audit.report.thumbnails import thumbnails
from noisewise.audit.summaries import count_with_interval

if TYPE_CHECKING:
    from noisewise.audit.annotation_result import AnnotationAudit

MOST_ANNOTATORS, MOST_LABELS, QUESTIONS = 50, 8, 20  # shown: annotators, labels of an item, questions


def annotations_page(audit: AnnotationAudit, title: str) -> str:
    """The page as text."""
    from markupsafe import Markup

    columns, rows = _least_certain(audit)
    content = {
        "title": title,
        "n": f"{len(audit.items):,}",
        "k": len(audit.classes),
        "labels": f"{len(audit.annotations.label_codes):,}",
        "n_annotators": f"{len(audit.annotators):,}",
        "wrong": count_with_interval(audit.expected_errors),
        "wrong_consensus": count_with_interval(audit.expected_consensus_errors),
        "agreement": percent(np.nanmean(audit.agreement)),
        "picked": f"{len(audit.picked):,}",
        "weights": ", ".join(f"{weight:.2f}" for weight in audit.model_weights),
        "histogram": Markup(histogram(audit.probability)),
        "annotators": _annotators(audit),
        "questions": _questions(audit),
        "notes": audit.notes,
        "columns": columns,
        "rows": rows,
    }
    return page("annotations.html", content)


def _annotators(audit: AnnotationAudit) -> list[dict[str, str]]:
    columns = audit.columns_of_annotators()
    entries = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    return [
        {
            "name": str(entry["annotator"]),
            "labels": f"{entry['labels']:,}",
            "accuracy": f"{100 * entry['accuracy']:.1f}",
            "range": f"{100 * entry['low']:.1f} to {100 * entry['high']:.1f}",
            "agreement": f"{100 * entry['agreement']:.1f}",
            "error": f"{entry['true_label']} as {entry['given_label']}",
        }
        for entry in entries[:MOST_ANNOTATORS]
    ]


def _questions(audit: AnnotationAudit) -> list[dict[str, str]]:
    rows, who, gains = choose_questions(audit, QUESTIONS, None, None)
    names = audit.annotators.names
    return [
        {
            "item": str(audit.items[row]),
            "annotator": str(names[annotator]),
            "consensus": str(audit.consensus[row]),
            "probability": f"{audit.probability[row]:.3f}",
            "gain": f"{gain:.3f}",
        }
        for row, annotator, gain in zip(rows, who, gains, strict=True)
    ]


def _least_certain(audit: AnnotationAudit) -> tuple[list[str], list[list[dict[str, Any]]]]:
    """Columns and cells of the items whose consensus is least certain, with their labels and features or picture."""
    worst = worst_rows(audit.order, audit.probability)
    images = None if audit.X is None else thumbnails(audit.X, worst)
    plain = images is None and audit.X is not None and not sparse.issparse(audit.X)
    features = features_of(audit.X, worst, MOST_COLUMNS) if plain else {}
    pictures = ["picture"] if images else []
    columns = ["item", *pictures, "consensus", "P(consensus is right)", "labels", "agreement", *features]
    rows = []
    for i, (row, given) in enumerate(zip(worst, _labels_of(audit, worst), strict=True)):
        cells = [cell(str(audit.items[row]))]
        if images:
            cells.append({"image": images[i], "key": str(audit.items[row]), "kind": "pixels"})
        cells += [cell(str(audit.consensus[row])), cell(float(audit.probability[row])), cell(given)]
        cells.append(cell(float(audit.agreement[row]) if audit.n_labels[row] else None))
        rows.append(cells + [{**cell(values[i]), "kind": "value"} for values in features.values()])
    return columns, rows


def _labels_of(audit: AnnotationAudit, rows: Codes) -> list[str]:
    """The labels of each of these items, with who gave them."""
    given = audit.annotations
    by_item = np.argsort(given.item_codes, kind="stable")
    starts = np.searchsorted(given.item_codes[by_item], np.arange(len(audit.items) + 1))
    texts = []
    for row in rows:
        labels = by_item[starts[row] : starts[row + 1]]
        shown = [
            f"{given.annotators[given.annotator_codes[label]]}: {audit.classes[given.label_codes[label]]}"
            for label in labels[:MOST_LABELS]
        ]
        texts.append(", ".join(shown) + (", ..." if len(labels) > MOST_LABELS else ""))
    return texts
