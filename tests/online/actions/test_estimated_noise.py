"""Noise of rewards estimated by person, while learning."""

import numpy as np
import pandas as pd
import pytest

from noisewise import GaussianNoise, load, save
from noisewise.online import ContextualBandit
from refusals import assert_refused

RATES = {"careful": (0.05, 0.05), "random": (0.5, 0.5), "contrary": (0.9, 0.9), "generous": (0.45, 0.05)}
ACTIONS = [{"x": 1.0, "y": 0.0}, {"x": 0.0, "y": 1.0}, {"x": 1.0, "y": 1.0}]


def log(n, seed=0, people=("careful", "careful", "careful", "random", "contrary", "generous")):
    """Contexts, played actions, observed rewards and people; an action is liked if its x is 1 at noon, its y else."""
    rng = np.random.default_rng(seed)
    contexts, played, rewards, who = [], [], [], []
    for _ in range(n):
        time, action, person = rng.choice(["noon", "night"]), ACTIONS[rng.integers(3)], str(rng.choice(people))
        truth = rng.random() < (0.9 if action["x" if time == "noon" else "y"] else 0.1)
        rho0, rho1 = RATES[person]
        contexts.append({"time": str(time)})
        played.append(action)
        rewards.append(float(rng.random() >= rho1) if truth else float(rng.random() < rho0))
        who.append(person)
    return contexts, played, rewards, who


@pytest.fixture(scope="module")
def estimated():
    contexts, played, rewards, who = log(4000)
    return ContextualBandit(noise="estimate", random_state=0).learn_logged(contexts, played, rewards, people=who)


def test_signals_of_people_are_those_relative_to_all(estimated):
    report = estimated.report()
    signal = dict(zip(report["person"], report["signal"]))
    mean = np.mean([0.9, 0.9, 0.9, 0.0, -0.8, 0.5])
    for person, true in {"careful": 0.9, "random": 0.0, "contrary": -0.8, "generous": 0.5}.items():
        # five standard errors of a slope of yes and no on predictions that spread by about mean * .38
        assert signal[person] == pytest.approx(true / mean, abs=5 * 0.5 / (mean * 0.38 * np.sqrt(600)))
    assert report["rounds"].sum() == 4000


def test_estimated_noise_makes_scores_follow_the_truth_more_closely():
    """The part of the scores' variance that the true probabilities leave unexplained, mean of logs."""
    truth, unexplained = [0.9, 0.1, 0.9, 0.1, 0.9, 0.9], []
    for noise in ("estimate", None):
        parts = []
        for seed in range(6):
            contexts, played, rewards, who = log(1500, seed, ("careful", "careful", "contrary", "random"))
            bandit = ContextualBandit(noise=noise).learn_logged(contexts, played, rewards, people=who)
            scores = np.concatenate([bandit.predict({"time": time}, ACTIONS) for time in ("noon", "night")])
            parts.append(1 - np.corrcoef(scores, truth)[0, 1] ** 2)
        unexplained.append(np.mean(parts))
    assert unexplained[0] < unexplained[1] / 3


def test_a_log_is_learnt_as_live_and_goes_on_after_it_was_saved(tmp_path):
    contexts, played, rewards, who = log(400)
    index = range(400, 0, -1)  # rows of frames are taken by their order, whatever their names
    given = pd.Series(rewards, index=index), pd.Series(who, index=index)
    logged = ContextualBandit(noise="estimate").learn_logged(contexts, played, given[0], people=given[1])
    live = ContextualBandit(noise="estimate")
    for number in range(400):
        if number == 300:
            save(live, tmp_path / "bandit.nw")
            live = load(tmp_path / "bandit.nw")
        decision = live.decide(contexts[number], [played[number]])
        live.learn(decision, rewards[number], person=who[number])
    scores = [one.predict({"time": "noon"}, ACTIONS) for one in (logged, live)]
    np.testing.assert_allclose(*scores, atol=1e-8)


def test_groups_may_be_actions_or_their_features():
    contexts, played, rewards, _ = log(300)
    kinds = [{**action, "kind": "a" if number % 2 else "b"} for number, action in enumerate(played)]
    by_kind = ContextualBandit(noise="estimate", noise_by="kind").learn_logged(contexts, kinds, rewards)
    assert sorted(by_kind.report()["kind"]) == ["a", "b"]


def test_there_is_no_report_without_estimates():
    for bandit in (ContextualBandit(), ContextualBandit(noise="estimate")):
        assert_refused(bandit, bandit.report, "there are no estimates of the noise")
    assert_refused(
        ContextualBandit(noise="guess"), lambda: ContextualBandit(noise="guess").decide({}, [{}]), "estimate"
    )


def measured(n, seed=0):
    """A log of sensors: rewards with additive noise, of which one sensor has far more."""
    rng = np.random.default_rng(seed)
    stds = {"good": 0.05, "fair": 0.2, "bad": 2.0}
    who = rng.choice(list(stds), n).tolist()
    weights, rows = np.array([0.2, -0.1, 0.15]), rng.normal(size=(n, 3))
    rewards = 0.5 + rows @ weights + rng.normal(size=n) * [stds[person] for person in who]
    return np.ones((n, 1)), rows, rewards, who


def test_variances_of_additive_noise_are_found_and_rounds_count_by_them(tmp_path):
    contexts, rows, rewards, who = measured(3000)
    bandit = ContextualBandit(noise="additive", random_state=0)
    bandit.learn_logged(contexts, rows, rewards, people=who)
    report = bandit.report().set_index("person")
    for person, std in {"fair": 0.2, "bad": 2.0}.items():
        # five standard errors of a variance of normal noise, and what little the prediction adds
        assert report["variance"][person] == pytest.approx(std**2, rel=5 * np.sqrt(2 / 900) + 0.05)
    assert report["weight"]["good"] > 2 * report["weight"]["fair"] > 50 * report["weight"]["bad"]
    save(bandit, tmp_path / "bandit.nw")
    again = load(tmp_path / "bandit.nw").report().set_index("person")
    pd.testing.assert_frame_equal(again, report)


def test_estimated_variances_serve_nearly_as_well_as_known_ones():
    known = {"good": GaussianNoise(0.05**2), "fair": GaussianNoise(0.2**2), "bad": GaussianNoise(4.0)}
    errors = {}
    for name, noise in {"estimated": "additive", "known": known, "alike": GaussianNoise(1.0)}.items():
        found = []
        for seed in range(5):
            contexts, rows, rewards, who = measured(1500, seed)
            bandit = ContextualBandit(noise=noise, random_state=0).learn_logged(contexts, rows, rewards, people=who)
            found.append(bandit.predict([1.0], np.eye(3)) - bandit.predict([1.0], np.zeros((1, 3))))
        errors[name] = np.mean(np.square(np.array(found) - [0.2, -0.1, 0.15]))
    assert errors["estimated"] < 0.2 * errors["alike"]
    assert errors["estimated"] < 3 * errors["known"]


def test_rewards_with_additive_noise_may_lie_outside_their_interval():
    bandit = ContextualBandit(noise="additive", random_state=0)
    bandit.learn(bandit.decide({}, ACTIONS), -0.7, person="bad")
    assert bandit.n_rounds_ == 1
    decision = bandit.decide({}, ACTIONS)
    assert_refused(bandit, lambda: bandit.learn(decision, float("inf"), person="bad"), "the reward is inf")
