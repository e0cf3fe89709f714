"""A stress test as one self-contained HTML page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from noisewise.audit.report.charts import Curve, curves
from noisewise.audit.report.pages import page
from noisewise.stress.methods import PLAIN

if TYPE_CHECKING:
    from noisewise.stress.result import StressResult

HUES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a6fdf", "#999933")  # told apart by all
AXES = {
    "labels": "To the right, the share of training labels that were changed.",
    "features": "To the right, the noise in the training numbers, in units of their standard deviation.",
    "feedback": "To the right, the share of right/wrong answers that were reversed.",
}
KNOWS = {
    "labels": "No method was told how many labels were changed.",
    "features": "NoisyFeatureClassifier and DeconvolvedFourierClassifier were told how large the noise is, as one "
    "knows it of a sensor; the others can't use it.",
    "feedback": "Learners go over the training rows five times and hear only whether each guess was right; those that "
    "correct were told the noise.",
}


def stress_page(result: StressResult, title: str) -> str:
    """The page as text."""
    from markupsafe import Markup

    low, high = result.interval
    lines = [
        Curve(name, result.mean[m], low[m], high[m], HUES[m % len(HUES)], name in PLAIN)
        for m, name in enumerate(result.methods)
    ]
    best = np.nanmax(result.mean, axis=0)
    content: dict[str, Any] = {
        "title": title,
        "headline": headline(result),
        "chart": Markup(curves(result.rates, lines)),
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
    """One sentence: who is best at the most noise, and by how much."""
    last = result.mean[:, -1]
    if np.isnan(last).all():
        return f"No method can learn from these rows at a noise of {result.rates[-1]:g}."
    order = np.argsort(-np.nan_to_num(last, nan=-1))
    plain = [m for m in order if result.methods[m] in PLAIN and not np.isnan(last[m])]
    told = [f"{result.methods[m]} {last[m]:.0%}" for m in dict.fromkeys([order[0], *plain[:1]])]
    second = f"; best of those that know nothing of noise: {told[1]}" if len(told) > 1 else ", the best of all"
    return f"Right at a noise of {result.rates[-1]:g}: {told[0]}{second}."


def _cell(line: Curve, place: int, best: float) -> dict[str, Any]:
    value = line.values[place]
    if np.isnan(value):
        return {"text": "-", "range": "could not learn from these rows", "best": False}
    span = f"{100 * line.low[place]:.1f} to {100 * line.high[place]:.1f}"
    return {"text": f"{100 * value:.1f}", "range": span, "best": bool(value == best)}
