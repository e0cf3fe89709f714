"""A review that is served while a test runs."""

import threading
from contextlib import contextmanager

import pytest

from noisewise.review.server import ReviewServer


@contextmanager
def served(review):
    server = ReviewServer(review, title="a review")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="session")
def serving():
    """The context in which a review is served."""
    return served
