"""How the robust k-NN paper's tables of accuracies and noise rates are set beside ours."""

from __future__ import annotations

from typing import Any

import numpy as np

from noisewise.experiments.harness.blocks import UNEXPLAINED, Block, Comparison, Entry, Printed, Table, Text
from noisewise.experiments.harness.rows import Rows
from noisewise.experiments.papers.gao.folds import FIRST_ROWS, GROUPS, NOISES
from noisewise.experiments.papers.gao.methods import VOTERS
from noisewise.experiments.papers.gao.weak_ridge import WEAK

PLAIN = {"cancer": "breast_cancer_wisconsin", "german": "german_numeric", "splice": "splice_libsvm"}
SMALL = ["heart", "ionosphere", "housing", "breast_cancer_wisconsin", "diabetes"]
SMALL += ["vehicle", "fourclass", "german_numeric", "splice_libsvm", "optdigits"]
BIG = ["segment", "landsat", "mushroom", "usps", "pendigits", "letter", "magic04", "w8a", "shuttle", "acoustic"]
TITLES = {"rnn": "RNN", "ir-ksvm": "IR-KSVM", "ir-llog": "IR-LLog", "ld-ksvm": "LD-KSVM", "ue-llog": "UE-LLog"}
TITLES |= {"arow": "AROW", "nherd": "NHERD"}
ORACLE = "rnn-oracle"  # k and k' selected on the clean test labels, as print seems to
GROUPED = dict.fromkeys(["landsat", "usps", "letter"], "the groups of its classes are those nearest to print")
SMALL_ROWS, ALL_ROWS = 3000, 100_000  # at most, of smaller and of larger sets: none has more
REVERSED = ("diabetes",)  # the positive class of print is the negative one here
OURS = ["ir-ksvm-default", "ir-ksvm-ridge", "ir-ksvm-tuned", "ir-llog-ridge", "ld-ksvm-default", "ld-ksvm-tuned"]
OURS += ["arow-intercept", "arow-diagonal", "nherd-chosen", "nherd-intercept", "nherd-diagonal"]
FACTS = {
    "acoustic": "the set can't be had",
    "optdigits": "56 columns that are not constant; print has 42 and does not say which",
    "housing": "print does not say where it cuts the prices (the part on cuts)",
}
# cells of NHERD that have print's mean with the largest C of the grid, and not with the one C of all sets
LARGER_C = {("fourclass", (0.1, 0.2)), ("landsat", (0.3, 0.1)), ("landsat", (0.4, 0.4))}
LARGER_C |= {("pendigits", noise) for noise in NOISES}


def as_printed(rows: Rows) -> Rows:
    """Rows with the positive class of print: the noise of a set whose classes are the other way round is exchanged."""
    return Rows(_exchanged(row) if row["dataset"] in REVERSED else row for row in rows)


def _exchanged(row: dict[str, Any]) -> dict[str, Any]:
    found = {**row, "noise": row["noise"][::-1]}
    for one, other in (("tau_plus", "tau_minus"), ("tau_minus", "tau_plus")):
        if one in row:
            found[one] = row[other]
    return found


def table_1(rows: Rows, printed: Printed) -> list[Block]:
    """Sizes of the sets, from the catalogue."""
    from noisewise.datasets import names

    sizes = {listing.name: listing for listing in names()}
    lines = []
    for line in printed["table-1"]["rows"]:
        ours = sizes.get(PLAIN.get(line["dataset"], line["dataset"]))
        here = "can't be had" if ours is None else f"{ours.rows:,} x {ours.columns}"
        if line["dataset"] == "optdigits":
            here = f"digits 1 and 3: 1,143 x {ours.columns if ours else 0}"
        if line["dataset"] == "cancer" and ours is not None:
            here += ", and a constant for the sample's number"
        if line["dataset"] in FIRST_ROWS:
            here = f"the first {FIRST_ROWS[line['dataset']]:,} x {ours.columns if ours else 0}"
        lines.append([line["dataset"], f"{line['instances']:,} x {line['features']}", here])
    return [Table("Rows x columns", ["set", "printed", "ours"], lines)]


