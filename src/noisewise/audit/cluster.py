"""A Dask cluster as a replacement for `map`: one at a given address, or a local one."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any


@contextmanager
def dask_client(scheduler: str | None = None, n_workers: int | None = None) -> Iterator[Any]:
    """A client of the scheduler at this address, or of a local cluster that lives as long as the context."""
    try:
        distributed: Any = import_module("dask.distributed")
    except ImportError:
        raise ImportError("the dask engine needs dask; `pip install 'noisewise[cluster]'` brings it") from None
    if scheduler is None:
        options = {"threads_per_worker": 1, "dashboard_address": None, "silence_logs": logging.ERROR}
        with distributed.LocalCluster(n_workers, **options) as cluster, distributed.Client(cluster) as client:
            yield client
        return
    try:
        client = distributed.Client(scheduler, timeout="10s")
    except (OSError, ValueError) as error:
        raise ValueError(
            f"no Dask scheduler responds at {scheduler!r} ({error}); start one, or leave the address out"
        ) from None
    with client:
        yield client


class OnCluster:
    """Like `map`, on the workers of a Dask client: results are yielded in order, as they arrive."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def __call__(self, function: Callable[..., Any], *arguments: Any) -> Iterator[Any]:
        """Send the function to every worker once, then one task for each argument."""
        (sent,) = self._client.scatter([function], broadcast=True, hash=False)
        futures = [self._client.submit(_call, sent, *each, pure=False) for each in zip(*arguments, strict=True)]
        while futures:
            yield futures.pop(0).result()


def _call(function: Callable[..., Any], *arguments: Any) -> Any:
    return function(*arguments)
