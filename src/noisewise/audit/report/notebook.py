"""The audit in a notebook: its headline and worst rows, and the whole report in a frame of its own."""

from __future__ import annotations

import tempfile
import webbrowser
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from noisewise._notebook import summary_and_table
from noisewise._words import number_text, percent, some_of
from noisewise.audit.summaries import headline, is_open, probability_text, readings_sentence, worth_a_look

if TYPE_CHECKING:
    from noisewise.audit.annotation_result import AnnotationAudit
    from noisewise.audit.result import LabelAudit
    from noisewise.audit.tag_result import TagAudit
    from noisewise.audit.target_result import TargetAudit

MOST_ROWS = 10  # shown below the headline


def summary_html(audit: LabelAudit) -> str:
    """Headline, readings and the worst rows, without a style sheet."""
    rows = audit.order[:MOST_ROWS].tolist()
    names = ("row", "observed", "suggested", "P(label is right)")
    cells: list[tuple[object, ...]] = [
        (row, audit.classes[audit.observed[row]], audit.suggested[row], probability_text(audit.probability[row]))
        for row in rows
    ]
    lines = [headline(audit), *([readings_sentence(audit)] if is_open(audit) else []), *audit.notes]
    return summary_and_table(lines, names, cells)


def targets_html(audit: TargetAudit) -> str:
    """How many numbers look wrong, and the worst rows."""
    wrong, rows = audit.expected_errors, audit.order[:MOST_ROWS].tolist()
    names = ("row", "observed", "suggested", "P(number is right)", "looks")
    cells: list[tuple[object, ...]] = [
        (
            row,
            *map(number_text, (audit.observed[row], audit.suggested[row])),
            probability_text(right),
            audit.reasons[row],
        )
        for row, right in zip(rows, audit.probability[rows], strict=True)
    ]
    found = (
        f"about {some_of(wrong, len(audit.observed), 'number', 'look')} wrong ({wrong.low:,.0f} to {wrong.high:,.0f})"
    )
    return summary_and_table([f"{found}; {worth_a_look(len(audit.picked))}", *audit.notes], names, cells)


def tags_html(audit: TagAudit) -> str:
    """How many rows have a wrong tag, and the worst of them."""
    names = ("row", "observed", "suggested", "wrong", "P(all are right)")
    columns = audit.columns(audit.order[:MOST_ROWS], ", ")
    cells = [(*values[:-1], probability_text(values[-1])) for values in zip(*columns.values(), strict=True)]
    found = f"about {some_of(np.sum(1 - audit.probability), len(audit.observed), 'row', 'have')} a wrong tag"
    return summary_and_table([f"{found}; {worth_a_look(len(audit.picked))}", *audit.notes], names, cells)


def annotations_html(audit: AnnotationAudit) -> str:
    """How many consensus labels look wrong, who errs most, and the items whose consensus is least certain."""
    wrong, given = audit.expected_consensus_errors, audit.expected_errors
    found = (
        f"about {some_of(wrong, len(audit.items), 'consensus label', 'look')} wrong ({wrong.low:,.0f} to "
        f"{wrong.high:,.0f}), and {given:,.0f} ({given.low:,.0f} to {given.high:,.0f}) of the "
        f"{len(audit.annotations.label_codes):,} labels given"
    )
    rows = audit.order[:MOST_ROWS].tolist()
    names = ("item", "consensus", "P(consensus is right)", "labels", "agreement")
    cells = [
        (
            audit.items[row],
            audit.consensus[row],
            probability_text(audit.probability[row]),
            audit.n_labels[row],
            percent(audit.agreement[row]) if audit.n_labels[row] else "",
        )
        for row in rows
    ]
    return summary_and_table([found, audit.annotators.sentence(), *audit.notes], names, cells)


def show_page(text: str, height: int) -> None:
    """Show a page: in a notebook below the cell, elsewhere in the browser."""
    if _in_notebook():
        from IPython.display import HTML, display

        style = f"width:100%;height:{height}px;border:0"
        display(HTML(f'<iframe srcdoc="{escape(text)}" style="{style}" title="Audit"></iframe>'))
        return
    with tempfile.NamedTemporaryFile("w", suffix=".html", prefix="noisewise-", delete=False, encoding="utf-8") as file:
        file.write(text)
    webbrowser.open(Path(file.name).as_uri())


def _in_notebook() -> bool:
    """Whether a kernel that shows HTML runs this code."""
    try:
        from IPython import get_ipython
    except ImportError:
        return False
    shell = get_ipython()
    return shell is not None and hasattr(shell, "kernel")
