"""Expected cost of a fit of the default learners, told before it begins."""

from __future__ import annotations

import logging

import numpy as np

from noisewise.labels.ridge.pooled_fit import FIT_ROWS
from noisewise.labels.trees.soft_forest import rows_of_tree

LONG = 60.0  # seconds from which the expected time is logged
# CPU seconds, measured at 2,000 to 10,000 rows: of a row in a split, predicted by a tree, and in the ridge.
SPLIT_SECONDS, WALK_SECONDS, RIDGE_SECONDS = 5e-8, 2e-7, 2e-4
CLASSES = 25  # so many more classes take as long again: trees compare all of them at every split


def expected_seconds(n_rows: int, n_columns: int, n_classes: int, n_trees: int) -> float:
    """Seconds on one core that two forests and two ridges take, most of the time; to within a factor of two or three.

    >>> [round(expected_seconds(n, 10, 2, 200)) for n in (10_000, 100_000, 1_000_000)]
    [14, 131, 401]
    """
    grown = rows_of_tree(n_rows, n_columns, n_classes, n_trees)
    of_tree = SPLIT_SECONDS * grown * np.log2(grown) * np.sqrt(n_columns) + WALK_SECONDS * n_rows
    return float(2 * (n_trees * of_tree + RIDGE_SECONDS * min(n_rows, FIT_ROWS)) * (1 + n_classes / CLASSES))


def announce(n_rows: int, n_columns: int, n_classes: int, n_trees: int, n_jobs: int | None) -> None:
    """Log the expected time where it is long."""
    seconds = expected_seconds(n_rows, n_columns, n_classes, n_trees)
    if seconds > LONG:
        grown, fitted = rows_of_tree(n_rows, n_columns, n_classes, n_trees), min(n_rows, FIT_ROWS)
        shared = "" if n_jobs else "; n_jobs=-1 grows trees on all cores"
        logging.getLogger("noisewise").warning(
            f"{n_rows:,} rows, {n_columns:,} columns and {n_classes} classes: the fit takes about {seconds / 60:.0f} "
            f"minutes of one core. Each tree grows on {grown:,} rows, the ridge is fitted to {fitted:,}{shared}"
        )
