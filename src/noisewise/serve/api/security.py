"""Access control: host names, API keys, rate limits and bodies, checked before a request is parsed."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from starlette.types import Message, Receive, Scope

from noisewise.serve.api.json_bodies import repeated_name
from noisewise.serve.api.keys import KeyRing
from noisewise.serve.api.models import KEY
from noisewise.serve.api.problems import problem
from noisewise.serve.deadlines import Deadlines
from noisewise.serve.settings import Settings

OPEN = ("/healthz", "/readyz", "/", "/openapi.json")  # paths that need no key
LOOPBACK = ("localhost", "127.0.0.1", "::1")  # names of this machine to itself
WRONG_KEYS = 30.0  # a minute from one address; known keys always pass: they are too long to be guessed
MAX_CLIENTS = 10_000  # token buckets in memory
TOO_LATE = "the body took too long"  # why a request is cancelled


class AccessControl:
    """Host names, API keys, requests per second, size and time of a body."""

    def __init__(self, settings: Settings, keys: KeyRing) -> None:
        self.settings = settings
        self.keys = keys
        self._requests, self._wrong_keys = TokenBuckets(), TokenBuckets()
        self._bodies = Deadlines(settings.body_seconds, lambda task: task.cancel(TOO_LATE))

    def refusal(self, scope: Scope, headers: dict[bytes, bytes]) -> Any:
        """Why a request may not be made; None if it may."""
        host = _host_name(headers.get(b"host", b""))
        if not self._is_known(host):
            return problem(421, f"this service is not {host!r}; --allow-host adds a name it may be called by")
        address = str((scope.get("client") or ("unknown",))[0])
        client, limit = address, self.settings.requests_per_second
        if self.keys.keys:
            given = _given_key(headers)
            key = self.keys.find(given)
            open_path = scope["path"] in OPEN or scope["path"].startswith("/static/")
            if key is not None:
                scope[KEY] = key.name
                client, limit = key.name, limit if key.requests_per_second is None else key.requests_per_second
            elif not open_path:
                if given and not self._wrong_keys.take(address, WRONG_KEYS / 60, WRONG_KEYS):
                    return problem(429, "too many wrong keys; wait a minute", headers={"Retry-After": "60"})
                challenge = {"WWW-Authenticate": "Bearer"}
                return problem(401, "an API key is needed: Authorization: Bearer KEY", headers=challenge)
            if key is not None and not open_path and not key.may(scope["method"], scope["path"]):
                return problem(403, f"the key {key.name!r} is for role {key.role!r}, which may not do this")
        if limit > 0 and not self._requests.take(client, limit, max(limit, 1.0)):
            return problem(429, f"more than {limit:g} requests a second; slow down")
        return None

    def _is_known(self, host: str) -> bool:
        """Whether a request is for this service: without keys, a page of another site could get at it by its name."""
        known = self.settings.hosts
        if known is None:
            return bool(self.keys.keys) or host in LOOPBACK
        return "*" in known or host in known or host in LOOPBACK

    async def body(self, scope: Scope, headers: dict[bytes, bytes], receive: Receive) -> tuple[Any, bytes]:
        """The whole body, or why it is refused."""
        path, settings = scope["path"], self.settings
        most = settings.largest_import if path.endswith(("/state", "/model")) else settings.largest_body
        length = headers.get(b"content-length", b"")
        if length.isdigit() and int(length) > most:
            return _too_large(most), b""
        task = asyncio.current_task()
        assert task is not None
        self._bodies.start(task)
        try:
            body = await _read(receive, most)
        except asyncio.CancelledError as error:
            if error.args != (TOO_LATE,):
                raise  # the server stops
            task.uncancel()
            close = {"Connection": "close"}
            return problem(408, f"the body took more than {settings.body_seconds:g} seconds", headers=close), b""
        finally:
            self._bodies.stop(task)
        if body is None:
            return _too_large(most), b""
        if headers.get(b"content-type", b"").startswith(b"application/json"):
            name = repeated_name(body)
            if name is not None:
                return problem(422, f"body: {name[:64]!r} is there twice in one object; once would do"), b""
        return None, body


class TokenBuckets:
    """Token buckets of clients: each gets tokens at a rate, up to a most, and takes one for each request."""

    def __init__(self) -> None:
        self._buckets: dict[str, tuple[float, float]] = {}

    def take(self, client: str, rate: float, most: float) -> bool:
        """Take a token of a client, if it has one."""
        now = time.monotonic()
        if len(self._buckets) > MAX_CLIENTS:
            self._buckets.clear()
        left, then = self._buckets.get(client, (most, now))
        left = min(most, left + (now - then) * rate)
        self._buckets[client] = (left - (left >= 1), now)
        return left >= 1


async def _read(receive: Receive, most: int) -> bytes | None:
    """A whole body; None if it is too large."""
    message = await receive()
    body: bytes = message.get("body", b"")
    parts, size = [body], len(body)
    while message.get("more_body", False) and size <= most:
        message = await receive()
        parts.append(message.get("body", b""))
        size += len(parts[-1])
    return b"".join(parts) if size <= most else None


def _too_large(most: int) -> Any:
    return problem(413, f"the body is larger than {most:,} bytes")


def _given_key(headers: dict[bytes, bytes]) -> bytes:
    bearer = headers.get(b"authorization", b"")
    given = bearer[7:] if bearer[:7].lower() == b"bearer " else b""
    return given or headers.get(b"x-api-key", b"") or headers.get(b"ocp-apim-subscription-key", b"")


def _host_name(given: bytes) -> str:
    """The name in a Host header, without its port.

    >>> _host_name(b"LOCALHOST:8000"), _host_name(b"[::1]:8000")
    ('localhost', '::1')
    """
    host = given.decode("latin-1").lower()
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def replay_body(body: bytes, receive: Receive) -> Receive:
    """A `receive` that yields the body already read, and then what comes after it."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
