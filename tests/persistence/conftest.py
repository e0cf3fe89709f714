"""Fixtures."""

import pytest

from noisewise.persistence import load, save


@pytest.fixture
def through(tmp_path):
    """Save and load; what was loaded gives the same file when saved again."""

    def through(model, extra=()):
        save(model, tmp_path / "a.model", extra=extra)
        back = load(tmp_path / "a.model", extra=extra)
        save(back, tmp_path / "b.model", extra=extra)
        assert (tmp_path / "a.model").read_bytes() == (tmp_path / "b.model").read_bytes()
        return back

    return through
