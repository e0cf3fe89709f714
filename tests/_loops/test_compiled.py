"""Compiled code that is older than what it was made from is not used."""

import os

from noisewise._loops.compiled import forget_outdated


def test_compiled_code_older_than_any_source_is_removed(tmp_path):
    (tmp_path / "__pycache__").mkdir()
    times = {"a.py": 100, "b.py": 200, "__pycache__/a.old.nbi": 150, "__pycache__/b.new.nbi": 250}
    for name, when in times.items():
        (tmp_path / name).write_text("")
        os.utime(tmp_path / name, (when, when))
    forget_outdated(tmp_path)
    assert [path.name for path in (tmp_path / "__pycache__").iterdir()] == ["b.new.nbi"]
