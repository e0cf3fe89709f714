"""Progress of long calls: a line after two seconds where somebody looks on, or a function."""

import io
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from noisewise import _progress, audit_annotations, audit_labels, audit_multilabel, audit_probabilities, audit_targets
from noisewise.audit import audit_images
from noisewise.labels import RobustClassifier, RobustRidgeClassifier
from noisewise.stress import stress_test


class Screen(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def screen(monkeypatch):
    monkeypatch.setattr(_progress, "AFTER", 0.05)
    monkeypatch.setattr(_progress, "EVERY", 0.02)
    return Screen()


def test_a_long_call_shows_a_line_and_removes_it(screen):
    with redirect_stderr(screen), _progress.reporting(None, "counting"):
        _progress.step(1, 3)
        time.sleep(0.3)
    lines = screen.getvalue().split("\r")
    assert any(line.startswith("counting, 1 of 3: 0 s") for line in lines)
    assert lines[-1] == ""
    assert not lines[-2].strip()  # blank: removed


def test_a_short_call_shows_nothing(screen):
    with redirect_stderr(screen), _progress.reporting(None, "counting"):
        _progress.step(1, 3)
    assert screen.getvalue() == ""


@pytest.mark.parametrize(("progress", "shown"), [(None, False), (False, False), (True, True)])
def test_files_get_no_line_unless_it_is_asked_for(screen, monkeypatch, progress, shown):
    monkeypatch.setattr(Screen, "isatty", lambda self: False)
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    with redirect_stderr(screen), _progress.reporting(progress, "counting"):
        time.sleep(0.2)
    assert ("counting" in screen.getvalue()) == shown


def test_an_exception_ends_the_line(screen):
    def fail():
        with redirect_stderr(screen), _progress.reporting(True, "counting"):
            time.sleep(0.2)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert screen.getvalue().endswith("\r")
    _progress.step(1, 2)  # nobody wants to know any more


def rows():
    X = np.random.default_rng(0).normal(size=(80, 2))
    return X, (X[:, 0] > 0).astype(int)


def given():
    """Items, annotators and their labels, two of each item."""
    return np.arange(160) % 80, np.arange(160) // 80, rows()[1][np.arange(160) % 80]


def pictures():
    return [np.full((8, 8), 40 * label, dtype=np.uint8) for label in rows()[1]]


@pytest.mark.parametrize(
    ("call", "last"),
    [
        (lambda tell: audit_labels(*rows(), LogisticRegression(), progress=tell), (5, 5)),
        (lambda tell: audit_targets(rows()[0], rows()[0][:, 0], LinearRegression(), progress=tell), (10, 10)),
        (lambda tell: audit_multilabel(rows()[0], rows()[0] > 0, progress=tell), (1, 2)),
        (lambda tell: audit_annotations(*given(), X=rows()[0], model=LogisticRegression(), progress=tell), (5, 5)),
        (lambda tell: audit_images(pictures(), rows()[1], progress=tell), (80, 80)),
        (lambda tell: stress_test(*rows(), rates=[0], methods=["k-NN"], n_seeds=2, progress=tell), (2, 2)),
        (lambda tell: audit_probabilities(np.eye(2)[rows()[1]] * 0.8 + 0.1, rows()[1], progress=tell), (1, 2)),
    ],
    ids=["labels", "targets", "tags", "annotations", "pictures", "stress", "probabilities"],
)
def test_steps_are_told_in_order(call, last):
    told = []
    call(lambda done, total: told.append((done, total)))
    assert told[-1] == last
    assert all(0 <= done <= total for done, total in told)


def test_a_fit_shows_its_steps_and_only_the_outermost_call_shows_a_line(screen):
    class Slow(RobustRidgeClassifier):
        def fit(self, X, y, sample_weight=None):
            time.sleep(0.2)
            return super().fit(X, y, sample_weight)

    model = RobustClassifier([Slow()])
    with redirect_stderr(screen):
        model.fit(*rows())
    assert "fitting RobustClassifier" in screen.getvalue()
    assert "1 of" in screen.getvalue()
    with redirect_stderr(screen), _progress.reporting(False, "around it"):
        screen.truncate(0)
        model.fit(*rows())
    assert screen.getvalue() == ""


def test_workers_are_silent(screen):
    with redirect_stderr(screen), ThreadPoolExecutor(1) as pool:
        assert _progress.is_watched()
        assert not pool.submit(_progress.is_watched).result()
