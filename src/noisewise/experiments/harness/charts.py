"""Figures as small SVG: curves in panels, and who differs from whom."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

LONG_NUMBER = re.compile(r"(?<![\w.])\d+\.\d{3,}(?![\w.<])")  # of paths, not of text: hundredths of a point are enough
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999933", "#882255")


class Curve(NamedTuple):
    """Points of one method; `style` "-" or "--"."""

    x: Sequence[float]
    y: Sequence[float]
    style: str = "-"


def panels(
    curves: Mapping[str, Mapping[str, Curve]],
    x_label: str,
    y_label: str,
    *,
    scale: str = "linear",
    columns: int = 3,
    limits: tuple[float, float] | None = None,
) -> str:
    """One panel for each key with one curve for each method; `scale` "log" draws both axes in powers of ten."""
    shape = -(-len(curves) // columns), min(columns, len(curves))
    figure = _figure(max(shape[1], 1.8), max(shape[0], 1.3))  # one panel alone is drawn larger
    axes = figure.subplots(*shape, squeeze=False, sharey=scale == "log").ravel()
    colours = _colours(curves)
    for axis, (title, panel) in zip(axes, curves.items()):
        for name, curve in panel.items():
            axis.plot(curve.x, curve.y, curve.style, color=colours[name], label=name, linewidth=1.3)
        axis.set_title(title, fontsize=9)
        axis.set(xscale=scale, yscale=scale)
        _tick(axis.xaxis, scale, [x for curve in panel.values() for x in curve.x])
        _tick(axis.yaxis, scale, [y for other in curves.values() for curve in other.values() for y in curve.y])
        if limits is not None:
            axis.set_ylim(*limits)
        axis.tick_params(labelsize=7)
        axis.grid(alpha=0.25)
    for axis in axes[len(curves) :]:
        axis.set_visible(False)
    figure.supxlabel(x_label, fontsize=9)
    figure.supylabel(y_label, fontsize=9)
    return _svg(figure, colours)


def bars(groups: Mapping[str, Mapping[str, float]], y_label: str, *, scale: str = "linear") -> str:
    """One group of bars for each key, one bar for each method."""
    figure = _figure(2.2, 1.1)
    axis = figure.subplots()
    colours = _colours(groups)
    width = 0.8 / max(len(colours), 1)
    for index, name in enumerate(colours):
        at = [number + (index - (len(colours) - 1) / 2) * width for number in range(len(groups))]
        axis.bar(at, [group.get(name, float("nan")) for group in groups.values()], width, color=colours[name])
    axis.set_xticks(range(len(groups)), list(groups), fontsize=7, rotation=20 if len(groups) > 6 else 0)
    axis.set_yscale(scale)
    axis.set_ylabel(y_label, fontsize=9)
    axis.tick_params(axis="y", labelsize=7)
    return _svg(figure, colours)


def critical_difference(scores: Mapping[str, Sequence[float]]) -> str:
    """Mean ranks of methods over the same problems; a bar joins those that Nemenyi's test can't tell apart (0.05)."""
    import numpy as np
    from scipy.stats import rankdata

    try:
        import scikit_posthocs as posthocs
    except ImportError as error:
        raise ImportError("Nemenyi's test needs scikit-posthocs: pip install 'noisewise[experiments]'") from error

    table = np.array(list(scores.values())).T
    ranks = dict(zip(scores, rankdata(-table, axis=1).mean(axis=0), strict=True))
    p_values = posthocs.posthoc_nemenyi_friedman(table)
    p_values.index = p_values.columns = list(scores)
    figure = _figure(2, 0.75)
    posthocs.critical_difference_diagram(ranks, p_values, ax=figure.subplots(), label_props={"fontsize": 8})
    return _svg(figure, {})


def _colours(groups: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """A colour for each method, in order of appearance."""
    names = dict.fromkeys(name for group in groups.values() for name in group)
    return {name: COLOURS[index % len(COLOURS)] for index, name in enumerate(names)}


def _figure(wide: float, high: float) -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("figures need matplotlib: pip install 'noisewise[experiments]'") from error
    return Figure(figsize=(1 + 2.7 * wide, 0.9 + 2.1 * high), layout="constrained")


def _tick(axis: Any, scale: str, values: Sequence[float]) -> None:
    """On a log scale, ticks at powers of ten alone, or at 1, 2 and 5 where these are few."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    if scale != "log":
        return
    axis.set_minor_locator(NullLocator())
    known = [value for value in values if value > 0]
    if known and max(known) < 50 * min(known):
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.3g}" if value < 1 else f"{value:,.0f}"))


def _svg(figure: Any, colours: Mapping[str, str]) -> str:
    """The drawing with text as text, the same bytes every time."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.lines import Line2D

    if colours:
        handles = [Line2D([], [], color=colour) for colour in colours.values()]
        widest = 0.55 + 0.075 * max(map(len, colours))  # inches of one entry
        columns = max(1, min(len(colours), int(figure.get_figwidth() / widest)))
        figure.legend(handles, list(colours), loc="outside upper center", ncols=columns, fontsize=8, frameon=False)
    drawing = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "noisewise", "path.simplify": True}):
        canvas: Any = FigureCanvasSVG(figure)
        canvas.print_svg(drawing, metadata={"Date": None, "Creator": None})
    return LONG_NUMBER.sub(lambda found: f"{float(found[0]):.2f}", drawing.getvalue())
