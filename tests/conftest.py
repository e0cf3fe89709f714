"""Fixtures every test may use."""

import numpy as np
import pytest

from browsers import start_browser


@pytest.fixture
def rng():
    return np.random.default_rng(20260101)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """A headless Chromium with a fresh profile, which keeps what pages say on its console."""
    started = start_browser(tmp_path_factory.mktemp("profile"))
    yield started
    started.quit()
