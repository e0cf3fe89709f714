"""What stands beside the robust kernel paper's tables: stand-ins for sets that can't be had, and Algorithm 2 itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from noisewise.experiments._blocks import Block, Comparison, Entry
from noisewise.experiments._bootkrajang_show import OWN, ROBUST, targets
from noisewise.experiments._rows import Rows

Printed = Mapping[str, Any]


def table_8(rows: Rows, printed: Printed) -> list[Block]:
    """The images can't be had."""
    reason = "the images of the search engine, and their SIFT, LBP and PHOG features, can't be had"
    entries = [
        Entry((line["classifier"],), printed=line["error"][0], spread=line["error"][1], reason=reason)
        for line in printed["table-8"]["rows"]
    ]
    ours = [
        Entry((method,), ours=chosen.mean("error"), error=chosen.spread("error"))
        for method in ("rLR", "KLR", "rMKLR", "robust GP")
        for chosen in [rows.where(method=method)]
    ]
    title = "The same design on even against odd 8x8 digits in three views, a stand-in: test error in per cent"
    return [
        Comparison("Test error in per cent", ["classifier"], entries, 2),
        Comparison(title, ["classifier"], ours, 2),
    ]


def algorithm_2(rows: Rows, printed: Printed) -> list[Block]:
    """Errors after few and many passes, beside the library's form that has a scale."""
    checks = {("banana", 0.0): (11.4, 2.0), ("twonorm", 0.0): (2.5, 1.0), ("thyroid", 0.0): (7.0, 4.0)}
    entries = []
    for name in ("banana", "thyroid", "twonorm"):
        for noise in (0.0, 0.3):
            for method in ("printed, 10 passes", "printed, 200 passes", "rmklr"):
                chosen = rows.where(dataset=name, noise=noise, method=method)
                check = checks.get((name, noise)) if method == "printed, 10 passes" else None
                entries.append(
                    Entry(
                        (name, f"{noise:.0%}", method),
                        ours=chosen.mean("error"),
                        error=chosen.spread("error"),
                        verified=None if check is None else check[0],
                        tolerance=0.0 if check is None else check[1],
                        reason="few splits" if len(chosen) else "not in this run",
                    )
                )
    return [Comparison("Test error in per cent", ["set", "noise", "method"], entries, 2)]


def generated(rows: Rows, printed: Printed) -> list[Block]:
    """Rows drawn from the laws of three of the sets, for want of the files: beside print, as other rows."""
    lines = {(line["dataset"], line["noise"]): line for line in printed["table-5"]["rows"]}
    entries = []
    for name in ("Ringnorm", "Twonorm", "Waveform"):
        for noise in (0.1, 0.3):
            for title in ("rKFD", "SVM", "rMKLR", "robust GP"):
                method = OWN.get(title, "rgp")
                chosen = rows.where(dataset=f"make_{name.lower()}", noise=noise, method=method)
                beside = lines[name, noise].get(title, (None, None))
                check = targets(printed)[name, noise] if method in ROBUST else None
                entries.append(
                    Entry(
                        (name, f"{noise:.0%}", title),
                        ours=chosen.mean("error"),
                        error=chosen.spread("error"),
                        printed=beside[0],
                        spread=beside[1],
                        verified=None if check is None else check["error"],
                        tolerance=0.0 if check is None else check["tolerance"],
                        side="most",
                        reason="few draws" if len(chosen) else "not in this run",
                    )
                )
    return [Comparison("Test error in per cent", ["law", "noise", "method"], entries, 2)]
