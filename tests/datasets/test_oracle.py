import numpy as np
import pytest
import scipy.sparse

from helpers import assert_unbiased
from noisewise.datasets import Oracle
from noisewise.noise import FlipMatrix

X = np.arange(12.0).reshape(6, 2)
Y = np.array([0, 1, 2, 0, 1, 2])


def _feedback(oracle, action):
    return np.array([oracle.feedback(action) for _ in oracle])


def test_without_noise_the_feedback_is_true_and_mistakes_are_counted():
    oracle = Oracle(X, Y)
    shown = []
    for context in oracle:
        shown.append(context)
        assert oracle.feedback(1) == int(Y[len(shown) - 1] == 1)
    np.testing.assert_array_equal(shown, X)
    assert (oracle.mistakes, oracle.n_answered, len(oracle)) == (4, 6, 6)


def test_a_new_pass_starts_the_counters_again():
    oracle = Oracle(X, Y)
    _feedback(oracle, 0)
    next(iter(oracle))
    assert (oracle.mistakes, oracle.n_answered) == (0, 0)


def test_feedback_flips_at_the_rates_of_the_noise():
    noise = FlipMatrix.binary(false_positive=0.2, false_negative=0.4)
    n = 20_000
    y = np.arange(n) % 2
    oracle = Oracle(np.zeros((n, 1)), y, noise, rng=0)
    feedback = _feedback(oracle, 1)
    assert_unbiased(feedback[y == 0], 0.2)
    assert_unbiased(feedback[y == 1], 0.6)
    assert oracle.mistakes == n // 2  # counted against the truth, not against the feedback


def test_each_action_can_have_its_own_rates():
    rates = [(0.05, 0.3), (0.4, 0.1), (0.0, 0.0)]
    noises = [FlipMatrix.binary(*pair) for pair in rates]
    y = np.arange(15_000) % 3
    for action, (false_positive, false_negative) in enumerate(rates):
        feedback = _feedback(Oracle(np.zeros((len(y), 1)), y, noises, rng=action), action)
        assert_unbiased(feedback[y != action], false_positive)
        assert_unbiased(feedback[y == action], 1 - false_negative)


def test_rates_by_action_follow_the_order_of_the_classes():
    always_right, never_right = FlipMatrix.none(2), FlipMatrix.binary(0.0, 1 - 1e-2)
    oracle = Oracle(np.zeros((500, 1)), ["a"] * 500, [never_right, always_right], rng=0, classes=["b", "a"])
    assert _feedback(oracle, "a").all()
    oracle = Oracle(np.zeros((500, 1)), ["a"] * 500, [never_right, always_right], rng=0, classes=["a", "b"])
    assert _feedback(oracle, "a").mean() < 0.1


def test_the_noise_is_that_of_one_long_corruption():
    noise = FlipMatrix.binary(0.2, 0.3)
    y = np.arange(300) % 2
    feedback = _feedback(Oracle(np.zeros((300, 1)), y, noise, rng=7), 1)
    np.testing.assert_array_equal(feedback, noise.corrupt(y, rng=7))


def test_anything_that_corrupts_zeros_and_ones_will_do_as_noise():
    class Contrary:
        def corrupt(self, y, rng):
            return 1 - y

    np.testing.assert_array_equal(_feedback(Oracle(X, Y, Contrary()), 0), Y != 0)


def test_shuffling_shows_every_row_once_and_pairs_it_with_its_label():
    oracle = Oracle(X, Y, rng=0, shuffle=True)
    order = []
    for context in oracle:
        row = int(context[0] // 2)
        order.append(row)
        assert oracle.feedback(int(Y[row])) == 1
    assert order != sorted(order)
    assert sorted(order) == list(range(6))


def test_rows_can_be_drawn_with_replacement_for_any_number_of_rounds():
    oracle = Oracle(X, Y, rng=0, with_replacement=True, n_rounds=6000)
    rows = np.array([int(context[0] // 2) for context in oracle])
    assert len(rows) == len(oracle) == 6000
    assert_unbiased(rows[:, None] == np.arange(6), 1 / 6)


def test_fewer_rounds_than_rows_show_the_first_rows():
    assert len(list(Oracle(X, Y, n_rounds=2))) == 2


@pytest.mark.parametrize("make", [scipy.sparse.csr_array, scipy.sparse.csr_matrix, scipy.sparse.coo_array])
def test_sparse_rows_are_shown_as_csr_and_hold_what_dense_rows_hold(make):
    oracle = Oracle(make(X), Y, rng=0, shuffle=True)
    dense = Oracle(X, Y, rng=0, shuffle=True)
    for row, expected in zip(oracle, dense, strict=True):
        assert row.format == "csr"
        assert row.shape == (1, 2)
        np.testing.assert_array_equal(row.toarray()[0], expected)
        assert oracle.feedback(0) == dense.feedback(0)


def test_feedback_is_refused_before_the_first_context_and_twice_in_a_round():
    oracle = Oracle(X, Y)
    with pytest.raises(RuntimeError, match="no context has been shown yet"):
        oracle.feedback(0)
    contexts = iter(oracle)
    next(contexts)
    oracle.feedback(0)
    with pytest.raises(RuntimeError, match="round 1 has had its feedback already"):
        oracle.feedback(0)
    next(contexts)
    next(contexts)  # a round may go unanswered
    oracle.feedback(0)
    assert oracle.n_answered == 2


@pytest.mark.parametrize("action", [3, -1, "a", [0], None])
def test_an_unknown_action_is_refused_and_the_round_stays_open(action):
    oracle = Oracle(X, Y)
    next(iter(oracle))
    with pytest.raises(ValueError, match="is not an action"):
        oracle.feedback(action)
    assert oracle.feedback(0) == 1


def test_codes_that_y_lacks_are_actions_too():
    oracle = Oracle(X, [0, 2, 0, 2, 0, 2])
    assert oracle.classes == [0, 1, 2]
    assert _feedback(oracle, 1).sum() == 0
    assert Oracle(X, [0] * 6, classes=range(4)).classes == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"noise": FlipMatrix.symmetric(0.1, 3)}, "its noise has 2 classes; this one has 3"),
        ({"noise": [FlipMatrix.none(2)] * 2}, "2 noises were given for 3 actions"),
        ({"noise": np.eye(2)}, "give a FlipMatrix"),
        ({"classes": [0, 1]}, "y holds 2, which is not among the classes"),
        ({"classes": [0, 1, 2, 2]}, "twice"),
        ({"y": Y[:-1]}, "one target for each row"),
        ({"n_rounds": 7}, "with_replacement=True shows rows again"),
        ({"n_rounds": 0}, "at least one row and one round"),
    ],
)
def test_what_does_not_fit_together_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        Oracle(X, **{"y": Y, **options})
