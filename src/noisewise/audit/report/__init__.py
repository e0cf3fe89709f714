"""The audit as a self-contained HTML page."""

from noisewise.audit.report.annotations import annotations_page
from noisewise.audit.report.charts import svg
from noisewise.audit.report.media import pictures_of, texts_of
from noisewise.audit.report.notebook import annotations_html, show_page, summary_html, tags_html, targets_html
from noisewise.audit.report.pages import page
from noisewise.audit.report.report import report_page
from noisewise.audit.report.tags import tag_page
from noisewise.audit.report.targets import target_page

__all__ = [
    "annotations_html",
    "annotations_page",
    "page",
    "pictures_of",
    "report_page",
    "show_page",
    "summary_html",
    "svg",
    "tag_page",
    "tags_html",
    "target_page",
    "targets_html",
    "texts_of",
]
