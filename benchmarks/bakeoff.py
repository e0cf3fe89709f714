"""Contextual bandit bake-off: multiclass sets as bandits, against every explorer of Vowpal Wabbit.

    NOISEWISE_DATA=folder python benchmarks/bakeoff.py [--rounds 4000] [--orders 2] [--sets ...] [--rows folder]

A row is a context, its classes are the actions, of which one is right; features are copied to every action, that is,
multiplied by its name. One pass in a random order; the error is that of the labels played. As in the bake-off of
Bietti, Agarwal and Langford (2021), a win or loss on a set counts if a z-test of the two error rates has p < .05.
Feedback is right or wrong, or flipped at `--flips`. Vowpal Wabbit has its usual settings, ours its defaults. Cells
are stored in the folder of `--rows`, and not run again.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from noisewise import FlipMatrix
from noisewise.datasets import load
from noisewise.online import ContextualBandit

SETS = (
    *(
        "breast_cancer_wisconsin",
        "diabetes",
        "fourclass",
        "heart",
        "ionosphere",
        "iris",
        "landsat",
        "letter",
        "magic04",
    ),
    *("mushroom", "pendigits", "raetsch_banana", "raetsch_ringnorm", "raetsch_twonorm", "raetsch_flare_solar"),
    *("segment", "shuttle", "vehicle", "digits", "wine"),
)
COSTS = "--cb_min_cost -1 --cb_max_cost 0"  # right costs -1
EXPLORERS = {
    "epsilon": "--epsilon 0.05",
    "greedy": "--epsilon 0",
    "squarecb": f"--squarecb {COSTS}",
    "regcb": f"--regcb {COSTS}",
    "regcb opt": f"--regcbopt {COSTS}",
    "cover 4": "--cover 4",
    "cover 16": "--cover 16",
    "bag 4": "--bag 4",
}
OURS: dict[str, dict] = {"ours": {}}


def rows_of(name, seed, n_rounds):
    """Rows in a random order, and their classes as numbers."""
    if name in ("digits", "wine"):
        from sklearn import datasets

        X, labels = getattr(datasets, f"load_{name}")(return_X_y=True)
    else:
        X, labels = load(name, dtype=np.float64)
    y = np.unique(labels, return_inverse=True)[1]
    order = np.random.default_rng(seed).permutation(len(y))[:n_rounds]
    return np.asarray(X, dtype=np.float64)[order], y[order]


def error_of_ours(options, X, y, flips, seed):
    """Error of the labels that our learner plays."""
    noise = FlipMatrix.binary(flips, flips) if flips else None
    bandit = ContextualBandit(per_action=True, covariance="full", noise=noise, random_state=seed, **options)
    actions = [{"id": label} for label in range(int(y.max()) + 1)]
    flipped = np.random.default_rng([seed, 1]).random(len(y)) < flips
    mistakes = 0
    for x, label, flip in zip(X, y, flipped):
        decision = bandit.decide(x, actions)
        mistakes += decision.action != label
        bandit.learn(decision, int((decision.action == label) != flip))
    return mistakes / len(y)


def error_of_vw(options, X, y, flips, seed):
    """Error of the labels that an explorer of Vowpal Wabbit plays."""
    from vowpalwabbit import Workspace

    model = Workspace(f"--cb_explore_adf -q sa --quiet --random_seed {seed + 1} {options}")
    rng, n_classes = np.random.default_rng([seed, 7]), int(y.max()) + 1
    flipped = np.random.default_rng([seed, 1]).random(len(y)) < flips
    offered, mistakes = [f"|a {label}" for label in range(n_classes)], 0
    for x, label, flip in zip(X, y, flipped):
        shared = "shared |s " + " ".join(f"{column}:{value:.6g}" for column, value in enumerate(x) if value)
        probabilities = np.array(model.predict([shared, *offered]))
        played = int(rng.choice(n_classes, p=probabilities / probabilities.sum()))
        mistakes += played != label
        lines = list(offered)
        lines[played] = f"0:{-int((played == label) != flip)}:{probabilities[played]} {lines[played]}"
        model.learn([shared, *lines])
    model.finish()
    return mistakes / len(y)


def cell(folder, method, options, name, seed, n_rounds, flips):
    """The error of one method on one order of a set, and the number of its rounds."""
    path = folder and Path(folder) / f"{method}-{name}-{seed}-{n_rounds}-{flips}.json".replace(" ", "_")
    if path and path.exists():
        return json.loads(path.read_text())
    X, y = rows_of(name, seed, n_rounds)
    run = error_of_vw if isinstance(options, str) else error_of_ours
    made = run(options, X, y, flips, seed), len(y)
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(made))
    return made


def z_score(mine, theirs, n):
    """How many standard errors our error lies below theirs, over n rounds each."""
    pooled = mine * (1 - mine) + theirs * (1 - theirs)
    return 0.0 if pooled == 0 else (theirs - mine) / np.sqrt(pooled / n)


def table(sets, orders, n_rounds, flips, folder):
    """Errors of all methods on all sets, and wins and losses of ours."""
    methods = {**EXPLORERS, **OURS}
    print(f"\nfeedback flipped: {flips:.0%}; error of the labels played, mean of {orders} orders")
    print(f"{'':26}" + "".join(f"{method:>11}" for method in methods))
    wins = {mine: {method: [0, 0] for method in EXPLORERS} for mine in OURS}
    for name in sets:
        errors = {}
        for method, options in methods.items():
            cells = [cell(folder, method, options, name, seed, n_rounds, flips) for seed in range(orders)]
            errors[method], n = np.mean([error for error, _ in cells]), sum(rounds for _, rounds in cells)
        print(f"{name:26}" + "".join(f"{errors[method]:11.3f}" for method in methods), flush=True)
        for mine in OURS:
            for method in EXPLORERS:
                z = z_score(errors[mine], errors[method], n)
                wins[mine][method][0] += z > 1.96
                wins[mine][method][1] += z < -1.96
    for mine in OURS:
        print(f"{mine + ': wins - losses':26}" + "".join(f"{f'{w} - {l}':>11}" for w, l in wins[mine].values()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=4000)
    parser.add_argument("--orders", type=int, default=2)
    parser.add_argument("--flips", type=float, nargs="*", default=[0.0, 0.2])
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--rows", default=None, help="folder of stored cells")
    given = parser.parse_args()
    for flips in given.flips:
        table(given.sets, given.orders, given.rounds, flips, given.rows)
