import itertools
import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import t as student

from feedback_logs import offered_log
from helpers import assert_unbiased, z_scores
from noisewise import FlipMatrix
from noisewise.online import ContextualBandit
from noisewise.online.logs.feedback_log import FeedbackLog
from noisewise.online.off_policy.value import off_policy_value
from noisewise.online.recipes import linucb

ONE = FlipMatrix.binary(0.1, 0.3)
EACH = [FlipMatrix.binary(0.4, 0.1), FlipMatrix.binary(0.05, 0.5), FlipMatrix.binary(0.0, 0.2)]
P_RIGHT = np.array([[0.9, 0.3, 0.3], [0.2, 0.8, 0.4]])  # by context and action
LOGGING = np.array([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3]])
POLICY = np.array([[0.1, 0.2, 0.7], [0.0, 0.5, 0.5]])


def simulated_log(rng, n_rounds, noise=None, contexts=None):
    """Rounds of two contexts and three actions, and the policy's probabilities in them."""
    context = rng.integers(2, size=n_rounds) if contexts is None else contexts
    actions = (rng.random(n_rounds)[:, None] > np.cumsum(LOGGING[context], axis=1)[:, :2]).sum(axis=1)
    feedback = (rng.random(n_rounds) < P_RIGHT[context, actions]).astype(int)
    each = [noise or FlipMatrix.none(2)] * 3 if not isinstance(noise, list) else noise
    for action, flips in enumerate(each):
        feedback[actions == action] = flips.corrupt(feedback[actions == action], rng)
    log = FeedbackLog(np.eye(2)[context], actions, feedback, LOGGING[context, actions], [0, 1, 2])
    return log, POLICY[context]


TRUE_VALUE = (POLICY * P_RIGHT).sum(axis=1).mean()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("method", ["ips", "dr"])
@pytest.mark.parametrize("noise", [None, ONE, EACH])
def test_the_mean_over_every_possible_log_is_the_value(method, noise):
    each = noise if isinstance(noise, list) else [noise or FlipMatrix.none(2)] * 3
    contexts, mean, total = np.array([0, 1, 0]), 0.0, 0.0
    outcomes = list(itertools.product(range(3), range(2)))
    for rounds in itertools.product(outcomes, repeat=3):
        actions, feedback = np.array(rounds).T
        probability = 1.0
        for context, action, observed in zip(contexts, actions, feedback):
            right = P_RIGHT[context, action]
            probability *= LOGGING[context, action] * (np.array([1 - right, right]) @ each[action].matrix)[observed]
        log = FeedbackLog(np.eye(2)[contexts], actions, feedback, LOGGING[contexts, actions], [0, 1, 2])
        if probability:
            mean += probability * off_policy_value(log, POLICY[contexts], noise, method)
            total += probability
    assert total == pytest.approx(1, abs=1e-12)
    assert mean == pytest.approx((POLICY * P_RIGHT).sum(axis=1)[contexts].mean(), abs=1e-9)


@pytest.mark.parametrize("noise", [None, EACH])
def test_values_are_unbiased_and_intervals_have_their_coverage(noise):
    rng = np.random.default_rng(5)
    logs = [simulated_log(rng, 200, noise) for _ in range(500)]
    for method in ("ips", "snips", "dr"):
        found = [off_policy_value(log, policy, noise, method) for log, policy in logs]
        assert_unbiased(found, TRUE_VALUE)
        assert 0.93 <= np.mean([one.low <= TRUE_VALUE <= one.high for one in found]) <= 0.97


def test_an_interval_is_student_s_for_symmetric_terms_and_corrected_for_skewed_ones():
    even = FeedbackLog(np.ones((30, 1)), [0, 1] * 15, [0, 1, 1, 0, 1, 0] * 5, [0.5] * 30)
    uniform = np.full((30, 2), 0.5)
    for confidence in (0.5, 0.95):
        value = off_policy_value(even, uniform, method="ips", confidence=confidence)
        half_width = student.ppf((1 + confidence) / 2, 29) * even.feedback.std(ddof=1) / np.sqrt(30)
        assert (value.low, value.high) == pytest.approx((0.5 - half_width, 0.5 + half_width))
    leaning = off_policy_value(*simulated_log(np.random.default_rng(11), 300), method="ips")
    assert leaning.high - leaning > leaning - leaning.low


