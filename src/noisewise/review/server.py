"""The page of a review, served to this machine alone."""

from __future__ import annotations

import json
import secrets
import threading
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any

from noisewise.review.row_view import RowViews
from noisewise.review.session import ReviewSession

HOST = "127.0.0.1"
MOST_BYTES = 10_000  # of a request's body
PAGE = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/style.css": ("style.css", "text/css; charset=utf-8"),
    "/app.js": ("app.js", "text/javascript; charset=utf-8"),
}
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Refused(Exception):
    """A request that gets a sentence instead of what it asked for."""

    def __init__(self, status: HTTPStatus, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class ReviewServer(ThreadingHTTPServer):
    """Serves a review on this machine; `url` opens its page.

    The address carries a token that every request has to show, and the name of the host is checked, so that neither
    other users of the machine nor pages of other sites can read rows or decide.

    Parameters
    ----------
    review : ReviewSession
    port : int
        0 takes any that is free.
    title : str
    """

    daemon_threads = True

    def __init__(self, review: ReviewSession, port: int = 0, title: str = "Review of labels") -> None:
        try:
            super().__init__((HOST, port), Handler)
        except OSError as error:
            raise ValueError(f"{HOST}:{port} can't be listened on ({error.strerror}); another port would do") from None
        self.review, self.title = review, title
        self.token = secrets.token_urlsafe(24)
        self.lock = threading.Lock()  # one request at a time: views are cached, decisions come in order

    @property
    def url(self) -> str:
        """Address of the page; the token stays in the browser, behind the #."""
        return f"http://{HOST}:{self.server_port}/#{self.token}"

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
        return {"files": written, "progress": self.review.progress(), "estimate": self.review.updated.progress}

    @cached_property
    def _known(self) -> set[int]:
        return set(self.review.rows.tolist())

    def _state(self, row: int) -> dict[str, Any]:
        standing = self.review.log.standing(row)
        return {
            "decision": None if standing is None else {"label": standing.decision, "action": standing.action},
            "version": self.review.log.version(row),
        }


class Handler(BaseHTTPRequestHandler):
    """One request: files of the page for every browser here, the review for the one that has the token."""

    server: ReviewServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Files of the page, the overview, a row."""
        self._respond(self._get)

    def do_POST(self) -> None:
        """Decisions, undo, the files at the end."""
        self._respond(self._post)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the terminal is for what the reviewer has to know."""

    def _respond(self, find: Callable[[], tuple[bytes, str]]) -> None:
        status = HTTPStatus.OK
        try:
            self._check_host()
            body, kind = find()
        except Refused as refusal:
            status, (body, kind) = refusal.status, _as_json({"error": str(refusal)})
        except (ValueError, OSError, ImportError) as error:
            status, (body, kind) = HTTPStatus.INTERNAL_SERVER_ERROR, _as_json({"error": str(error)})
        with suppress(ConnectionError):  # the browser was closed
            self._send(status, body, kind)

    def _get(self) -> tuple[bytes, str]:
        if self.path in PAGE:
            name, kind = PAGE[self.path]
            return files(__package__).joinpath("page", name).read_bytes(), kind
        self._check_token()
        row = self.path.removeprefix("/api/rows/")
        if row != self.path and row.isdecimal():
            return self._call(self.server.row, {"row": int(row)})
        if self.path == "/api/review":
            return self._call(self.server.overview, {})
        raise Refused(HTTPStatus.NOT_FOUND, f"there is nothing at {self.path}")

    def _post(self) -> tuple[bytes, str]:
        self._check_token()
        calls: dict[str, Callable[..., Any]] = {
            "/api/decide": self.server.decide,
            "/api/undo": self.server.undo,
            "/api/finish": self.server.finish,
        }
        if self.path not in calls:
            raise Refused(HTTPStatus.NOT_FOUND, f"there is nothing at {self.path}")
        wanted = {"row", "code", "version"} if self.path == "/api/decide" else set()
        body = self._body()
        if set(body) != wanted:
            raise Refused(HTTPStatus.BAD_REQUEST, f"{self.path} takes {sorted(wanted)} as a JSON object")
        return self._call(calls[self.path], body)

    def _call(self, function: Callable[..., Any], arguments: dict[str, Any]) -> tuple[bytes, str]:
        with self.server.lock:
            return _as_json(function(**arguments))

    def _check_host(self) -> None:
        """Refuse what a page of another site asked for, also under a name that it made point here."""
        known = {f"{name}:{self.server.server_port}" for name in (HOST, "localhost")}
        origin = self.headers.get("Origin")
        if self.headers.get("Host") not in known or (origin and origin.removeprefix("http://") not in known):
            raise Refused(HTTPStatus.FORBIDDEN, "this page is for the machine it runs on")

    def _check_token(self) -> None:
        given = self.headers.get("Authorization", "").encode()
        if not secrets.compare_digest(given, f"Bearer {self.server.token}".encode()):
            raise Refused(
                HTTPStatus.UNAUTHORIZED, "open the address that `noisewise review` printed when it started last"
            )

    def _body(self) -> dict[str, Any]:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > MOST_BYTES:
            raise Refused(HTTPStatus.BAD_REQUEST, "a short JSON object is needed")
        try:
            body = json.loads(self.rfile.read(int(length)))
        except ValueError:
            body = None
        if not isinstance(body, dict):
            raise Refused(HTTPStatus.BAD_REQUEST, "a JSON object is needed")
        return body

    def _send(self, status: HTTPStatus, body: bytes, kind: str) -> None:
        self.send_response(status)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if status != HTTPStatus.OK:  # its body may not have been read
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)


def _as_json(value: Any) -> tuple[bytes, str]:
    return json.dumps(value, ensure_ascii=False, default=str).encode(), "application/json"


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
    with ReviewServer(review, port, title) as server:
        ready(server.url)
        if browser:
            webbrowser.open(server.url)
        with suppress(KeyboardInterrupt):
            server.serve_forever()
