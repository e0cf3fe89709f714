"""The service without HTTP: models by name, decisions, feedback, and the threads that learn and save."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from noisewise._loops.state import new_rng
from noisewise._words import percent
from noisewise.serve.log.database import reason_of
from noisewise.serve.log.events import ACTIVATION, BY_ANNOTATOR, DECISION, FEEDBACK, REWARD, Event, new_id
from noisewise.serve.log.group_commit import UNKNOWN, Entry, GroupCommit, LogWriter, Outcome
from noisewise.serve.log.locks import LearnerLock
from noisewise.serve.log.store import Store
from noisewise.serve.models.kinds import needed_bytes, warm_up_offers
from noisewise.serve.models.log_applier import LogApplier
from noisewise.serve.models.model import ServedModel
from noisewise.serve.models.offer_spec import stored_spec
from noisewise.serve.models.ranking import rank
from noisewise.serve.models.recipes import new_learner
from noisewise.serve.models.retention import keep_retention
from noisewise.serve.models.spec import CommonSpec, ModelSpec
from noisewise.serve.settings import Settings

EXPIRY_SECONDS = 0.5  # between two looks for decisions whose wait is over
RETENTION_SECONDS = 600.0  # between two looks for rows that need not be kept
POLL_SECONDS = 0.2  # between two reads of what other processes have written
LOCK_TIMEOUT = 15.0  # seconds to wait for the lock of a process that has just died
OWNER = "owner of model "  # begins the name of a note that has the name of a key
COMPILING = "compiling"  # phase of the start that can't be interrupted
log = logging.getLogger("noisewise.serve")


class NotFound(LookupError):
    """There is no model or decision of this name."""


class Conflict(ValueError):
    """A model of this name exists and has another specification."""


class Full(Exception):
    """There is no room for another model."""


class Service:
    """Decisions and feedback through the log; see `Settings` for the roles of a process."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.store = Store(settings.store)
        self.applier = LogApplier(self.store, new_rng if settings.role == "api" else None)
        self.lock = LearnerLock(self.store)
        self.counts: Counter[tuple[str, str]] = Counter()  # (model, status of the feedback)
        self.following = self.learning = False
        self.lost_rows = self.store_errors = 0
        self.models: dict[str, ServedModel] = {}
        alone = settings.role == "all"
        self.committer = GroupCommit(LogWriter(self.store), self._committed, self._failed, alone)
        self.refusal: str | None = None  # why it could not start
        self._phase: str | None = "starting"
        self._rankers = ThreadPoolExecutor(2, "noisewise-ranker")  # for models whose decisions take milliseconds
        self._stop = threading.Event()
        self._follower = threading.Thread(target=self._follow, name="noisewise-follower", daemon=True)

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Read the log and start the threads; blocks until decisions can be made. `activity` tells how far it is."""
        self._phase, began = "opening the store", time.monotonic()
        self.store.create()
        self.lost_rows = self.store.lost_rows()
        if self.lost_rows:
            log.error(
                "the last %d acknowledged rows are not in the log: its write-ahead log was cut short, or %s was copied "
                "without the file that ends in -wal; decisions go on from what is there",
                *(self.lost_rows, self.store.path),
            )
            self.store.acknowledge_all()  # said once
        self._phase = COMPILING
        warm_up()
        if self._stop.is_set():
            return
        self._phase = "waiting for the lock of another process"
        if self.settings.role == "all":
            deadline = time.monotonic() + LOCK_TIMEOUT
            while not self.lock.acquire():
                if time.monotonic() > deadline:
                    raise ValueError("another process learns from this store; start this one with --role api")
                if self._stop.wait(POLL_SECONDS):
                    return
        if self.settings.role != "learner":
            self._start_following()
        if not self._stop.is_set():
            self.committer.start(loop)
            self._follower.start()
            self._phase = None
            log.info("ready after %.1f s, with %d models", time.monotonic() - began, len(self.models))

    @property
    def activity(self) -> str | None:
        """What has to be done before decisions can be made; None when they can."""
        if self.refusal is not None:
            return f"it could not start: {self.refusal}"
        if self._phase == "replaying":
            return f"replaying {percent(self.applier.replayed)}"
        return self._phase

    @property
    def is_compiling(self) -> bool:
        """Whether the start can't be interrupted now."""
        return self._phase == COMPILING

    def stop(self) -> None:
        """End the start, if it has not ended yet, and what goes on in the background."""
        self._stop.set()
        self.applier.stop()

    async def close(self) -> None:
        """Write what is queued, store snapshots, and let another process learn; within seconds.

        What is in the log and has not been learnt from by then is learnt from at the next start.
        """
        self.stop()
        await self.committer.close()
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        self.applier.finish()
        if self._follower.is_alive():
            self._follower.join()
        self._rankers.shutdown()
        self.applier.close()
        if self.learning:
            self.applier.save_snapshots()
        self.lock.release()
        self.store.close()

    async def model(self, name: str) -> ServedModel:
        """A model by its name."""
        found = self.models.get(name)
        if found is None:
            await asyncio.to_thread(self._load_models)
            found = self.models.get(name)
        if found is None:
            raise NotFound(f"there is no model {name!r}; PUT /models/{name} makes one")
        return found

    async def all_models(self) -> list[ServedModel]:
        """All models, in the order they were created."""
        await asyncio.to_thread(self._load_models)
        return sorted(self.models.values(), key=lambda model: model.id)

    async def create(self, name: str, spec: CommonSpec, owner: str | None = None) -> tuple[ServedModel, bool]:
        """Create a model, or return the existing one with the same specification; whether it is new.

        `owner` is the name of the key that creates it.
        """
        known = name in self.models
        needed = await asyncio.to_thread(needed_bytes, spec)  # refuse an impossible one before it is stored
        if not known:
            self._check_room(needed)
            await asyncio.to_thread(self._check_share, owner)
        number, text = await asyncio.to_thread(self.store.add_model, name, spec.model_dump_json())
        if not known and owner is not None:
            await asyncio.to_thread(self.store.keep_note, f"{OWNER}{number}", owner)
        stored = stored_spec(text)
        if stored != spec.model_copy(update={"revision": stored.revision}):  # an earlier model stays what it is
            raise Conflict(f"a different model {name!r} is there already; choose another name")
        return await self.model(name), not known

    def _check_room(self, needed: int) -> None:
        """Refuse a model beyond the limits of their number and of their memory in all."""
        limits, used = self.settings, sum(model.n_bytes for model in self.models.values())
        if len(self.models) >= limits.max_models:
            raise Full(f"--max-models is {limits.max_models}, and as many are there; delete one")
        if used + needed > limits.max_bytes:
            raise Full(
                f"this model needs {needed / 1e6:,.0f} MB, and {used / 1e6:,.0f} of {limits.max_bytes / 1e6:,.0f} "
                'are in use; options {"covariance": "diagonal"}, fewer features or deleting a model would do'
            )

    def _check_share(self, owner: str | None) -> None:
        """Refuse a model beyond the limit of one key."""
        most = self.settings.max_models_per_key
        if owner is not None and most:
            present = {f"{OWNER}{model.id}" for model in self.models.values()}
            owners = [one for name, one in self.store.notes(OWNER).items() if name in present]
            if owners.count(owner) >= most:
                raise Full(f"--max-models-per-key is {most}, and the key {owner!r} has as many; delete one")

    async def decide(self, model: ServedModel, request: Any, active: bool = True) -> Event:
        """Decide, and return when the decision is in the log."""
        question = model.question(request)
        if model.takes_long(question):
            fields = await asyncio.get_running_loop().run_in_executor(self._rankers, _choose, model, question)
        else:
            while not model.lock.acquire(blocking=False):  # it learns; other requests go on meanwhile
                await asyncio.sleep(0.001)  # never held across an await: the event loop takes it too
            try:
                fields = model.choose(question)
            finally:
                model.lock.release()
        name, now = request.decision_id or new_id(), time.time()
        event = Event(0, model.id, DECISION, name, now, active=int(active), **fields)  # numbered by the log writer
        outcome = await self.committer.submit(Entry(event, named=request.decision_id is not None))
        model.decision_rate.count(event.time)
        return outcome.event

    async def feedback(self, model: ServedModel, decision_id: str, given: Any, annotator: str | None = None) -> Outcome:
        """Record feedback on a decision, and return its outcome when it is in the log."""
        fields, now = model.feedback_fields(given, annotator), time.time()
        event = Event(0, model.id, FEEDBACK, decision_id, now, person=annotator, **fields)
        return await self._submit(model, Entry(event, reopens=model.spec.reopens))

    async def reward(self, model: ServedModel, decision_id: str, value: float) -> Outcome:
        """Record a reward of a decision, which may follow later.

        The earliest one counts, as the nearest that the model takes; or all are summed when the wait is over.
        """
        if model.spec.rewards == "sum":
            event = Event(0, model.id, REWARD, decision_id, time.time(), probability=value, source=BY_ANNOTATOR)
            return await self._submit(model, Entry(event))
        event = Event(0, model.id, FEEDBACK, decision_id, time.time(), **model.reward_fields(value))
        return await self._submit(model, Entry(event, reopens=model.spec.reopens, early=True))

    async def activate(self, model: ServedModel, decision_id: str) -> Outcome:
        """Activate a decision with deferred activation."""
        return await self._submit(model, Entry(Event(0, model.id, ACTIVATION, decision_id, time.time())))

    async def decision(self, model: ServedModel, decision_id: str) -> dict[int, Event]:
        """All rows of the log about a decision, by their kind."""
        rows = await asyncio.to_thread(self.store.about, [decision_id])
        found = {row.kind: row for row in rows if row.model == model.id}
        if DECISION not in found:
            raise NotFound(f"model {model.name!r} has made no decision {decision_id!r}")
        return found

    async def _submit(self, model: ServedModel, entry: Entry) -> Outcome:
        outcome = await self.committer.submit(entry)
        self.counts[model.name, outcome.status] += 1
        if outcome.status == UNKNOWN:
            raise NotFound(f"model {model.name!r} has made no decision {entry.event.decision_id!r}")
        return outcome

    def follow_now(self) -> None:
        """Apply what is new in the log, from any thread but the event loop's."""
        if self.following:
            self.applier.catch_up()
            self._index_models()

    def _start_following(self) -> None:
        self._phase = "replaying"
        self.applier.start()
        self._index_models()
        self.following, self.learning = True, self.settings.role != "api"

    def _committed(self, outcomes: list[Outcome]) -> None:
        if self.following:
            try:
                self.applier.committed(outcomes)
            except Exception:
                log.exception("the log could not be followed; trying again")

    def _failed(self, error: Exception) -> None:
        log.error("a batch could not be written: %s", error)
        for model in list(self.models.values()):
            if self.settings.role == "all":
                with model.lock:
                    model.reset_draws()

    def _follow(self) -> None:
        """Follow the log and store snapshots until the process ends, through failures of the store."""
        next_save, next_expiry = time.monotonic() + self.settings.state_seconds, 0.0
        next_retention = time.monotonic() + RETENTION_SECONDS
        said = None  # each reason once, not five times a second
        while not self._stop.wait(POLL_SECONDS):
            try:
                leads = self.settings.role != "api" and self.lock.acquire()
                if leads and not self.following:
                    self._start_following()
                    self._phase = None
                self.follow_now()
                if leads and time.monotonic() >= next_expiry:
                    self.applier.close_expired(self.committer.write_now)
                    next_expiry = time.monotonic() + EXPIRY_SECONDS
                if leads and time.monotonic() >= next_retention:
                    keep_retention(self.store, list(self.models.values()))
                    next_retention = time.monotonic() + RETENTION_SECONDS
                if leads and time.monotonic() >= next_save:
                    began = time.monotonic()
                    self.applier.save_snapshots()
                    spent = time.monotonic() - began
                    next_save = time.monotonic() + max(self.settings.state_seconds, 20 * spent)
                said = None
            except Exception as error:
                self.store_errors += 1
                self.committer.last_error = error  # readiness follows these writes too
                if said != (said := reason_of(error)):
                    log.warning("the store can't be used now: %s; trying again until it can", said)

    def _load_models(self) -> None:
        for number, name, spec in self.store.models():
            self.applier.add(number, name, spec)
        self._index_models()

    def _index_models(self) -> None:
        self.models = {model.name: model for model in list(self.applier.models.values())}


def _choose(model: ServedModel, question: Any) -> dict[str, Any]:
    with model.lock:
        return model.choose(question)


def warm_up() -> None:
    """Load or compile the loops, so that no decision waits for them, nor is made by slower ones meanwhile."""
    from noisewise._loops.interpreted import wait_until_compiled  # which loads numba

    spec = ModelSpec.model_validate({"actions": [0, 1], "features": {"count": 2}})
    learner = new_learner(spec)
    first, second = (learner.decide(np.array([1.0, 0.0])) for _ in range(2))
    learner.learn(second, 1)
    learner.learn(first, 1)  # another loop: its scores are no longer there
    rank(learner, np.array([1.0, 0.0]), None, learner.rng_state_.copy(), most=1)
    wait_until_compiled()
    warm_up_offers()
