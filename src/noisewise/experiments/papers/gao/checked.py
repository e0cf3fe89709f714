"""The robust k-NN paper's ten smaller sets as an independent check had them, beside the means it found."""

from __future__ import annotations

from typing import Any

import numpy as np

from noisewise.experiments.harness.blocks import UNEXPLAINED, Block, Comparison, Entry, Printed
from noisewise.experiments.harness.data import load_once
from noisewise.experiments.harness.rows import Rows
from noisewise.experiments.harness.spec import Cell, named
from noisewise.experiments.papers.gao.folds import FOLDS, NOISES, Split, in_two, noise_of
from noisewise.experiments.papers.gao.methods import METHODS
from noisewise.experiments.papers.gao.tables import SMALL

CHECKED = ["rnn", "ir-ksvm-tuned", "ld-ksvm-tuned"]  # what the check has means of


@named("gao.checked")
def checked(cell: Cell) -> dict[str, Any]:
    """Test accuracy of one method on a set as the check had it."""
    data = check_split(cell)
    model = METHODS[cell["method"]](data).fit(data.train, data.observed)
    return {"accuracy": float(model.score(data.test, data.targets))}


def check_split(cell: Cell) -> Split:
    """One fold of four, all columns in [-1, 1] and all classes, which are put into two groups anew in each repeat."""
    from sklearn.model_selection import StratifiedKFold
    from sklearn.preprocessing import MinMaxScaler

    X, labels = load_once(cell["dataset"])
    rng = np.random.default_rng([cell["repeat"], *cell["dataset"].encode()])
    y = in_two(labels, rng)
    X = np.asarray(MinMaxScaler((-1, 1)).fit_transform(X))
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=int(rng.integers(2**31)))
    train, test = next(iter(folds.split(X, y)))
    draws = np.random.default_rng(cell.seed("dataset", "noise", "repeat"))
    train, noise = draws.permutation(train)[: cell["rows"]], noise_of(cell["noise"])
    return Split(X[train], noise.corrupt(y[train], draws), y[train], X[test], y[test], noise)


def means(rows: Rows, printed: Printed) -> list[Block]:
    """Verified means over the ten smaller sets beside ours on the same sets."""
    known = printed["verified"]["table-2 means over ten sets"]
    entries = []
    for method in CHECKED:
        for index, noise in enumerate(NOISES):
            cells = [rows.where(dataset=name, noise=noise, method=method) for name in SMALL]
            found = [mean for mean in (cell.mean("accuracy") for cell in cells) if mean is not None]
            whole = len(found) == len(SMALL)
            entries.append(
                Entry(
                    (method, str(noise)),
                    ours=float(np.mean(found)) if whole else None,
                    verified=known[method][index],
                    tolerance=known["tolerance"],
                    reason=UNEXPLAINED if whole else "needs all ten sets",
                    runs=sum(map(len, cells)),
                )
            )
    title = "Mean over the ten smaller sets with the check's columns and classes"
    return [Comparison(title, ["method", "noise"], entries)]
