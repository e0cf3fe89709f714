"""Self-contained HTML pages: a template filled with plain values, in a common frame with its style."""

from __future__ import annotations

from importlib.metadata import version
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisewise._typing import Codes

FRAME = "noisewise.audit.report"  # the package of page.html and page.css
MOST_ROWS, FEWEST_ROWS = 200, 20  # shown
NEARLY_RIGHT = 0.99  # probability; rows beyond it are not shown, but for the fewest


def page(template: str, content: dict[str, Any], package: str = FRAME) -> str:
    """The page of a template in a package."""
    from jinja2 import Environment
    from markupsafe import Markup

    environment = Environment(autoescape=True, keep_trailing_newline=True)
    sorting = Markup(_text(FRAME, "sorting.html"))
    body = environment.from_string(_text(package, template)).render(content | {"sorting": sorting})
    common = {"style": Markup(_text(FRAME, "page.css")), "body": Markup(body), "version": version("noisewise")}
    return environment.from_string(_text(FRAME, "page.html")).render(content | common)


def worst_rows(order: Codes, probability: NDArray[np.floating]) -> Codes:
    """The rows to show, of all in their order: those that may well be wrong."""
    n = int(np.sum(probability < NEARLY_RIGHT))
    return order[: min(max(n, FEWEST_ROWS), MOST_ROWS)]


def _text(package: str, name: str) -> str:
    return files(package).joinpath(name).read_text(encoding="utf-8")
