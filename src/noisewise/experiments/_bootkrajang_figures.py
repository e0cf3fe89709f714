"""How the robust kernel paper's figures are drawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from noisewise.experiments import _draw
from noisewise.experiments._blocks import Block, Comparison, Entry, Figure, Table, Text
from noisewise.experiments._bootkrajang_show import NAMES
from noisewise.experiments._rows import Rows

WAYS = ["majority", "per annotator", "per annotator, pooled", "one matrix"]
Printed = Mapping[str, Any]


def figure_2(rows: Rows, printed: Printed) -> list[Block]:
    """KLR without noise and with noise of 30 %."""
    groups = {
        name: {
            what: mean
            for what, kind, noise in (
                ("clean", "symmetric", 0.0),
                ("symmetric", "symmetric", 0.3),
                ("asymmetric", "asymmetric", 0.3),
            )
            for mean in [rows.where(dataset=own, kind=kind, noise=noise, method="klr").mean("error")]
            if mean is not None
        }
        for name, own in NAMES.items()
    }
    groups = {name: group for name, group in groups.items() if group}
    if not groups:
        return [Text("Not run.")]
    return [Figure("figure-2", "Error of KLR in per cent, noise of 30 %", _draw.bars(groups, "error, %"))]


def figure_6(rows: Rows, printed: Printed) -> list[Block]:
    """Accuracy against the noise level."""
    levels = sorted(rows.unique("noise"))
    curves = {
        name: {
            method: _draw.Curve(levels, [100 - float(found or np.nan) for found in means])
            for method in rows.unique("method")
            for means in [[rows.where(dataset=name, method=method, noise=p).mean("error") for p in levels]]
        }
        for name in rows.unique("dataset")
    }
    if not curves:
        return [Text("Not run: the sets are not here.")]
    said = "StPMKL is quoted in print from its authors and not implemented here."
    drawing = _draw.panels(curves, "symmetric noise", "accuracy, %")
    return [Text(said), Figure("figure-6", "Accuracy against label noise", drawing)]


def figure_7(rows: Rows, printed: Printed) -> list[Block]:
    """Accuracy against the number of annotators."""
    counts = sorted(rows.unique("annotators"))
    if not counts:
        return [Text("Not run: the crowd set is not here.")]
    curves = {
        method: _draw.Curve(
            counts, [rows.where(method=method, annotators=n).mean("accuracy") or np.nan for n in counts]
        )
        for method in ("majority", "per annotator", "one matrix")
    }
    lines = [[name, *(f"{value:.3f}" for value in curve.y)] for name, curve in curves.items()]
    few = [n for n in counts if n <= 20]
    entries = [
        Entry(
            (f"{n} annotators",),
            ours=curves["one matrix"].y[place] - curves["per annotator"].y[place],
            verified=0.0,
            tolerance=0.005,
            side="least",
        )
        for place, n in enumerate(few)
    ]
    said = "One matrix for all beats one for each annotator when these are few, but not the majority vote."
    return [
        Text(said),
        Comparison("Accuracy of one matrix less that of one for each annotator", ["votes of"], entries),
        Table("Accuracy on the items with a vote", ["method", *map(str, counts)], lines),
        Figure("figure-7", "Accuracy against annotators", _draw.panels({"RTE": curves}, "annotators", "accuracy")),
    ]