@pytest.mark.parametrize("method", ["ips", "snips", "dr"])
def test_without_correction_the_value_is_rho0_plus_beta_times_it(method):
    rng = np.random.default_rng(6)
    found = [off_policy_value(*simulated_log(rng, 1000, ONE), None, method) for _ in range(100)]
    assert_unbiased(found, 0.1 + 0.6 * TRUE_VALUE)
    assert abs(z_scores(found, TRUE_VALUE)) > 20


def test_the_regression_narrows_the_interval():
    log, policy = simulated_log(np.random.default_rng(7), 20_000)
    widths = {}
    for method in ("ips", "snips", "dr"):
        value = off_policy_value(log, policy, method=method)
        widths[method] = value.high - value.low
        assert value == pytest.approx(TRUE_VALUE, abs=1.5 * widths[method])
    assert widths["dr"] < min(widths["ips"], widths["snips"])


def test_the_log_s_own_policy_is_worth_its_mean_feedback():
    rng = np.random.default_rng(8)
    log, _ = simulated_log(rng, 500)
    contexts = log.X.argmax(axis=1)
    assert off_policy_value(log, LOGGING[contexts], method="ips") == pytest.approx(log.feedback.mean(), abs=1e-12)


def test_labels_probabilities_and_learners_are_the_same_policy():
    rng = np.random.default_rng(9)
    log, _ = simulated_log(rng, 2000)
    learner = linucb(n_classes=3).learn_logged(log.X, log.actions, log.feedback, log.probabilities)
    labels = learner.predict(log.X)
    values = [off_policy_value(log, policy) for policy in (learner, labels, np.eye(3)[labels])]
    assert values[0] == values[1] == values[2]
    sparse = FeedbackLog(sp.csr_array(log.X), log.actions, log.feedback, log.probabilities, log.classes)
    assert off_policy_value(sparse, labels) == pytest.approx(values[0], abs=1e-9)
    named = FeedbackLog(log.X, np.array(list("abc"))[log.actions], log.feedback, log.probabilities, list("abc"))
    assert off_policy_value(named, np.array(list("abc"))[labels]) == values[0]


def test_too_little_support_is_warned_of():
    always = FeedbackLog(np.ones((100, 1)), [0] * 100, [1, 0] * 50, [1.0] * 100, [0, 1])
    with pytest.warns(RuntimeWarning, match="weights average 0.50 instead of 1"):
        off_policy_value(always, [0, 1] * 50, method="ips")
    rare = FeedbackLog(np.ones((100, 1)), [0] * 98 + [1, 1], [1] * 100, [0.98] * 98 + [0.02] * 2, [0, 1])
    with pytest.warns(RuntimeWarning, match="effective sample size is 2 rounds"):
        off_policy_value(rare, [1] * 100)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ValueError, match="never plays what the log played"):
            off_policy_value(always, [1] * 100, method="snips")


WARNED = "instead of 1: the policy looks at the actions that were drawn, or the log's probabilities are not"


@pytest.mark.parametrize("method", ["ips", "snips", "dr"])
def test_weights_that_are_too_large_are_warned_of(method):
    rng = np.random.default_rng(10)
    y, actions = rng.integers(4, size=500), rng.integers(4, size=500)
    log = FeedbackLog(np.eye(4)[y], actions, actions == y, np.full(500, 0.25))
    with pytest.warns(RuntimeWarning, match=f"average 4.00 {WARNED}"):
        off_policy_value(log, log.actions, method=method)
    small = FeedbackLog(log.X, actions, log.feedback, np.full(500, 0.05))
    with pytest.warns(RuntimeWarning, match=WARNED):
        off_policy_value(small, y, method=method)
    off_policy_value(log, y, method=method)  # warnings are errors here


