"""How the robust k-NN paper's figures are drawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from noisewise.experiments.harness import charts
from noisewise.experiments.harness.blocks import Block, Comparison, Entry, Figure, Printed, Text
from noisewise.experiments.harness.rows import Rows
from noisewise.experiments.papers.gao.folds import NOISES, noise_of
from noisewise.experiments.papers.gao.tables import TITLES, as_printed
from noisewise.experiments.papers.gao.tasks import CHESSBOARD_VOTERS, FRACTIONS, INFLUENCE

ASYMMETRIC = [(0.2, 0.1), (0.3, 0.1), (0.4, 0.1)]
SYMMETRIC = [(0.1, 0.1), (0.2, 0.2), (0.3, 0.3)]
CHESSBOARD = [(0.0, 0.0), *ASYMMETRIC, *SYMMETRIC]


def figure_1(rows: Rows, printed: Printed) -> list[Block]:
    """Error against k for each noise, with the limits of theory."""
    from noisewise.datasets import sine_2d_posterior
    from noisewise.labels import theory

    grid = (np.arange(200) + 0.5) / 200
    posterior = sine_2d_posterior(np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2))
    entries = []
    for check in printed["verified"]["figure-1"]:
        index = CHESSBOARD_VOTERS.index(check["k"])
        found = [row[check["method"]][index] for row in rows.where(noise=check["noise"])]
        entries.append(
            Entry(
                (str(tuple(check["noise"])), check["method"], str(check["k"])),
                ours=float(np.mean(found)) if found else None,
                error=float(np.std(found, ddof=1) / len(found) ** 0.5) if len(found) > 1 else None,
                runs=len(found),
                verified=check["error"],
                tolerance=check["tolerance"],
                side=check["side"],
                reason=f"the limit of theory is {_limit(posterior, check):.3f}; a tie is class 1, as in the paper",
            )
        )
    curves: dict[str, dict[str, charts.Curve]] = {}
    for noise in [*ASYMMETRIC, *SYMMETRIC]:
        chosen = rows.where(noise=noise)
        if len(chosen):
            limit = theory.neighbors_limit(posterior, noise_of(noise))
            panel = {
                name: charts.Curve(CHESSBOARD_VOTERS, list(chosen.mean_curve(name)))
                for name in ("knn", "rnn", "rnn-printed")
            }
            panel["limit of k-NN"] = charts.Curve([1, 200], [limit, limit], "--")
            curves[f"(tau+, tau-) = {noise}"] = panel
    blocks: list[Block] = [Comparison("Error on clean rows", ["noise", "method", "k"], entries)]
    if curves:
        caption = "Error against k; rnn-printed takes eq. 6 as printed, with the two rates swapped"
        blocks.append(Figure("figure-1", caption, charts.panels(curves, "k", "error on clean labels")))
    return blocks


def _limit(posterior: Any, check: Mapping[str, Any]) -> float:
    from noisewise.labels import theory

    return theory.neighbors_limit(posterior, noise_of(check["noise"]), 1 if check["k"] == 1 else None)


def figure_1c(rows: Rows, printed: Printed) -> list[Block]:
    """1-NN never comes to the Bayes error."""
    sizes = sorted(rows.unique("rows"))
    curves = {
        str(noise): charts.Curve(
            sizes, [float(rows.where(noise=noise, rows=size).mean_curve("knn")[0]) for size in sizes]
        )
        for noise in SYMMETRIC
        if all(len(rows.where(noise=noise, rows=size)) for size in sizes)
    }
    if not sizes or not curves:
        return []
    drawing = charts.panels({"1-NN": curves}, "training rows", "error on clean labels", limits=(0.28, 0.5))
    return [Figure("figure-1c", "1-NN under symmetric noise; the Bayes error is 0.297", drawing)]


def figure_2(rows: Rows, printed: Printed) -> list[Block]:
    """Mean ranks over sets and noises."""
    rows = as_printed(rows)
    problems = [
        (name, noise)
        for name in rows.unique("dataset")
        for noise in NOISES
        if all(len(rows.where(dataset=name, noise=noise, method=method)) for method in TITLES)
    ]
    if len(problems) < 5:
        return [Text("Too few sets ran for the test.")]
    blocks: list[Block] = []
    for column, said in (("rnn", "held-out selection"), ("rnn-oracle", "selection on the test labels")):
        scores: dict[str, list[float]] = {}
        for method in [column, *list(TITLES)[1:]]:
            means = [rows.where(dataset=name, noise=noise, method=method).mean("accuracy") for name, noise in problems]
            scores[TITLES.get(method, "RNN, oracle")] = [mean or 0.0 for mean in means]
        caption = f"Mean ranks over {len(problems)} cells, {said}; a bar joins what Nemenyi's test can't tell apart"
        blocks.append(Figure(f"figure-2-{column}", caption, charts.critical_difference(scores)))
    return blocks


def figures_3_to_5(rows: Rows, printed: Printed) -> list[Block]:
    """Three rows of panels, one for each parameter."""
    blocks: list[Block] = []
    methods: dict[str, tuple[str, list[Any]]] = {
        "by_k": ("k", INFLUENCE),
        "by_anchors": ("k'", INFLUENCE),
        "by_rows": ("the fraction of training rows", FRACTIONS),
    }
    for number, (name, (x_label, values)) in enumerate(methods.items(), 3):
        curves = {
            dataset: {
                str(noise): charts.Curve(values, list(rows.where(dataset=dataset, noise=noise).mean_curve(name)))
                for noise in NOISES
                if len(rows.where(dataset=dataset, noise=noise))
            }
            for dataset in rows.unique("dataset")
        }
        if curves:
            drawing = charts.panels(curves, x_label, "accuracy", columns=4)
            blocks.append(Figure(f"figure-{number}", f"Figure {number}: influence of {x_label}", drawing))
    return blocks or [Text("Not run.")]
