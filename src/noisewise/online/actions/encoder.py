"""Contexts and offers as rows of the model: the columns of both, shared by all rounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from noisewise.online.actions.feature_rows import Rows
from noisewise.online.actions.features import Checkpoint, FeatureIndex
from noisewise.online.actions.offers import Offer, n_rows, with_context


@dataclass(eq=False)
class PairEncoder:
    """Columns of the features of contexts and actions.

    Without `products`, the features of the context are counted among the action's, so that the model has no products of
    them. With `per_action`, the name of an action is a feature too.
    """

    contexts: FeatureIndex
    actions: FeatureIndex
    products: bool
    per_action: bool

    def checkpoint(self) -> tuple[Checkpoint, Checkpoint]:
        """What `restore` takes back to the present state."""
        return self.contexts.checkpoint(), self.actions.checkpoint()

    def restore(self, checkpoint: tuple[Checkpoint, Checkpoint]) -> None:
        """Forget the features that came after a checkpoint."""
        self.contexts.restore(checkpoint[0])
        self.actions.restore(checkpoint[1])

    def forget_known(self) -> None:
        """Look up all columns anew, after several encodings have been forgotten."""
        self.contexts.forget_known()
        self.actions.forget_known()

    def encode(self, context: Any, offer: Offer, slot: str | None = None) -> tuple[Rows, Rows]:
        """Rows of contexts and of actions; what is refused leaves no trace."""
        before = self.checkpoint()
        try:
            names = [f"action={name}" for name in offer.names] if self.per_action else None
            features = offer.features if self.products else with_context(context, offer.features)
            rows = self.actions.rows(features, names, offer.names if self.products else None)
            slots = None if slot is None else [slot]
            return self.contexts.rows(context if self.products else [{}] * n_rows(context), slots), rows
        except Exception:
            self.restore(before)
            raise
