"""Review of some rows: does the interval of the number of wrong labels hold after it, and how much narrower is it?

    python benchmarks/audit_review.py                    labels of people and tables with simulated noise, one table
    python benchmarks/audit_review.py --only real        probabilities in NOISEWISE_DATA/real_noise (see audit_real.py)
    python benchmarks/audit_review.py --only tables      the tables of audit.py, noise by class and noise by row

Each run: the audit by its default (an interval that spans both readings), `next(150)`, the true labels of these rows as
verdicts, `update`. On real sets the rows are drawn anew for each run, on tables the noise is. Constants were chosen on
one network (resnet18) of the real sets and on probabilities of two models on tables of other seeds.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections import defaultdict

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from audit_real import folder

from audit import KINDS, ROW_KINDS, ROWS_DEVELOPMENT, ROWS_HELD_OUT, SETS, UNSEEN, cells
from noisewise import audit_labels
from noisewise.audit import audit_probabilities

KEYS = ("runs", "holds before", "holds", "above", "width / before", "its median", "at most half", "of verdicts wrong")


def reviewed(audit, wrong, n_verdicts, random_state=None):
    """What a review of so many rows makes of the interval."""
    rows = np.asarray(audit.next(n_verdicts, random_state))
    truth = np.where(wrong, (audit.observed + 1) % len(audit.classes), audit.observed)  # that it is another one counts
    before, after = audit.expected_errors, audit.update(dict(zip(rows, audit.classes[truth[rows]]))).expected_errors
    width = (after.high - after.low) / (before.high - before.low)
    return {
        "holds before": before.low <= wrong.sum() <= before.high,
        "holds": after.low <= wrong.sum() <= after.high,
        "above": wrong.sum() > after.high,
        "width / before": width,
        "its median": width,
        "at most half": width <= 0.5,
        "of verdicts wrong": wrong[rows].mean(),
    }


def real(n_verdicts, draws, most=None):
    """Each set and model, and all models of a set together."""
    for path in sorted(folder().glob("*.npz")):
        with np.load(path) as data:
            models = {name[2:]: [data[name][:most]] for name in data.files if name.startswith("p_")}
            y, truth = data["y"][:most].astype(int), data["truth"][:most]
        for model, arrays in (models | {"all": [array for one in models.values() for array in one]}).items():
            audit = audit_probabilities(arrays, y)
            for draw in range(draws):
                yield f"{path.stem}, {model}", reviewed(audit, y != truth, n_verdicts, draw)


def tables(n_verdicts, seeds, sets):
    """Tables with more rows than verdicts, by kind of noise; those without errors apart."""
    for kinds, names in ((KINDS, [*SETS, *UNSEEN]), (ROW_KINDS, [*ROWS_DEVELOPMENT, *ROWS_HELD_OUT])):
        for name, kind, X, observed, wrong in cells([name for name in names if name in (sets or names)], seeds, kinds):
            if len(observed) > n_verdicts:
                group = "clean" if kind == "clean" else "noise by row" if kinds is ROW_KINDS else "noise by class"
                unseen = ", set of no choice" if name in UNSEEN else ""
                yield f"tables, {group}{unseen}", reviewed(audit_labels(X, observed), wrong, n_verdicts)


def line(group, runs):
    means = {key: np.median([run[key] for run in runs]) if "median" in key else np.mean([run[key] for run in runs])
             for key in KEYS[1:]}  # fmt: skip
    return f"| {group} | {len(runs)} | {' | '.join(f'{value:.2f}' for value in means.values())} |"


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=("real", "tables"))
    parser.add_argument("--verdicts", type=int, default=150)
    parser.add_argument("--draws", type=int, default=20, help="of rows to review, on each real set")
    parser.add_argument("--seeds", type=int, nargs="+", default=[60, 61], help="of the noise in tables")
    parser.add_argument("--sets", nargs="+", help="tables only")
    parser.add_argument("--rows", type=int, help="the first rows of each real set only")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore", UserWarning)
    found = defaultdict(list)
    runs = [] if options.only == "tables" else [real(options.verdicts, options.draws, options.rows)]
    runs += [] if options.only == "real" else [tables(options.verdicts, options.seeds, options.sets)]
    for part in runs:
        for group, run in part:
            found[group].append(run)
    print(f"| {options.verdicts} verdicts | {' | '.join(KEYS)} |\n|{'---|' * (len(KEYS) + 1)}")
    for group, part in found.items():
        print(line(group, part))
    print(line("all", [run for part in found.values() for run in part]))


if __name__ == "__main__":
    main()
