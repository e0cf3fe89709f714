"""Models from the store: from their newest snapshot, or from the log alone."""

from __future__ import annotations

import logging

from noisewise.serve.log.lifecycle import version_data
from noisewise.serve.log.store import Store
from noisewise.serve.models.kinds import served_model
from noisewise.serve.models.model import ServedModel
from noisewise.serve.models.offer_spec import stored_spec
from noisewise.serve.models.spec import CommonSpec

log = logging.getLogger("noisewise.serve")


def restored(model: ServedModel, store: Store) -> ServedModel:
    """A model at its newest readable snapshot in the store; at the beginning of its log if there is none."""
    for data in store.snapshots(model.id):
        try:
            model.restore(data)
        except ValueError as error:
            log.warning("a snapshot of model %s can't be read and is skipped: %s", model.name, error)
        else:
            return model
    begin_at_base(model, store)
    return model


def begin_at_base(model: ServedModel, store: Store, upto: int | None = None) -> None:
    """Go to where the log of a model begins: the version that replaces what came before, if there is one."""
    base = store.base(model.id)
    if base is not None:
        if upto is not None and base.position > upto:
            raise ValueError(f"the log before position {base.position} is no longer there; later ones would do")
        model.restore(base.data)


def based(model: ServedModel, store: Store) -> ServedModel:
    """A model of the same specification where its log begins."""
    other = model.anew(model.first_spec)
    begin_at_base(other, store)
    return other


def replay(store: Store, name: str) -> ServedModel:
    """A model rebuilt from the log alone, without snapshots.

    It equals the model that has been learning all the while, bit for bit.
    """
    number, spec = next((number, spec) for number, known, spec in store.models() if known == name)
    return replayed(store, number, name, stored_spec(spec))


def replayed(store: Store, number: int, name: str, spec: CommonSpec, upto: int | None = None) -> ServedModel:
    """A model at a position of its log, rebuilt from the log alone, or from the version that was stored there."""
    model = served_model(number, name, spec)
    stored = None if upto is None else version_data(store, number, upto)
    if stored is not None:
        model.restore(stored)
        return model
    begin_at_base(model, store, upto)
    position = model.position
    while rows := store.read(position, model=number):
        for event, decision in store.with_decisions(rows):
            if upto is not None and event.position > upto:
                return model
            model.apply(event, decision, store, replaying=True)
        position = rows[-1].position
    return model
