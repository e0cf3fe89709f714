"""Cells of the robust k-NN paper's LD-KSVM with columns in [0, 1] and in [-1, 1], by which print's scale is told."""

from __future__ import annotations

from typing import Any

from noisewise.experiments.harness.blocks import Block, Printed, Table, Text
from noisewise.experiments.harness.rows import Rows
from noisewise.experiments.harness.spec import Cell, named
from noisewise.experiments.papers.gao.folds import split
from noisewise.experiments.papers.gao.methods import METHODS

TOLD = ["optdigits", "usps", "magic04"]  # sets in [0, 1] here that are not of zeros and ones


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
