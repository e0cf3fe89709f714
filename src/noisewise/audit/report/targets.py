"""The audit of numbers as one self-contained HTML page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from noisewise._words import number_text, percent
from noisewise.audit.report.charts import histogram, svg
from noisewise.audit.report.features import cell_text, features_of
from noisewise.audit.report.pages import page, worst_rows
from noisewise.audit.summaries import probability_text

if TYPE_CHECKING:
    from noisewise.audit.target_result import TargetAudit

MOST_COLUMNS, MOST_POINTS = 6, 1500  # shown: features of a row, points of the chart


def target_page(audit: TargetAudit, title: str, precision: float | None = None) -> str:
    """The page as text."""
    from markupsafe import Markup

    chosen = audit.picked if precision is None else audit.rows(precision)
    columns, rows = _worst_rows(audit)
    content = {
        "title": title,
        "n": f"{len(audit.observed):,}",
        "count": f"{audit.expected_errors:,.0f}",
        "low": f"{audit.expected_errors.low:,.0f}",
        "high": f"{audit.expected_errors.high:,.0f}",
        "proven": audit.expected_errors.low > 0,
        "picked": f"{len(chosen):,}",
        "promise": percent(1 - audit.probability[chosen].mean()) if len(chosen) else None,
        "reasons": _reasons(audit),
        "histogram": Markup(histogram(audit.probability)),
        "scatter": Markup(_scatter(audit)),
        "notes": audit.notes,
        "columns": columns,
        "rows": rows,
    }
    return page("targets.html", content)


def _reasons(audit: TargetAudit) -> list[dict[str, str]]:
    """What wrong numbers look like, with the expected number of each."""
    names, of_row = np.unique(audit.reasons.astype(str), return_inverse=True)
    counts = np.bincount(of_row, 1 - audit.probability)
    shown = [i for i in np.argsort(-counts) if counts[i] >= 0.05]
    return [{"name": names[i] or "right, but some are not", "count": f"{counts[i]:,.1f}"} for i in shown]


def _scatter(audit: TargetAudit) -> str:
    """Observed numbers over what they should be, probably wrong ones coloured; values beyond the edges are on them."""
    middle = (audit.low + audit.high) / 2
    known = np.isfinite(audit.observed) & np.isfinite(middle)  # others are missing, or were not predicted
    low, high = np.quantile(np.concatenate([audit.observed[known], middle[known]]), [0.01, 0.99])
    reach = 0.25 * (high - low) or 1.0
    order = audit.order[known[audit.order]]
    worst, others = np.split(order, [min(MOST_POINTS // 3, len(order))])
    shown = np.concatenate([others[: MOST_POINTS - len(worst)], worst[::-1]])  # the worst on top

    def position(values: Any) -> Any:
        return 10 + 280 * np.clip((values - low + reach) / (high - low + 2 * reach), 0, 1)

    points = [
        f'<circle class="{"wrong" if right < 0.5 else "bar"}" cx="{x:.1f}" cy="{300 - y:.1f}" r="2.2" '
        f'fill-opacity="0.6"><title>row {row}: {number_text(value)}, suggested {number_text(better)}</title></circle>'
        for row, x, y, right, value, better in zip(
            shown,
            position(middle[shown]),
            position(audit.observed[shown]),
            audit.probability[shown],
            audit.observed[shown],
            audit.suggested[shown],
            strict=True,
        )
    ]
    ends = [number_text(end, 3) for end in (low - reach, high + reach)]
    axes = ['<path class="axis" d="M10 10V290H290" fill="none"/>', '<path class="axis" d="M10 290L290 10"/>']
    axes += [
        f'<text x="{x}" y="304" text-anchor="{at}">{end}</text>'
        for x, at, end in zip((10, 290), ("start", "end"), ends)
    ]
    axes.append(f'<text x="14" y="18">{ends[1]}</text>')
    return svg(300, 308, "Observed numbers over the predicted ones", axes + points)


def _worst_rows(audit: TargetAudit) -> tuple[list[str], list[list[str]]]:
    worst = worst_rows(audit.order, audit.probability)
    features = {} if sparse.issparse(audit.X) else features_of(audit.X, worst, MOST_COLUMNS)
    columns = ["row", "observed", "suggested", "usual range", "P(number is right)", "looks", *features]
    rows = [
        [
            str(row),
            number_text(audit.observed[row]),
            number_text(audit.suggested[row]),
            f"{number_text(audit.low[row], 4)} to {number_text(audit.high[row], 4)}",
            probability_text(audit.probability[row]),
            str(audit.reasons[row]),
            *(cell_text(values[i]) for values in features.values()),
        ]
        for i, row in enumerate(worst)
    ]
    return columns, rows
