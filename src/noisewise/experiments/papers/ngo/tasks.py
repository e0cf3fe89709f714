"""Cells of the UCWL paper: one learner, tuned on a stream of its own, then one pass over shuffled rows."""

from __future__ import annotations

import itertools
import time
from functools import lru_cache
from typing import Any

import numpy as np

from noisewise._typing import Codes, Floats
from noisewise.experiments.harness.spec import Cell, named
from noisewise.online import OnlineClassifier, recipes

GRIDS: dict[str, dict[str, list[float]]] = {
    "paper": {
        "C": [2.0**power for power in range(-5, 6)],
        "r": [2.0**power for power in range(-5, 6)],
        "eta": [0.5 + 0.05 * step for step in range(1, 10)],
        "k": [0.2 * step for step in range(1, 16)],
        "gamma": [0.01, 0.05, 0.1, 0.2],
    },
    "wide": {
        "C": [2.0**power for power in range(-9, 6)],
        "r": [2.0**power for power in range(-5, 9)],
        "eta": [0.55, 0.65, 0.75, 0.85, 0.95],
        "k": [0.2, 0.6, 1.0, 1.6, 2.4, 3.2],
        "gamma": [0.01, 0.05, 0.1, 0.2],
    },
    "short": {
        "C": [2.0**power for power in (-8, -5, -3, -1, 1)],
        "r": [1.0, 8.0, 32.0, 100.0],
        "eta": [0.55, 0.75, 0.85, 0.95],
        "k": [0.2, 0.6, 1.6, 2.4],
        "gamma": [0.05, 0.2],
    },
}
WANTS = {
    "ucwl": ("k", "eta", "C"),
    "ucwl, full": ("k", "eta", "C"),
    "confidit": ("k",),
    "confidit-projected": ("k",),
    "banditron": ("gamma",),
    "mpa": ("C",),
    "mcw": ("eta",),
    "mscw-I": ("eta", "C"),
    "mscw-II": ("eta", "C"),
    "marow": ("r",),
}
CONFIDIT_RIDGE = 4.0  # A_0 = (1 + alpha)^2 I with the paper's alpha = 1
TUNING_ROWS = {"mnist": 6000}  # of the run on which parameters are chosen; of the other sets all


class Watched(OnlineClassifier):
    """Keeps what it guessed before learning: mistakes are counted against the true labels, not the shown ones."""

    def _run(self, X: Any, log: Any) -> None:
        super()._run(X, log)
        self.guesses_ = log.actions


@named("_one_pass_tasks.one_pass")
def one_pass(cell: Cell) -> dict[str, Any]:
    """Mistake rate against the true labels, fraction of rounds that moved the weights, and seconds; tuned first."""
    X, y = pixels(cell["dataset"])
    tuning = shuffled(X, y, cell["noise"], 0, TUNING_ROWS.get(cell["dataset"]))
    best = min(candidates(cell["method"], cell["grid"]), key=lambda one: play(cell["method"], one, *tuning)[0])
    start = cell.seed("dataset", "noise")
    runs = [play(cell["method"], best, *shuffled(X, y, cell["noise"], start + run)) for run in range(cell["runs"])]
    errors, updates, seconds = (list(column) for column in zip(*runs, strict=True))
    return {
        "chosen": best,
        "error": float(np.mean(errors)),
        "error_std": float(np.std(errors)),
        "updates": float(np.mean(updates)),
        "seconds_pass": float(np.min(seconds)),
    }


@lru_cache(maxsize=1)
def pixels(name: str) -> tuple[Floats, Codes]:
    """Features in [0, 1]; the largest set is loaded by itself, so that it is in memory once."""
    from noisewise.datasets import load

    X, y = load(name)
    low, high = {"usps": (-1.0, 1.0), "mnist": (0.0, 255.0), "digits": (0.0, 16.0)}[name]
    X -= low
    X /= high - low
    return X, y


def shuffled(X: Floats, y: Codes, rate: float, seed: int, most: int | None = None) -> tuple[Floats, Codes, Codes]:
    """Rows in a random order, true labels, and shown labels: another class with probability `rate`."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))[:most]
    true = y[order]
    moved = (true + rng.integers(1, 10, len(true))) % 10
    return np.ascontiguousarray(X[order]), true, np.where(rng.random(len(true)) < rate, moved, true)


def candidates(method: str, grid: str) -> list[dict[str, float]]:
    """Every combination of the parameters that the method has."""
    names = WANTS[method]
    return [dict(zip(names, values, strict=True)) for values in itertools.product(*(GRIDS[grid][n] for n in names))]


def play(method: str, chosen: dict[str, float], X: Floats, true: Codes, shown: Codes) -> tuple[float, float, float]:
    """Mistake rate, fraction of updates and processor seconds of one pass."""
    player = learner(method, chosen)
    start = time.process_time()
    from_labels = isinstance(player, OnlineClassifier)
    guesses = player.fit(X, shown).guesses_ if from_labels else player.play(X, shown).actions
    spent = time.process_time() - start
    return float((guesses != true).mean()), float(player.n_updates_ / len(true)), spent


def learner(method: str, chosen: dict[str, float]) -> Any:
    """A learner of ten classes with chosen parameters."""
    if method.startswith("ucwl"):
        kept = "full" if method == "ucwl, full" else "diagonal"
        return recipes.ucwl(10, width_in_std=chosen["k"], confidence=chosen["eta"], C=chosen["C"], covariance=kept)
    if method.startswith("confidit"):
        return recipes.confidit(10, width_in_std=chosen["k"], ridge=CONFIDIT_RIDGE, projection="projected" in method)
    if method == "banditron":
        return recipes.banditron(10, gamma=chosen["gamma"], random_state=0)
    plain = {
        "mpa": lambda: recipes.mpa(chosen["C"]),
        "mcw": lambda: recipes.mcw(chosen["eta"]),
        "mscw-I": lambda: recipes.mscw(chosen["eta"], chosen["C"]),
        "mscw-II": lambda: recipes.mscw(chosen["eta"], chosen["C"], "II"),
        "marow": lambda: recipes.arow(chosen["r"]),
    }[method]()
    return Watched(plain.rule, plain.signal, plain.covariance)