def test_correct_propensities_raise_no_warning():
    messages = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        n, k = rng.choice([3, 30, 300, 3000]), rng.integers(2, 8)
        logging = np.maximum(rng.dirichlet(np.full(k, rng.choice([0.1, 1.0, 5.0])), size=n), 1e-3)
        logging /= logging.sum(axis=1, keepdims=True)
        actions = (rng.random(n)[:, None] > logging.cumsum(axis=1)[:, :-1]).sum(axis=1)
        log = FeedbackLog(np.ones((n, 1)), actions, rng.integers(2, size=n), logging[np.arange(n), actions], range(k))
        policies = [rng.integers(k, size=n), logging.argmax(axis=1), rng.dirichlet(np.ones(k), size=n), logging]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            off_policy_value(log, policies[seed % 4], method="ips")
        messages += [str(one.message) for one in caught]
    assert not [sentence for sentence in messages if WARNED in sentence]


def thinned_log(rng, n_rounds, drop_rates=(0.9, 0.9, 0.5)):
    """A simulated log from which most rounds with negative feedback were dropped."""
    log, policy = simulated_log(rng, n_rounds)
    dropped = np.where(log.feedback, 0.0, np.array(drop_rates)[log.actions])
    kept = rng.random(n_rounds) >= dropped
    parts = [part[kept] for part in (log.X, log.actions, log.feedback, log.probabilities)]
    return FeedbackLog(*parts, log.classes, dropped=dropped[kept]), policy[kept]


@pytest.mark.parametrize("method", ["ips", "snips", "dr"])
def test_rounds_count_for_those_that_were_dropped(method):
    rng = np.random.default_rng(12)
    logs = [thinned_log(rng, 2000) for _ in range(200)]
    found = [off_policy_value(log, policy, method=method) for log, policy in logs]
    assert_unbiased(found, TRUE_VALUE)
    assert np.mean([one.low <= TRUE_VALUE <= one.high for one in found]) >= 0.904  # three deviations below 0.95
    blind = [off_policy_value(replace(log, dropped=None), policy, method=method) for log, policy in logs[:50]]
    assert z_scores(blind, TRUE_VALUE) > 20


@pytest.mark.parametrize("method", ["ips", "snips"])
def test_a_round_that_stands_for_others_is_worth_as_much_as_those_repeated(method):
    log, policy = thinned_log(np.random.default_rng(13), 2000, (0.75, 0.75, 0.75))
    repeated = np.repeat(policy, log.weights.astype(int), axis=0)
    value, as_many = (off_policy_value(*one, method=method) for one in ((log, policy), (log.repeated(), repeated)))
    assert value == pytest.approx(as_many, abs=1e-12)
    assert value.high - value.low > 1.2 * (as_many.high - as_many.low)  # the same round again is no further evidence


@pytest.mark.parametrize("method", ["ips", "snips", "dr"])
def test_dropping_all_rounds_alike_changes_no_value(method):
    log, policy = simulated_log(np.random.default_rng(14), 500)
    value = off_policy_value(log, policy, method=method)
    alike = off_policy_value(replace(log, dropped=np.full(500, 0.8)), policy, method=method)
    assert (alike, *alike.interval) == pytest.approx((value, *value.interval), abs=1e-12)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_columns_of_a_policy_s_frame_are_found_by_their_names(library):
    made = pytest.importorskip(library)
    frame = made.table if library == "pyarrow" else made.DataFrame
    log, policy = simulated_log(np.random.default_rng(15), 300)
    value = off_policy_value(log, policy)
    assert off_policy_value(log, frame({str(label): policy[:, label] for label in (2, 0, 1)})) == value
    named = replace(log, actions=np.array(list("bca"))[log.actions], classes=list("bca"))
    assert off_policy_value(named, frame({"a": policy[:, 2], "b": policy[:, 0], "c": policy[:, 1]})) == value
    for names in ("abd", "012"):
        with pytest.raises(ValueError, match=r"the policy's columns are .* they must be the classes \['b', 'c', 'a'\]"):
            off_policy_value(named, frame({name: policy[:, index] for index, name in enumerate(names)}))