def table_2(rows: Rows, printed: Printed) -> list[Block]:
    """Every printed accuracy beside ours, RNN with held-out selection, means, and who beats RNN.

    A printed number is compared once: RNN with the selection that print seems to have.
    """
    rows = as_printed(rows)
    plain = {title: name for name, title in TITLES.items()} | {"RNN": ORACLE}
    entries = []
    for line in printed["table-2"]["rows"]:
        method, name = plain[line["method"]], line["dataset"]
        chosen = rows.where(dataset=PLAIN.get(name, name), noise=line["noise"])
        entries.append(
            Entry.of(
                (name, str(tuple(line["noise"])), TEST_SELECTED if method == ORACLE else line["method"]),
                chosen.where(method=method),
                "accuracy",
                printed=line["mean"],
                std=line["std"],
                reason=_reason(chosen, line, method),
            )
        )
    shown = Comparison("Accuracy on clean test labels", ["set", "noise", "method"], entries, PRINTED_DIGITS)
    blocks: list[Block] = [shown, *_by_classes(entries)]
    blocks += [*held_out(rows, printed), _means(rows, printed)]
    return [*blocks, _wins(rows, printed), _claims(rows, printed)]


def _by_classes(entries: list[Entry]) -> list[Block]:
    """How many cells agree of the sets whose two classes print tells, and of those whose groups of classes it draws."""
    lines = []
    for title, drawn in CLASSES_OF_PRINT.items():
        run = [one for one in entries if one.ours is not None and (one.labels[0] in GROUPS) == drawn]
        agree = [bool(one.is_as_printed) for one in run]
        if agree:
            lines.append([title, f"{len(agree)}", f"{sum(agree)}", f"{np.mean(agree):.1%}"])
    header = ["two classes", "cells run", "within the paper's std", "fraction"]
    return [Table("Agreement by what print tells of the two classes", header, lines)] if lines else []


CLASSES_OF_PRINT = {
    "those of the set, or found by the number of rows": False,
    "two groups drawn at random, print does not say which": True,
}
TEST_SELECTED = "RNN, k and k' by test labels"
PRINTED_DIGITS = 4  # of Table 2; with three, means and deviations of larger sets would look like rounded ones


def held_out(rows: Rows, printed: Printed) -> list[Block]:
    """RNN with held-out selection: its difference from print, not judged a second time, and verified bounds."""
    checks = {(one["dataset"], *one["noise"]): one for one in printed["verified"]["table-2"]}
    entries, near, total = [], {"rnn": 0, ORACLE: 0}, {"rnn": 0, ORACLE: 0}
    for line in printed["table-2"]["rows"]:
        if line["method"] != "RNN":
            continue
        name = line["dataset"]
        cell = rows.where(dataset=PLAIN.get(name, name), noise=line["noise"])
        for method in near:
            chosen = cell.where(method=method)
            mean = chosen.mean("accuracy")
            if mean is not None:
                near[method] += agrees(mean, len(chosen), line)
                total[method] += 1
        chosen = cell.where(method="rnn")
        if len(chosen):
            labels = (name, str(tuple(line["noise"])), f"{line['std']:.{PRINTED_DIGITS}f}")
            check = checks.get((name, *line["noise"]))
            known = {"printed": line["mean"], "side": "least", "reason": UNEXPLAINED}
            entries.append(Entry.of(labels, chosen, "accuracy", check, **known))
    title = "RNN, k and k' selected on held-out observed labels; beside print, but not judged by it a second time"
    said = (
        f"Selected on held-out observed labels RNN would be within the paper's std in {near['rnn']} of {total['rnn']} "
        f"cells, selected on the clean test labels it is in {near[ORACLE]} of {total[ORACLE]}. Print's column is "
        "compared with the latter alone, since print seems to have selected so (the part on what k and k' are "
        "selected on); nobody should. The bounds that were verified are for held-out selection and count."
    )
    return [Comparison(title, ["set", "noise", "std of print"], entries, PRINTED_DIGITS), Text(said)] if entries else []


