"""How the robust kernel paper's figures are drawn."""

from __future__ import annotations

import numpy as np

from noisewise._typing import Floats
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


CHOICES = {"rklr-trusted": "rKLR, trusted tenth", "rklr-noisy": "rKLR, noisy folds", "rmklr-printed": "rMKLR"}
KINDS = {"symmetric": "symmetric", "asymmetric": "one class"}
MARGINAL = 2.0  # points between the lowest and the highest error


def figure_3(rows: Rows, printed: Printed) -> list[Block]:
    """Errors at 30 % by method of choosing, on the splits that all of them have, and the width by kind of noise."""
    shared = {name: found for name in NAMES for found in [_by_choice(rows, name)] if found}
    if not shared:
        return [Text("Not run.")]
    means = {
        name: {CHOICES[method]: float(one.values("error").mean()) for method, one in found.items()}
        for name, found in shared.items()
    }
    overall = {title: float(np.mean([group[title] for group in means.values()])) for title in CHOICES.values()}
    said = ", ".join(f"{title} {mean:.2f}" for title, mean in overall.items())
    header = ["set", "splits", *(f"{title}, {kind}" for title in CHOICES.values() for kind in KINDS.values())]
    lines = [
        [
            name,
            str(len(found["rmklr-printed"])),
            *(_error(one.where(kind=kind)) for one in found.values() for kind in KINDS),
        ]
        for name, found in shared.items()
    ]
    widths, toward = _widths(rows)
    return [
        Text(f"Mean error in per cent at 30 % over the {len(means)} sets run: {said}."),
        Table("Claims", CLAIMS, [*_choice_claims(means), *toward]),
        Figure("figure-3", "Error in per cent at 30 % noise, by method of choosing", charts.bars(means, "error, %")),
        Table("Error in per cent at 30 % by kind of noise, on the same splits", header, lines),
        widths,
    ]


def _by_choice(rows: Rows, name: str) -> dict[str, Rows] | None:
    """The rows at 30 % of each method of choosing, on the splits that all of them have."""
    found = {method: rows.where(dataset=NAMES[name], noise=0.3, method=method) for method in CHOICES}
    both = set.intersection(*({(row["kind"], row["repeat"]) for row in one} for one in found.values()))
    picked = {method: Rows(row for row in one if (row["kind"], row["repeat"]) in both) for method, one in found.items()}
    return picked if both else None


def _error(rows: Rows) -> str:
    return f"{rows.values('error').mean():.1f}" if len(rows) else ""


def _choice_claims(means: dict[str, dict[str, float]]) -> list[list[str]]:
    """What the paper says of Figure 3, and in how many sets it is so."""
    trusted, noisy, kernels = (np.array([group[title] for group in means.values()]) for title in CHOICES.values())
    n_sets, apart = len(means), noisy - trusted
    ahead = kernels - np.minimum(trusted, noisy)
    names = list(means)
    least, most = (f"{names[index]} {apart[index]:+.1f}" for index in (int(apart.argmin()), int(apart.argmax())))
    lines = [
        claim(
            "the width chosen on noisy labels is as good as on trusted ones",
            "no claim",
            bool(np.mean(np.abs(apart)) < 1),
            f"errors differ by {np.mean(np.abs(apart)):.1f} points on average ({n_sets} sets); noisy less trusted is "
            f"{apart.mean():+.1f} on average, {np.median(apart):+.1f} in the median, from {least} to {most}",
        ),
        claim(
            "rMKLR is better than both in general",
            "no: the letter of Algorithm 2 is not better than cross-validation",
            bool(ahead.mean() < 0),
            f"its error is {ahead.mean():+.1f} points from the better of them on average ({n_sets} sets), less than "
            f"both in {np.sum(ahead < 0)}; {np.mean(kernels - trusted):+.1f} from trusted (less in "
            f"{np.sum(kernels < trusted)}), {np.mean(kernels - noisy):+.1f} from noisy (less in "
            f"{np.sum(kernels < noisy)})",
        ),
    ]
    if "Splice" in means:
        gap = apart[names.index("Splice")]
        found = f"{gap:+.1f} points on Splice; less in {np.sum(apart < 0)} of {n_sets} sets"
        lines.append(claim("noisy labels choose better than trusted ones on Splice", "no claim", bool(gap < 0), found))
    return lines


