"""Plots of flip matrices, kernel weights and label quality, as scikit-learn's displays."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted

from noisewise._typing import Codes
from noisewise._validation import encode_labels
from noisewise.noise import FlipMatrix

BINS = 20  # of the histogram of label quality, 0.05 each


class FlipMatrixDisplay:
    """The flip matrix as a heat map: true classes down, observed classes across.

    Parameters
    ----------
    noise : FlipMatrix
    display_labels : sequence, optional
        Names of the classes; 0, 1, ... by default.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    im_ : matplotlib AxesImage
    text_ : array of matplotlib Text
        One for each cell.

    Examples
    --------
    >>> display = FlipMatrixDisplay(FlipMatrix.binary(0.1, 0.3), display_labels=["no", "yes"]).plot()
    >>> display.text_[1, 0].get_text()
    '0.30'
    """

    def __init__(self, noise: FlipMatrix, *, display_labels: Any = None) -> None:
        self.noise = noise
        self.display_labels = display_labels

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, cmap: Any = "Blues", values_format: str = ".2f") -> Self:
        """Draw the noise of a fitted classifier, given or estimated."""
        check_is_fitted(estimator)
        display = cls(_found(estimator, "noise_"), display_labels=estimator.classes_)
        return display.plot(ax=ax, cmap=cmap, values_format=values_format)

    def plot(self, *, ax: Any = None, cmap: Any = "Blues", values_format: str = ".2f") -> Self:
        """Draw it, on `ax` if given."""
        self.ax_, self.figure_ = axes_of(ax)
        matrix = self.noise.matrix
        self.im_ = self.ax_.imshow(matrix, cmap=cmap, vmin=0, vmax=1)
        dark, light = self.im_.cmap(1.0), self.im_.cmap(0.0)
        self.text_ = np.empty(matrix.shape, dtype=object)
        for (true, observed), rate in np.ndenumerate(matrix):
            color = light if rate > 0.5 else dark
            self.text_[true, observed] = self.ax_.text(
                observed, true, format(rate, values_format), ha="center", va="center", color=color
            )
        names = range(len(matrix)) if self.display_labels is None else self.display_labels
        ticks = {"ticks": range(len(matrix)), "labels": [str(name) for name in names]}
        self.ax_.set_xticks(**ticks)
        self.ax_.set_yticks(**ticks)
        self.ax_.set(xlabel="observed label", ylabel="true label")
        return self


class KernelWeightsDisplay:
    """How much each of several kernels counts, as bars.

    Parameters
    ----------
    weights : array of shape (n_kernels,)
    kernels : sequence, optional
        The kernels, or their names; kernels that differ by their width are named by it.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    bars_ : matplotlib BarContainer

    Examples
    --------
    >>> from noisewise.kernels import Gaussian
    >>> display = KernelWeightsDisplay([0.2, 0.8], kernels=[Gaussian(0.5), Gaussian(2.0)]).plot()
    >>> [tick.get_text() for tick in display.ax_.get_xticklabels()]
    ['0.5', '2']
    """

    def __init__(self, weights: ArrayLike, *, kernels: Any = None) -> None:
        self.weights = np.asarray(weights, dtype=np.float64)
        self.kernels = None if kernels is None else list(kernels)
        if self.kernels is not None:
            check_consistent_length(self.weights, self.kernels)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **style: Any) -> Self:
        """Draw the weights of a fitted multi-kernel classifier; `style` goes to matplotlib's bar."""
        check_is_fitted(estimator)
        display = cls(_found(estimator, "kernel_weights_"), kernels=getattr(estimator, "kernels_", None))
        return display.plot(ax=ax, **style)

    def plot(self, *, ax: Any = None, **style: Any) -> Self:
        """Draw it, on `ax` if given; `style` goes to matplotlib's bar."""
        self.ax_, self.figure_ = axes_of(ax)
        positions = np.arange(len(self.weights))
        names, what = self._names()
        self.bars_ = self.ax_.bar(positions, self.weights, **style)
        crowded = sum(map(len, names)) > 60  # characters that fit side by side
        self.ax_.set_xticks(positions, names, rotation=90 if crowded else 0)
        self.ax_.set(xlabel=what, ylabel="weight")
        return self

    def _names(self) -> tuple[list[str], str]:
        if self.kernels is None:
            return [str(index) for index in range(len(self.weights))], "kernel"
        widths = [getattr(kernel, "width", None) for kernel in self.kernels]
        if None not in widths and len({type(kernel) for kernel in self.kernels}) == 1:
            return [f"{width:.3g}" for width in widths], f"width of the {type(self.kernels[0]).__name__} kernel"
        return [str(kernel) for kernel in self.kernels], "kernel"


