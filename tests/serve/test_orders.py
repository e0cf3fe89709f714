"""Decisions, feedback and restarts in any order: the service always agrees with a plain record of them."""

import asyncio
import shutil
import tempfile

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from noisewise.online.recipes import linucb
from noisewise.serve import Settings, Store, replay
from noisewise.serve.models.ranking import next_uniform
from noisewise.serve.models.service import NotFound, Service
from serve_app import make, situation

values = st.floats(-2, 2).map(lambda value: round(value, 3))
rows = st.lists(values, min_size=4, max_size=4)


class Orders(RuleBasedStateMachine):
    """The service beside a learner of the library and a record of decisions and feedback."""

    def __init__(self):
        super().__init__()
        self.folder = tempfile.mkdtemp()
        self.url = f"sqlite:///{self.folder}/log.db"
        self.runner = asyncio.Runner()
        self.library = linucb(classes=["a", "b", "c"], exploration=0.3, random_state=0)
        self.library._start(4, float)
        self.made, self.given = {}, {}
        self._open()

    def _open(self):
        async def opening():
            self.service = Service(Settings(self.url))
            self.service.start(asyncio.get_running_loop())
            self.model = await make(self.service, exploration=0.3)

        self.runner.run(opening())

    @rule(x=rows, named=st.booleans())
    def decide(self, x, named):
        name = f"decision {len(self.made)}".replace(" ", "-") if named else None
        made = self.runner.run(self.service.decide(self.model, situation(x, decision_id=name)))
        known = self.library.decide(x)
        assert (made.code, made.probability, made.number) == (known.code, known.probability, known.id)
        self.made[made.decision_id] = (made, known)

    @precondition(lambda self: self.made)
    @rule(data=st.data(), x=rows)
    def repeat_request(self, data, x):
        name = data.draw(st.sampled_from(sorted(self.made)))
        again = self.runner.run(self.service.decide(self.model, situation(x, decision_id=name)))
        assert again == self.made[name][0]
        next_uniform(self.library.rng_state_)  # its draw is used all the same

    @precondition(lambda self: self.made)
    @rule(data=st.data(), right=st.sampled_from([True, False, None]))
    def give_feedback(self, data, right):
        name = data.draw(st.sampled_from(sorted(self.made)))
        outcome = self.runner.run(self.service.feedback(self.model, name, right))
        if name in self.given and (right is None or self.given[name] is not None):  # missing feedback leaves it open
            assert (outcome.status, outcome.event.right) == ("duplicate", self.given[name])
        else:
            assert outcome.status == "accepted"
            self.given[name] = right
            self.library.learn(self.made[name][1], right)

    @rule()
    def give_feedback_on_nothing(self):
        with pytest.raises(NotFound):
            self.runner.run(self.service.feedback(self.model, "never-made", True))

    @rule()
    def restart(self):
        self.runner.run(self.service.close())
        self.library.rng_state_[:] = self.model.learner.rng_state_  # draws that were not logged are drawn again
        self._open()

    @invariant()
    def counts_agree(self):
        progress, present = self.model.progress, [right for right in self.given.values() if right is not None]
        assert (progress.n_decisions, progress.n_feedback, progress.n_right) == (
            len(self.made),
            len(present),
            sum(present),
        )
        assert (self.model.learner.table_ == self.library.table_).all()

    def teardown(self):
        live = self.model.model_file()
        self.runner.run(self.service.close())
        self.runner.close()
        store = Store(self.url)
        assert replay(store, "m").model_file() == live
        store.close()
        shutil.rmtree(self.folder)


quick = {"deadline": None, "database": None, "derandomize": True, "suppress_health_check": list(HealthCheck)}
TestOrders = Orders.TestCase
TestOrders.settings = settings(max_examples=4, stateful_step_count=20, **quick)


@pytest.mark.slow
class TestManyOrders(Orders.TestCase):
    settings = settings(max_examples=60, stateful_step_count=50, **quick)
