"""A sixth paper, as CONTRIBUTING's checklist has it: one folder, found by its name."""

import time

import numpy as np

from noisewise.experiments import Comparison, Entry, Experiment, Paper, named


@named("toy_paper.coin")
def coin(cell):
    """Mean of a few draws; a matrix product shows whether the engines sum in the same order."""
    time.sleep(cell["pause"])
    rng = np.random.default_rng(cell.seed("side", "repeat"))
    draws = rng.random((60, 60))
    return {"mean": float((draws @ draws @ draws).mean()) * cell["weight"], "seconds_drawn": time.perf_counter()}


def show(rows, printed):
    entries = [
        Entry((side,), ours=rows.where(side=side).mean("mean"), printed=printed["table-1"][side], std=30.0)
        for side in ("heads", "tails")
    ]
    return [Comparison("Means", ["side"], entries)]


def declare(weights=(1, 2), pause=0.0, repeats=5):
    axes = {"side": ["heads", "tails"], "weight": list(weights), "repeat": list(range(repeats)), "pause": [pause]}
    return Experiment("table-1", "Table 1: coins", coin, axes, show, quick={"repeat": [0]})


PAPER = Paper("toy_paper", "coins", [declare()])
