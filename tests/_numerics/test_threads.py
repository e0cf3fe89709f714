"""BLAS has one thread while small tables are worked on, and as many as before afterwards."""

from threading import Event, Thread

import numpy as np
import pytest
import scipy.linalg
from sklearn.datasets import load_iris
from threadpoolctl import threadpool_info, threadpool_limits

from noisewise._numerics.threads import MANY_ROWS, threads_for
from noisewise.labels import RobustGaussianProcessClassifier, RobustKernelFisherClassifier, RobustRidgeClassifier


def n_threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def several_threads():
    with threadpool_limits(3, user_api="blas"):
        if n_threads() != {3}:
            pytest.skip("this BLAS takes no number of threads")
        yield


@pytest.mark.parametrize(("n_rows", "inside"), [(0, 1), (MANY_ROWS - 1, 1), (MANY_ROWS, 3)])
def test_small_tables_get_one_thread_and_the_number_is_restored(n_rows, inside):
    with threads_for(n_rows):
        assert n_threads() == {inside}
        with threads_for(10):
            assert n_threads() == {1}
        assert n_threads() == {inside}
    assert n_threads() == {3}


def test_the_number_is_restored_after_an_error():
    with pytest.raises(ZeroDivisionError), threads_for(10):
        _ = 1 / 0
    assert n_threads() == {3}


def test_fits_in_two_threads_leave_the_number_as_it_was():
    inside, leave = Event(), Event()

    def other():
        with threads_for(10):
            inside.set()
            leave.wait()

    with threads_for(10):
        thread = Thread(target=other)
        thread.start()
        inside.wait()
        assert n_threads() == {1}
    leave.set()
    thread.join()
    assert n_threads() == {3}


@pytest.mark.parametrize(
    "model", [RobustRidgeClassifier(), RobustGaussianProcessClassifier(), RobustKernelFisherClassifier()]
)
def test_fits_run_in_one_thread(model, monkeypatch):
    seen = set()

    def watched(function):
        return lambda *arguments, **options: (seen.update(n_threads()), function(*arguments, **options))[1]

    for module in (np.linalg, scipy.linalg):
        monkeypatch.setattr(module, "eigh", watched(module.eigh))
    X, y = load_iris(return_X_y=True)
    model.fit(X[::3], y[::3])
    assert seen == {1}
    assert n_threads() == {3}
