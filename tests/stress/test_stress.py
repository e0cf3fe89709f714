"""Stress tests: more noise, worse methods, told with intervals."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.tree import DecisionTreeClassifier

import noisewise.audit
import noisewise.stress
from noisewise.stress import StressResult, stress_test
from noisewise.stress.chart import Line, line_chart
from noisewise.stress.methods import METHODS
from noisewise.stress.run import _corrupt


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.mark.parametrize("kind", ["labels", "features", "feedback"])
def test_every_method_learns_from_clean_rows(iris, kind):
    result = stress_test(*iris, kind, rates=[0], n_seeds=2)
    assert result.methods == tuple(METHODS[kind])
    assert np.all(result.mean > 0.7), dict(zip(result.methods, result.mean))


def test_a_tree_that_learns_by_heart_falls_with_the_noise(iris):
    methods = {
        "tree": lambda corrupted: DecisionTreeClassifier(random_state=0).fit(corrupted.X, corrupted.y),
        "constant": lambda corrupted: DummyClassifier(strategy="constant", constant=1).fit(corrupted.X, corrupted.y),
    }
    result = stress_test(*iris, rates=[0, 0.5], methods=methods, n_seeds=4)
    assert result.mean[0, 0] > 0.9
    assert result.mean[0, 1] < 0.75
    np.testing.assert_allclose(result.mean[1], 1 / 3, atol=0.01)
    assert result.stands == {"tree": 0.0, "constant": None}


def test_noise_is_as_large_as_asked():
    rng = np.random.default_rng(0)
    X, y = np.column_stack([rng.normal(size=20_000), rng.integers(0, 2, 20_000)]), rng.integers(0, 3, 20_000)
    flipped = _corrupt("labels", X, y, 0.3, "symmetric", 1).y
    assert abs(np.mean(flipped != y) - 0.3) < 5 * np.sqrt(0.3 * 0.7 / len(y))
    paired = _corrupt("labels", X, y, 0.3, "pair", 1).y
    np.testing.assert_array_equal(np.unique((paired - y) % 3), [0, 1])
    shaken = _corrupt("features", X, y, 0.5, "symmetric", 1).X - X
    assert abs(shaken[:, 0].std() - 0.5) < 5 * 0.5 / np.sqrt(2 * len(y))
    assert not shaken[:, 1].any()  # a mark of a category is no measurement


def test_intervals_are_those_of_student():
    accuracy = np.random.default_rng(0).random((2, 3, 6))
    low, high = StressResult("labels", ("a", "b"), (0, 0.1, 0.2), accuracy, 100).interval
    expected = stats.t.interval(0.9, 5, accuracy.mean(axis=2), stats.sem(accuracy, axis=2))
    np.testing.assert_allclose(low, expected[0])
    np.testing.assert_allclose(high, np.minimum(expected[1], 1))


def test_the_same_seed_gives_the_same_table(iris):
    options = {"rates": [0.2], "methods": ["k-NN", "logistic regression"], "n_seeds": 2, "max_rows": 90}
    first, second = (stress_test(*iris, random_state=7, **options) for _ in range(2))
    np.testing.assert_array_equal(first.accuracy, second.accuracy)
    assert first.n_rows == 90
    assert "90 of 150 rows" in first.notes[0]


def test_a_method_that_cannot_learn_has_no_accuracy(iris, tmp_path):
    def fails(corrupted):
        raise ValueError("too noisy")

    result = stress_test(*iris, rates=[0, 0.1], methods={"fails": fails, "k-NN": METHODS["labels"]["k-NN"]}, n_seeds=2)
    assert np.isnan(result.mean[0]).all()
    assert result.summary()["methods"][0]["accuracy"] == [None, None]
    result.to_html(tmp_path / "stress.html")
    assert "could not be fitted" in (tmp_path / "stress.html").read_text()


def test_rare_classes_are_left_out(iris):
    X, y = iris
    result = stress_test(X[:102], y[:102], rates=[0], methods=["k-NN"], n_seeds=2)
    assert "2 rows of classes with fewer than 4 rows left out" in result.notes
    assert result.n_rows == 100


@pytest.mark.parametrize("library", [pd, pl])
def test_frames_come_back_in_their_library(iris, library):
    X, y = iris
    frame = library.DataFrame({f"x{j}": X[:, j] for j in range(4)})
    told = stress_test(frame, y, rates=[0, 0.1], methods=["k-NN"], n_seeds=2).to_frame()
    assert isinstance(told, library.DataFrame)
    assert list(told.columns) == ["method", "rate", "accuracy", "low", "high"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"kind": "clicks"}, "kind is 'clicks'"),
        ({"methods": ["magic"]}, "no method 'magic' for noisy labels"),
        ({"rates": [0, 1.0]}, "below 1"),
        ({"rates": []}, "rates of noise"),
        ({"flips": "wild"}, "flips is 'wild'"),
        ({"n_seeds": 0}, "^0 seeds show no interval; two or more are needed$"),
    ],
)
def test_what_cannot_be_stressed_gets_a_sentence(iris, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        stress_test(*iris, **options)


def test_names_of_categories_have_no_gaussian_noise():
    table = pl.DataFrame({"kind": ["a", "b"] * 20})
    with pytest.raises(ValueError, match="no column holds measured numbers"):
        stress_test(table, [0, 1] * 20, kind="features")


def test_the_page_shows_every_method_and_needs_no_network(iris, tmp_path):
    result = stress_test(*iris, rates=[0, 0.2], methods=["k-NN", "RobustKNeighborsClassifier"], n_seeds=2)
    result.to_html(tmp_path / "stress.html", title="A & B")
    text = (tmp_path / "stress.html").read_text()
    assert "<title>A &amp; B</title>" in text
    assert not re.search(r"(src|href)=[\"'](?!data:)", text)
    assert text.count("RobustKNeighborsClassifier") >= 2
    assert text.count('class="dot"') == 4


def test_labels_of_lines_do_not_overlap():
    same = np.array([0.9, 0.8])
    drawing = line_chart((0, 1), [Line(name, same, same - 0.01, same + 0.01, "red") for name in "abcdef"])
    heights = sorted(float(y) for y in re.findall(r'<text x="510" y="([\d.]+)"', drawing))
    assert len(heights) == 6
    assert min(np.diff(heights)) > 14


@pytest.mark.parametrize(
    ("package", "old", "new"),
    [
        (noisewise.stress, "Spoilt", "Corrupted"),
        (noisewise.audit, "Spoilt", "Corrupted"),
        (noisewise.audit, "StressResult", "StressResult"),
        (noisewise.audit, "stress_test", "stress_test"),
    ],
)
def test_earlier_names_still_work_and_warn(package, old, new):
    with pytest.warns(DeprecationWarning, match=rf"{package.__name__}\.{old} is now noisewise\.stress\.{new}"):
        assert getattr(package, old) is getattr(noisewise.stress, new)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = package.nothing
