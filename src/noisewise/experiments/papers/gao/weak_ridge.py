"""Cells of the robust k-NN paper's UE-LLog with hardly a ridge, the form that print seems to have."""

from __future__ import annotations

from typing import Any

from noisewise.experiments.harness.spec import Cell, named
from noisewise.experiments.papers.gao.folds import split

WEAK = 10.0  # C; four-fold cross-validation on observed labels prefers 0.01 to 1


@named("gao.weak_ridge")
def weak_ridge(cell: Cell) -> dict[str, Any]:
    """Test accuracy of logistic regression by the unbiased loss with a weak ridge."""
    from noisewise.labels import UnbiasedLogisticRegression

    data = split(cell)
    model = UnbiasedLogisticRegression(data.noise, C=WEAK).fit(data.train, data.observed)
    return {"accuracy": float(model.score(data.test, data.targets))}
