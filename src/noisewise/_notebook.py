"""A result in a notebook: sentences and a table, without a style sheet that would reach the rest of the page."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

CELL = "text-align:left;padding:.2em .8em"


def summary_and_table(sentences: Iterable[str], names: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    """Sentences, and below them a table with these column names, as HTML.

    >>> summary_and_table(["two <b>"], ["item"], [[7]]).startswith("<div><p>two &lt;b&gt;</p><table>")
    True
    """
    paragraphs = "".join(f"<p>{escape(sentence)}</p>" for sentence in sentences)
    body = "".join(_line(row, "td") for row in rows)
    return f"<div>{paragraphs}<table><thead>{_line(names, 'th')}</thead><tbody>{body}</tbody></table></div>"


def _line(values: Iterable[object], kind: str) -> str:
    return "<tr>" + "".join(f'<{kind} style="{CELL}">{escape(str(value))}</{kind}>' for value in values) + "</tr>"