class LabelQualityDisplay:
    """How many labels are how probably right, one colour for each observed class.

    Parameters
    ----------
    quality : array of shape (n_rows,)
        Probability that each observed label is the true one.
    observed : array of shape (n_rows,), optional
        The observed labels.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    counts_ : array of shape (n_classes, n_bins)
        Rows of each observed class in each bin of quality.

    Examples
    --------
    >>> display = LabelQualityDisplay([0.99, 0.98, 0.03, 0.97], observed=["cat", "cat", "cat", "dog"]).plot(bins=2)
    >>> display.counts_
    array([[1, 2],
           [0, 1]])
    """

    def __init__(self, quality: ArrayLike, *, observed: Any = None) -> None:
        self.quality = np.asarray(quality, dtype=np.float64)
        self.observed = observed
        if observed is not None:
            check_consistent_length(self.quality, observed)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, ax: Any = None, bins: int = BINS) -> Self:
        """Plot the label quality that a fitted classifier gives to rows that were not used in fit.

        The model was fitted to the labels of its training rows; for those, hand `quality` from
        `noisewise.audit_labels`, or a `label_quality_` of the classifier if it has one, to the constructor.
        """
        return cls(estimator.label_quality(X, y), observed=y).plot(ax=ax, bins=bins)

    def plot(self, *, ax: Any = None, bins: int = BINS) -> Self:
        """Draw it, on `ax` if given, in `bins` steps from 0 to 1."""
        self.ax_, self.figure_ = axes_of(ax)
        names, codes = self._groups()
        edges = np.linspace(0, 1, bins + 1)
        self.counts_ = np.array([np.histogram(self.quality[codes == code], edges)[0] for code in range(len(names))])
        below = np.cumsum(self.counts_, axis=0) - self.counts_
        for name, counts, bottom in zip(names, self.counts_, below):
            self.ax_.bar(edges[:-1], counts, width=1 / bins, bottom=bottom, align="edge", label=name)
        wrong = float(np.sum(1 - self.quality))
        self.ax_.set(
            xlabel="probability that the observed label is right",
            ylabel="rows",
            xlim=(0, 1),
            title=f"{wrong:.0f} of {len(self.quality)} labels expected wrong",
        )
        if self.observed is not None:
            self.ax_.legend(title="observed label")
        return self

    def _groups(self) -> tuple[list[str], Codes]:
        if self.observed is None:
            return ["all"], np.zeros(len(self.quality), dtype=np.intp)
        classes, codes = encode_labels(self.observed)
        return [str(name) for name in classes.tolist()], codes


def axes_of(ax: Any) -> tuple[Any, Any]:
    """Axes to draw on, new ones if none are given, and their figure."""
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError("pictures need matplotlib: pip install 'noisewise[experiments]'") from None
    if ax is None:
        _, ax = pyplot.subplots()
    return ax, ax.figure


def _found(estimator: Any, name: str) -> Any:
    if not hasattr(estimator, name):
        raise ValueError(
            f"{type(estimator).__name__} has no {name}; a classifier of noisewise.labels that has would do"
        )
    return getattr(estimator, name)
