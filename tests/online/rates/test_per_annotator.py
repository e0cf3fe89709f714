from copy import deepcopy

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from linucb_rounds import digits, two_sides
from noisewise._numerics.ridge import leave_one_out_per_action
from noisewise.online.rates.per_annotator import (
    EARLY,
    SIGNAL,
    PeopleTracker,
    annotator_log_likelihood,
    estimated_prior,
    log_likelihoods,
    posterior_rates,
    probability_right,
    rescaled,
    weighted_targets,
)
from noisewise.online.recipes import linucb

CAREFUL, CARELESS, SPITEFUL, YES, NO = (0.02, 0.02), (0.3, 0.3), (0.8, 0.8), (0.97, 0.03), (0.03, 0.97)
MIXED = [(CAREFUL, 0.5), (CARELESS, 0.25), (SPITEFUL, 0.1), (YES, 0.075), (NO, 0.075)]
ALIKE = [((0.15, 0.15), 1.0)]


def crowd(mix, n_annotators, rng):
    """Rates of each annotator, in proportions as near to the mix as whole annotators allow."""
    kinds, cumulative = np.array([rates for rates, _ in mix]), np.cumsum([fraction for _, fraction in mix])
    indices = np.searchsorted(cumulative, (np.arange(n_annotators) + 0.5) / n_annotators)
    return kinds[rng.permutation(np.minimum(indices, len(mix) - 1))]


def play(rates, n_rounds, rng, tracked=True):
    """LinUCB on digits, with feedback from annotators of whom few are active: greedy error, played error, tracker."""
    X, y = digits()
    inverses, weights = np.tile(np.eye(X.shape[1]), (10, 1, 1)), np.zeros((10, X.shape[1]))
    activity = 1 / np.arange(1, len(rates) + 1)
    annotators = rng.choice(len(rates), size=n_rounds, p=activity / activity.sum())
    rows, uniforms = rng.integers(len(X), size=n_rounds), rng.random(n_rounds)
    tracker, mistakes = PeopleTracker(10), 0
    for row, annotator, u in zip(rows, annotators.tolist(), uniforms):
        x = X[row]
        gains = inverses @ x
        variance, scores = gains @ x, weights @ x
        action = int(np.argmax(scores + np.sqrt(variance)))
        right = action == y[row]
        mistakes += not right
        feedback = int(u >= rates[annotator, 1]) if right else int(u < rates[annotator, 0])
        target, importance = float(feedback), 1.0
        if tracked:
            target, importance = tracker.weigh(x, action, feedback, annotator, scores)
        step = gains[action] / (1 / importance + variance[action])
        weights[action] += (target - scores[action]) * step
        inverses[action] -= np.outer(step, gains[action])
        if tracked and tracker.due:
            fit = tracker.refit()
            inverses, weights = fit.inverses, fit.weights
    greedy = np.mean((X @ weights.T).argmax(axis=1) != y)
    return greedy, mistakes / n_rounds, tracker


def test_the_rates_of_a_mixed_crowd_are_found_while_playing():
    rates = crowd(MIXED, 20, np.random.default_rng(0))
    greedy, _, tracker = play(rates, 5_000, np.random.default_rng(1))
    raw, *_ = play(rates, 5_000, np.random.default_rng(1), tracked=False)
    assert greedy <= 0.06
    assert greedy < raw
    report = tracker.report()
    annotators = np.array(report.people)
    often = report.answers > 100
    assert often.sum() >= 10
    assert np.abs(report.false_positive - rates[annotators, 0])[often].mean() < 0.1
    assert np.abs(report.false_negative - rates[annotators, 1])[often].mean() < 0.06
    spiteful = (rates[annotators, 0] > 0.5) & (rates[annotators, 1] > 0.5)
    assert (report.signal[spiteful & often] < 0).all()


@pytest.mark.slow
def test_a_mixed_crowd_teaches_nearly_as_well_as_a_known_one():
    results = [
        play(crowd(MIXED, 20, np.random.default_rng(seed)), 20_000, np.random.default_rng(10 + seed))[:2]
        for seed in range(4)
    ]
    greedy, played = np.mean(results, axis=0)
    assert greedy <= 0.02
    assert played <= 0.075


@pytest.mark.slow
def test_annotators_alike_cost_next_to_nothing():
    rates = crowd(ALIKE, 20, np.random.default_rng(2))
    greedy, played, _ = play(rates, 20_000, np.random.default_rng(3))
    raw, raw_played, _ = play(rates, 20_000, np.random.default_rng(3), tracked=False)
    assert greedy <= raw + 0.01
    assert played <= raw_played + 0.01


