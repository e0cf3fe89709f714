"""Threads that share a learner: no round is lost, none is learnt with another's row."""

import sys
import sysconfig
import threading

import numpy as np
import pytest
import scipy.sparse as sp

from noisewise import FlipMatrix
from noisewise.online import recipes

K, D, THREADS, ROUNDS = 4, 12, 8, 250
NOISE = FlipMatrix.binary(0.1, 0.1)
LEARNERS = {
    "linucb": lambda: recipes.linucb(K),
    "linucb_rates": lambda: recipes.linucb(K, rates="action", random_state=0),
    "ucwl": lambda: recipes.ucwl(K),
    "corrected_ucwl": lambda: recipes.corrected_ucwl(K, block=300, random_state=0),
    "banditron": lambda: recipes.banditron(K, gamma=0.2, random_state=0),
    "soba": lambda: recipes.soba(K, gamma=0.2, random_state=0),
}


@pytest.fixture(autouse=True)
def restless_threads():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    y = rng.integers(K, size=THREADS * ROUNDS)
    return np.eye(K, D)[y] + rng.normal(scale=0.3, size=(len(y), D)), y


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python is not free-threaded")
def test_in_a_free_threaded_python_the_threads_of_this_file_run_at_once(rows):
    learner = recipes.linucb(K)  # imports numpy, scipy, scikit-learn and numba: one of them might turn the lock on
    learner.learn(learner.decide(rows[0][0]), 1)
    assert not sys._is_gil_enabled()


def together(work):
    """Run `work` with the number of each thread; whatever one of them raises is raised."""
    errors, ready = [], threading.Barrier(THREADS)

    def run(number):
        ready.wait()
        try:
            work(number)
        except BaseException as error:  # an assertion must not be lost in its thread
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def replayed(learner, order):
    """The same decisions and feedback, learnt again by one thread in the order in which they were learnt."""
    again = learner
    for decision, feedback in order:
        again.learn(decision._replace(maker=None), feedback)
    return again


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("name", LEARNERS)
def test_threads_learn_what_one_thread_would_have_learnt_in_their_order(name, kind, rows):
    X, y = rows
    given = sp.csr_array(X) if kind == "sparse" else X
    learner, learnt = LEARNERS[name](), []
    learner.decide(given[[0]] if kind == "sparse" else given[0])

    def work(number):
        for i in range(number, len(y), THREADS):
            decision = learner.decide(given[[i]] if kind == "sparse" else given[i])
            features = decision.features
            if kind == "dense":
                np.testing.assert_array_equal(features, X[i])
            with order:
                learner.learn(decision, int(decision.action == y[i]))
                learnt.append((decision, int(decision.action == y[i])))

    order = threading.Lock()  # so that the order is known; decisions go on meanwhile
    together(work)
    assert learner.n_rounds_ == len(y) == len(learnt)
    assert sorted(decision.id for decision, _ in learnt) == list(range(1, len(y) + 1))
    alone = LEARNERS[name]()
    alone.decide(given[[0]] if kind == "sparse" else given[0])
    alone.n_decisions_ = len(y) + 1
    replayed(alone, learnt)
    assert alone.table_.tobytes() == learner.table_.tobytes()
    assert alone.sigma_.tobytes() == learner.sigma_.tobytes()


@pytest.mark.parametrize("name", LEARNERS)
def test_a_learner_that_threads_share_learns_as_well_as_in_one(name, rows):
    X, y = rows
    learner = LEARNERS[name]()

    def work(number):
        for i in range(number, len(y), THREADS):
            decision = learner.decide(X[i])
            learner.learn(decision, int(decision.action == y[i]))
            if i % 100 == 0:
                learner.predict(X[:5])

    together(work)
    assert learner.n_rounds_ == learner.n_decisions_ == len(y)
    alone = LEARNERS[name]()
    alone.play(X, y)
    assert np.mean(learner.predict(X) == y) > np.mean(alone.predict(X) == y) - 0.1


@pytest.mark.parametrize("name", ["perceptron", "arow"])
def test_a_classifier_from_labels_learns_every_row_of_every_thread_though_some_are_refused(name, rows):
    X, y = rows
    model = getattr(recipes, name)().partial_fit(X[:1], y[:1], classes=range(K))
    spoilt = np.vstack([X[:200], np.full((1, D), np.nan)])

    def work(number):
        for i in range(number, len(y), THREADS):
            model.partial_fit(X[i : i + 1], y[i : i + 1])
            model.predict(X[:5])
            with pytest.raises(ValueError, match="NaN"):
                model.partial_fit(spoilt, np.zeros(201, dtype=int))

    together(work)
    assert model.n_rounds_ == 1 + len(y)


def test_a_model_file_saved_while_threads_learn_is_of_one_moment(rows, tmp_path):
    pytest.importorskip("safetensors")  # has no wheel for a free-threaded Python yet
    from noisewise import load, save

    X, y = rows
    learner = recipes.linucb(K)
    learner.play(X[:5], y[:5])

    def work(number):
        for i in range(number, len(y), THREADS):
            learner.learn_logged(X[i : i + 1], y[i : i + 1], [1])
            if number == 0 and i % 80 == 0:
                save(learner, tmp_path / "moment.nw")
                kept = load(tmp_path / "moment.nw")
                counted = np.linalg.inv(kept.sigma_)[:, -1, -1] - 1  # rounds of each class, from the intercept
                assert counted.sum() == pytest.approx(kept.n_rounds_, abs=1e-6)

    together(work)
    assert learner.n_rounds_ == len(y) + 5
