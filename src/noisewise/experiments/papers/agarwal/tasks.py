"""Cells of the noisy-feedback papers: one learner on one stream, played label by label."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from noisewise._typing import Codes, Floats
from noisewise.experiments.harness.data import load_once
from noisewise.experiments.harness.spec import Cell, named
from noisewise.experiments.papers.agarwal.features import network_rows
from noisewise.noise import FlipMatrix

GAMMAS = (0.005, 0.02, 0.05, 0.1, 0.2, 0.4)  # grid of the exploration rate
BLOCK = 50_000  # the longest block of RCINE, and the log of Tables 1 and 2 [N_s]
SYNTHETIC_ROWS = 100_000  # of SynSep in the paper; longer streams draw from them with replacement
LONGEST_TUNING = 500_000  # rounds
TUNING_SEED = 12345  # apart from every cell's own
FACTORIES: dict[str, str] = {
    "banditron": "banditron",
    "soba-published": "soba",
    "soba-recursive": "soba",
    "bpa": "bandit_pa",
    "bpa-capped": "bandit_pa",
    "rcnbf": "rcnbf",
    "rcine": "rcine",
    "rcine-nrest": "rcine",
    "ucwl": "ucwl",
    "ucwl+h": "corrected_ucwl",
    "ucwl+h, rates found": "corrected_ucwl",
    "linucb": "linucb",
    "linucb, rates known": "linucb",
    "linucb, rates found": "linucb",
}
NETWORK = "fashion_mnist, outputs of a network"
HIDDEN = {"usps": (32, 256, 32), "fashion_mnist": (32, 128, 32), "iris": (32, 32), "make_synsep": (48, 48)}
HIDDEN |= {NETWORK: HIDDEN["fashion_mnist"]}
PRINTED = "printed network, played actions"  # the estimator of Tables 1 and 2
SYNSEP_QUANTILE = 0.94  # "we take 94% percentile instead of 89%" for this set only
WITHOUT_GAMMA = ("ucwl", "ucwl+h", "ucwl+h, rates found", "linucb", "linucb, rates known", "linucb, rates found")


def stream(name: str, rounds: int, seed: int, part: int, constant: bool = False) -> Any:
    """Parts (X, y) of a stream: rows of length one with replacement; of SynSep one pass over rows drawn for the stream.

    `constant` adds a column of 0.3, for the learners whose classes need one.
    """
    synthetic = name.startswith("make_")
    X, y = drawn_rows(name, min(rounds, SYNTHETIC_ROWS), seed) if synthetic else unit_rows(name)
    if constant and not synthetic:
        X = np.column_stack([X, np.full(len(X), 0.3)])
    rng = np.random.default_rng([seed, 2 if synthetic else 0])  # [seed, 0] drew the rows, [seed, 1] flips feedback
    one_pass = synthetic and rounds <= SYNTHETIC_ROWS
    for at in range(0, rounds, part):
        last = min(at + part, rounds)
        drawn = slice(at, last) if one_pass else rng.integers(len(y), size=last - at)
        yield X[drawn], y[drawn]


@lru_cache(maxsize=2)  # that of a cell, and that on which all candidates of every tuning are played
def drawn_rows(name: str, rounds: int, seed: int) -> tuple[Any, Codes]:
    """A stream drawn from its distribution."""
    from noisewise import datasets

    X, y = getattr(datasets, name)(rounds, np.random.default_rng([seed, 0]), sparse=True)
    return X, y


@lru_cache(maxsize=1)
def unit_rows(name: str) -> tuple[Floats, Codes]:
    """Rows of length one; iris gets a constant column, Fashion-MNIST is brought to 100 principal components."""
    X, y = network_rows() if name == NETWORK else load_once(name)
    if name == "iris":
        X = np.column_stack([X - X.mean(axis=0), np.ones(len(X))])
    if name == "fashion_mnist":
        from sklearn.decomposition import PCA

        X = PCA(100, random_state=0).fit_transform(X.astype(np.float32)).astype(np.float64)
    return np.ascontiguousarray(X / np.linalg.norm(X, axis=1, keepdims=True)), y


def n_classes_of(name: str) -> int:
    """Number of labels to choose from."""
    return {"make_synsep": 9, "make_synnonsep": 9, "iris": 3}.get(name, 10)


def printed_estimator(name: str, n_classes: int, counterfactual: bool = False) -> Any:
    """NREst with the paper's network for a set, those of MNIST unless it has others, and its percentile."""
    from noisewise.online import NREst, PrintedNetwork

    synthetic = name == "make_synsep"
    network = PrintedNetwork(HIDDEN.get(name, (128, 128)), dropout=0.3 if synthetic else 0.2)
    return NREst(n_classes, network, SYNSEP_QUANTILE if synthetic else None, counterfactual)


class RareEstimates:
    """A tracker whose rates are estimated after every block of the first ten, then once the rounds have grown by half.

    An estimate from n rounds has an error of order 1 / sqrt(n), and takes as long as half a million rounds of play.
    """

    def __init__(self, tracker: Any) -> None:
        self.tracker = tracker
        self.due = 0.0

    def observe(self, X: Any, actions: Any, probabilities: Any, feedback: Any) -> None:
        """Rounds of a block."""
        self.tracker.observe(X, actions, probabilities, feedback)

    def estimate(self) -> Any:
        """The rates as last estimated."""
        n_rounds = self.tracker.n_rounds
        if n_rounds >= self.due:
            self.found = self.tracker.estimate()
            self.due = 1.5 * n_rounds if n_rounds >= 10 * BLOCK else 0.0
        return self.found


