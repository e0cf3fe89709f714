"""Ngo, Luciw, Vien and Schmidhuber: upper confidence weighted learning for efficient exploration in classification."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from noisewise.experiments.harness import charts
from noisewise.experiments.harness.blocks import Block, Comparison, Entry, Figure, Printed, Table, Text
from noisewise.experiments.harness.rows import Rows, gaps
from noisewise.experiments.harness.spec import Experiment, Paper
from noisewise.experiments.papers.ngo.tasks import WANTS, one_pass

NOISES = [0.0, 0.1, 0.2, 0.3]
OUTSIDE = ("marow", "mpa")  # their best parameters lie outside the paper's grid


def figure_2(rows: Rows, printed: Printed) -> list[Block]:
    """Mistake rates against label noise, beside those of an independent implementation."""
    entries = []
    for check in printed["verified"]["mistake rates"]:
        for index, rate in enumerate(NOISES):
            for grid in rows.unique("grid"):
                chosen = rows.where(dataset=check["dataset"], method=check["method"], noise=rate, grid=grid)
                side = check.get("side", "near") if grid == "short" else "most"  # the others hold the grid of the check
                if grid == "paper" and check["method"] in OUTSIDE:
                    side = "least"
                runs = int(sum(chosen.values("runs")))
                scatter = chosen.mean("error_std")
                entries.append(
                    Entry(
                        (check["dataset"], check["method"], f"{rate:.0%}", grid),
                        ours=chosen.mean("error"),
                        error=None if scatter is None else scatter / runs**0.5,
                        verified=check["values"][index],
                        tolerance=check["tolerance"][index],
                        side=side,
                        reason=_why(chosen, check["values"][index]),
                        runs=runs,
                    )
                )
    blocks: list[Block] = [_table(rows)]
    if any(entry.ours is not None for entry in entries):
        blocks.insert(0, Comparison("Online mistake rate", ["set", "method", "noise", "grid"], entries))
    curves = {
        f"{name}, grid {grid}": {
            method: charts.Curve(NOISES, [found or float("nan") for found in means])
            for method in WANTS
            for means in [[rows.where(dataset=name, grid=grid, method=method, noise=p).mean("error") for p in NOISES]]
            if any(mean is not None for mean in means)
        }
        for name in rows.unique("dataset")
        for grid in rows.unique("grid")
        if len(rows.where(dataset=name, grid=grid)) > 2 * len(NOISES)  # a few cells make no picture
    }
    if curves:
        drawing = charts.panels(curves, "label noise", "mistake rate", limits=(0.0, 0.9))
        blocks.append(Figure("figure-2", "Online mistake rate against the true labels", drawing))
    return [*blocks, _claims(rows)]


def _why(rows: Rows, verified: float) -> str:
    """Which parameters were chosen, and whether they are better than those of the check."""
    if not len(rows):
        return "not in this run"
    chosen = ", ".join(f"{name} = {value:g}" for name, value in rows.records[0]["chosen"].items())
    return f"{'better' if (rows.mean('error') or 0.0) < verified else 'worse'} with {chosen}"


def covariance(rows: Rows, printed: Printed) -> list[Block]:
    """Print finds the diagonal more accurate; it is not, on the digits."""
    entries = []
    for name in rows.unique("dataset"):
        for rate in rows.unique("noise"):
            chosen = rows.where(dataset=name, noise=rate)
            full, diagonal = (chosen.where(method=method).mean("error") for method in ("ucwl, full", "ucwl"))
            apart = None if full is None or diagonal is None else full - diagonal
            words = f"{rate:.0%}: full {full or 0:.3f}, diagonal {diagonal or 0:.3f}"
            why = _why(chosen.where(method="ucwl, full"), diagonal or 0.0)
            entries.append(Entry((name, words), ours=apart, verified=0.0, side="most", reason=why))
    return [Comparison("Mistake rate with the full matrix less that with its diagonal", ["set", "noise"], entries)]


def _table(rows: Rows) -> Table:
    lines = [
        [name, grid, method, *("" if mean is None else f"{mean:.3f}" for mean in means)]
        for name in sorted(rows.unique("dataset"))
        for grid in rows.unique("grid")
        for method in WANTS
        for means in [[rows.where(dataset=name, grid=grid, method=method, noise=p).mean("error") for p in NOISES]]
    ]
    return Table("Every learner", ["set", "grid", "method", *(f"{rate:.0%}" for rate in NOISES)], lines)


def _claims(rows: Rows) -> Table:
    """In how many of the settings for which a claim was verified it holds here."""

    def holds(other: str, least: Mapping[str, float]) -> str:
        settings = (
            rows.where(dataset=name, grid=grid, noise=p)
            for name, lowest in least.items()
            for grid in rows.unique("grid")
            for p in NOISES
            if p >= lowest
        )
        known = gaps(settings, "ucwl", other)
        return f"{sum(gap < 0 for gap in known)} of {len(known)}" if known else "not run"

    everywhere = {"usps": 0.0, "mnist": 0.0}
    said: list[tuple[str, str, dict[str, float]]] = [
        ("banditron", "yes, everywhere", everywhere),
        ("confidit", "yes, everywhere", everywhere),
        ("confidit-projected", "yes, everywhere", everywhere),
        ("mcw", "yes, under any noise", {"usps": 0.1, "mnist": 0.1}),
        ("marow", "yes, from 10 % (MNIST) or 20 % (USPS)", {"usps": 0.2, "mnist": 0.1}),
        ("mscw-I", "no: mSCW-I stays ahead", everywhere),
    ]
    lines = [
        [f"UCWL better than {other}", verdict, holds(other, least), holds(other, {"digits": 0.0})]
        for other, verdict, least in said
    ]
    return Table("Claims", ["claim", "verified", "settings in which it holds here", "on the 1,797 digits"], lines)


def figure_3(rows: Rows, printed: Printed) -> list[Block]:
    """Fraction of rounds that moved the weights."""
    entries = []
    for check in printed["verified"]["updates"]:
        chosen = rows.where(dataset=check["dataset"], method=check["method"], noise=check["noise"])
        entries.append(
            Entry(
                (check["dataset"], check["method"], f"{check['noise']:.0%}"),
                ours=chosen.mean("updates"),
                verified=check["fraction"],
                tolerance=check["tolerance"],
                side=check["side"],
                reason="another choice of parameters moves more or less often",
            )
        )
    ran = any(entry.ours is not None for entry in entries)
    bars = _bars(rows.where(noise=0.0), "updates")
    blocks: list[Block] = [Comparison("Fraction of rounds with an update", ["set", "method", "noise"], entries)]
    if not ran:
        blocks = []
    if bars:
        drawing = charts.bars(bars, "fraction")
        blocks.append(Figure("figure-3", "Fraction of rounds with an update, no noise", drawing))
    return blocks


def figure_4(rows: Rows, printed: Printed) -> list[Block]:
    """Seconds of one pass."""
    bars = _bars(rows.where(noise=0.0), "seconds_pass")
    if not bars:
        return [Text("Not run.")]
    lines = [[name, method, f"{1000 * value:.0f}"] for name, group in bars.items() for method, value in group.items()]
    drawing = charts.bars(bars, "seconds", scale="log")
    said = "Print: UCWL is almost as fast as mPA. Here every compiled second-order learner is of the same order."
    return [
        Text(said),
        Table("Milliseconds of one pass", ["set", "method", "ms"], lines),
        Figure("figure-4", "Seconds of one pass, no noise", drawing),
    ]


def _bars(rows: Rows, measure: str) -> dict[str, dict[str, float]]:
    return {
        name: {
            method: mean
            for method in WANTS
            for mean in [rows.where(dataset=name, method=method).mean(measure)]
            if mean is not None
        }
        for name in sorted(rows.unique("dataset"))
    }


AXES: dict[str, list[Any]] = {
    "dataset": ["digits", "usps", "mnist"],
    "noise": NOISES,
    "method": list(WANTS),
    "grid": ["paper", "wide", "short"],
    "runs": [20, 5],
}
SHORT: dict[str, list[Any]] = {"grid": ["short"]}


def _affordable(settings: Mapping[str, Any]) -> bool:
    """The paper's 20 orders, of MNIST 5; full covariances, which would take days otherwise, over the short grid."""
    large = settings["dataset"] == "mnist"
    full = settings["method"] == "ucwl, full"
    return settings["runs"] == (5 if large or full else 20) and not (full and (large or settings["grid"] != "short"))


