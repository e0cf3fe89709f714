"""A stress test as one self-contained HTML page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from noisewise._words import percent
from noisewise.audit import page
from noisewise.stress.chart import Line, line_chart
from noisewise.stress.methods import PASSES, PLAIN

if TYPE_CHECKING:
    from noisewise.stress.result import StressResult

# distinguishable by colour-blind readers (Okabe and Ito)
HUES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a6fdf", "#999933")
AXES = {
    "labels": "Horizontal axis: fraction of training labels that were changed.",
    "features": "Horizontal axis: standard deviation of the noise in the training rows, relative to the column's.",
    "feedback": "Horizontal axis: fraction of right/wrong feedback that was flipped.",
}
KNOWS = {
    "labels": "No method was told how many labels were changed.",
    "features": "NoisyFeatureClassifier and DeconvolvedFourierClassifier were told the noise covariance, as it is "
    "known for a calibrated sensor; the others can't use it.",
    "feedback": f"Online learners make {PASSES} passes over the training rows with bandit feedback; those "
    "that correct for noise were told its rates.",
}


def stress_page(result: StressResult, title: str) -> str:
    """The page as text."""
    from markupsafe import Markup

    low, high = result.interval
    lines = [
        Line(name, result.mean[m], low[m], high[m], HUES[m % len(HUES)], name in PLAIN)
        for m, name in enumerate(result.methods)
    ]
    best = np.nanmax(result.mean, axis=0)
    content: dict[str, Any] = {
        "title": title,
        "headline": headline(result),
        "chart": Markup(line_chart(result.rates, lines)),
        "axis": AXES[result.kind],
        "knows": KNOWS[result.kind],
        "seeds": result.accuracy.shape[2],
        "rows": f"{result.n_rows:,}",
        "rates": [f"{rate:g}" for rate in result.rates],
        "notes": result.notes,
        "lines": [
            {
                "name": line.name,
                "hue": line.hue,
                "plain": " plain" if line.plain else "",
                "stands": "nothing" if (rate := result.stands[line.name]) is None else f"{rate:g}",
                "cells": [_cell(line, r, best[r]) for r in range(len(result.rates))],
            }
            for line in lines
        ],
    }
    return page("stress.html", content, "noisewise.stress")


def headline(result: StressResult) -> str:
    """One sentence: the best method at the highest rate of noise, and the best standard one."""
    last = result.mean[:, -1]
    if np.isnan(last).all():
        return f"No method can be fitted to these rows at a noise of {result.rates[-1]:g}."
    order = np.argsort(-np.nan_to_num(last, nan=-1))
    plain = [m for m in order if result.methods[m] in PLAIN and not np.isnan(last[m])]
    named = [f"{result.methods[m]} {percent(last[m])}" for m in dict.fromkeys([order[0], *plain[:1]])]
    second = f"; best of the standard methods: {named[1]}" if len(named) > 1 else ", the best of all"
    return f"Accuracy at a noise of {result.rates[-1]:g}: {named[0]}{second}."


def _cell(line: Line, level: int, best: float) -> dict[str, Any]:
    value = line.values[level]
    if np.isnan(value):
        return {"text": "-", "range": "could not be fitted to these rows", "best": False}
    span = f"{100 * line.low[level]:.1f} to {100 * line.high[level]:.1f}"
    return {"text": f"{100 * value:.1f}", "range": span, "best": bool(value == best)}
