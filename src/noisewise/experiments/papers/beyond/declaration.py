"""Our own learners on the papers' cells: corrected UCWL, LinUCB with rates by action, robust GP, deconvolution."""

from __future__ import annotations

from typing import Any

from noisewise.experiments.harness import charts
from noisewise.experiments.harness.blocks import Block, Comparison, Entry, Figure, Printed
from noisewise.experiments.harness.rows import Rows
from noisewise.experiments.harness.spec import Experiment, Paper
from noisewise.experiments.papers.agarwal.tables import NOISES, curves, error_table
from noisewise.experiments.papers.agarwal.tasks import curve
from noisewise.experiments.papers.bootkrajang.declaration import PAPER as BOOTKRAJANG
from noisewise.experiments.papers.cesa_bianchi import tables
from noisewise.experiments.papers.cesa_bianchi.declaration import PAPER as CESA_BIANCHI

OURS = ["rcnbf", "bpa-capped", "ucwl", "ucwl+h", "ucwl+h, rates found", "linucb"]
HALVES = [((0.5, 0.1), (0.05, 0.6)), ((0.3, 0.1), (0.1, 0.3))]  # the first five actions, the other five


def feedback(rows: Rows, printed: Printed) -> list[Block]:
    """Means over all rounds, or over the last tenth where that was checked."""
    entries = []
    for check in printed["verified"]["feedback"]:
        for index, noise in enumerate(NOISES):
            chosen = rows.where(dataset=check["dataset"], method=check["method"], noise=noise)
            entries.append(
                Entry.of(
                    (check["dataset"], check["method"], str(noise), check["measure"]),
                    chosen,
                    check["measure"],
                    verified=check["values"][index],
                    tolerance=check["tolerance"] if noise != (0.4, 0.4) else max(0.02, check["tolerance"]),
                    side=check["side"],
                    reason=f"{len(chosen)} streams of our own" if len(chosen) else "not in this run",
                )
            )
    drawn = [curves(rows, "feedback", name) for name in rows.unique("dataset")]
    labels = ["set", "method", "noise", "rounds: all (error) or last tenth"]
    return [Comparison("Mistake rate of the played label", labels, entries), error_table(rows), *drawn]


def actions(rows: Rows, printed: Printed) -> list[Block]:
    """Where correction decides: some labels are given positive feedback too often, others too seldom."""
    checks = {("linucb", 0): 0.50, ("linucb, rates known", 0): 0.04}
    checks |= {("linucb", 1): 0.038, ("linucb, rates known", 1): 0.028}
    entries = []
    for index, noise in enumerate(HALVES):
        for method in ("linucb", "linucb, rates known", "linucb, rates found"):
            chosen = rows.where(noise=noise, method=method)
            verified = checks.get((method, index))
            entries.append(
                Entry.of(
                    (str(noise), method),
                    chosen,
                    "last",
                    verified=verified,
                    tolerance=max(0.015, 0.2 * verified) if verified is not None else 0.0,
                    side="near" if method == "linucb" else "most",
                    reason="another horizon than the checked one",
                )
            )
    title = "Mistake rate in the last tenth; (rho0, rho1) of five labels and of the other five"
    return [Comparison(title, ["noise", "method"], entries)]


def robust_classifiers(rows: Rows, printed: Printed) -> list[Block]:
    """Classifiers of this library beside the paper's own rMKLR."""
    from noisewise.experiments.harness.registry import printed_numbers
    from noisewise.experiments.papers.bootkrajang.tables import NAMES, OURS, splits, targets

    kernels = printed_numbers("bootkrajang")
    checks = targets(kernels)
    entries = []
    for line in kernels["table-5"]["rows"]:
        for method in ("rgp", "voting"):
            chosen = rows.where(dataset=NAMES[line["dataset"]], noise=line["noise"], method=method)
            check = checks.get((line["dataset"], line["noise"]))
            entries.append(
                Entry.of(
                    (line["dataset"], f"{line['noise']:.0%}", OURS[method]),
                    chosen,
                    "error",
                    check,
                    printed=line["rMKLR"][0],
                    std=line["rMKLR"][1],
                    side="most",
                    reason=splits(len(chosen)),
                )
            )
    title = "Test error in per cent: printed is rMKLR, ours a classifier of this library"
    return [Comparison(title, ["set", "noise", "method"], entries, 2)]


def deconvolved(rows: Rows, printed: Printed) -> list[Block]:
    """Algorithm 3, averaging and deconvolution on the same rows."""
    blocks = tables.p4(rows, printed)
    groups = {
        name: {
            method: mean
            for method in tables.P4
            for mean in [rows.where(dataset=name, method=method).mean("error")]
            if mean is not None
        }
        for name in rows.unique("dataset")
    }
    if groups:
        shown = {name: {one: max(value, 1e-4) for one, value in group.items()} for name, group in groups.items()}
        drawing = charts.bars(shown, "error on clean rows", scale="log")
        blocks.append(Figure("deconvolved", "Errors on clean rows (0 is drawn as 0.0001)", drawing))
    return blocks


def _borrowed(
    paper: Paper, name: str, own: str, title: str, shown: Any, methods: list[str] | None = None
) -> Experiment:
    """Another paper's cells, shown our method."""
    (source,) = paper.find(name)
    axes, quick = dict(source.axes), dict(source.quick)
    if methods is not None:
        axes["method"] = methods
    return Experiment(own, title, source.task, axes, shown, quick=quick, keep=source.keep, revision=source.revision)


PAPER = Paper(
    "beyond",
    "beyond the papers",
    [
        Experiment(
            "feedback",
            "Noisy feedback: UCWL, its correction, LinUCB",
            curve,
            {
                "dataset": ["digits", "usps"],
                "noise": NOISES,
                "method": OURS,
                "gamma": ["tuned"],
                "rounds": [100_000],
                "repeat": list(range(5)),
            },
            feedback,
            quick={"repeat": [0, 1, 2]},
            keep=lambda settings: settings["dataset"] == "digits" or settings["method"] != "linucb",
        ),
        Experiment(
            "actions",
            "Rates that differ by action",
            curve,
            {
                "dataset": ["digits"],
                "noise": HALVES,
                "method": ["linucb", "linucb, rates known", "linucb, rates found"],
                "gamma": [None],
                "rounds": [50_000],
                "repeat": list(range(5)),
            },
            actions,
            quick={"repeat": [0]},
        ),
        _borrowed(
            BOOTKRAJANG,
            "table-5",
            "labels",
            "Noisy labels: the robust Gaussian process, and its vote with the Fisher classifier",
            robust_classifiers,
            ["rgp", "voting"],
        ),
        _borrowed(CESA_BIANCHI, "p4", "features", "Noisy features: deconvolved Fourier features", deconvolved),
    ],
    notes="""The learners of this library that are in no paper, on the cells of the papers: rows are shared, so nothing
is run twice. RCNBF stands beside them for comparison; it is given the true rates. Full-covariance LinUCB is run on the
64 columns of the digits only. The tolerance of RCNBF and those of the rates by action are set here.""",
)
