"""Running the cells that have no row yet, and collecting the rows of an experiment."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib import import_module
from importlib.metadata import version
from typing import Any

from noisewise.experiments.harness.engines import each
from noisewise.experiments.harness.provenance import code_of
from noisewise.experiments.harness.rows import Row, Rows, RowStore
from noisewise.experiments.harness.spec import Cell, Experiment, Task

PACKAGES = ("noisewise", "numpy", "scipy", "scikit-learn", "numba")
Job = tuple[str, Task, Cell]  # experiment, task, cell


@dataclass(frozen=True)
class Ran:
    """What a run did: cells finished now, found finished (some by other code), and failed with the reason."""

    finished: int
    found: int
    failed: Mapping[str, str]
    by_other_code: int = 0


def run(
    experiments: Mapping[str, Experiment],
    store: RowStore,
    quick: bool = False,
    engine: str = "local",
    jobs: int = 1,
    address: str | None = None,
    minutes: float | None = None,
    fresh: bool = False,
    on_row: Callable[[int, int], None] | None = None,
) -> Ran:
    """Run every cell that the store has no row of; a cell shared by two experiments is run once.

    Parameters
    ----------
    experiments : mapping of "paper/name" to Experiment
    store : RowStore
        Gets each row as soon as it is there.
    quick : bool
        Fewer seeds and sets.
    engine, jobs, address : see `each`
    minutes : float, optional
        Start no further cells after this time; first repeats run first, so that settings have equally many.
    fresh : bool
        Run again the cells whose rows were made by other code than the present.
    on_row : function of (done, total), optional
    """
    wanted: dict[str, Job] = {}
    for key, experiment in experiments.items():
        for cell in experiment.cells(quick):
            wanted.setdefault(cell.id, (key, experiment.task, cell))
    other = {name for name, job in wanted.items() if name in store.rows and not is_by(job[1], store.rows[name])}
    again = other if fresh else set()
    todo = sorted((job for name, job in wanted.items() if name in again or name not in store.rows), key=_order)
    deadline = None if minutes is None else time.time() + 60 * minutes
    failed: dict[str, str] = {}
    finished = 0
    if on_row is not None:
        on_row(0, len(todo))
    for number, (key, row) in enumerate(each(partial(measure, deadline=deadline), todo, engine, jobs, address), 1):
        if "result" in row:
            store.add(key, row)
            finished += 1
        elif row["error"] is not None:
            failed[row["id"]] = row["error"]
        if on_row is not None:
            on_row(number, len(todo))
    return Ran(finished, len(wanted) - len(todo), failed, len(other - again))


def measure(job: Job, deadline: float | None = None) -> tuple[str, Row]:
    """The row of one cell; sums in it do not depend on how many processors there are.

    A cell that fails has an error instead of its result; one that comes after the deadline has neither.
    """
    threads: Any = import_module("threadpoolctl")  # brought by scikit-learn; has no types
    key, task, cell = job
    row: Row = {"id": cell.id, "experiment": key, "task": cell.task, "settings": dict(cell.settings)}
    if deadline is not None and time.time() > deadline:
        return key, {**row, "error": None}
    code = code_of(task)
    start, worked = time.perf_counter(), time.process_time()
    try:
        with threads.threadpool_limits(1):
            found = dict(task(cell))
    except Exception as error:  # one bad cell must not end a night's run; the page says which and why
        return key, {**row, "error": f"{type(error).__name__}: {error}"}
    times = {name: value for name, value in found.items() if name.startswith("seconds")}
    row["result"] = {name: value for name, value in found.items() if name not in times}
    times |= {"seconds": time.perf_counter() - start, "seconds_processor": time.process_time() - worked}
    return key, {**row, "times": times, "versions": versions(), "code": code, "made": time.time()}


def is_by(task: Task, row: Row) -> bool:
    """Whether a row was made by the present code of its task."""
    return bool(row.get("code") == code_of(task))


def rows_of(experiment: Experiment, store: RowStore, quick: bool = False) -> Rows:
    """The stored rows as flat records of settings, results and times, and whether the present code made them."""
    found = (store.rows.get(cell.id) for cell in experiment.plan(quick))
    return Rows(
        {**row["settings"], **row["result"], **row["times"], "by_present_code": is_by(experiment.task, row)}
        for row in found
        if row is not None
    )


def comparable(rows: Iterable[Row]) -> list[tuple[str, Any]]:
    """What must be equal whoever ran the cells: ids and results, without times, versions and code."""
    return [(row["id"], row["result"]) for row in sorted(rows, key=lambda row: str(row["id"]))]


@lru_cache(maxsize=1)
def versions() -> dict[str, str]:
    """Versions that a row was made with."""
    return {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}}


def _order(job: Job) -> tuple[int, str, str]:
    """First repeats first; a set is loaded once for all its cells, which otherwise come in random order."""
    settings = job[2].settings
    return settings.get("repeat", 0), str(settings.get("dataset", "")), job[2].id
