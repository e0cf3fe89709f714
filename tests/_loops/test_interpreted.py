"""Before its loops are compiled a learner decides and learns in Python, with the same bits."""

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from noisewise._loops import interpreted as meanwhile
from noisewise._loops import rounds
from noisewise._loops.compiled import COMPILES, COMPILING, may_be_cached
from noisewise._loops.interpreted import ONE_ROW, interpreted
from noisewise.online import recipes
from noisewise.online.learners import base

pytestmark = pytest.mark.skipif(not COMPILING, reason="compilation is off")
LEARNERS = [recipes.rcnbf, recipes.corrected_ucwl, recipes.linucb, recipes.soba, recipes.bandit_pa]
FIRST_ROUNDS = """
import threading, numpy as np
from noisewise.online.learners.base import loops
from noisewise.online.recipes import linucb
learner = linucb(n_classes=3, random_state=0)
for number in range(3):
    decision = learner.decide(np.arange(4.0) + number)
    learner.learn(decision, feedback=number % 2)
print("compiling" if threading.active_count() > 1 else "compiled", type(decision.probability).__name__)
"""


class InPython:
    """The loops, those for one row in Python."""

    def __getattr__(self, name):
        def run(*arguments):
            with np.errstate(all="ignore"):
                return interpreted(getattr(rounds, name))(*arguments)

        return run if name in ONE_ROW else getattr(rounds, name)


def rounds_of(make, rows):
    """Actions and weights after rounds whose feedback comes at once, or late."""
    learner = make(5, random_state=1)
    actions = []
    for number in range(0, 12, 2):
        late, at_once = learner.decide(rows[[number]]), learner.decide(rows[[number + 1]])
        learner.learn(at_once, feedback=number % 3 > 0).learn(late, feedback=1)
        actions += [late.action, at_once.action]
    return actions, [part.tobytes() for part in (learner.table_, learner.sigma_, learner.rng_state_)]


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("make", LEARNERS, ids=lambda make: make.__name__)
def test_rounds_in_python_have_the_bits_of_compiled_ones(make, dtype, sparse, monkeypatch):
    rows = np.random.default_rng(0).normal(size=(12, 9)).astype(dtype)
    rows[:, ::3] = 0
    rows = sp.csr_array(rows) if sparse else rows
    compiled = rounds_of(make, rows)
    monkeypatch.setattr(base, "loops", InPython)
    monkeypatch.setattr("noisewise.online.learners.bandit.loops", InPython)
    assert rounds_of(make, rows) == compiled


def first_rounds(cache):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    return subprocess.run([sys.executable, "-c", FIRST_ROUNDS], capture_output=True, text=True, env=environment)


def test_the_first_round_does_not_wait_for_the_compiler(monkeypatch):
    starts, loops = [], meanwhile.all_loops()
    monkeypatch.setattr(meanwhile, "may_be_cached", lambda loop: False)
    monkeypatch.setattr(meanwhile._UntilCompiled, "_start", lambda loop: starts.append(loop.name))
    monkeypatch.setattr(base, "loops", lambda: loops)
    monkeypatch.setattr("noisewise.online.learners.bandit.loops", base.loops)
    learner = recipes.linucb(3, random_state=0)
    for _ in range(2):
        decision = learner.decide(np.ones(4))
    learner.learn(decision, feedback=1)
    assert starts == ["decide_dense", "learn_scored"]


def test_what_was_compiled_before_is_looked_for_on_the_disk(monkeypatch, tmp_path):
    files = rounds.decide_dense._cache._cache_file
    monkeypatch.setattr(files, "_index_path", str(tmp_path / "index.nbi"))
    assert not may_be_cached(rounds.decide_dense)
    (tmp_path / "index.nbi").touch()
    assert may_be_cached(rounds.decide_dense)
    assert may_be_cached(interpreted(rounds.decide_dense))  # not a loop: nothing is known


@pytest.mark.slow
def test_a_new_environment_decides_while_it_compiles_says_so_once_and_is_then_ready(tmp_path):
    new, known = first_rounds(tmp_path), first_rounds(tmp_path)
    assert (new.stdout.split(), new.stderr.split("\n")) == (["compiling", "float"], [COMPILES, ""])
    assert (known.stdout.split(), known.stderr) == (["compiled", "float"], "")
