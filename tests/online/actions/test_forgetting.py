"""Memory in time: rounds count by their age, whatever their order."""

from datetime import UTC, datetime, timedelta
from math import exp, log

import numpy as np
import pytest

from noisewise import load, save
from noisewise.online import ContextualBandit

ACTIONS = [{"id": "a", "kind": "x"}, {"id": "b", "kind": "y"}]
OTHERS = [{}, {"covariance": "diagonal"}]
CONTEXT = {"c": 1.0}


def rounds(n, rng):
    """Context, position of the action, reward and time of rounds at irregular times."""
    times = 1e9 + np.cumsum(rng.exponential(100.0, n))
    return [({"c": float(rng.normal())}, int(rng.integers(2)), float(rng.random()), float(t)) for t in times]


def taught(rounds, memory, **options):
    bandit = ContextualBandit(memory=memory, random_state=0, **options)
    for context, position, reward, time in rounds:
        decision = bandit.decide(context, [ACTIONS[position]])
        bandit.learn(decision, reward, time=time)
    return bandit


@pytest.mark.parametrize("options", OTHERS)
def test_at_equal_steps_time_is_rounds(options, rng):
    memory, step = 20.0, 7.0
    seconds = -step / log(1 - 1 / memory)  # exp(-step / seconds) = 1 - 1 / memory
    told = [
        (context, position, reward, 1e9 + step * n) for n, (context, position, reward, _) in enumerate(rounds(64, rng))
    ]
    by_time, by_rounds = (taught(told, one, **options) for one in (f"{seconds:.12f}s", memory))
    expected = by_rounds.predict(CONTEXT, ACTIONS)
    tolerance = 1e-3 if options else 1e-6  # the prior's weight beside the first round differs, if it is diagonal
    np.testing.assert_allclose(by_time.predict(CONTEXT, ACTIONS), expected, rtol=tolerance)


def test_weights_fall_with_age(rng):
    """Against least squares with a weight for each round, where one action has the constant alone."""
    told = [({}, 0, float(rng.random()), float(t)) for t in 1e9 + np.cumsum(rng.exponential(1000.0, 32))]
    found = taught(told, "1h", ridge=1e-9).predict({}, [ACTIONS[0]]).item()
    weights = np.array([exp(-(told[-1][3] - time) / 3600) for *_, time in told])
    assert found == pytest.approx(np.average([reward for _, _, reward, _ in told], weights=weights), abs=1e-6)


def test_late_rounds_count_as_if_they_had_come_in_order(rng):
    told = rounds(64, rng)
    in_order = taught(told, "1h").predict(CONTEXT, ACTIONS)
    shuffled = [told[n] for n in rng.permutation(64)]
    np.testing.assert_allclose(taught(shuffled, "1h").predict(CONTEXT, ACTIONS), in_order, rtol=1e-6)


@pytest.mark.parametrize("options", [{}, {"noise": "estimate"}])
def test_a_log_with_times_is_learnt_as_round_by_round(options, rng):
    told = rounds(64, rng)
    contexts, positions, rewards, times = zip(*told)
    one_by_one = taught(told, "2h", **options)
    bandit = ContextualBandit(memory="2h", random_state=0, **options)
    bandit.learn_logged(contexts, [{"kind": ACTIONS[k]["kind"]} for k in positions], rewards, times=times)
    np.testing.assert_allclose(bandit.predict(CONTEXT, ACTIONS), one_by_one.predict(CONTEXT, ACTIONS), atol=1e-6)


@pytest.mark.parametrize("options", OTHERS)
def test_what_was_long_ago_is_forgotten(options, rng):
    old = [({}, 0, 1.0, 1e9 + n) for n in range(30)]
    new = [({}, 0, 0.0, 2e9 + n) for n in range(30)]
    assert taught(old, "1d", **options).predict({}, [ACTIONS[0]]).item() > 0.9
    assert taught(old + new, "1d", **options).predict({}, [ACTIONS[0]]).item() < 0.05
    assert taught(old + new, None, **options).predict({}, [ACTIONS[0]]).item() > 0.2
    log = ContextualBandit(memory="1d", random_state=0, **options)
    contexts, positions, rewards, times = zip(*old, *new)
    log.learn_logged(list(contexts), [{"kind": ACTIONS[k]["kind"]} for k in positions], rewards, times=times)
    assert log.predict({}, [ACTIONS[0]]).item() < 0.05


def test_times_may_be_dates_and_now_is_the_default(tmp_path):
    noon = datetime(2026, 5, 1, 12, tzinfo=UTC)
    told = [({}, 0, n % 2, noon + timedelta(hours=n)) for n in range(10)]
    seconds = [(*one, time.timestamp()) for *one, time in told]
    stamps = [(*one, np.datetime64(time.replace(tzinfo=None))) for *one, time in told]
    values = [taught(each, "3h").predict({}, [ACTIONS[0]]).item() for each in (told, seconds, stamps)]
    assert values[0] == values[1] == values[2]
    bandit = ContextualBandit(memory="3h", random_state=0)
    bandit.learn(bandit.decide({}, ACTIONS), 1)
    assert bandit.latest_time_ > noon.timestamp()
    save(bandit, tmp_path / "bandit.nw")
    assert load(tmp_path / "bandit.nw").latest_time_ == bandit.latest_time_


@pytest.mark.parametrize("memory", ["7", "d", "0h", "-1d", "7 days", "1e3s", ""])
def test_other_texts_are_no_memory(memory):
    with pytest.raises(ValueError, match="a time such as '7d'"):
        ContextualBandit(memory=memory).decide({}, ACTIONS)


def test_bad_times_are_refused_and_nothing_is_learnt():
    bandit = ContextualBandit(memory="7d", random_state=0)
    decision = bandit.decide({}, ACTIONS)
    for time in ("noon", float("nan"), np.datetime64("NaT"), [1]):
        with pytest.raises(ValueError, match="the time is"):
            bandit.learn(decision, 1, time=time)
    assert (bandit.n_rounds_, bandit.latest_time_) == (0, None)
    with pytest.raises(ValueError, match="times= is needed"):
        bandit.learn_logged([{}], [ACTIONS[0]], [1])
    with pytest.raises(ValueError, match="1 actions have 2 times"):
        bandit.learn_logged([{}], [ACTIONS[0]], [1], times=[1, 2])