def table_2_weak_ridge(rows: Rows, printed: Printed) -> list[Block]:
    """UE-LLog with one weak ridge for all sets: its difference from print, which Table 2 is judged by, not this."""
    rows = as_printed(rows)
    entries, near = [], 0
    for line in printed["table-2"]["rows"]:
        name = line["dataset"]
        chosen = rows.where(dataset=PLAIN.get(name, name), noise=line["noise"])
        mean = chosen.mean("accuracy")
        if line["method"] == "UE-LLog" and mean is not None:
            near += agrees(mean, len(chosen), line)
            labels = (name, str(tuple(line["noise"])), f"{line['std']:.{PRINTED_DIGITS}f}")
            entries.append(Entry.of(labels, chosen, "accuracy", printed=line["mean"]))
    if not entries:
        return [Text("Not run.")]
    title = f"UE-LLog by the unbiased loss with C = {WEAK:g}; held-out labels often prefer a stronger ridge"
    said = (
        f"With C = {WEAK:g} throughout UE-LLog would be within the paper's std in {near} of {len(entries)} cells. "
        "Print's column is compared once, in Table 2, with a ridge chosen by held-out labels."
    )
    return [Comparison(title, ["set", "noise", "std of print"], entries, PRINTED_DIGITS), Text(said)]


def _reason(rows: Rows, line: dict[str, Any], method: str) -> str:
    """What is known to differ from print in a cell; "unexplained" where nothing is."""
    name = line["dataset"]
    if not len(rows.where(method=method)):
        return FACTS[name] if name == "acoustic" else "not in this run"
    facts = [FACTS[name]] if name in FACTS else []
    if method == "ue-llog" and (rows.where(method=method).mean("accuracy") or 0.0) > line["mean"]:
        facts.append("a stronger ridge, by held-out labels, than print seems to have (the part on UE-LLog)")
    if method == "nherd" and (name, tuple(line["noise"])) in LARGER_C:
        facts.append("with C = 16 it is within print's std (the part on C)")
    if not facts and method == "nherd":
        return f"{_unexplained(name)}; no C has print's means and deviations on all sets (the part on C)"
    return "; ".join(facts) or _unexplained(name)


def agrees(mean: float, runs: int, line: dict[str, Any]) -> bool:
    """Whether the mean of runs is within the paper's standard deviation, by the rule of the verdicts."""
    return bool(Entry((), ours=mean, printed=line["mean"], std=line["std"], runs=runs).is_as_printed)


def _unexplained(name: str) -> str:
    """That nothing is known to differ, and how the classes of a larger set are grouped."""
    return f"{UNEXPLAINED}: {GROUPED[name]}" if name in GROUPED else UNEXPLAINED


def _means(rows: Rows, printed: Printed) -> Comparison:
    """Means over the ten smaller sets; print's RNN beside the oracle."""
    titles = {name: title for name, title in TITLES.items() if name != "rnn"} | {ORACLE: "RNN"}
    entries = []
    for method in [*TITLES, *OURS, "knn", "rnn-ours", ORACLE]:
        for noise in NOISES:
            means = [rows.where(dataset=name, noise=noise, method=method).mean("accuracy") for name in SMALL]
            beside = [
                line["mean"]
                for line in printed["table-2"]["rows"]
                if line["method"] == titles.get(method)
                and tuple(line["noise"]) == noise
                and PLAIN.get(line["dataset"], line["dataset"]) in SMALL
            ]
            complete = [mean for mean in means if mean is not None]
            whole = len(complete) == len(SMALL)
            entries.append(
                Entry(
                    (method, str(noise)),
                    ours=float(np.mean(complete)) if whole else None,
                    printed=float(np.mean(beside)) if beside else None,
                    printed_tolerance=0.03,
                    reason=UNEXPLAINED if whole else "needs all ten sets",
                )
            )
    return Comparison("Mean over the ten smaller sets", ["method", "noise"], entries)