def test_columns_without_names_are_in_the_order_of_the_classes():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    log, policy = simulated_log(np.random.default_rng(16), 300)
    named = replace(log, actions=np.array(list("bca"))[log.actions], classes=list("bca"))
    from_one = replace(log, actions=log.actions + 1, classes=[1, 2, 3])
    value = off_policy_value(log, policy)
    for frame in (pandas.DataFrame(policy), polars.DataFrame(policy)):
        assert (
            off_policy_value(log, frame) == off_policy_value(named, frame) == off_policy_value(from_one, frame) == value
        )
    assert off_policy_value(from_one, pandas.DataFrame(policy[:, ::-1], columns=[3, 2, 1])) == value


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"log": {"a": 1}}, "log is {'a': 1}; a FeedbackLog is needed"),
        ({"method": "dm"}, "method is 'dm'"),
        ({"confidence": 95}, "confidence is 95"),
        ({"policy": [0, 1]}, "shape .2,."),
        ({"policy": [0, 1, 2, 3]}, "3"),
        ({"policy": np.full((4, 3), 0.5)}, "round 1 do not sum to 1"),
        ({"policy": np.tile([2.0, -1.0, 0.0], (4, 1))}, "round 1 do not sum to 1"),
        ({"policy": np.full((4, 2), 0.5)}, r"probabilities of shape \(4, 3\)"),
        ({"policy": ContextualBandit()}, "off_policy_action_value values it"),
        ({"noise": FlipMatrix.none(3)}, "FlipMatrix of two classes"),
        ({"noise": [ONE, ONE]}, "2 noises"),
    ],
)
def test_invalid_arguments_are_refused(change, message):
    log = FeedbackLog(np.ones((4, 1)), [0, 1, 2, 0], [1, 0, 1, 0], [0.5] * 4)
    with pytest.raises(ValueError, match=message):
        off_policy_value(**{"log": log, "policy": [0, 0, 0, 0], **change})


def test_a_policy_may_only_play_what_was_offered():
    with pytest.raises(ValueError, match="round 2 the policy plays actions that were not offered"):
        off_policy_value(offered_log(), ["b", "b"])


@pytest.mark.parametrize("method", ["ips", "snips", "dr"])
def test_feedback_that_is_all_the_same_has_an_interval_that_shrinks_with_its_number(method):
    held = 0
    for seed in range(200):  # the log's own policy, right in 97 %: a fifth of the logs have no negative feedback
        right = np.random.default_rng(seed).random(50) < 0.97
        log = FeedbackLog(np.ones((50, 1)), np.zeros(50, dtype=int), right, np.ones(50), classes=[0, 1])
        value = off_policy_value(log, np.zeros(50, dtype=int), method=method)
        held += value.low <= 0.97 <= value.high
    assert held >= 181  # of 200 at 95 %: less than 3 standard deviations below


def test_labels_of_a_policy_may_be_tuples():
    labels = [(0, 1), (1, 0)] * 20
    log = FeedbackLog(np.eye(2)[np.arange(40) % 2], labels, np.ones(40), np.full(40, 0.5))
    numbered = FeedbackLog(log.X, log.codes, log.feedback, log.probabilities)
    for method in ("ips", "snips", "dr"):
        assert off_policy_value(log, labels, method=method) == off_policy_value(numbered, log.codes, method=method)


@pytest.mark.parametrize("names", [[1, "1", 2.5], ["cat", ("dog", 2), 7], [True, "no", 0.5]])
def test_a_policy_may_list_labels_of_different_kinds(names):
    log, _ = simulated_log(np.random.default_rng(17), 300)
    named = FeedbackLog(log.X, [names[c] for c in log.codes], log.feedback, log.probabilities, names)
    played = log.X.argmax(axis=1) % 3
    assert off_policy_value(named, [names[c] for c in played]) == off_policy_value(log, played)
    with pytest.raises(ValueError, match="the action 'cow' is not among the classes"):
        off_policy_value(named, [*(names[c] for c in played[1:]), "cow"])


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_learner_that_knows_its_features_by_name_finds_them_in_a_log_of_a_frame(library):
    made = pytest.importorskip(library)
    log, _ = simulated_log(np.random.default_rng(16), 300)
    names = [f"f{column}" for column in range(log.X.shape[1])]
    frame = made.DataFrame(dict(zip(names, log.X.T)))
    named = FeedbackLog(frame, log.actions, log.feedback, log.probabilities, classes=log.classes)
    by_name, by_position = (
        linucb(len(log.classes)).learn_logged(rows, log.actions, log.feedback, log.probabilities)
        for rows in (frame, log.X)
    )
    assert off_policy_value(named, by_name) == off_policy_value(log, by_position)  # and without a warning
    with pytest.raises(ValueError, match="feature names should match"):
        off_policy_value(replace(named, feature_names=names[::-1]), by_name)
