"""What the printed numbers of the robust k-NN paper tell of its protocol: test rows, forms of methods, groups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from noisewise._typing import Codes
from noisewise.experiments.harness.blocks import Block, Printed, Table, Text
from noisewise.experiments.harness.rows import Rows
from noisewise.experiments.papers.gao.folds import FOLDS, GROUPS, HALVED, NOISES
from noisewise.experiments.papers.gao.tables import ORACLE, OURS, PLAIN, SMALL, TITLES, agrees, as_printed
from noisewise.experiments.papers.gao.tasks import groupings_of

CLASSES = {"segment": 7, "landsat": 6, "shuttle": 7, "pendigits": 10, "usps": 10, "letter": 26}  # put into two groups
TRIALS = 10  # runs on one quarter each, by the printed means; print says 40
PRINTED_TO = 0.5e-4 * 1.02  # half the last digit, and a little for the rounding of decimals
WHOLE_UP_TO = 2500  # rows of a set; means of more test rows are whole numbers of rows whatever they are
MILD = NOISES[:2]
GROUPING_TOLERANCE = 0.02
EITHER_WAY = ("segment", "landsat", "pendigits")  # standardised: AROW does not tell which group is the positive one
LOOKED_AT = ["heart", "housing", "diabetes", "fourclass", "splice"]  # by which forms of IR, LD and UE were chosen
LOOKED_AT += ["segment", "mushroom", "pendigits", "magic04", "shuttle"]
PARTS = {
    (True, True): "smaller sets, chosen by",
    (True, False): "smaller sets, others",
    (False, True): "larger sets, chosen by",
    (False, False): "larger sets, others",
}


def protocol(rows: Rows, printed: Printed) -> list[Block]:
    """Test rows behind the printed means, and which form of a baseline is near print."""
    rows = as_printed(rows)
    return [test_rows(printed), _near_by_form(rows, printed), _forms(rows, printed), _positive(rows, printed)]


def test_rows(printed: Printed) -> Table:
    """With how many test rows the printed means are whole numbers of rows: a quarter of the set, and at best."""
    lines = []
    for one in printed["table-1"]["rows"]:
        means = [line["mean"] for line in printed["table-2"]["rows"] if line["dataset"] == one["dataset"]]
        if one["instances"] <= WHOLE_UP_TO:
            fits = {rows: whole(means, rows) for rows in range(50, one["instances"] // 3)}
            quarter, best = -(-one["instances"] // FOLDS), max(fits, key=lambda rows: (fits[rows], -rows))
            said = [f"{fits[rows]} of {len(means)} with {rows}" for rows in (quarter, best)]
            lines.append([one["dataset"], f"{one['instances']:,}", *said])
    title = f"Printed means that are whole numbers of test rows in {TRIALS} runs; print says 4 folds, {4 * TRIALS} runs"
    return Table(title, ["set", "rows", "a quarter of the rows", "best"], lines)


def whole(means: list[float], rows: int) -> int:
    """How many means, printed with four digits, are of whole numbers of test rows in ten runs.

    >>> whole([0.8544, 0.7941, 0.8706], 68), whole([0.8544, 0.7941, 0.8706], 67)
    (3, 0)
    """
    counts = np.array(means) * rows * TRIALS
    return int((np.abs(counts - counts.round()) <= PRINTED_TO * rows * TRIALS).sum())


def _near_by_form(rows: Rows, printed: Printed) -> Table:
    """In how many cells each form of a baseline is within the printed deviation, where it was chosen and elsewhere."""
    near: dict[tuple[str, str], list[tuple[tuple[bool, bool], bool]]] = {}
    for line in printed["table-2"]["rows"]:
        name = PLAIN.get(line["dataset"], line["dataset"])
        for form in _forms_of(line["method"]):
            chosen = rows.where(dataset=name, noise=line["noise"], method=form)
            mean = chosen.mean("accuracy")
            if mean is not None:
                part = (name in SMALL, line["dataset"] in LOOKED_AT)
                near.setdefault((line["method"], form), []).append((part, agrees(mean, len(chosen), line)))
    lines = []
    for names, found in sorted(near.items()):
        parts = [[is_near for at, is_near in found if at == part] for part in PARTS]
        lines.append([*names, *(f"{sum(part)} of {len(part)}" if part else "" for part in parts)])
    title = f"Cells within the paper's std, as in Table 2; IR, LD and UE were chosen by {', '.join(LOOKED_AT)}"
    return Table(title, ["method", "form", *PARTS.values()], lines)


def _positive(rows: Rows, printed: Printed) -> Table:
    """IR-LLog with either group as the positive one, where columns are standardised: the noises are exchanged."""
    lines = []
    for line in printed["table-2"]["rows"]:
        name, noise = line["dataset"], tuple(line["noise"])
        if name in EITHER_WAY and noise in MILD and line["method"] == "IR-LLog":
            ways = [
                rows.where(dataset=name, noise=way, method="ir-llog").mean("accuracy") for way in (noise, noise[::-1])
            ]
            said = ["" if mean is None else f"{mean:.3f}" for mean in ways]
            lines.append([name, str(noise), f"{line['mean']:.3f} ± {line['std']:.3f}", *said])
    return Table("IR-LLog and the positive group", ["set", "noise", "printed", "here", "the other group"], lines)


def _forms(rows: Rows, printed: Printed) -> Table:
    """What width, C, intercept and diagonal of the baselines do, beside print."""
    lines = []
    for line, chosen in _smaller(rows, printed):
        means = {form: chosen.where(method=form).mean("accuracy") for form in _forms_of(line["method"])}
        if tuple(line["noise"]) == NOISES[0] and len(means) > 1:
            said = ", ".join(f"{form} {mean:.3f}" for form, mean in means.items() if mean is not None)
            lines.append([line["dataset"], line["method"], f"{line['mean']:.3f}", said])
    return Table(f"The baselines in all forms, accuracy at {NOISES[0]}", ["set", "method", "printed", "here"], lines)


def _smaller(rows: Rows, printed: Printed) -> Iterator[tuple[dict[str, Any], Rows]]:
    """The lines of Table 2 for the ten smaller sets, with our rows of set and noise."""
    for line in printed["table-2"]["rows"]:
        name = PLAIN.get(line["dataset"], line["dataset"])
        if name in SMALL:
            yield line, rows.where(dataset=name, noise=line["noise"])


def _forms_of(title: str) -> list[str]:
    base = next(name for name, known in TITLES.items() if known == title)
    return [base, *(form for form in [*OURS, ORACLE] if form.startswith(base))]


def groupings(rows: Rows, printed: Printed) -> list[Block]:
    """The groups of classes taken here and those nearest to print, by accuracies of RNN, a linear method and AROW."""
    lines = [line for row in rows for line in _groups(row["dataset"], np.array(row["accuracies"]), printed)]
    header = ["set", "positive group", "15-NN (RNN)", "linear (UE-LLog)", *(f"AROW at {noise}" for noise in MILD)]
    said = f"Groups of classes, accuracy (print); near: the paper's std, or {GROUPING_TOLERANCE}"
    return [Table(said, [*header, "near print"], sorted(lines))] if lines else [Text("Not run.")]


def _groups(name: str, found: Any, printed: Printed) -> list[list[str]]:
    """Two lines of the table: the group taken here, and the nearest by the mean square distance in units of near."""
    aims = [
        (line["mean"], max(line["std"], GROUPING_TOLERANCE))
        for method, noises in (("RNN", MILD[:1]), ("UE-LLog", MILD[:1]), ("AROW", MILD))
        for noise in noises
        for line in printed["table-2"]["rows"]
        if line["dataset"] == name and tuple(line["noise"]) == noise and line["method"] == method
    ]
    groups = groupings_of(CLASSES[name])
    off = np.abs(found - [mean for mean, _ in aims]) / [near for _, near in aims]
    nearest = int(np.argmin((off**2).mean(axis=1)))
    taken = int(np.flatnonzero((groups == taken_group(name)).all(axis=1))[0])
    lines = []
    for said, index in (("here", taken), ("nearest", nearest)):
        words = [f"{one:.3f} ({mean:.3f})" for one, (mean, _) in zip(found[index], aims, strict=True)]
        count = f"{(off <= 1).all(axis=1).sum():,} of {len(groups):,} groupings" if index == taken else ""
        lines.append([name, f"{said}: {_in_words(groups[index], CLASSES[name])}", *words, count])
    return lines[: 1 if nearest == taken else 2]


def taken_group(name: str) -> Codes:
    """The positive group of a set here, as a line of `groupings_of`."""
    n_classes = CLASSES[name]
    group = np.isin(np.arange(n_classes), GROUPS[name]).astype(np.intp)
    if n_classes % 2 == 0:
        return group
    group = np.repeat(group, 2)
    if name in HALVED:
        group[2 * HALVED[name] + 1] = 1
    return group


def _in_words(group: Codes, n_classes: int) -> str:
    """Its classes by number; a half is marked."""
    halves = group.reshape(n_classes, -1)
    which = ["second", "first"]
    words = [f"{k}" if half.all() else f"{which[half[0]]} half of {k}" for k, half in enumerate(halves) if half.any()]
    return " ".join(words)