def _claims(rows: Rows, printed: Printed) -> Table:
    """What the paper says, what was verified, and what the ten smaller sets say here."""

    def mean(method: str, noise: Any) -> float:
        found = [rows.where(dataset=name, noise=noise, method=method).mean("accuracy") for name in SMALL]
        return float(np.mean([np.nan if one is None else one for one in found]))

    def said(value: float) -> str:
        return "needs all ten sets" if np.isnan(value) else f"{100 * value:+.1f} points"

    mild, one_sided, strong = NOISES
    every = [*TITLES, *OURS]
    best = {noise: max(every, key=lambda method: np.nan_to_num(mean(method, noise))) for noise in NOISES}
    winners = ", ".join(f"{TITLES.get(best[noise], best[noise])} at {noise}" for noise in NOISES)
    beside = [line["mean"] for line in printed["table-2"]["rows"] if line["method"] == "RNN"]
    gap = mean("rnn", mild) - mean(ORACLE, mild)
    lines = [
        [
            "RNN better than k-NN, (0.3, 0.1)",
            "yes: 2.5 to 4 points",
            said(mean("rnn", one_sided) - mean("knn", one_sided)),
        ],
        ["RNN better than k-NN, (0.4, 0.4)", "no claim", said(mean("rnn", strong) - mean("knn", strong))],
        ["RNN best of all", "no: tuned LD- and IR-KSVM with true rates are ahead", f"best: {winners}"],
        [
            f"Table 2's RNN column (mean {np.mean(beside):.3f} over all)",
            "no: selection as by an oracle",
            f"held-out less oracle: {said(gap)}",
        ],
    ]
    return Table("Claims", ["claim", "verified", "here"], lines)


def _wins(rows: Rows, printed: Printed) -> Table:
    """How often RNN is better, level or worse by a paired t-test over the repeats at 0.05."""
    from scipy.stats import ttest_rel

    lines = []
    for method in list(TITLES)[1:]:
        counts = {"rnn": [0, 0, 0], ORACLE: [0, 0, 0]}
        for name in rows.unique("dataset"):
            for noise in NOISES:
                cell = rows.where(dataset=name, noise=noise)
                for ours, count in counts.items():
                    mine, other = cell.where(method=ours).paired(cell.where(method=method), "accuracy")
                    if len(mine) > 1:
                        apart = mine - other
                        sure = apart.std() > 1e-9 and ttest_rel(mine, other).pvalue < 0.05
                        count[0 if sure and apart.mean() > 0 else 2 if sure else 1] += 1
        said = ["/".join(map(str, count)) for count in counts.values()]
        lines.append([TITLES[method], printed["table-2"]["win/tie/loss of RNN"][TITLES[method]], *said])
    header = ["against", "printed (60 cells, 40 runs each)", "RNN, held-out", "RNN, oracle"]
    return Table("Win/tie/loss of RNN (paired t-tests at 0.05 over the repeats, where there are two)", header, lines)


SHOWN_VOTERS = [10, 20, 30, 50, 100]


def table_3(rows: Rows, printed: Printed) -> list[Block]:
    """The noise found with k' selected on held-out observed labels, and how often its sign is right."""
    rows = as_printed(rows)
    lines = []
    for name in [name for name in (*SMALL, *BIG) if len(rows.where(dataset=name))]:
        cells = [rows.where(dataset=name, noise=noise) for noise in NOISES]
        pairs = [(cell.mean("tau_plus"), cell.mean("tau_minus")) for cell in cells]
        lines.append([name, *("" if plus is None else f"{plus:.3f}, {minus:.3f}" for plus, minus in pairs)])
    title = "Mean (tau_plus, tau_minus) with k' selected on held-out observed labels, which favour no correction"
    return [Table(title, ["set", *map(str, NOISES)], lines), _signs(rows)] if lines else [Text("Not run.")]


