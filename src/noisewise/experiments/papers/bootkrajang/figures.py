"""How the robust kernel paper's figures are drawn."""

from __future__ import annotations

import numpy as np

from noisewise.experiments.harness import charts
from noisewise.experiments.harness.blocks import (
    CLAIMS,
    Block,
    Comparison,
    Entry,
    Figure,
    Printed,
    Table,
    Text,
    claim,
)
from noisewise.experiments.harness.rows import Rows
from noisewise.experiments.papers.bootkrajang.tables import NAMES

CROWD_METHODS = ["majority", "per annotator", "per annotator, pooled", "one matrix"]


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
            for mean in [rows.where(dataset=own, kind=kind, noise=noise, method="klr-trusted").mean("error")]
            if mean is not None
        }
        for name, own in NAMES.items()
    }
    groups = {name: group for name, group in groups.items() if group}
    if not groups:
        return [Text("Not run.")]
    return [Figure("figure-2", "Error of KLR in per cent, noise of 30 %", charts.bars(groups, "error, %"))]


def figure_6(rows: Rows, printed: Printed) -> list[Block]:
    """Accuracy against the noise level."""
    levels = sorted(rows.unique("noise"))
    curves = {
        name: {
            method: charts.Curve(levels, [100 - float(found or np.nan) for found in means])
            for method in rows.unique("method")
            for means in [[rows.where(dataset=name, method=method, noise=p).mean("error") for p in levels]]
        }
        for name in rows.unique("dataset")
    }
    if not curves:
        return [Text("Not run.")]
    said = "StPMKL is not run: print quotes its authors' curves, and neither its formulas nor its program can be had."
    drawing = charts.panels(curves, "symmetric noise", "accuracy, %")
    return [Text(said), Figure("figure-6", "Accuracy against label noise", drawing)]


def figure_7(rows: Rows, printed: Printed) -> list[Block]:
    """Accuracy against the number of annotators."""
    counts = sorted(rows.unique("annotators"))
    if not counts:
        return [Text("Not run.")]
    curves = {
        method: charts.Curve(
            counts, [rows.where(method=method, annotators=n).mean("accuracy") or np.nan for n in counts]
        )
        for method in CROWD_METHODS
    }
    lines = [[name, *(f"{value:.3f}" for value in curve.y)] for name, curve in curves.items()]
    few = [n for n in counts if n <= 20]
    entries = [
        Entry(
            (f"{n} annotators",),
            ours=curves["one matrix"].y[index] - curves["per annotator"].y[index],
            verified=0.0,
            tolerance=0.005,
            side="least",
        )
        for index, n in enumerate(few)
    ]
    said = "Verified: one matrix for all beats one for each annotator when these are few, but not the majority vote."
    return [
        Text(said),
        Comparison("Accuracy of one matrix less that of one for each annotator", ["votes of"], entries),
        Table("Accuracy on all items", ["method", *map(str, counts)], lines),
        Figure("figure-7", "Accuracy against annotators", charts.panels({"RTE": curves}, "annotators", "accuracy")),
    ]


def figure_3(rows: Rows, printed: Printed) -> list[Block]:
    """Errors at 30 % by method of choosing, and the median width by kind of noise."""
    methods = ("rklr-trusted", "rklr-noisy", "rmklr-printed")
    groups = {
        name: {method: mean for method, mean in means.items() if mean is not None}
        for name, own in NAMES.items()
        for means in [{method: rows.where(dataset=own, noise=0.3, method=method).mean("error") for method in methods}]
    }
    groups = {name: group for name, group in groups.items() if group}
    if not groups:
        return [Text("Not run.")]
    lines = []
    for name in groups:
        chosen = rows.where(dataset=NAMES[name], method="rklr-noisy")
        kinds = (chosen.where(noise=0.0), *(chosen.where(noise=0.3, kind=kind) for kind in ("symmetric", "asymmetric")))
        found = [one.values("log2_gamma") for one in kinds]
        lines.append([name, *(f"{np.median(values):.0f}" if len(values) else "" for values in found)])
    errors = {method: [group[method] for group in groups.values() if method in group] for method in methods}
    said = ", ".join(f"{method} {np.mean(found):.2f}" for method, found in errors.items() if found)
    header = ["set", "clean", "30 % symmetric", "30 % asymmetric"]
    shared = [[group[method] for method in methods] for group in groups.values() if len(group) == len(methods)]
    alike = np.mean([abs(one - other) for one, other, _ in shared]) if shared else np.nan
    ahead = np.mean([kernels - min(rest) for *rest, kernels in shared]) if shared else np.nan
    few = f"({len(shared)} sets)"
    claims = [
        claim(
            "the width chosen on noisy labels is as good as on trusted ones",
            "no claim",
            bool(alike < 1) if shared else None,
            f"errors differ by {alike:.1f} points on average {few}",
        ),
        claim(
            "rMKLR is better than both in general",
            "no: the letter of Algorithm 2 is not better than cross-validation",
            bool(ahead < 0) if shared else None,
            f"its error is {ahead:+.1f} points from the better of them on average {few}",
        ),
    ]
    return [
        Text(f"Mean error in per cent at 30 % over the sets shown: {said}."),
        Table("Claims", CLAIMS, claims),
        Figure("figure-3", "Error in per cent at 30 % noise, by method of choosing", charts.bars(groups, "error, %")),
        Table("Figure 4: median of log2 of the width chosen by noisy cross-validation", header, lines),
    ]


def figure_5(rows: Rows, printed: Printed) -> list[Block]:
    """Error against the number of kernels."""
    counts = sorted(rows.unique("kernels"))
    if not counts:
        return [Text("Not run.")]
    curves = {
        name: charts.Curve(counts, [chosen.where(kernels=n).mean("error") or np.nan for n in counts])
        for name, own in NAMES.items()
        for chosen in [rows.where(dataset=own)]
        if len(chosen)
    }
    widest = max(float(np.nanmax(curve.y) - np.nanmin(curve.y)) for curve in curves.values())
    drawing = charts.panels({"rMKLR, 30 % noise": curves}, "number of kernels", "error, %")
    said = f"up to {widest:.1f} points between two numbers of kernels ({len(rows)} runs, {len(curves)} sets)"
    return [
        Table("Claims", CLAIMS, [claim("the number of kernels matters marginally", "no claim", widest < 2, said)]),
        Figure("figure-5", "Error against the number of kernels", drawing),
    ]
