"""Compiled code that is older than what it was made from, or was made for something else, is not used."""

import os
import pickle
import re
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import SimpleNamespace

import numpy as np
import pytest
from numba import njit

import noisewise
from noisewise import _loops
from noisewise._loops import compiled as module
from noisewise._loops import rounds, scores
from noisewise._loops.compiled import COMPILING, compiled, remove_stale_cache


def test_compiled_code_older_than_any_source_is_removed(tmp_path):
    (tmp_path / "__pycache__").mkdir()
    times = {"a.py": 100, "b.py": 200, "__pycache__/a.old.nbi": 150, "__pycache__/b.new.nbi": 250}
    times |= {"__pycache__/a.old.1.nbc": 150}
    for name, when in times.items():
        (tmp_path / name).write_text("")
        os.utime(tmp_path / name, (when, when))
    remove_stale_cache(tmp_path)
    assert [path.name for path in (tmp_path / "__pycache__").iterdir()] == ["b.new.nbi"]


def double(x):
    return x + x


@pytest.mark.skipif(not COMPILING, reason="compilation is off")
def test_processes_that_compile_at_once_do_not_take_each_others_code(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    ours, theirs = compiled(double), compiled(double)
    monkeypatch.setattr(theirs._cache._cache_file, "_load_index", dict)  # as it was when both began
    ours(1)
    theirs(np.ones(2))
    (index,) = tmp_path.rglob("*.nbi")
    with index.open("rb") as file:
        pickle.load(file)
        kept = pickle.load(file)[1]
    assert len(kept) == 1  # the last one wrote the index
    assert len(list(tmp_path.rglob("*.nbc"))) == 2  # but not over the code of the other
    afterwards = compiled(double)
    assert afterwards(3) == 6
    assert np.array_equal(afterwards(np.ones(2)), [2, 2])


@pytest.mark.skipif(not COMPILING, reason="compilation is off")
def test_sums_of_different_widths_are_linked_under_different_names():
    made = [loop for name, loop in vars(scores).items() if name.startswith(("_means", "_record"))]
    assert len(made) == 9
    assert len({loop.py_func.__qualname__ for loop in made}) == len(made)


@pytest.mark.skipif(not COMPILING, reason="compilation is off")
def test_python_calls_no_loop_that_has_no_way_in_from_python():
    sources = [path.read_text() for path in Path(noisewise.__file__).parent.rglob("*.py") if "_loops" not in path.parts]
    called = {name for source in sources for name in re.findall(r"loops\(\)\.(\w+)", source)}
    assert "play_dense" in called
    assert rounds.one_round.targetoptions["no_cpython_wrapper"]  # called from Python it would end the process
    modules = [import_module(f"noisewise._loops.{one.name}") for one in iter_modules(_loops.__path__)]
    loops = [getattr(module, name) for module in modules for name in called if hasattr(module, name)]
    assert {name for name in called if not any(hasattr(module, name) for module in modules)} == set()
    assert not [loop for loop in loops if "no_cpython_wrapper" in getattr(loop, "targetoptions", {})]


@pytest.mark.skipif(not COMPILING, reason="compilation is off")
def test_who_waits_for_a_compilation_is_told_once(monkeypatch, caplog):
    monkeypatch.setattr(module, "PATIENCE", 0.05)
    announcer = module.Announcer()
    outer, inside = (SimpleNamespace(data={"dispatcher": loop}) for loop in (rounds.decide_dense, rounds.divide))
    for _ in range(2):
        announcer.on_start(outer)
        announcer.on_start(inside)
        announcer.on_end(inside)
        announcer.timer.join()  # the outer one is not there yet
        announcer.on_end(outer)
    assert caplog.messages == [module.COMPILES]


@pytest.mark.skipif(not COMPILING, reason="compilation is off")
def test_a_quick_compilation_and_that_of_another_library_pass_in_silence(monkeypatch, caplog):
    announcer = module.Announcer()
    announcer.on_start(SimpleNamespace(data={"dispatcher": njit(double)}))
    assert announcer.timer is None
    quick = SimpleNamespace(data={"dispatcher": rounds.divide})
    announcer.on_start(quick)
    announcer.on_end(quick)
    announcer.timer.join()
    assert caplog.messages == []
