"""Choices that the robust k-NN paper does not tell, beside their alternatives: scale, selection, C of NHERD, cut."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from noisewise._typing import Floats
from noisewise.experiments.harness.blocks import Block, Printed, Table, Text
from noisewise.experiments.harness.data import load_once
from noisewise.experiments.harness.rows import Rows
from noisewise.experiments.harness.spec import Cell, named
from noisewise.experiments.papers.gao.folds import FOLDS, Split, noise_of, prices, scaled, split
from noisewise.experiments.papers.gao.methods import HERDING, METHODS, REGULARISATIONS, VOTERS
from noisewise.experiments.papers.gao.protocol import LOOKED_AT
from noisewise.experiments.papers.gao.second_order import FullCovariance
from noisewise.experiments.papers.gao.tables import PLAIN, USUAL_VOTERS, agrees, as_printed
from noisewise.experiments.papers.gao.tasks import oracle, rates_by, threshold, vote_fractions

TOLD = ["optdigits", "usps", "magic04"]  # sets in [0, 1] here that are not of zeros and ones
SELECTIONS = {
    "observed": "held-out observed labels of the training rows",
    "usual": f"the same, k' = {USUAL_VOTERS} throughout",
    "clean": "held-out clean labels of the training rows",
    "usual_test": f"clean labels of the test rows, k' = {USUAL_VOTERS} throughout",
    "test": "clean labels of the test rows",
}
PARTS = ("every second set, chosen by", "other sets")
# 21.2 is the median, 22.5 the mean
CUTS_TRIED = [18.0, 19.0, 19.5, 20.0, 20.3, 20.5, 20.8, 21.0, 21.2, 22.5, 24.0, 25.0]
LOTS = {"repeats 0 to 15": range(16), "repeats 16 to 39": range(16, 40)}  # disjoint, each by itself
CUT_BY = {"RNN": "rnn-oracle", "UE-LLog": "ue-llog", "AROW": "arow"}


@named("gao.scales")
def scales(cell: Cell) -> dict[str, Any]:
    """Test accuracy of LD-KSVM on the columns as they are, in [0, 1], and in [-1, 1]."""
    data = split(cell)
    wide = data._replace(train=2 * data.train - 1, test=2 * data.test - 1)
    fits = {"zero_one": data, "minus_one": wide}
    return {
        name: float(METHODS["ld-ksvm"](one).fit(one.train, one.observed).score(one.test, one.targets))
        for name, one in fits.items()
    }


def either_scale(rows: Rows, printed: Printed) -> list[Block]:
    """LD-KSVM on either scale beside print."""
    lines = []
    for line in printed["table-2"]["rows"]:
        chosen = rows.where(dataset=line["dataset"], noise=line["noise"])
        if line["method"] == "LD-KSVM" and len(chosen):
            said = [f"{chosen.mean(name):.3f}" for name in ("zero_one", "minus_one")]
            lines.append([line["dataset"], str(tuple(line["noise"])), f"{line['mean']:.3f} ± {line['std']:.3f}", *said])
    header = ["set", "noise", "printed", "in [0, 1]", "in [-1, 1]"]
    return [Table("LD-KSVM and the scale of the columns", header, lines)] if lines else [Text("Not run.")]


@named("gao.selection")
def selection(cell: Cell) -> dict[str, Any]:
    """Test accuracy of RNN with k and k' selected in each way, all from the same votes."""
    from sklearn.model_selection import StratifiedKFold

    data = split(cell)
    right = correct(data.train, data.observed, data.test, data.targets)
    observed, clean = np.zeros_like(right), np.zeros_like(right)
    for fit, held in StratifiedKFold(FOLDS).split(data.train, data.observed):
        rows = data.train[fit], data.observed[fit], data.train[held]
        observed += correct(*rows, data.observed[held])
        clean += correct(*rows, data.true[held])
    usual = VOTERS.index(USUAL_VOTERS)
    found = {
        "observed": right.flat[np.argmax(observed)],
        "usual": right[np.argmax(observed[:, usual]), usual],
        "clean": right.flat[np.argmax(clean)],
        "usual_test": right[:, usual].max(),
        "test": right.max(),
    }
    return {name: float(value) for name, value in found.items()}


def correct(train: Floats, labels: Any, rows: Floats, targets: Any) -> Floats:
    """Fraction of rows that get their target, one line a k and one column a k'."""
    fractions = vote_fractions(train, labels, rows, VOTERS)
    limits = threshold(**rates_by(train, labels, VOTERS))
    return np.asarray(((fractions[:, None] >= limits[None, :, None]) == targets).mean(axis=2))


@named("gao.herding")
def herding(cell: Cell) -> dict[str, Any]:
    """Test accuracy of NHERD with each 1 / C."""
    data = split(cell)
    models = (FullCovariance(r, herding=True).fit(data.train, data.observed) for r in REGULARISATIONS)
    return {"accuracies": [float(model.score(data.test, data.targets)) for model in models]}


@named("gao.cuts")
def cuts(cell: Cell) -> dict[str, Any]:
    """Test accuracies on housing cut at a price: RNN selected on the test labels, UE-LLog and AROW."""
    data = cut_split(cell)
    found = {name: METHODS[name](data) for name in CUT_BY.values() if name in METHODS}
    accuracies = {
        name: float(model.fit(data.train, data.observed).score(data.test, data.targets))
        for name, model in found.items()
    }
    return {**accuracies, "rnn-oracle": oracle(data)["accuracy"]}


