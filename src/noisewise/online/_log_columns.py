"""Named features of one round after the other, as the columns of a sparse matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

MOST_COLUMNS = 2**24  # learners keep numbers for each column and class: a stray large number would fill the memory


class NamedRows:
    """Rows of named features, gathered into a sparse matrix."""

    def __init__(self, features: Sequence[str] | int | None) -> None:
        self.given = features
        names = [str(column) for column in range(features)] if isinstance(features, int) else features or []
        self.places = {name: column for column, name in enumerate(names)}
        self.columns: list[int] = []
        self.values: list[float] = []
        self.starts = [0]

    def add(self, features: Mapping[str, float]) -> None:
        """The features of the next round."""
        for name, value in features.items():
            if self.given is not None and name not in self.places:
                raise ValueError(f"round {len(self.starts)}: feature {name!r} is not among the features given")
            self.columns.append(self.places.setdefault(name, len(self.places)))
            self.values.append(value)
        self.starts.append(len(self.columns))

    def matrix(self) -> tuple[Any, list[str] | None]:
        """The rows, and the names of their columns; None where these are numbers."""
        names, columns, width = list(self.places), np.array(self.columns, dtype=np.int64), len(self.places)
        numbered = isinstance(self.given, int)
        if self.given is None and names and all(map(_is_column, names)):
            numbered, places = True, np.array([int(name) for name in names])
            columns, width = places[columns], int(places.max()) + 1
        rows = sp.csr_array((np.array(self.values), columns, self.starts), shape=(len(self.starts) - 1, width))
        return rows, None if numbered else names


def _is_column(name: str) -> bool:
    """Whether a name is the number of a column, and not so large that it must be a name, as of a person or an article.

    >>> _is_column("3"), _is_column("03"), _is_column("999999999999")
    (True, False, False)
    """
    return name.isdecimal() and len(name) < 19 and str(int(name)) == name and int(name) < MOST_COLUMNS
