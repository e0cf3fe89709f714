"""Threads that share a contextual bandit: no round is lost, none is learnt twice."""

import threading

import numpy as np

from noisewise.online import ContextualBandit

THREADS, ROUNDS = 6, 60


def test_every_round_of_every_thread_is_learnt_once():
    bandit, errors, ids = ContextualBandit(random_state=0), [], []

    def work(number):
        rng = np.random.default_rng(number)
        try:
            for round_number in range(ROUNDS):
                actions = [{"price": float(rng.random()), "from": f"thread {number}"} for _ in range(3)]
                decision = bandit.decide({f"word {round_number % 7}": 1.0}, actions)
                ids.append(decision.id)
                bandit.learn(decision, float(rng.random()))
        except Exception as error:  # an error must not be lost in its thread
            errors.append(error)

    threads = [threading.Thread(target=work, args=[number]) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert bandit.n_rounds_ == THREADS * ROUNDS
    assert sorted(ids) == list(range(THREADS * ROUNDS))
    assert bandit.model_.contexts[0, 0] == THREADS * ROUNDS  # the constant was in every row
