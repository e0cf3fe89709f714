"""A page that is served to this machine alone: a token in its address, and the name of the host checked."""

from __future__ import annotations

import json
import secrets
import threading
import webbrowser
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any, ClassVar

HOST = "127.0.0.1"
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


class LocalServer(ThreadingHTTPServer, ABC):
    """Serves a page, the folder `page` of a package, and answers its calls; `url` opens it.

    The address carries a token that every call has to show, and the name of the host is checked, so that neither other
    users of the machine nor pages of other sites can read or change anything.

    Parameters
    ----------
    port : int
        0 takes any that is free.
    """

    daemon_threads = True
    package: ClassVar[str]  # whose folder `page` holds the page
    command: ClassVar[str]  # that started it
    most_bytes: ClassVar[int] = 10_000  # of the body of a call

    def __init__(self, port: int = 0) -> None:
        try:
            super().__init__((HOST, port), Handler)
        except OSError as error:
            raise ValueError(f"{HOST}:{port} can't be listened on ({error.strerror}); another port would do") from None
        self.token = secrets.token_urlsafe(24)
        self.lock = threading.Lock()  # one call at a time, in the order in which they come

    @property
    def url(self) -> str:
        """Address of the page; the token stays in the browser, behind the #."""
        return f"http://{HOST}:{self.server_port}/#{self.token}"

    @abstractmethod
    def get(self, path: str) -> Any:
        """What is at a path, as something that JSON can hold; None if nothing is."""

    @abstractmethod
    def calls(self) -> dict[str, tuple[Callable[..., Any], set[str]]]:
        """What may be posted to which path: a function, and the names of its arguments."""

    def run(self, browser: bool, ready: Callable[[str], None]) -> None:
        """Open the page in a browser and serve it until Ctrl-C; `ready` is called with its address."""
        with self:
            ready(self.url)
            if browser:
                webbrowser.open(self.url)
            with suppress(KeyboardInterrupt):
                self.serve_forever()


class Handler(BaseHTTPRequestHandler):
    """One request: files of the page for every browser here, the rest for the one that has the token."""

    server: LocalServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Files of the page, and what is at a path."""
        self._respond(self._get)

    def do_POST(self) -> None:
        """A call."""
        self._respond(self._post)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the terminal is for what the user has to know."""

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
            return files(self.server.package).joinpath("page", name).read_bytes(), kind
        self._check_token()
        with self.server.lock:
            found = self.server.get(self.path)
        if found is None:
            raise Refused(HTTPStatus.NOT_FOUND, f"there is nothing at {self.path}")
        return _as_json(found)

    def _post(self) -> tuple[bytes, str]:
        self._check_token()
        function, wanted = self.server.calls().get(self.path, (None, set()))
        if function is None:
            raise Refused(HTTPStatus.NOT_FOUND, f"there is nothing at {self.path}")
        body = self._body()
        if set(body) != wanted:
            raise Refused(HTTPStatus.BAD_REQUEST, f"{self.path} takes {sorted(wanted)} as a JSON object")
        with self.server.lock:
            return _as_json(function(**body))

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
                HTTPStatus.UNAUTHORIZED, f"open the address that `{self.server.command}` printed when it started last"
            )

    def _body(self) -> dict[str, Any]:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > self.server.most_bytes:
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
