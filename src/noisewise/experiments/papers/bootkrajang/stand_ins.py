"""What stands beside the robust kernel paper's tables: stand-ins for sets that can't be had, and Algorithm 2 itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from noisewise.experiments.harness.blocks import CLAIMS, Block, Comparison, Entry, Printed, Table, Text, claim
from noisewise.experiments.harness.rows import Rows
from noisewise.experiments.papers.bootkrajang.tables import NAMES, NINE, OURS, OWN, targets, why

AREAS = "needs all nine sets"
VIEW_METHODS = ["rLR", "KLR", "rMKLR", "rMKLR, ours", "robust GP"]


def table_8(rows: Rows, printed: Printed) -> list[Block]:
    """The images can't be had."""
    reason = "the images of the search engine, and their SIFT, LBP and PHOG features, can't be had"
    entries = [
        Entry((line["classifier"],), printed=line["error"][0], std=line["error"][1], reason=reason)
        for line in printed["table-8"]["rows"]
    ]
    found = {method: rows.where(method=method) for method in VIEW_METHODS}
    ours = [Entry.of((method,), chosen, "error") for method, chosen in found.items()]
    means = {method: chosen.mean("error") or 0.0 for method, chosen in found.items() if len(chosen)}
    others = min((means[method] for method in ("rLR", "KLR") if method in means), default=0.0)
    said = ", ".join(f"{method} {mean:.1f}" for method, mean in means.items())
    holds = means["rMKLR"] < others if {"rLR", "KLR", "rMKLR"} <= set(means) else None
    title = "The same design on even against odd 8x8 digits in three views, a stand-in: test error in per cent"
    return [
        Comparison("Test error in per cent", ["classifier"], entries, 2),
        Comparison(title, ["classifier"], ours, 2),
        Table(
            "Claims", CLAIMS, [claim("rMKLR is better than rLR and KLR", "no claim", holds, f"on the stand-in {said}")]
        ),
    ]


def algorithm_2(rows: Rows, printed: Printed) -> list[Block]:
    """Errors after few and many passes, beside the library's form that has a scale."""
    checks = {("banana", 0.0): (11.4, 2.0), ("twonorm", 0.0): (2.5, 1.0), ("thyroid", 0.0): (7.0, 4.0)}
    entries = []
    for name in ("banana", "thyroid", "twonorm"):
        for noise in (0.0, 0.3):
            for method in ("Algorithm 2, 10 passes", "Algorithm 2, 200 passes", "rmklr"):
                chosen = rows.where(dataset=name, noise=noise, method=method)
                check = checks.get((name, noise)) if method == "Algorithm 2, 10 passes" else None
                entries.append(
                    Entry.of(
                        (name, f"{noise:.0%}", method),
                        chosen,
                        "error",
                        verified=None if check is None else check[0],
                        tolerance=0.0 if check is None else check[1],
                        reason="a split that ends in one class weighs much" if len(chosen) else "not in this run",
                    )
                )
    return [Comparison("Test error in per cent", ["set", "noise", "method"], entries, 2)]


def mislabelled(rows: Rows, printed: Printed) -> list[Block]:
    """Area under the ROC curve of finding wrong training labels, mean over nine sets."""
    sets = [NAMES[name] for name in NINE]

    def mean(method: str, **settings: Any) -> float | None:
        found = [rows.where(dataset=name, method=method, **settings).mean("area") for name in sets]
        known = [one for one in found if one is not None]
        return float(np.mean(known)) if len(known) == len(sets) else None

    one_sided: dict[str, Any] = {"noise": 0.3, "kind": "asymmetric"}
    ours, theirs = mean("rgp", **one_sided), mean("svm", **one_sided)
    found = {"all": mean("rgp"), "one class, 30 %": ours}
    found["one class, 30 %, above the SVM"] = None if ours is None or theirs is None else ours - theirs
    checks = printed["verified"]["area of finding wrong labels, robust GP"]

    def lowest(**settings: Any) -> str:
        found = {name: rows.where(dataset=NAMES[name], method="rgp", **settings).mean("area") or 0.0 for name in NINE}
        return ", ".join(f"{name} {found[name]:.3f}" for name in sorted(found, key=lambda name: found[name])[:3])

    entries = [
        Entry((name,), ours=found[name], verified=check, side="least", reason=f"lowest on {low}" if ours else AREAS)
        for name, check in checks.items()
        for low in [lowest() if name == "all" else lowest(**one_sided)]
    ]
    columns = [(noise, kind) for noise in (0.1, 0.3) for kind in ("symmetric", "asymmetric")]
    lines = [
        [method, *("" if area is None else f"{area:.3f}" for area in areas)]
        for method in ("rgp", "voting", "rmklr", "rkfd", "svm")
        for areas in [[mean(method, noise=noise, kind=kind) for noise, kind in columns]]
    ]
    return [
        Comparison("The robust Gaussian process, mean over nine sets", ["noise"], entries),
        Table("Area under the ROC curve", ["method", *(f"{noise:.0%} {kind}" for noise, kind in columns)], lines),
        Text("svm: how sure support vector machines fitted to the other folds are of a label, as cleanlab scores it."),
    ]


def generated(rows: Rows, printed: Printed) -> list[Block]:
    """Rows drawn from the distributions of three of the sets, for want of the files: beside print, as other rows."""
    lines = {(line["dataset"], line["noise"]): line for line in printed["table-5"]["rows"]}
    entries = []
    for name in ("Ringnorm", "Twonorm", "Waveform"):
        for noise in (0.1, 0.3):
            for title in ("rKFD", "SVM", "rMKLR", "rMKLR, ours", "robust GP"):
                method = OWN.get(title) or {own: method for method, own in OURS.items()}[title]
                cell = rows.where(dataset=f"make_{name.lower()}", noise=noise)
                beside = lines[name, noise].get(title, (None, None))
                check = targets(printed)[name, noise] if method in OURS else None
                entries.append(
                    Entry.of(
                        (name, f"{noise:.0%}", title),
                        cell.where(method=method),
                        "error",
                        check,
                        printed=beside[0],
                        std=beside[1],
                        side="most",
                        reason=why(method, cell, noise),
                    )
                )
    return [Comparison("Test error in per cent", ["distribution", "noise", "method"], entries, 2)]
