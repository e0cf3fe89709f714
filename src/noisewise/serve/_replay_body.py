"""A body that has been read, to be read once more."""

from __future__ import annotations

from starlette.types import Message, Receive


def again(body: bytes, receive: Receive) -> Receive:
    """Give the body first, and then whatever comes after it."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
