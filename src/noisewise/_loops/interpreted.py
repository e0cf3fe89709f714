"""Rounds in Python, with the same bits, while the loops are compiled: a new installation decides at once."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Hashable
from threading import Event, Thread
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np
from numba.core import event

from noisewise._loops import rounds
from noisewise._loops.compiled import COMPILING, REFERENCES, may_be_cached

ONE_ROW = ("decide_dense", "decide_sparse", "learn_dense", "learn_scored", "learn_sparse")
PACKAGE = __name__.rpartition(".")[0]
_threads: list[Thread] = []  # that compile, or have compiled, a loop


def wait_until_compiled() -> None:
    """Wait for the loops that have been called: interpreted ones would keep others of a service waiting."""
    for thread in list(_threads):
        thread.join()


def interpreted(loop: Any) -> Callable[..., Any]:
    """The Python function of a loop, in which everything it calls is Python too, as if JIT were disabled.

    >>> from noisewise._loops.argmax import argmax
    >>> interpreted(argmax)([1.0, 3.0, 2.0], 3, -1)
    1
    """
    made: Callable[..., Any] = _in_python(loop, {})
    return made


def _in_python(thing: Any, scopes: dict[str, dict[str, Any]]) -> Any:
    """A function or loop of this package as Python; anything else as it is. `scopes`: globals of modules met so far."""
    function = getattr(thing, "py_func", thing)
    if type(function) is not FunctionType:
        return REFERENCES.get(thing, thing) if isinstance(thing, Hashable) else thing
    home = function.__module__
    if not home.startswith(PACKAGE):
        return thing
    if home not in scopes:
        scopes[home] = scope = dict(vars(sys.modules[home]))
        scope |= {name: _in_python(value, scopes) for name, value in scope.items()}
    return FunctionType(function.__code__, scopes[home], function.__name__, None, function.__closure__)


class _Missed(event.Listener):
    """Sets all events when a loop begins to be compiled that no cache holds: then none holds the others either."""

    def __init__(self, loop: Any, events: list[Event]) -> None:
        self.loop, self.events = loop, events

    def on_start(self, event: Any) -> None:
        if event.data["dispatcher"] is self.loop:
            for known in self.events:
                known.set()

    def on_end(self, event: Any) -> None:
        pass


class _UntilCompiled:
    """A loop for one row: loaded if a cache holds it, else interpreted while a thread compiles it.

    When it is there, it takes the place of this object in the namespace. Programs that end, and processes that are
    forked, wait for the thread: it holds numba's lock.
    """

    def __init__(self, namespace: SimpleNamespace, name: str, events: list[Event]) -> None:
        self.namespace, self.name, self.events = namespace, name, events
        self.loop = getattr(rounds, name)
        self.python: Any = None
        self.thread: Thread | None = None
        self.known = Event()  # whether a cache holds the loop
        events.append(self.known)

    def __call__(self, *arguments: Any) -> Any:
        if self.thread is None:
            signature = tuple(self.loop.typeof_pyval(argument) for argument in arguments)
            self.thread = Thread(target=self._compile, args=[signature], name=f"compile {self.name}")
            if not may_be_cached(self.loop):
                self.known.set()
                try:
                    return self._in_python(*arguments)
                finally:
                    self._start()  # afterwards: numba's start takes a fifth of a second, and would share our processor
            self._start()
        self.known.wait()
        compiled = getattr(self.namespace, self.name) is self.loop
        return self.loop(*arguments) if compiled else self._in_python(*arguments)

    def _start(self) -> None:
        assert self.thread is not None
        self.thread.start()
        _threads.append(self.thread)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(before=self.thread.join)

    def _in_python(self, *arguments: Any) -> Any:
        self.python = self.python or interpreted(self.loop)
        with np.errstate(all="ignore"):  # as compiled code
            result = self.python(*arguments)
        return tuple(map(_builtin, result)) if type(result) is tuple else _builtin(result)

    def _compile(self, signature: Any) -> None:
        try:
            with event.install_listener("numba:compile", _Missed(self.loop, self.events)):
                self.loop.compile(signature)
        finally:
            setattr(self.namespace, self.name, self.loop)
            self.known.set()


def _builtin(value: Any) -> Any:
    """A number of NumPy as one of Python, which compiled loops return."""
    return value.item() if isinstance(value, np.generic) else value


def all_loops() -> Any:
    """The loops of `rounds`; those for one row run in Python until they are compiled."""
    if not COMPILING:
        return rounds
    loops, events = SimpleNamespace(**vars(rounds)), list[Event]()
    for name in ONE_ROW:
        setattr(loops, name, _UntilCompiled(loops, name, events))
    return loops