PAPER = Paper(
    "ngo",
    "upper confidence weighted learning (Ngo, Luciw, Vien, Schmidhuber)",
    [
        Experiment("figure-2", "Figure 2: mistake rates", one_pass, AXES, figure_2, quick=SHORT, keep=_affordable),
        Experiment(
            "covariance",
            "Diagonal and full covariance",
            one_pass,
            {**AXES, **SHORT, "dataset": ["digits", "usps"], "method": ["ucwl", "ucwl, full"]},
            covariance,
            keep=_affordable,
        ),
        Experiment("figure-3", "Figure 3: updates", one_pass, {**AXES, **SHORT}, figure_3, keep=_affordable),
        Experiment("figure-4", "Figure 4: time", one_pass, {**AXES, **SHORT}, figure_4, keep=_affordable),
    ],
    notes="""One pass over shuffled rows with features in [0, 1]; the shown label is another class with the given
probability, and mistakes are counted against the true one. The digits and USPS are run by the paper's protocol:
parameters chosen on a whole run of their own for each noise level, then 20 random orders. MNIST is not: parameters
from 6,000 rows, 5 orders. Nor is UCWL with a full covariance: the short grid, 5 orders, and not on MNIST. Confidit
has A_0 = (1 + alpha)^2 I = 4 I, of the paper's alpha = 1. The figures print no numbers, so ours stand beside those of
an independent implementation. The GESTURE set is not public and is not run; the 8x8 digits of scikit-learn are not in
the paper. The grid "paper" is the paper's, "wide" goes on where the best value lies at its edge, "short" is a coarse
one over the wide range. The check was tuned over a coarse grid that "paper" and "wide" contain: over these a learner
must be no worse than verified, over "short" near it. AROW and PA have their best parameters outside the paper's grid:
with it they must not be better than verified. Tolerances set here, because the check gives none: the projected
Confidit, and 0.08 for fractions of updates.""",
)
