"""Who runs the cells: this process, local processes, a Dask cluster or a Ray cluster. Rows come as they finish."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import Any

Work = Callable[[Any], Any]
ENGINES = ("local", "dask", "ray")


def each(work: Work, items: list[Any], engine: str = "local", jobs: int = 1, address: str | None = None) -> Iterator:
    """Results of ``work(item)``, in the order in which they finish.

    Parameters
    ----------
    work : function at the top of a module
    items : list
    engine : {"local", "dask", "ray"}
        "local" are `jobs` processes of this machine (1: this very process).
    jobs : int
        For "local", and for clusters that have to be started here.
    address : str, optional
        Of a running cluster: "tcp://host:8786" for Dask, "host:6379" or "ray://host:10001" for Ray. By default a small
        cluster is started on this machine and stopped again.

    Examples
    --------
    >>> sorted(each(abs, [-1, 2]))
    [1, 2]
    """
    if engine not in ENGINES:
        raise ValueError(f"there is no engine {engine!r}; there are {', '.join(ENGINES)}")
    if not items:
        return iter(())
    return {"local": _local, "dask": _dask, "ray": _ray}[engine](work, items, jobs, address)


def _local(work: Work, items: list[Any], jobs: int, address: str | None) -> Iterator:
    if address is not None:
        raise ValueError("an address belongs to the engines dask and ray; local processes have none")
    if jobs == 1:
        return map(work, items)
    return _processes(work, items, jobs)


def _processes(work: Work, items: list[Any], jobs: int) -> Iterator:
    from joblib import Parallel, delayed

    tasks = (delayed(work)(item) for item in items)
    with warnings.catch_warnings():
        # a process that grows by more than 300 MB, as by loading MNIST, is replaced by a new one; no cell is lost
        warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
        yield from Parallel(n_jobs=jobs, return_as="generator_unordered", pre_dispatch="2*n_jobs")(tasks)


def _dask(work: Work, items: list[Any], jobs: int, address: str | None) -> Iterator:
    from noisewise.audit import dask_client

    with dask_client(address, jobs) as client:
        dask: Any = import_module("distributed")
        yield from (future.result() for future in dask.as_completed(client.map(work, items, pure=False)))


def _ray(work: Work, items: list[Any], jobs: int, address: str | None) -> Iterator:
    try:
        ray: Any = import_module("ray")
    except ImportError as error:
        raise ImportError("the engine ray needs its package: pip install 'noisewise[cluster]'") from error

    started = {"num_cpus": jobs, "include_dashboard": False} if address is None else {"address": address}
    ray.init(**started, log_to_driver=False, configure_logging=False)
    try:
        remote = ray.remote(num_cpus=1)(_call)
        yield from _as_ready(ray, [remote.remote(work, item) for item in items])
    finally:
        ray.shutdown()


def _as_ready(ray: Any, waiting: list[Any]) -> Iterable[Any]:
    while waiting:
        ready, waiting = ray.wait(waiting)
        yield from ray.get(ready)


def _call(work: Work, item: Any) -> Any:
    """Ray wants a plain function; `work` may be a partial one."""
    return work(item)
