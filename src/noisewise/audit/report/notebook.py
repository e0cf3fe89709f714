"""The audit in a notebook: its headline and worst rows, and the whole report in a frame of its own."""

from __future__ import annotations

import tempfile
import webbrowser
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from noisewise.audit.summaries import headline, is_open, readings_sentence

if TYPE_CHECKING:
    from noisewise.audit.result import LabelAudit

MOST_ROWS = 10  # shown below the headline
CELL = "text-align:left;padding:.2em .8em"  # on the elements: a style sheet would reach the rest of the notebook


def summary_html(audit: LabelAudit) -> str:
    """Headline, readings and the worst rows, without a style sheet."""
    rows = audit.order[:MOST_ROWS].tolist()
    names = ("row", "observed", "suggested", "P(label is right)")
    cells = [
        (row, audit.classes[audit.observed[row]], audit.suggested[row], f"{audit.probability[row]:.3f}") for row in rows
    ]
    lines = [headline(audit), *([readings_sentence(audit)] if is_open(audit) else []), *audit.notes]
    paragraphs = "".join(f"<p>{escape(line)}</p>" for line in lines)
    body = "".join(map(_line, cells))
    return f"<div>{paragraphs}<table><thead>{_line(names, 'th')}</thead><tbody>{body}</tbody></table></div>"


def show_page(text: str, height: int) -> None:
    """Show a page: in a notebook below the cell, elsewhere in the browser."""
    if _in_notebook():
        from IPython.display import HTML, display

        style = f"width:100%;height:{height}px;border:0"
        display(HTML(f'<iframe srcdoc="{escape(text)}" style="{style}" title="Label audit"></iframe>'))
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
