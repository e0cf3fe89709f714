"""Surprises that the columns foresee are no errors of the targets."""

import numpy as np
import pytest

from noisewise import audit_targets
from noisewise.noise import read_residuals
from noisewise.noise.calibration.foreseen import most_foreseen, put_down_to_errors


def test_the_probability_is_that_of_bayes_by_simulation():
    rng = np.random.default_rng(0)
    n, errors = 400_000, 0.05
    jumps = np.where(rng.random(n) < 0.5, 0.0, 0.2)  # right targets that surprise, in half of the rows
    wrong = rng.random(n) < errors
    surprising = wrong | (rng.random(n) < jumps)
    z = rng.normal(size=n) + 5 * surprising
    rate = surprising.mean()
    ratio = np.exp(5 * z - 12.5)
    same_rate = rate * ratio / (1 - rate + rate * ratio)
    local = np.where(jumps > 0, surprising[jumps > 0].mean(), surprising[jumps == 0].mean())
    found = put_down_to_errors(same_rate, local)
    for part in (jumps == 0, jumps > 0):
        for low, high in ((0.0, 0.1), (0.1, 0.3), (0.3, 0.7), (0.7, 1.0)):
            cell = part & (low <= found) & (found < high)
            if cell.sum() > 1000:
                assert abs(wrong[cell].mean() - found[cell].mean()) < 5 * np.sqrt(0.25 / cell.sum()) + 0.02


def test_what_the_columns_do_not_foresee_stays_as_it_is():
    rng = np.random.default_rng(1)
    wrong = (rng.random(400) < 0.1).astype(float)
    noise = rng.normal(0.1, 0.02, 400)
    for foreseen in (np.full(400, 0.1), noise, noise - 0.1 * wrong):
        np.testing.assert_array_equal(put_down_to_errors(wrong, foreseen), wrong)
    assert most_foreseen(wrong, np.full(400, 0.1)) <= 400 * 0.1


@pytest.mark.parametrize("wrong", [np.zeros(50), np.ones(50)])
def test_nothing_or_all_of_it_wrong_stays_as_it_is(wrong):
    np.testing.assert_array_equal(put_down_to_errors(wrong, np.linspace(0, 1, 50)), wrong)


def jumping(n=400, seed=0):
    """A target that is one of two values by coin toss where the first column is large, smooth elsewhere."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    y = 20 + X[:, 1] + 0.3 * rng.normal(size=n) + 11 * ((X[:, 0] > 1) & (rng.random(n) < 0.4))
    return X, y


def test_a_clean_target_that_jumps_proves_no_errors():
    assert audit_targets(*jumping()).expected_errors.low == 0


def test_errors_among_calm_rows_come_before_jumps():
    X, y = jumping()
    wrong = np.arange(0, 400, 16)
    right = y.copy()
    y[wrong] += 11
    audit = audit_targets(X, y)
    assert audit.expected_errors.low <= 25 <= audit.expected_errors.high
    calm = wrong[X[wrong, 0] < 0.5]
    jumps = np.flatnonzero((X[:, 0] > 1) & (right > 26) & (y == right))
    assert np.median(audit.probability[calm]) < 0.1
    assert np.median(audit.probability[calm]) < 0.5 * np.median(audit.probability[jumps])


def test_a_reading_without_columns_foresees_nothing():
    rng = np.random.default_rng(2)
    predictions = rng.normal(10.0, 3.0, 300)
    y = predictions + rng.normal(0.0, 0.5, 300)
    y[:12] += 8
    flat = read_residuals(y, predictions, np.ones(300), np.ones(300), lambda wrong: np.full(300, wrong.mean()))
    plain = read_residuals(y, predictions, np.ones(300), np.ones(300))
    np.testing.assert_array_equal(flat.right, plain.right)
    assert flat.interval == plain.interval