@pytest.mark.slow
def test_five_rounds_tell_the_careless_from_the_careful():
    rates = crowd(MIXED, 200, np.random.default_rng(4))
    *_, tracker = play(rates, 20_000, np.random.default_rng(5))
    log, n = tracker.log, tracker.log.n
    fit = tracker.refit()
    scores, _ = leave_one_out_per_action(fit, log.X, log.actions, log.targets[:n], log.importance[:n])
    annotators, n_annotators = log.annotators[:n], len(tracker.people)
    chosen, counts = np.zeros(n, dtype=bool), np.zeros(n_annotators, dtype=int)
    for t in range(1_000, n):
        if counts[annotators[t]] < 5:
            chosen[t] = True
            counts[annotators[t]] += 1
    p_right = probability_right(scores, log.actions)
    feedback = log.feedback[:n][chosen].astype(float)
    log_likelihood = annotator_log_likelihood(p_right[chosen], feedback, annotators[chosen], n_annotators)
    rho0, rho1 = posterior_rates(log_likelihood, tracker.prior)
    careful = (rates[np.array(tracker.people)] == CAREFUL).all(axis=1)
    enough = counts == 5
    assert roc_auc_score(careful[enough], (1 - rho0 - rho1)[enough]) >= 0.85


@pytest.mark.parametrize(
    "rates", [[(0.15, 0.15)] * 6, [(0.02, 0.02), (0.8, 0.8), (0.3, 0.3), (0.5, 0.5), (0.97, 0.03)]]
)
def test_naming_annotators_does_not_mislead_where_there_are_two_actions(rates):
    (X, y), (others, sides) = two_sides(6000, 0), two_sides(4000, 777)
    who, u = np.random.default_rng(0).integers(len(rates), size=6000), np.random.default_rng(1).random(6000)
    raw, named = linucb(2), linucb(2)
    for i, x in enumerate(X):
        for learner in (raw, named):
            decision = learner.decide(x)
            right = decision.action == y[i]
            feedback = bool(right) != (u[i] < rates[who[i]][int(right)])
            learner.learn(decision, feedback, person=int(who[i]) if learner is named else None)
    assert np.mean(named.predict(others) != sides) < np.mean(raw.predict(others) != sides) + 0.01
    report = named.report("pandas").sort_values("person")
    inside = [
        (report[f"{name}_low"] - 0.04 <= true) & (true <= report[f"{name}_high"] + 0.04)  # a step of the grid
        for name, true in zip(("false_positive", "false_negative"), np.array(rates).T)
    ]
    assert np.mean(inside) >= 0.9


def test_an_annotator_without_a_name_is_refused():
    learner = linucb(2)
    for nobody in (np.nan, np.datetime64("NaT")):
        decision = learner.decide([1.0, 0.0])
        with pytest.raises(ValueError, match="name who gave the feedback"):
            learner.learn(decision, 1, person=nobody)
    assert learner.n_rounds_ == 0


def test_the_binned_log_likelihood_is_that_of_the_rounds():
    rng = np.random.default_rng(6)
    p_right, feedback, annotators = (
        rng.uniform(0.05, 0.95, 300),
        rng.integers(2, size=300).astype(float),
        np.arange(300) % 3,
    )
    log_likelihood = annotator_log_likelihood(p_right, feedback, annotators, 3)
    slow = np.zeros_like(log_likelihood)
    for t in range(300):
        slow[annotators[t]] += log_likelihoods(p_right[t : t + 1])[int(feedback[t]), 0]
    assert log_likelihood == pytest.approx(slow, rel=0.01, abs=0.2)


def test_posterior_finds_an_annotators_rates():
    rng = np.random.default_rng(7)
    right = rng.random(4_000) < 0.6
    p_right = np.where(right, 0.999, 0.001)
    feedback = np.where(right, rng.random(4_000) >= 0.3, rng.random(4_000) < 0.5).astype(float)
    log_likelihood = annotator_log_likelihood(p_right, feedback, np.zeros(4_000, dtype=np.intp), 1)
    rho0, rho1 = posterior_rates(log_likelihood, estimated_prior(log_likelihood))
    assert rho0[0] == pytest.approx(0.5, abs=0.06)  # the grid's step is 0.07
    assert rho1[0] == pytest.approx(0.3, abs=0.06)


def test_prior_learns_the_kinds_of_annotators():
    rng = np.random.default_rng(8)
    annotators = np.repeat(np.arange(60), 40)
    right = rng.random(len(annotators)) < 0.6
    spiteful = annotators >= 30
    feedback = (right ^ spiteful).astype(float)
    log_likelihood = annotator_log_likelihood(np.where(right, 0.99, 0.01), feedback, annotators, 60)
    prior = estimated_prior(log_likelihood)
    assert prior[SIGNAL > 0.5].sum() == pytest.approx(0.5, abs=0.1)
    assert prior[SIGNAL < -0.5].sum() == pytest.approx(0.5, abs=0.1)


def test_targets_are_unbiased_and_weights_follow_information():
    wrong, right = np.array([0.1, 0.8]), np.array([0.2, 0.7])
    p_right = np.array([0.5, 0.5])
    yes, _ = weighted_targets(np.ones(2), p_right, wrong, right)
    no, _ = weighted_targets(np.zeros(2), p_right, wrong, right)
    assert yes * (1 - right) + no * right == pytest.approx([1, 1])
    assert yes * wrong + no * (1 - wrong) == pytest.approx([0, 0])
    kinds = np.array([CAREFUL, CARELESS, (0.5, 0.5)])
    _, weights = weighted_targets(np.ones(3), np.full(3, 0.5), kinds[:, 0], kinds[:, 1])
    assert weights[0] > 5 * weights[1] > 0
    assert weights[2] < 1e-4


