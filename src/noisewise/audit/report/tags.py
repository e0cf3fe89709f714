"""The audit of tags as one self-contained HTML page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from noisewise.audit.report.charts import histogram
from noisewise.audit.report.features import cell_text, features_of
from noisewise.audit.report.pages import page, worst_rows
from noisewise.audit.summaries import probability_text

if TYPE_CHECKING:
    from noisewise.audit.tag_result import TagAudit

MOST_COLUMNS = 6  # of the features of a row, shown


def tag_page(audit: TagAudit, title: str) -> str:
    """The page as text."""
    from markupsafe import Markup

    worst = worst_rows(audit.order, audit.probability)
    table = audit.columns(worst, ", ")
    table["probability"] = np.array([probability_text(right) for right in table["probability"]], dtype=object)
    features = {} if sparse.issparse(audit.X) else features_of(audit.X, worst, MOST_COLUMNS)
    shown = {name: [cell_text(value) for value in values] for name, values in features.items()}
    content = {
        "title": title,
        "n": f"{len(audit.observed):,}",
        "count": f"{(1 - audit.probability).sum():,.0f}",
        "picked": f"{len(audit.picked):,}",
        "tags": audit.by_tag("polars").to_dicts(),
        "histogram": Markup(histogram(audit.probability)),
        "notes": audit.notes,
        "columns": ["row", "observed", "suggested", "wrong", "P(all are right)", *shown],
        "rows": list(zip(*table.values(), *shown.values(), strict=True)),
    }
    return page("tags.html", content)
