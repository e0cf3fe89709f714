"""What happens to a model between its creation and its end: changes, versions, import, retention, erasure, deletion."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from noisewise.serve.log import lifecycle as rows
from noisewise.serve.log.events import change_event
from noisewise.serve.log.group_commit import Entry
from noisewise.serve.models.changes import SpecChange, changed_spec
from noisewise.serve.models.model import ServedModel, read_state, state_as_bytes
from noisewise.serve.models.offer_spec import stored_spec
from noisewise.serve.models.retention import AUTOMATIC, store_version
from noisewise.serve.models.service import Conflict, Service

BY_HAND = "by hand"
APPLY_TIMEOUT = 600.0  # seconds for a change to be applied: a replay of a long log


async def update(service: Service, model: ServedModel, change: SpecChange) -> None:
    """Change some fields of a specification, from now on."""
    given = change.given()
    changed_spec(model.spec, given)  # refuse what can't be combined before it is written
    await _write(service, model, {"set": given})


async def reset(service: Service, model: ServedModel) -> None:
    """Let a model forget all it has learnt; a version of it is stored first."""
    await save_version(service, model, "before a reset")
    await _write(service, model, {"reset": True})


async def roll_back(service: Service, model: ServedModel, position: int) -> None:
    """Let a model go on from the state that it had at a position of the log."""
    base = await asyncio.to_thread(service.store.base, model.id)
    if not (base.position if base else 0) <= position <= model.position:
        first = base.position if base else 0
        raise ValueError(f"position {position} is not in the log, which has {first} to {model.position}")
    await save_version(service, model, "before going back")
    await _write(service, model, {"restored": position})


async def save_version(service: Service, model: ServedModel, note: str = BY_HAND) -> int:
    """Store the present state as a version; its position."""
    return await asyncio.to_thread(store_version, service.store, model, note)


async def import_model(service: Service, name: str, data: bytes) -> ServedModel:
    """A model that goes on from the exported state of another one; an existing one must have its specification."""
    try:
        state = await asyncio.to_thread(read_state, data)
        spec = stored_spec(state["spec"])
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"this is no exported model ({error}); GET /models/NAME/state gives one") from None
    if name in service.models:
        model = await service.model(name)
        fixed = set(type(spec).model_fields) - set(SpecChange.model_fields)
        if type(model.spec) is not type(spec) or model.spec.model_dump(include=fixed) != spec.model_dump(include=fixed):
            raise Conflict(f"model {name!r} has another specification; import it under another name")
    else:
        model, _ = await service.create(name, spec)

    def at(position: int, next_number: int) -> bytes:
        learner = state["learner"]
        learner.n_decisions_, learner.learnt_ = next_number, np.zeros(0, dtype=np.uint8)
        return state_as_bytes(learner, state["progress"], position, spec)

    await _rewrite(service, lambda: rows.import_state(service.store, model.id, at, "imported"))
    return model


async def erase_person(service: Service, model: ServedModel, person: str, forget_base: bool) -> int:
    """Remove the feedback of a person from the log and from what the model has learnt; how many rows."""
    if not forget_base and await asyncio.to_thread(service.store.base, model.id) is not None:
        raise Conflict(
            "part of the log has been removed, and what is left of it in the model can't be told apart: "
            "with forget_base=true the model is rebuilt from the log that is left"
        )
    return int(await _rewrite(service, lambda: rows.erase_person(service.store, model.id, person)))


async def remove_log(service: Service, model: ServedModel) -> int:
    """Remove the log of a model, which goes on from its present state; how many rows."""
    position = await save_version(service, model, AUTOMATIC)
    return int(await _rewrite(service, lambda: rows.remove_before(service.store, model.id, position, time.time())))


async def delete(service: Service, model: ServedModel) -> None:
    """Delete a model with its log."""
    await _rewrite(service, lambda: rows.delete_model(service.store, model.id))


async def _write(service: Service, model: ServedModel, change: dict[str, Any]) -> None:
    """Write a change to the log, and wait until it has been applied here."""
    outcome = await service.committer.submit(Entry(change_event(model.id, change)))
    deadline = time.monotonic() + APPLY_TIMEOUT
    while service.following and model.position < outcome.event.position and time.monotonic() < deadline:
        await asyncio.sleep(0.005)


async def _rewrite(service: Service, act: Callable[[], Any]) -> Any:
    """Change the log itself, and follow it."""

    def acted() -> Any:
        result = act()
        service.follow_now()
        return result

    return await asyncio.to_thread(acted)
