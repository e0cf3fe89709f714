"""What the printed numbers of the robust k-NN paper tell of its protocol: test rows, forms of methods, groups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from noisewise.experiments.harness.blocks import UNEXPLAINED, Block, Printed, Table, Text
from noisewise.experiments.harness.rows import Rows
from noisewise.experiments.papers.gao.folds import FOLDS, NOISES
from noisewise.experiments.papers.gao.tables import OURS, PLAIN, SMALL, TITLES, as_printed

CLASSES = {"segment": 7, "landsat": 6, "shuttle": 7, "pendigits": 10, "usps": 10, "letter": 26}  # put into two groups
TRIALS = 10  # runs on one quarter each, by the printed means; print says 40
PRINTED_TO = 0.5e-4 * 1.02  # half the last digit, and a little for the rounding of decimals
WHOLE_UP_TO = 2500  # rows of a set; means of more test rows are whole numbers of rows whatever they are
MILD = NOISES[:2]
GROUPING_TOLERANCE = 0.02


def protocol(rows: Rows, printed: Printed) -> list[Block]:
    """Test rows behind the printed means, and which form of a baseline is near print."""
    rows = as_printed(rows)
    return [test_rows(printed), _near_by_form(rows, printed), _forms(rows, printed)]


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
    """In how many cells of the ten smaller sets each form of a baseline is within the printed standard deviation."""
    near: dict[tuple[str, str], list[bool]] = {}
    for line, chosen in _smaller(rows, printed):
        for form in _forms_of(line["method"]):
            mean = chosen.where(method=form).mean("accuracy")
            if mean is not None:
                near.setdefault((line["method"], form), []).append(abs(mean - line["mean"]) <= line["std"])
    lines = [[*names, f"{sum(found)} of {len(found)}"] for names, found in sorted(near.items())]
    return Table("Cells within the printed std on the ten smaller sets", ["method", "form", "near"], lines)


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
    return [base, *(form for form in OURS if form.startswith(base))]


def groupings(rows: Rows, printed: Printed) -> list[Block]:
    """Whether any grouping of the classes gives the printed accuracies of RNN, of a linear method and of AROW."""
    lines = [_nearest(name, rows.where(dataset=name), printed) for name in rows.unique("dataset")]
    header = ["set", "nearest positive group", "15-NN (RNN)", "logistic regression (IR-LLog)"]
    header += [*(f"AROW at {noise}" for noise in MILD), "groupings"]
    said = f"The nearest grouping of the classes, accuracy (print); near: the paper's std, or {GROUPING_TOLERANCE}"
    return [Table(said, header, lines)] if lines else [Text("Not run.")]


def _nearest(name: str, rows: Rows, printed: Printed) -> list[str]:
    """A line of the table: by the mean square of the distances from print, in units of what is near."""
    aims = [
        (line["mean"], max(line["std"], GROUPING_TOLERANCE))
        for method, noises in (("RNN", MILD[:1]), ("IR-LLog", MILD[:1]), ("AROW", MILD))
        for noise in noises
        for line in printed["table-2"]["rows"]
        if line["dataset"] == name and tuple(line["noise"]) == noise and line["method"] == method
    ]
    found = by_positive_group(rows)
    off = {
        group: np.array([abs(one - mean) / near for one, (mean, near) in zip(values, aims, strict=True)])
        for group, values in found.items()
    }
    fits = sum(bool((distances <= 1).all()) for distances in off.values())
    nearest = min(off, key=lambda group: float(np.mean(off[group] ** 2)))
    words = [f"{one:.3f} ({mean:.3f} ± {near:.3f})" for one, (mean, near) in zip(found[nearest], aims, strict=True)]
    verdict = f"{fits} of {len(found)} near print" if fits else f"{UNEXPLAINED}: none of {len(found)} is near print"
    return [name, " ".join(map(str, nearest)), *words, verdict]


def by_positive_group(rows: Rows) -> dict[tuple[int, ...], list[float]]:
    """What was found with each group of classes as the positive ones: 15-NN, logistic regression, AROW."""
    found = {}
    for row in rows:
        classes = range(CLASSES[row["dataset"]])
        inside = tuple(k for k in classes if row["group"] >> k & 1)
        outside = tuple(k for k in classes if k not in inside)
        found[inside] = [row["knn"], row["llog"], *row["arow"]]
        found[outside] = [row["knn"], row["llog"], *row["mirrored"]]
    return found