def _signs(rows: Rows) -> Text:
    right = [(row["tau_plus"] > row["tau_minus"]) for row in rows.where(noise=(0.3, 0.1))]
    if not right:
        return Text("")
    fraction = np.mean(right)
    return Text(f"At (0.3, 0.1) the sign of tau_plus - tau_minus is right in {fraction:.0%} of {len(right)} runs.")


USUAL_VOTERS = 25  # k' at which Table 3 is nearest on average (0.022 on the small sets): print has no k'
NEAR_RATE = 0.06


def table_3_by_voters(rows: Rows, printed: Printed) -> list[Block]:
    """Every printed rate beside ours at one k', the rates of heart against k', and the fraction of right signs."""
    rows = as_printed(rows)
    if not len(rows):
        return [Text("Not run.")]
    fifty = VOTERS.index(50)
    right = [row["tau_plus"][fifty] > row["tau_minus"][fifty] for row in rows.where(noise=(0.3, 0.1))]
    least = printed["verified"]["table-3 signs at k' = 50"]
    sign = Entry((f"{len(right)} runs",), ours=float(np.mean(right)) if right else None, verified=least, side="least")
    lines = [
        [str(noise), rate, *(f"{found[VOTERS.index(k)]:.3f}" for k in SHOWN_VOTERS)]
        for noise in NOISES
        for heart in [rows.where(dataset="heart", noise=noise)]
        if len(heart)
        for rate in ("tau_plus", "tau_minus")
        for found in [heart.mean_curve(rate)]
    ]
    title = f"Rates found at k' = {USUAL_VOTERS}; within {NEAR_RATE} counts as near to print"
    return [
        Comparison(title, ["set", "noise", "rate"], _rates(rows, printed)),
        Table("Heart against k'", ["noise", "rate", *(f"k' = {k}" for k in SHOWN_VOTERS)], lines),
        Comparison("Runs at (0.3, 0.1) with tau_plus > tau_minus, k' = 50, all sets that ran", ["of"], [sign]),
    ]


def _rates(rows: Rows, printed: Printed) -> list[Entry]:
    checks = {(one["dataset"], *one["noise"]): one for one in printed["verified"]["table-3"]}
    at = VOTERS.index(USUAL_VOTERS)
    entries = []
    for line in printed["table-3"]["rows"]:
        name = line["dataset"]
        chosen = rows.where(dataset=PLAIN.get(name, name), noise=line["noise"])
        check = checks.get((name, *line["noise"]))
        for rate in ("tau_plus", "tau_minus"):
            curves = np.array([row[rate] for row in chosen])
            entries.append(
                Entry(
                    (name, str(tuple(line["noise"])), rate),
                    ours=float(curves[:, at].mean()) if len(curves) else None,
                    error=float(curves[:, at].std(ddof=1) / len(curves) ** 0.5) if len(curves) > 1 else None,
                    printed=line[rate],
                    verified=None if check is None else float(np.mean(check[rate])),
                    tolerance=0.0 if check is None else float(np.ptp(check[rate])) / 2,
                    printed_tolerance=NEAR_RATE,
                    reason=_nearest(chosen, line) if len(chosen) else FACTS.get(name, ""),
                    runs=len(curves),
                )
            )
    return entries


def _nearest(rows: Rows, line: dict[str, Any]) -> str:
    """With which number of voters both printed rates of a cell are found, or that none finds them."""
    found = np.array([rows.mean_curve(rate) for rate in ("tau_plus", "tau_minus")])
    off = np.abs(found - [[line["tau_plus"]], [line["tau_minus"]]]).max(axis=0)
    best = int(np.argmin(off))
    said = f"both rates are nearest at k' = {VOTERS[best]}: {found[0, best]:.3f}, {found[1, best]:.3f}"
    return said if off[best] <= NEAR_RATE else f"{UNEXPLAINED}: {said}"
