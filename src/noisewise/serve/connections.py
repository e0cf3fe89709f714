"""Connections of slow or idle clients: a time limit for a request's head, and a most of connections."""

from __future__ import annotations

import resource
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

from noisewise.serve.deadlines import Deadlines

HEAD_SECONDS = 10.0  # from the first byte, or from the connection on, to the end of a request's head
MAX_CONNECTIONS = 1000  # or as many as the system has files for
BACKLOG = 256  # connections that the system accepts at once, each a file before it is one of ours
RESERVED_FILES = BACKLOG + 100  # and for the store, the page and the interpreter


class LimitedConnection(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """A connection that is closed if no request comes in time, or when it is the oldest without one of too many."""

    most = MAX_CONNECTIONS
    head_seconds = HEAD_SECONDS
    _waits = False

    def connection_made(self, transport: Any) -> None:
        """Accept a connection; the one that has waited longest without a request makes room for it."""
        super().connection_made(transport)
        if not hasattr(self.server_state, "heads"):  # the first connection of a server
            self.server_state.heads = Deadlines(self.head_seconds, LimitedConnection._abort)
        if len(self.connections) > self.most:
            (self.server_state.heads.longest() or self)._abort()
        self._wait_for_head()

    def data_received(self, data: bytes) -> None:
        """Read on; when the head of a request is complete, its handler has begun."""
        before = self.cycle
        if not self._waits and (before is None or before.response_complete):
            self._wait_for_head()
        super().data_received(data)
        if self.cycle is not before:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait_for_head(self) -> None:
        self._waits = True
        self.server_state.heads.start(self)

    def _stop_waiting(self) -> None:
        self._waits = False
        self.server_state.heads.stop(self)

    def _abort(self) -> None:
        self._stop_waiting()  # so that the next one does not choose it too, before it is gone
        self.transport.abort()


def connection_class() -> type[LimitedConnection]:
    """The class of connections for this process, with room for as many as the system has files for."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_CONNECTIONS + RESERVED_FILES
    if soft < wanted:
        soft = min(wanted, hard) if hard != resource.RLIM_INFINITY else wanted
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    LimitedConnection.most = min(MAX_CONNECTIONS, max(soft - RESERVED_FILES, 10))
    return LimitedConnection
