"""A time limit that many share, by one timer."""

import asyncio
import time

from noisewise.serve.deadlines import CHECKS, Deadlines


def test_only_what_is_late_expires_and_hardly_later_than_its_limit():
    expired = {}

    async def run():
        limits = Deadlines(0.2, lambda item: expired.setdefault(item, time.monotonic()))
        began = time.monotonic()
        for item in ("in time", "late"):
            limits.start(item)
        await asyncio.sleep(0.1)
        limits.start("later")
        assert limits.longest() == "in time"
        limits.stop("in time")
        assert limits.longest() == "late"
        await asyncio.sleep(0.6)
        assert limits.longest() is None
        limits.start("again")  # the timer starts anew
        await asyncio.sleep(0.6)
        return began

    began = asyncio.run(run())
    assert list(expired) == ["late", "later", "again"]
    assert 0.2 <= expired["late"] - began < 0.2 * (1 + 1 / CHECKS) + 0.2
