"""Compiled loops where no folder beside the sources or in the home folder is writable."""

import logging
import os
import subprocess
import sys

import pytest
from numba import config

from noisewise._loops import compiled

# what a read-only installation and a user without a home come to: numba finds no place of its own
LOCATORS = """
import numba.core.caching as caching
for name, found in list(vars(caching).items()):
    if "InTreeCacheLocator" in name or "UserWideCacheLocator" in name:
        found.from_function = classmethod(lambda cls, *_: None)
"""
DECIDES = """
from noisewise.online.recipes import linucb
from noisewise._loops import rounds
import numba
learner = linucb(n_classes=2, random_state=0)
learner.learn(learner.decide([1.0, 2.0]), 1)
print(numba.config.CACHE_DIR)
"""


def decided_with(folder):
    environment = os.environ | {"TMPDIR": str(folder), "OMP_NUM_THREADS": "1"}
    environment.pop("NUMBA_CACHE_DIR", None)
    command = [sys.executable, "-c", LOCATORS + DECIDES]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)


@pytest.mark.slow
def test_loops_are_cached_in_a_temporary_folder_of_our_own(tmp_path):
    done = decided_with(tmp_path)
    assert done.returncode == 0, done.stderr
    folder = done.stdout.strip()
    assert folder.startswith(f"{tmp_path}/noisewise-{os.getuid()}-")
    assert os.stat(folder).st_mode & 0o077 == 0


def test_a_folder_of_others_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setattr(config, "CACHE_DIR", "")
    compiled.use_temporary_cache(str(tmp_path))
    found = config.CACHE_DIR
    assert found.startswith(str(tmp_path))
    monkeypatch.setattr(config, "CACHE_DIR", "")
    os.chmod(found, 0o777)
    compiled.use_temporary_cache(str(tmp_path))
    assert config.CACHE_DIR == ""
    compiled.use_temporary_cache(str(tmp_path / "nowhere"))
    assert config.CACHE_DIR == ""


def test_without_any_folder_loops_are_compiled_and_that_is_said_once(monkeypatch, caplog):
    def njit(cache=False, **options):
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return lambda function: function

    monkeypatch.setattr(compiled, "_njit", njit)
    monkeypatch.setattr(compiled, "_said", set())
    monkeypatch.setattr(compiled, "use_temporary_cache", lambda: None)
    with caplog.at_level(logging.WARNING):
        assert [compiled.compiled(function)(2) for function in (abs, abs)] == [2, 2]
    assert [record.message.count("NUMBA_CACHE_DIR") for record in caplog.records] == [1]


def test_a_folder_that_outlives_an_upgrade_has_one_for_each_state_of_the_sources(tmp_path, monkeypatch):
    (tmp_path / "one.py").write_text("A = 1\n")
    before = compiled.sources_stamp(tmp_path)
    os.utime(tmp_path / "one.py", (0, 0))
    assert compiled.sources_stamp(tmp_path) == before  # wherever and whenever it is installed
    (tmp_path / "one.py").write_text("A = 2\n")
    assert compiled.sources_stamp(tmp_path) != before
    monkeypatch.setattr(config, "CACHE_DIR", "")
    compiled.use_own_folder("")
    assert config.CACHE_DIR == ""
    compiled.use_own_folder("/var/cache/noisewise")
    assert f"/var/cache/noisewise/noisewise-{compiled.STAMP}" == config.CACHE_DIR