def learner(name: str, method: str, noise: Any, gamma: float | None, rounds: int, seed: int) -> Any:
    """A learner by the name it has in tables; those that correct by true rates get them."""
    from noisewise.online import RateTracker, recipes

    n_classes = n_classes_of(name)
    options: dict[str, Any] = {"random_state": seed}
    if method not in WITHOUT_GAMMA:
        options["gamma"] = gamma
    if method == "bpa-capped":
        options["C"] = 0.02
    if method.startswith("soba"):
        options["variant"] = method.removeprefix("soba-")
    if method.startswith("linucb"):
        options["intercept"] = False  # the rows have a constant where classes need one
    if method.startswith("rcine"):
        options["block"] = max(1, min(BLOCK, rounds // 10))
        options["tracker"] = RareEstimates(RateTracker(n_classes))
    if method == "rcine-nrest":
        options["tracker"] = printed_estimator(name, n_classes)
    if method in ("rcnbf", "ucwl+h", "linucb, rates known"):
        options["noise"] = noise
    if method == "linucb, rates found":
        options["rates"] = "action"
    make: Callable[..., Any] = getattr(recipes, FACTORIES[method])
    return make(n_classes, **options)


def play(name: str, method: str, rates: Any, gamma: float | None, rounds: int, seed: int) -> tuple[Any, Any]:
    """Where the played label was wrong, round by round, and the learner afterwards."""
    rng = np.random.default_rng([seed, 1])
    noise = feedback_noise(rates, n_classes_of(name))
    player = learner(name, method, noise, gamma, rounds, seed)
    blocks = stream(name, rounds, seed, player.block, method in WITHOUT_GAMMA)
    parts = [player.play(X, y, noise=noise, rng=rng).mistakes for X, y in blocks]
    return np.concatenate(parts), player


def feedback_noise(rates: Any, n_classes: int) -> Any:
    """(rho0, rho1) for every action, or two such pairs: one for the first half of the actions, one for the rest."""
    if isinstance(rates[0], (list, tuple)):
        halves = [FlipMatrix.binary(*pair) for pair in rates]
        return [halves[int(action >= n_classes // 2)] for action in range(n_classes)]
    return FlipMatrix.binary(*rates)


@lru_cache(maxsize=1024)  # for all repeats of a process
def best_gamma(name: str, method: str, rates: tuple[float, float], rounds: int) -> float | None:
    """The exploration rate with fewest mistakes on a stream of its own."""
    if method in WITHOUT_GAMMA:
        return None
    if method in ("bpa", "bpa-capped"):  # always the lower edge; a shared gamma makes them look bad
        return GAMMAS[0]
    means = [play(name, method, rates, gamma, rounds, TUNING_SEED)[0].mean() for gamma in GAMMAS]
    return GAMMAS[int(np.argmin(means))]


@named("_feedback_tasks.curve")
def curve(cell: Cell) -> dict[str, Any]:
    """Running mean of the mistakes at times evenly spaced on a log scale, and the mean of the last tenth."""
    name, method, rounds = cell["dataset"], cell["method"], cell["rounds"]
    if cell.settings.get("features") == "network":
        name = NETWORK
    gamma = cell["gamma"]
    if gamma == "tuned":
        tried = "rcnbf" if method.startswith("rcine") else method  # the same learner once the rates are found
        gamma = best_gamma(name, tried, tuple(cell["noise"]), min(rounds, LONGEST_TUNING))
    mistakes, player = play(name, method, cell["noise"], gamma, rounds, cell.seed("dataset", "noise", "repeat"))
    times = checkpoints(rounds)
    totals = np.cumsum(mistakes)
    found = {
        "gamma_used": gamma,
        "error": float(mistakes.mean()),
        "last": float(mistakes[-(rounds // 10) :].mean()),
        "running": [float(totals[time - 1] / time) for time in times],
    }
    if method.startswith("rcine") or method == "ucwl+h, rates found":
        matrix = player.noise_.matrix
        found |= {"rho0": float(matrix[0, 1]), "rho1": float(matrix[1, 0])}
    return found


def checkpoints(rounds: int) -> list[int]:
    """Five times a decade from 100 on, and the end."""
    times = np.unique(np.round(10 ** np.arange(2, np.log10(rounds) + 1e-9, 0.2)).astype(int))
    return [*(int(time) for time in times if time < rounds), rounds]


@named("_feedback_tasks.rates")
def rates(cell: Cell) -> dict[str, Any]:
    """Flip rates found from the log of RCNBF at an intermediate moment."""
    from noisewise.noise import rates_from_moments

    name, seed = cell["dataset"], cell.seed("dataset", "noise", "repeat")
    n_classes = n_classes_of(name)
    rng = np.random.default_rng([seed, 1])
    noise = FlipMatrix.binary(*cell["noise"])
    player = learner(name, "rcnbf", noise, 0.2, cell["rounds"], seed)
    for X, y in stream(name, cell["rounds"], seed, BLOCK):  # one block: the log is that of the last N_s rounds
        log = player.play(X, y, noise=noise, rng=rng)
    if cell["estimator"] == "moments":
        found = rates_from_moments(X, log.actions, log.feedback, log.probabilities, n_classes)
    else:
        network = printed_estimator(name, n_classes, counterfactual=cell["estimator"] != PRINTED)
        network.observe(X, log.actions, log.probabilities, log.feedback)
        found = network.estimate()
    return {"rho0": found.false_positive, "rho1": found.false_negative}