def cut_split(cell: Cell) -> Split:
    """One fold of four of housing with the houses above a price as the positive ones."""
    from sklearn.model_selection import StratifiedKFold

    X = scaled(load_once("housing")[0], "housing")
    y = (prices("housing") > cell["cut"]).astype(np.intp)
    repetition, fold = divmod(cell["repeat"], FOLDS)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=repetition)
    train, test = list(folds.split(X, y))[fold]
    rng = np.random.default_rng(cell.seed("noise", "repeat"))
    train, noise = rng.permutation(train), noise_of(cell["noise"])
    return Split(X[train], noise.corrupt(y[train], rng), y[train], X[test], y[test], noise)


def selections(rows: Rows, printed: Printed) -> list[Block]:
    """How near print's RNN each way of selecting k and k' comes."""
    rows = as_printed(rows)
    if not len(rows):
        return [Text("Not run.")]
    lines = [[said, *_near(rows, printed, "RNN", name)] for name, said in SELECTIONS.items()]
    title = "Cells of RNN within the paper's std by what k and k' are selected on; mean difference from print"
    return [Table(title, ["selected on", *PARTS, "mean difference"], lines)]


def herdings(rows: Rows, printed: Printed) -> list[Block]:
    """How near print's NHERD each C comes, and by how much print's deviations over the runs are larger."""
    rows = as_printed(rows)
    if not len(rows):
        return [Text("Not run.")]
    lines = []
    for at, r in enumerate(REGULARISATIONS):
        near = _near(rows, printed, "NHERD", "accuracies", at)
        wider = [
            line["std"] / max(float(np.std([row["accuracies"][at] for row in chosen], ddof=1)), 1e-4)
            for line, chosen in _cells(rows, printed, "NHERD")
            if len(chosen) > 2
        ]
        lines.append([f"{1 / r:g}", *near, f"{np.median(wider):.1f}, {np.max(wider):.0f}" if wider else ""])
    title = "Cells of NHERD within the paper's std by C, the same for all sets; print's deviation divided by ours"
    return [Table(title, ["C", *PARTS, "mean difference", "deviations: median, most"], lines), _missed(rows, printed)]


def _missed(rows: Rows, printed: Printed) -> Table:
    """The cells that the C of Table 2 misses, with every C; a star where a C is within the paper's deviation."""
    lines = []
    for line, chosen in _cells(rows, printed, "NHERD"):
        means = chosen.mean_curve("accuracies")
        near = [agrees(float(mean), len(chosen), line) for mean in means]
        if not near[REGULARISATIONS.index(HERDING)]:
            said = [f"{mean:.3f}{' *' if is_near else ''}" for mean, is_near in zip(means, near, strict=True)]
            lines.append([line["dataset"], str(tuple(line["noise"])), f"{line['mean']:.3f} ± {line['std']:.3f}", *said])
    title = f"Cells of NHERD that C = {1 / HERDING:g} misses, with every C; * is within the paper's std"
    return Table(title, ["set", "noise", "printed", *(f"C = {1 / r:g}" for r in REGULARISATIONS)], lines)


def cut_prices(rows: Rows, printed: Printed) -> list[Block]:
    """Housing with each cut beside print, and its distance from print over two lots of repeats."""
    aims = [line for line in printed["table-2"]["rows"] if line["dataset"] == "housing" and line["method"] in CUT_BY]
    lines = []
    for cut in [one for one in CUTS_TRIED if len(rows.where(cut=one))]:
        chosen = rows.where(cut=cut)
        ran = [line for line in aims if len(chosen.where(noise=line["noise"]))]
        said = [(line["method"], f"{_at(chosen, line):.3f} ({line['mean']:.3f})") for line in ran]
        columns = [", ".join(word for title, word in said if title == method) for method in CUT_BY]
        lots = [Rows(row for row in chosen if row["repeat"] in lot) for lot in LOTS.values()]
        lines.append([f"{cut:g}", *columns, *(_distance(lot, aims) for lot in lots)])
    header = ["above", *(f"{method} (print), three noises" for method in CUT_BY), *LOTS]
    title = "Housing cut at a price; root mean square distance from print in units of its std"
    return [Table(title, header, lines)] if lines else [Text("Not run.")]


def _at(rows: Rows, line: dict[str, Any]) -> float:
    """Our mean beside a line of Table 2."""
    return rows.where(noise=line["noise"]).mean(CUT_BY[line["method"]]) or 0.0


def _distance(rows: Rows, aims: list[dict[str, Any]]) -> str:
    """Root mean square distance from print; nothing where a noise was not run."""
    if not all(len(rows.where(noise=line["noise"])) for line in aims):
        return ""
    off = [(_at(rows, line) - line["mean"]) / line["std"] for line in aims]
    return f"{np.sqrt(np.mean(np.square(off))):.2f}"


def _near(rows: Rows, printed: Printed, method: str, name: str, at: int = 0) -> list[str]:
    """Cells within the paper's deviation on the sets looked at and on the others, and the mean difference."""
    found: dict[bool, list[bool]] = {True: [], False: []}
    apart = []
    for line, chosen in _cells(rows, printed, method):
        values = [np.atleast_1d(row[name])[at] for row in chosen]
        found[line["dataset"] in LOOKED_AT].append(agrees(float(np.mean(values)), len(values), line))
        apart.append(np.mean(values) - line["mean"])
    return [*(f"{sum(part)} of {len(part)}" for part in found.values()), f"{np.mean(apart):+.3f}"]


def _cells(rows: Rows, printed: Printed, method: str) -> Iterable[tuple[dict[str, Any], Rows]]:
    """The lines of a column of Table 2 that were run, with our rows."""
    for line in printed["table-2"]["rows"]:
        name = PLAIN.get(line["dataset"], line["dataset"])
        chosen = rows.where(dataset=name, noise=line["noise"])
        if line["method"] == method and len(chosen):
            yield line, chosen
