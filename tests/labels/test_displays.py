import builtins

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from noisewise import FlipMatrix
from noisewise.kernels import Gaussian, Linear
from noisewise.labels import (
    FlipMatrixDisplay,
    KernelWeightsDisplay,
    LabelQualityDisplay,
    RobustRidgeClassifier,
)

matplotlib = pytest.importorskip("matplotlib")
DISPLAYS = [
    FlipMatrixDisplay(FlipMatrix.binary(0.1, 0.3)),
    KernelWeightsDisplay([0.1, 0.9]),
    LabelQualityDisplay([0.1, 0.9]),
]


@pytest.fixture(autouse=True)
def off_screen():
    from matplotlib import pyplot

    pyplot.switch_backend("agg")
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def model():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])
    return RobustRidgeClassifier().fit(X[::2], names[y[::2]]), X[1::2], names[y[1::2]]


@pytest.mark.parametrize("display", DISPLAYS, ids=lambda display: type(display).__name__)
def test_pictures_go_where_they_are_told(display):
    from matplotlib.figure import Figure

    figure = Figure()
    axes = figure.subplots()
    drawn = display.plot(ax=axes)
    assert drawn is display
    assert drawn.ax_ is axes
    assert drawn.figure_ is figure
    assert display.plot().figure_ is not figure


def test_cells_of_the_flip_matrix_stand_at_true_down_and_observed_across():
    display = FlipMatrixDisplay(FlipMatrix.binary(0.1, 0.3), display_labels=["no", "yes"]).plot()
    assert [[cell.get_text() for cell in row] for row in display.text_] == [["0.90", "0.10"], ["0.30", "0.70"]]
    assert display.text_[1, 0].get_position() == (0, 1)
    np.testing.assert_array_equal(display.im_.get_array(), [[0.9, 0.1], [0.3, 0.7]])
    assert [tick.get_text() for tick in display.ax_.get_yticklabels()] == ["no", "yes"]
    assert display.ax_.get_ylabel() == "true label"


def test_flip_matrix_of_a_classifier_has_its_class_names(model):
    display = FlipMatrixDisplay.from_estimator(model[0])
    assert display.noise == model[0].noise_
    assert [tick.get_text() for tick in display.ax_.get_xticklabels()] == ["setosa", "versicolor", "virginica"]


def test_numbers_stand_out_from_their_cells():
    display = FlipMatrixDisplay(FlipMatrix.none(2)).plot(cmap="Greys")
    brightness = np.array([[np.mean(cell.get_color()[:3]) for cell in row] for row in display.text_])
    cells = np.array([[np.mean(display.im_.cmap(rate)[:3]) for rate in row] for row in np.eye(2)])
    assert (np.abs(brightness - cells) > 0.5).all()


def test_kernels_of_one_kind_are_named_by_their_width():
    display = KernelWeightsDisplay([0.2, 0.8], kernels=[Gaussian(0.5), Gaussian(2.0)]).plot(color="red")
    assert [tick.get_text() for tick in display.ax_.get_xticklabels()] == ["0.5", "2"]
    assert [bar.get_height() for bar in display.bars_] == [0.2, 0.8]
    mixed = KernelWeightsDisplay([0.2, 0.8], kernels=[Gaussian(0.5), Linear()]).plot()
    assert mixed.ax_.get_xticklabels()[1].get_text() == "Linear()"


def test_every_label_is_counted_once_in_its_class_and_bin(model):
    fitted, X, y = model
    display = LabelQualityDisplay.from_estimator(fitted, X, y, bins=10)
    assert display.counts_.sum(axis=1).tolist() == [np.sum(y == name) for name in np.unique(y)]
    quality = fitted.label_quality(X, y)
    np.testing.assert_array_equal(display.counts_.sum(axis=0), np.histogram(quality, np.linspace(0, 1, 11))[0])
    heights = [bar.get_height() for container in display.ax_.containers for bar in container]
    assert sum(heights) == len(y)
    assert display.ax_.get_title().startswith(f"{np.sum(1 - quality):.0f} of {len(y)}")


def test_what_can_not_be_drawn_is_refused_clearly(model):
    with pytest.raises(NotFittedError):
        FlipMatrixDisplay.from_estimator(RobustRidgeClassifier())
    with pytest.raises(ValueError, match="LogisticRegression has no noise_"):
        FlipMatrixDisplay.from_estimator(LogisticRegression().fit([[0.0], [1.0]], [0, 1]))
    with pytest.raises(ValueError, match="RobustRidgeClassifier has no kernel_weights_"):
        KernelWeightsDisplay.from_estimator(model[0])
    with pytest.raises(ValueError, match="inconsistent numbers"):
        KernelWeightsDisplay([0.2, 0.8], kernels=[Gaussian(0.5)])
    with pytest.raises(ValueError, match="inconsistent numbers"):
        LabelQualityDisplay([0.2, 0.8], observed=["a"])


def test_without_matplotlib_a_sentence_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def without(name, *arguments, **more):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *arguments, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match="pip install 'noisewise"):
        LabelQualityDisplay([0.5]).plot()
