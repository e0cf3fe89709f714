"""The audit of tags as one self-contained HTML page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noisewise.audit.report.charts import histogram
from noisewise.audit.report.pages import page

if TYPE_CHECKING:
    from noisewise.audit.tag_result import TagAudit

MOST_ROWS = 200  # shown


def tag_page(audit: TagAudit, title: str) -> str:
    """The page as text."""
    from markupsafe import Markup

    table = audit.columns(audit.order[:MOST_ROWS], ", ")
    content = {
        "title": title,
        "n": f"{len(audit.observed):,}",
        "count": f"{(1 - audit.probability).sum():,.0f}",
        "picked": f"{len(audit.picked):,}",
        "tags": audit.by_tag("polars").to_dicts(),
        "histogram": Markup(histogram(audit.probability)),
        "notes": audit.notes,
        "rows": list(zip(*table.values(), strict=True)),
    }
    return page("tags.html", content)