def test_raw_scores_are_rescaled_to_zero_and_one():
    scores = np.array([[0.2, 0.2, 0.6], [0.6, 0.2, 0.2], [0.2, 0.6, 0.2]])
    assert rescaled(scores) == pytest.approx(np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0]]))


def test_first_rounds_count_as_they_are_and_annotators_have_any_names():
    tracker = PeopleTracker(3, first=5)
    for t, person in enumerate(["ann", ("bob", 1), None, "ann"]):
        assert tracker.weigh([1.0, 0.0], t % 3, 1, person, [0.1, 0.2, 0.3]) == (1.0, 1.0)
    assert not tracker.due
    report = tracker.report()
    assert report.columns()["person"] == ["ann", ("bob", 1), None]
    assert report.answers.tolist() == [2, 1, 1]
    assert report.columns()["used"].tolist() == [False] * 3
    tracker.weigh([0.0, 1.0], 0, 0, "ann", [0.1, 0.2, 0.3])
    assert tracker.due
    tracker.refit()
    assert tracker.report().columns()["used"].all()
    with pytest.raises(ValueError, match="no rounds"):
        PeopleTracker(3).refit()


def test_new_annotators_seldom_copy_the_others_and_copies_of_a_tracker_share_nothing():
    tracker, likelihoods = PeopleTracker(3), []
    for person in range(300):
        tracker.weigh([1.0, 0.0], 0, 1, person, [0.1, 0.2, 0.3])
        likelihoods.append(tracker.log_likelihood)  # kept, so that no two can have the same address
    tracker.log_likelihood += 1.0
    assert len({likelihood.ctypes.data for likelihood in likelihoods}) < 10
    other = deepcopy(tracker)
    for one, person in [(tracker, "ann"), (other, "bob"), (tracker, "eve")]:
        one.weigh([1.0, 0.0], 0, 1, person, [0.1, 0.2, 0.3])
    assert tracker.log_likelihood.shape == (302, 196)
    assert other.log_likelihood.shape == (301, 196)
    assert (tracker.log_likelihood[:300] == 1).all()
    assert (tracker.log_likelihood[300:] == 0).all()


def test_an_annotator_without_informative_rounds_may_be_of_any_kind():
    tracker = PeopleTracker(2)
    tracker.weigh([1.0, 0.0], action=0, feedback=1, person="ann", scores=[0.5, 0.1])
    columns = tracker.report().columns()
    assert (columns["false_positive_low"][0], columns["false_positive_high"][0]) == (0, 1)
    assert (columns["identified"].tolist(), columns["reason"]) == ([False], [EARLY])


@pytest.mark.parametrize(("distance", "known"), [(3.0, True), (0.7, False)])
def test_a_report_of_annotators_has_intervals_that_hold_or_says_that_overlap_hides_the_rates(distance, known):
    rng = np.random.default_rng(7)
    rates, y = np.array([[0.05, 0.1], [0.3, 0.2], [0.1, 0.35], [0.2, 0.05]]), rng.integers(4, size=6_000)
    X = np.column_stack([distance * np.eye(4)[y] + rng.normal(size=(6_000, 4)), np.ones(6_000)])
    learner, annotators, uniforms = linucb(4, random_state=0), rng.integers(4, size=6_000), rng.random(6_000)
    for x, true, annotator, u in zip(X / (1 + distance), y, annotators.tolist(), uniforms):
        decision = learner.decide(x)
        right = decision.action == true
        learner.learn(decision, int(right != (u < rates[annotator, int(right)])), person=annotator)
    report = learner.report("pandas").set_index("person").sort_index()
    assert (report["identified"] == known).all()
    assert (report["reason"] == "").all() == known
    for name, true in zip(("false_positive", "false_negative"), rates.T):
        assert ((report[f"{name}_low"] <= true) & (true <= report[f"{name}_high"])).mean() >= 0.75
        assert report[name].between(report[f"{name}_low"], report[f"{name}_high"]).all()
    assert known or (report["false_negative_low"] == 0).all()


@pytest.mark.parametrize(("rates", "known"), [((0.02, 0.9), False), ((0.2, 0.2), True)])
def test_rates_of_annotators_whose_positive_feedback_is_rare_are_not_identified(rates, known):
    rng = np.random.default_rng(0)
    y = rng.integers(5, size=4_000)
    X = np.eye(5)[y] + rng.normal(scale=0.4, size=(4_000, 5))
    learner = linucb(5, random_state=0)
    for number, (x, true) in enumerate(zip(X, y)):
        decision = learner.decide(x)
        right = decision.action == true
        learner.learn(decision, int(right != (rng.random() < rates[int(right)])), person=number % 4)
    report = learner.report("pandas")
    assert (report["identified"] == known).all()
    assert report["reason"].str.contains("nobody's feedback tells").all() != known
