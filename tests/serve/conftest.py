"""Services of the tests are ready at once."""

import pytest

from noisewise.serve.models.service import warm_up


@pytest.fixture(scope="session", autouse=True)
def compiled_loops():
    """On a new installation a service would refuse its first requests until the loops are compiled."""
    warm_up()
