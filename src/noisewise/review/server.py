"""The page of a review, served to this machine alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from http import HTTPStatus
from typing import Any

from noisewise._local_page import LocalServer, Refused
from noisewise.review.row_view import RowViews
from noisewise.review.session import ReviewSession


class ReviewServer(LocalServer):
    """Serves a review on this machine; `url` opens its page.

    Parameters
    ----------
    review : ReviewSession
    port : int
        0 takes any that is free.
    title : str
    """

    package, command = "noisewise.review", "noisewise review"

    def __init__(self, review: ReviewSession, port: int = 0, title: str = "Review of labels") -> None:
        super().__init__(port)
        self.review, self.title = review, title

    def get(self, path: str) -> Any:
        """The overview, or a row."""
        row = path.removeprefix("/api/rows/")
        if row != path and row.isdecimal():
            return self.row(int(row))
        return self.overview() if path == "/api/review" else None

    def calls(self) -> dict[str, tuple[Callable[..., Any], set[str]]]:
        """Decisions, undo, the files at the end."""
        return {
            "/api/decide": (self.decide, {"row", "code", "version"}),
            "/api/undo": (self.undo, set()),
            "/api/finish": (self.finish, set()),
        }

    @cached_property
    def views(self) -> RowViews:
        """Made when the first row is asked for: the page is there before."""
        return RowViews(self.review)

    def overview(self) -> dict[str, Any]:
        """The review as a whole: rows in their order, which are decided, names of the labels."""
        self.review.log.refresh()
        return {
            "title": self.title,
            "reviewer": self.review.reviewer,
            "names": self.review.names,
            "free": not self.review.names,
            "rows": self.review.rows.tolist(),
            "decided": sorted(self.review.log.decided),
            "progress": self.review.progress(),
        }

    def row(self, row: int) -> dict[str, Any]:
        """A row, and what was decided about it."""
        if row not in self._known:
            raise Refused(HTTPStatus.NOT_FOUND, f"row {row} is not under review")
        return self.views.view(row) | self._state(row)

    def decide(self, row: Any, code: Any, version: Any) -> dict[str, Any]:
        """Store a decision, unless somebody decided about the row since the page showed it."""
        if not (isinstance(row, int) and row in self._known):
            raise Refused(HTTPStatus.BAD_REQUEST, "a decision names a row under review")
        text = self._text(code)
        self.review.log.refresh()
        if version != self.review.log.version(row):
            raise Refused(
                HTTPStatus.CONFLICT, "this row was decided elsewhere in the meantime; here it is as it stands"
            )
        self.review.decide_text(row, text)
        return self._state(row) | {"progress": self.review.progress()}

    def _text(self, code: Any) -> str | None:
        """A decision as it is stored: the name of a label by its code, tags or a number as they were typed."""
        names = self.review.names
        if code is None:
            return None
        if names and isinstance(code, int) and 0 <= code < len(names):
            return names[code]
        if names or not isinstance(code, str):
            raise Refused(
                HTTPStatus.BAD_REQUEST, "a decision is the code of a label (of tags and numbers, a text), or null"
            )
        try:
            return self.review.subject.text_of(code)
        except ValueError as error:
            raise Refused(HTTPStatus.BAD_REQUEST, str(error)) from None

    def undo(self) -> dict[str, Any]:
        """Take the last decision back."""
        row = self.review.undo()
        return {"row": row, "progress": self.review.progress()}

    def finish(self) -> dict[str, Any]:
        """Write the files of the review."""
        written = [str(path) for path in self.review.finish()]
        estimate = self.review.updated.progress  # first, so that the line of progress says the same
        return {"files": written, "progress": self.review.progress(), "estimate": estimate}

    @cached_property
    def _known(self) -> set[int]:
        return set(self.review.rows.tolist())

    def _state(self, row: int) -> dict[str, Any]:
        standing = self.review.log.standing(row)
        return {
            "decision": None if standing is None else {"label": standing.decision, "action": standing.action},
            "version": self.review.log.version(row),
        }


def serve_review(
    review: ReviewSession,
    port: int = 0,
    title: str = "Review of labels",
    browser: bool = True,
    ready: Callable[[str], None] = print,
) -> None:
    """Open the page of a review in a browser and serve it until Ctrl-C.

    Parameters
    ----------
    review : ReviewSession
    port : int
        On 127.0.0.1; 0 takes any that is free.
    title : str
    browser : bool
        Whether to open a browser.
    ready : callable
        Called with the address when the page can be opened; by default it is printed.
    """
    ReviewServer(review, port, title).run(browser, ready)
