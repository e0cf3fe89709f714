"""Self-contained HTML pages: a template, one style for all, and plain values."""

from __future__ import annotations

from importlib.metadata import version
from importlib.resources import files
from typing import Any


def page(template: str, content: dict[str, Any], package: str = "noisewise.audit.report") -> str:
    """A template of a package, filled in."""
    try:
        from jinja2 import Environment
        from markupsafe import Markup
    except ImportError:
        raise ImportError("the HTML report needs jinja2; `pip install 'noisewise[cli]'` brings it") from None
    style = Markup(files("noisewise.audit.report").joinpath("page.css").read_text(encoding="utf-8"))
    text = files(package).joinpath(template).read_text(encoding="utf-8")
    common = {"style": style, "version": version("noisewise")}
    return Environment(autoescape=True).from_string(text).render(common | content)
