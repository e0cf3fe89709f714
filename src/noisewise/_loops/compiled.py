"""How every loop is compiled: cached on disk, nogil, never with fastmath, so that results do not depend on the CPU."""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from threading import Timer
from typing import Any, TypeVar
from uuid import uuid4

from numba import config, njit
from numba.core import event

Loop = TypeVar("Loop", bound=Callable[..., Any])


def remove_stale_cache(folder: Path) -> None:
    """Remove cached code older than any source file of a folder: numba checks one file, but code is inlined."""
    newest = max(source.stat().st_mtime for source in folder.glob("*.py"))
    for cached in (folder / "__pycache__").glob("*.nb[ic]"):
        try:
            if cached.stat().st_mtime < newest:
                cached.unlink()
        except OSError:  # another process was quicker, or the folder is not ours to change
            continue


def sources_stamp(folder: Path) -> str:
    """A name for the sources of a folder as they are: code of others, before an upgrade perhaps, has another one."""
    sources = sorted((source.name, source.read_bytes()) for source in folder.glob("*.py"))
    return blake2b(repr(sources).encode(), digest_size=8).hexdigest()


def use_own_folder(given: str) -> None:
    """Cache compiled code in a folder of these sources alone within one that outlives upgrades, if there is one."""
    if given:
        config.CACHE_DIR = str(Path(given, f"noisewise-{STAMP}"))  # type: ignore[attr-defined]


def cached_jit(**options: Any) -> Callable[[Loop], Loop]:
    """``numba.njit`` with a disk cache whose file names are unique.

    Numba numbers the files of a function, so processes that compile it at once, or after its source has changed, take
    the same names, and one may load what was compiled for other argument types or from the old source.
    """

    def decorate(function: Loop) -> Loop:
        made: Loop = _with_some_cache(function, {**JIT_OPTIONS, **options})
        files = getattr(getattr(made, "_cache", None), "_cache_file", None)  # None if JIT is disabled
        if files is not None:
            files._data_name = lambda number: f"{Path(files._index_name).stem}.{uuid4().hex}.nbc"
        return made

    return decorate


def _with_some_cache(function: Any, options: dict[str, Any]) -> Any:
    """A compiled function, cached beside its source or in the home folder; else in a temporary one, else nowhere."""
    try:
        return _njit(cache=True, **options)(function)
    except RuntimeError:  # numba finds no folder that it can write to
        use_temporary_cache()
    try:
        return _njit(cache=True, **options)(function)
    except RuntimeError:
        _say_once(NO_CACHE)
        return _njit(**options)(function)


def may_be_cached(loop: Any) -> bool:
    """Whether an earlier process compiled this loop; False only where it is known that none did."""
    files = getattr(getattr(loop, "_cache", None), "_cache_file", None)
    return files is None or Path(files._index_path).exists()


def use_temporary_cache(folder: str | None = None) -> None:
    """Cache compiled code in a folder that is ours alone, and of these sources alone; nowhere if that can't be made."""
    chosen = Path(folder or tempfile.gettempdir(), f"noisewise-{os.getuid()}-{STAMP}")
    with suppress(OSError):
        chosen.mkdir(mode=0o700, exist_ok=True)
        if chosen.stat().st_uid == os.getuid() and not chosen.stat().st_mode & 0o022:  # nobody else can put code there
            config.CACHE_DIR = str(chosen)  # type: ignore[attr-defined]


def _say_once(sentence: str) -> None:
    if sentence not in _said:
        _said.add(sentence)
        logging.getLogger("noisewise").warning(sentence)


class Announcer(event.Listener):
    """Says once that loops are being compiled, when it has taken PATIENCE seconds."""

    def __init__(self) -> None:
        self.timer: Timer | None = None
        self.outermost: Any = None
        self.said = False

    def on_start(self, event: Any) -> None:
        """Start the clock, unless it is running for a loop that calls this one."""
        loop = event.data["dispatcher"]
        if self.outermost is None and loop.py_func.__module__.startswith(__package__ or ""):
            self.outermost, self.timer = loop, Timer(PATIENCE, self.say)
            self.timer.daemon = True
            self.timer.start()

    def on_end(self, event: Any) -> None:
        """Stop the clock."""
        if self.timer is not None and event.data["dispatcher"] is self.outermost:
            self.timer.cancel()
            self.outermost = None

    def say(self) -> None:
        """Tell who waits, on stderr unless logging is configured otherwise; and never again."""
        if not self.said:
            self.said = True
            logging.getLogger("noisewise").warning(COMPILES)


PATIENCE = 1.0  # seconds
COMPILES = "noisewise compiles its loops for this computer: once, and some ten seconds; it then starts at once"
NO_CACHE = (
    "compiled loops can't be kept: no folder is writable, so every start compiles them again, for some ten seconds; "
    "set NUMBA_CACHE_DIR to a writable folder"
)
_said: set[str] = set()
event.register("numba:compile", Announcer())  # type: ignore[no-untyped-call]
STAMP = sources_stamp(Path(__file__).parent)
remove_stale_cache(Path(__file__).parent)
use_own_folder(config.CACHE_DIR)  # type: ignore[attr-defined]  # NUMBA_CACHE_DIR
_njit: Any = njit
JIT_OPTIONS: Any = {"nogil": True, "error_model": "numpy"}
# Loops that allocate nothing: without numba's reference counting (_nrt), a round takes half the time.
BARE: Any = {"_nrt": False}
# Called by other loops only: the wrappers for calls from Python would add a fifth to the compile time.
INNER: Any = {**BARE, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
# Inlined by force: passing arrays from one short loop to the next takes as long as the loops themselves.
INLINED: Any = {**INNER, "forceinline": True}
compiled, bare = cached_jit(), cached_jit(**BARE)
inner, inlined = cached_jit(**INNER), cached_jit(**INLINED)
COMPILING = not config.DISABLE_JIT  # type: ignore[attr-defined]  # set from the environment


REFERENCES: dict[Any, Callable[..., Any]] = {}  # Python functions by LLVM intrinsic


def reference_of(intrinsic: Any) -> Callable[[Callable[..., Any]], Any]:
    """Mark a Python function as the reference implementation of an LLVM intrinsic, used when JIT is disabled."""

    def decorate(function: Callable[..., Any]) -> Any:
        REFERENCES[intrinsic] = function
        return intrinsic if COMPILING else function

    return decorate
