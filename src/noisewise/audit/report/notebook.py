"""The audit in a notebook: its headline and worst rows, and the whole report in a frame of its own."""

from __future__ import annotations

import tempfile
import webbrowser
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from noisewise._words import counted, number_text
from noisewise.audit.summaries import count_with_interval, headline, is_open, probability_text, readings_sentence

if TYPE_CHECKING:
    from noisewise.audit.result import LabelAudit
    from noisewise.audit.tag_result import TagAudit
    from noisewise.audit.target_result import TargetAudit

MOST_ROWS = 10  # shown below the headline
CELL = "text-align:left;padding:.2em .8em"  # on the elements: a style sheet would reach the rest of the notebook


def summary_html(audit: LabelAudit) -> str:
    """Headline, readings and the worst rows, without a style sheet."""
    rows = audit.order[:MOST_ROWS].tolist()
    names = ("row", "observed", "suggested", "P(label is right)")
    cells: list[tuple[object, ...]] = [
        (row, audit.classes[audit.observed[row]], audit.suggested[row], probability_text(audit.probability[row]))
        for row in rows
    ]
    lines = [headline(audit), *([readings_sentence(audit)] if is_open(audit) else []), *audit.notes]
    return _summary(lines, names, cells)


def _summary(lines: list[str], names: tuple[str, ...], cells: list[tuple[object, ...]]) -> str:
    paragraphs = "".join(f"<p>{escape(line)}</p>" for line in lines)
    body = "".join(map(_line, cells))
    return f"<div>{paragraphs}<table><thead>{_line(names, 'th')}</thead><tbody>{body}</tbody></table></div>"


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
    found = f"about {count_with_interval(wrong)} of {len(audit.observed):,} numbers look wrong"
    return _summary([f"{found}; {counted(len(audit.picked), 'row', 'are')} worth a look", *audit.notes], names, cells)


def tags_html(audit: TagAudit) -> str:
    """How many rows have a wrong tag, and the worst of them."""
    names = ("row", "observed", "suggested", "wrong", "P(all are right)")
    columns = audit.columns(audit.order[:MOST_ROWS], ", ")
    cells = [(*values[:-1], probability_text(values[-1])) for values in zip(*columns.values(), strict=True)]
    found = f"about {np.sum(1 - audit.probability):,.0f} of {len(audit.observed):,} rows have a wrong tag"
    return _summary([f"{found}; {counted(len(audit.picked), 'row', 'are')} worth a look", *audit.notes], names, cells)


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


def _line(values: tuple[object, ...], kind: str = "td") -> str:
    return "<tr>" + "".join(f'<{kind} style="{CELL}">{escape(str(value))}</{kind}>' for value in values) + "</tr>"


def _in_notebook() -> bool:
    """Whether a kernel that shows HTML runs this code."""
    try:
        from IPython import get_ipython
    except ImportError:
        return False
    shell = get_ipython()
    return shell is not None and hasattr(shell, "kernel")
