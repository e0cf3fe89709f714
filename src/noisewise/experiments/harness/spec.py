"""What an experiment is: a declaration whose cells are pure functions of their own descriptions."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from noisewise.experiments.harness.data import is_here

if TYPE_CHECKING:
    from noisewise.experiments.harness.blocks import Block
    from noisewise.experiments.harness.rows import Rows

Task = Callable[["Cell"], Mapping[str, Any]]
Show = Callable[["Rows", Mapping[str, Any]], "list[Block]"]


def named(name: str) -> Callable[[Task], Task]:
    """Give a task the name by which its rows and seeds are known, wherever its code may move.

    A name is never changed: stored rows are found, and random numbers drawn, by its hash.
    """

    def give(task: Task) -> Task:
        cast(Any, task).name = name
        return task

    return give


def task_name(task: Task) -> str:
    """The name a task was given."""
    name = getattr(task, "name", None)
    if not isinstance(name, str):
        raise ValueError(f"the task {task.__name__} has no name; decorate it with @named('paper.{task.__name__}')")
    return name


@dataclass(frozen=True)
class Cell:
    """One run, by its description: the name of a task and its settings. All random numbers come from their hash.

    The hash of the whole description is its `id`, the name under which its row is kept.

    >>> cell = Cell("gao.accuracy", {"dataset": "heart", "method": "rnn", "repeat": 0})
    >>> cell["dataset"], cell.id
    ('heart', '6134a5b1fbb792e74061ef8a')
    >>> other = Cell("gao.accuracy", {"dataset": "heart", "method": "knn", "repeat": 0})
    >>> cell.seed("dataset", "repeat") == other.seed("dataset", "repeat"), cell.seed() == other.seed()
    (True, False)
    """

    task: str
    settings: Mapping[str, Any]
    revision: int = 1
    id: str = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "settings", json.loads(json.dumps(dict(self.settings))))
        object.__setattr__(self, "id", _digest([self.task, self.revision, self.settings])[:24])

    def __getitem__(self, name: str) -> Any:
        return self.settings[name]

    def __hash__(self) -> int:
        return hash(self.id)

    def seed(self, *names: str) -> int:
        """A seed from the named settings (default: all); cells that agree in them draw the same."""
        chosen = {name: self.settings[name] for name in names} if names else [self.task, self.settings]
        return int(_digest(chosen)[:8], 16)


@dataclass(frozen=True)
class Experiment:
    """One table or figure of a paper: settings that vary, what a cell does, and how rows are shown.

    Parameters
    ----------
    name : str
        As in the paper: "table-2", "figure-1".
    title : str
    task : function of a Cell, at the top of a module
        Returns numbers and lists of numbers; what begins with "seconds" is a time and may differ between runs.
    axes : mapping of a setting to its values
        The paper's protocol; a cell for each combination. The axis "dataset" is checked for sets that are not here; a
        set whose name begins with ``make_`` is drawn from its distribution.
    show : function of rows and printed numbers that returns blocks for the page
    quick : mapping of a setting to fewer or smaller values
    keep : function of settings, optional
        Combinations to run; by default all.
    revision : int
        To be raised when the task changes, so that old rows are not used.
    """

    name: str
    title: str
    task: Task
    axes: Mapping[str, Sequence[Any]]
    show: Show
    quick: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    keep: Callable[[Mapping[str, Any]], bool] | None = None
    revision: int = 1

    def plan(self, quick: bool = False) -> list[Cell]:
        """Every cell of the protocol, whether its data are here or not; first repeats first."""
        cells = [Cell(task_name(self.task), one, self.revision) for one in self._combinations(quick)]
        return sorted(cells, key=lambda cell: (cell.settings.get("repeat", 0), cell.id))

    def size(self, quick: bool = False) -> int:
        """Number of cells of the protocol."""
        return sum(1 for _ in self._combinations(quick))

    def cells(self, quick: bool = False) -> list[Cell]:
        """The cells whose data are here, in the order of running: first repeats first, otherwise in random order."""
        absent = set(self.absent(quick))
        return [cell for cell in self.plan(quick) if cell.settings.get("dataset") not in absent]

    def absent(self, quick: bool = False) -> list[str]:
        """Data sets of the protocol that are not here."""
        return sorted(str(name) for name in self._axes(quick).get("dataset", ()) if not is_here(name))

    def _axes(self, quick: bool) -> dict[str, Sequence[Any]]:
        return {**self.axes, **(self.quick if quick else {})}

    def _combinations(self, quick: bool) -> Iterator[dict[str, Any]]:
        axes = self._axes(quick)
        if axes:  # without axes, what is shown comes from the library alone
            every = (dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values()))
            yield from (one for one in every if self.keep is None or self.keep(one))


@dataclass(frozen=True)
class Paper:
    """A paper's experiments, and what to say about them at the top of its page."""

    name: str
    title: str
    experiments: Sequence[Experiment]
    notes: str = ""

    def find(self, name: str | None) -> list[Experiment]:
        """The experiment of that name, or all of them."""
        if name is None:
            return list(self.experiments)
        found = [one for one in self.experiments if one.name == name]
        if not found:
            known = ", ".join(one.name for one in self.experiments)
            raise ValueError(f"{self.name} has no {name!r}; there are {known}")
        return found


def _digest(description: Any) -> str:
    plain = json.dumps(description, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(plain.encode()).hexdigest()
