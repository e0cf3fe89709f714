"""The entrance of the application: every request is counted, checked and, if it is a frequent one, answered here."""

from __future__ import annotations

import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from noisewise.serve.api.fast_path import fast_response
from noisewise.serve.api.monitoring import RequestMetrics, request_id, until_ready
from noisewise.serve.api.problems import STATUSES, refusal, unforeseen
from noisewise.serve.api.security import AccessControl, replay_body

WITH_BODY = ("POST", "PUT", "PATCH")
REFUSALS = tuple(STATUSES)
NO_SNIFFING = (b"x-content-type-options", b"nosniff")
HEADERS = [
    NO_SNIFFING,
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", b"default-src 'self'; img-src 'self' data:; frame-ancestors 'none'"),
]


class Entrance:
    """Stands before the framework: layers that wrap what is received and sent take longer than a decision."""

    def __init__(self, app: ASGIApp, access: AccessControl, metrics: RequestMetrics, decides: bool) -> None:
        self.app = app
        self.access = access
        self.metrics = metrics
        self.decides = decides

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request and count it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, headers = time.perf_counter(), dict(scope["headers"])
        response = Response(send, request_id(headers))
        with self.metrics.span(scope) as span:
            try:
                await self._respond(scope, headers, receive, response)
            finally:
                self.metrics.count(scope, response.status, time.perf_counter() - began, response.name)
                if span is not None:
                    span.set_attribute("http.response.status_code", response.status)

    async def _respond(self, scope: Scope, headers: dict[bytes, bytes], receive: Receive, response: Response) -> None:
        """Respond to a request, or pass it on."""
        service, refused = scope["app"].state.service, self.access.refusal(scope, headers)
        if refused is None and scope["method"] in WITH_BODY:
            refused, body = await self.access.body(scope, headers, receive)
            receive = replay_body(body, receive)
        if refused is None and service.activity is not None:
            refused = await until_ready(service, scope["path"])
        if refused is None and self.decides and scope["method"] == "POST":
            try:
                content = await fast_response(service, scope, headers, body)
            except REFUSALS as error:
                refused = refusal(error)
            except Exception as error:
                refused = unforeseen(scope, error)
            else:
                if content is not None:
                    await response.json(content)
                    return
        await (refused or self.app)(scope, receive, response)


class Response:
    """Sends a response, with the headers that all have, and knows its status."""

    def __init__(self, send: Send, name: bytes) -> None:
        self._send = send
        self.name = name
        self.status = 500  # if nothing is sent

    async def __call__(self, message: Message) -> None:
        """Send a message of the application."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [*message["headers"], *HEADERS, (b"x-request-id", self.name)]
        await self._send(message)

    async def json(self, content: bytes) -> None:
        """Send data, which no browser shows as a page."""
        self.status = 200
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(content)),
            NO_SNIFFING,
            (b"x-request-id", self.name),
        ]
        await self._send({"type": "http.response.start", "status": 200, "headers": headers})
        await self._send({"type": "http.response.body", "body": content})