def _widths(rows: Rows) -> tuple[Table, list[list[str]]]:
    """Figure 4: median widths of noisy cross-validation, and how they lie to those of clean labels."""
    chosen = {name: rows.where(dataset=own, method="rklr-noisy") for name, own in NAMES.items()}
    medians = {
        name: [float(np.median(values)) if len(values) else None for values in found]
        for name, one in chosen.items()
        if len(one)
        for kinds in [(one.where(noise=0.0), *(one.where(noise=0.3, kind=kind) for kind in KINDS))]
        for found in [[each.values("log2_gamma") for each in kinds]]
    }
    header = ["set", "clean", *(f"30 % {kind}" for kind in KINDS)]
    lines = [[name, *("" if one is None else f"{one:.0f}" for one in found)] for name, found in medians.items()]
    table = Table("Figure 4: median of log2 of the width chosen by noisy cross-validation", header, lines)
    known = np.array([found for found in medians.values() if None not in found], dtype=np.float64).reshape(-1, 3)
    if not len(known):
        return table, []
    symmetric, one_class = known[:, 1] - known[:, 0], known[:, 2] - known[:, 0]
    return table, [
        claim(
            "under noise of one class wider kernels are chosen than on clean labels",
            "no claim",
            bool(np.sum(one_class > 0) > len(known) / 2),
            f"wider in {np.sum(one_class > 0)} of {len(known)} sets, narrower in {np.sum(one_class < 0)}; the median "
            f"of log2 of the width moves by {np.median(one_class):+.1f}",
        ),
        claim(
            "under symmetric noise the widths are mostly near those on clean labels",
            "no claim",
            bool(np.sum(np.abs(symmetric) <= 1) > len(known) / 2),
            f"within a factor of two in {np.sum(np.abs(symmetric) <= 1)} of {len(known)} sets; log2 of the width is "
            f"{np.mean(np.abs(symmetric)):.1f} apart on average",
        ),
    ]


def figure_5(rows: Rows, printed: Printed) -> list[Block]:
    """Error against the number of kernels, for each set and kind of noise."""
    counts = sorted(rows.unique("kernels"))
    sets = {
        name: chosen
        for name, own in NAMES.items()
        for chosen in [rows.where(dataset=own)]
        if counts and sorted(chosen.unique("kernels")) == counts
    }
    if not sets:
        return [Text("Not run.")]
    panels = {
        name: {
            title: charts.Curve(counts, [_mean(one.where(kernels=n)) for n in counts], style)
            for title, one, style in (
                ("both kinds", chosen, "-"),
                *((title, chosen.where(kind=kind), "--") for kind, title in KINDS.items()),
            )
        }
        for name, chosen in sets.items()
    }
    pooled = {name: [chosen.where(kernels=n) for n in counts] for name, chosen in sets.items()}
    n_runs = sum(map(len, sets.values()))
    ranges = {name: float(np.ptp(_means(found))) for name, found in pooled.items()}
    lines = [
        [name, str(min(map(len, found))), *(f"{mean:.1f}" for mean in _means(found)), f"{ranges[name]:.1f}"]
        for name, found in pooled.items()
    ]
    drawing = charts.panels(panels, "number of kernels", "error, %", columns=4)
    return [
        Table("Claims", CLAIMS, _count_claims(ranges, sum(map(_bars_overlap, pooled.values())), n_runs)),
        Figure("figure-5", "Error of rMKLR at 30 % noise against the number of kernels", drawing),
        Table(
            "Error in per cent by number of kernels, both kinds of noise pooled",
            ["set", "runs", *map(str, counts), "highest less lowest"],
            lines,
        ),
    ]


def _count_claims(ranges: dict[str, float], overlaps: int, n_runs: int) -> list[list[str]]:
    """What the paper says of Figure 5, from the highest less the lowest mean error of each set."""
    few = sum(value < MARGINAL for value in ranges.values())
    median, widest = np.median(list(ranges.values())), max(ranges, key=lambda name: ranges[name])
    return [
        claim(
            "in most cases the differences are marginal, and error bars overlap",
            "no claim",
            few > len(ranges) / 2,
            f"highest less lowest is below {MARGINAL:.0f} points in {few} of {len(ranges)} sets, {median:.1f} in the "
            f"median; bars of one standard error at both overlap in {overlaps} ({n_runs} runs)",
        ),
        claim(
            "the number of kernels has a small effect",
            "no claim",
            ranges[widest] < MARGINAL,
            f"up to {ranges[widest]:.1f} points between two numbers of kernels, on {widest}",
        ),
    ]


def _bars_overlap(found: list[Rows]) -> bool:
    """Whether the mean errors with most and with fewest mistakes are within both standard errors of each other."""
    means = _means(found)
    bars = [found[int(at)].standard_error("error") or 0.0 for at in (np.argmin(means), np.argmax(means))]
    return bool(np.ptp(means) <= sum(bars))


def _means(found: list[Rows]) -> Floats:
    return np.array([one.values("error").mean() for one in found])


def _mean(rows: Rows) -> float:
    mean = rows.mean("error")
    return np.nan if mean is None else mean
