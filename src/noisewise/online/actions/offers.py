"""What is on offer in a round: actions by name, with features in any form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from noisewise.online.actions.feature_rows import as_features

NAME = "id"  # the entry of an action that is its name, and no feature
MOST_ACTIONS = 100_000  # in one round: more are a mistake, as of a whole catalogue


@dataclass(frozen=True)
class Offer:
    """Actions on offer: their names, and their features as an array, a sparse matrix or a list of dicts."""

    names: list[Any]
    features: Any

    def __len__(self) -> int:
        return len(self.names)

    def without(self, position: int) -> Offer:
        """The offer without one action."""
        kept = [index for index in range(len(self)) if index != position]
        return Offer([self.names[index] for index in kept], take_rows(self.features, np.array(kept, dtype=np.intp)))

    def groups(self, noise_by: str) -> list[Any]:
        """What the noise of each action's reward depends on: its name, or one of its features."""
        if noise_by == "action":
            return self.names
        if not isinstance(self.features, list) or any(noise_by not in record for record in self.features):
            raise ValueError(f"an action has no feature {noise_by!r}, by which the noise of its reward is known")
        return [record[noise_by] for record in self.features]


def as_offer(actions: Any, names: Sequence[Any] | None = None) -> Offer:
    """Actions in any form.

    >>> as_offer({"tart": {"taste": "sweet"}, "pasta": {"taste": "salty"}}).names
    ['tart', 'pasta']
    >>> as_offer([{"id": "tart", "taste": "sweet"}]).features
    [{'taste': 'sweet'}]
    """
    if isinstance(actions, Mapping):
        if names is None:
            names = list(actions)
        actions = list(actions.values())
    if names is None and getattr(getattr(actions, "index", None), "name", None) == NAME:
        names = list(actions.index)  # of a frame
    features = as_features(actions, "action")
    n_actions = len(features) if isinstance(features, list) else features.shape[0]
    if not n_actions:
        raise ValueError("there are no actions; at least one must be on offer")
    if n_actions > MOST_ACTIONS:
        raise ValueError(f"there are {n_actions:,} actions; at most {MOST_ACTIONS:,} can be on offer in a round")
    if isinstance(features, list) and all(NAME in one for one in features):
        names = [one[NAME] for one in features] if names is None else names
        features = [{key: value for key, value in one.items() if key != NAME} for one in features]
    if names is None:
        return Offer(list(range(n_actions)), features)
    named = list(getattr(names, "tolist", lambda: names)())
    if len(named) != n_actions:
        raise ValueError(f"there are {len(named)} names for {n_actions} actions")
    if len(set(map(repr, named))) != n_actions:
        raise ValueError(f"two actions have the same name, {_twice(named)!r}")
    return Offer(named, features)


def as_context(context: Any) -> Any:
    """A context in any form as one row: an array or sparse matrix of one row, or a list of one dict."""
    if context is None:
        return [{}]
    if isinstance(context, Mapping):
        return [context]
    if hasattr(context, "index") and hasattr(context, "to_dict"):  # a row of a frame
        context = context.to_dict() if getattr(context, "ndim", 2) == 1 else context
        if isinstance(context, dict):
            return [context]
    if isinstance(context, list) and context and all(isinstance(part, Mapping) for part in context):
        return [{key: value for part in context for key, value in part.items()}]  # as Personalizer's clients send it
    if not sp.issparse(context) and not hasattr(context, "columns"):
        context = np.asarray(context)
        context = context.reshape(1, -1) if context.ndim == 1 else context
    rows = as_features(context, "context")
    n_rows = len(rows) if isinstance(rows, list) else rows.shape[0]
    if n_rows != 1:
        raise ValueError(f"the context has {n_rows} rows; one is needed")
    return rows


def with_context(context: Any, features: Any) -> Any:
    """Features of actions, each with those of its context (one for all, or one for each): a model without products."""
    if isinstance(context, np.ndarray) and isinstance(features, np.ndarray):
        return np.hstack([np.broadcast_to(context, (len(features), context.shape[1])), features])
    shared, records = _named(context), _named(features)
    if len(shared) == 1:
        shared = shared * len(records)  # the list may be the caller's
    return [{**record, "context": one} for record, one in zip(records, shared)]


def n_rows(rows: Any) -> int:
    """How many rows there are in any form of features."""
    return int(rows.shape[0]) if hasattr(rows, "shape") else len(rows)


def take_rows(rows: Any, indices: NDArray[np.intp]) -> Any:
    """Some of the rows, in any form of features."""
    return [rows[index] for index in indices] if isinstance(rows, list) else rows[indices]


def _named(rows: Any) -> list[Any]:
    """Rows as dicts, by the number of the column where they are of an array."""
    if isinstance(rows, list):
        return rows
    dense = rows.toarray() if sp.issparse(rows) else rows
    return [{str(column): value for column, value in enumerate(row)} for row in dense.tolist()]


def _twice(names: list[Any]) -> Any:
    return next(name for index, name in enumerate(names) if name in names[:index])
