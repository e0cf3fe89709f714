"""Access control: API keys, rate limits and body sizes, checked before a request is parsed."""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from pathlib import Path
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from noisewise.serve.api.problems import problem
from noisewise.serve.settings import Settings

OPEN = ("/healthz", "/readyz", "/", "/openapi.json")  # paths that need no key
MAX_CLIENTS = 10_000  # token buckets in memory
HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", b"default-src 'self'; img-src 'self' data:; frame-ancestors 'none'"),
]


class AccessControl:
    """Middleware: API keys, requests per second, the size of a body, and security headers."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app = app
        self.settings = settings
        self._buckets: dict[str, tuple[float, float]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        refusal: Any = None
        client = self._client(scope, headers)
        if client is None:
            refusal = problem(
                401, "an API key is needed: Authorization: Bearer KEY", headers={"WWW-Authenticate": "Bearer"}
            )
        elif not self._within_limit(client):
            refusal = problem(429, f"more than {self.settings.requests_per_second:g} requests a second; slow down")
        elif scope["method"] in ("POST", "PUT", "PATCH"):
            body = await self._body(headers, receive)
            if body is None:
                refusal = problem(413, f"the body is larger than {self.settings.largest_body:,} bytes")
            else:
                receive = replay_body(body, receive)
        await (refusal or self.app)(scope, receive, _with_headers(send))

    def _client(self, scope: Scope, headers: dict[bytes, bytes]) -> str | None:
        """The client: the name of its key, or its address where no keys are needed; None if a key is missing."""
        address = str((scope.get("client") or ("unknown",))[0])
        if not self.settings.keys:
            return address
        bearer = headers.get(b"authorization", b"")
        given = bearer[7:] if bearer[:7].lower() == b"bearer " else b""
        given = given or headers.get(b"x-api-key", b"") or headers.get(b"ocp-apim-subscription-key", b"")
        name = self.settings.keys.get(hashlib.sha256(given).hexdigest())
        if name is None and (scope["path"] in OPEN or scope["path"].startswith("/static/")):
            return address
        return name

    def _within_limit(self, client: str) -> bool:
        """Token bucket: take one token of the client, which gets `requests_per_second` of them."""
        limit = self.settings.requests_per_second
        if limit <= 0:
            return True
        now = time.monotonic()
        if len(self._buckets) > MAX_CLIENTS:
            self._buckets.clear()
        left, then = self._buckets.get(client, (max(limit, 1.0), now))
        left = min(max(limit, 1.0), left + (now - then) * limit)
        self._buckets[client] = (left - (left >= 1), now)
        return left >= 1

    async def _body(self, headers: dict[bytes, bytes], receive: Receive) -> bytes | None:
        """The whole body, or None if it is too large."""
        most, length = self.settings.largest_body, headers.get(b"content-length", b"")
        if length.isdigit() and int(length) > most:
            return None
        parts, size, more = [], 0, True
        while more:
            message = await receive()
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            more = message.get("more_body", False)
            if size > most:
                return None
        return b"".join(parts)


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


def read_keys(path: str | Path) -> dict[str, str]:
    """API keys of a file with a name and a SHA-256 in each line; names by SHA-256."""
    keys = {}
    for number, line in enumerate(Path(path).read_text().splitlines(), start=1):
        if line.strip() and not line.startswith("#"):
            found = re.fullmatch(r"(\S+)\s+([0-9a-f]{64})\s*", line)
            if found is None:
                raise ValueError(
                    f"{path}, line {number}: a name and the SHA-256 of its key are needed, e.g. by --new-key"
                )
            keys[found[2]] = found[1]
    if not keys:
        raise ValueError(f"{path} holds no key; noisewise serve --keys {path} --new-key NAME makes one")
    return keys


def new_key_in(path: str | Path, name: str) -> str:
    """A new key, whose hash is added to the file; the key itself is stored nowhere."""
    if not re.fullmatch(r"\S{1,64}", name) or name.startswith("#"):
        raise ValueError(f"{name!r} can't name a key; a word would do")
    key = secrets.token_urlsafe(32)
    file = Path(path)
    if not file.exists():
        file.touch(mode=0o600)
    with file.open("a") as lines:
        lines.write(f"{name} {hashlib.sha256(key.encode()).hexdigest()}\n")
    return key


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message["headers"], *HEADERS]
        await send(message)

    return sending
