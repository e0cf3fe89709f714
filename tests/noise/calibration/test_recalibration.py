"""Recalibration by verdicts: the posterior, against a plain one; coverage; which reading holds."""

import numpy as np
import pytest
from scipy.special import expit, logit

from noisewise.noise.calibration import recalibration
from noisewise.noise.calibration.recalibration import recalibrate


def plain_posterior(scores, rows, wrong):
    """Mean and standard deviation of the number of other wrong labels: loops, and a fine grid of departures."""
    others = np.delete(np.arange(len(scores)), rows)
    departures = np.linspace(-4, 4, 41) * recalibration.STRATUM_STD
    log_normal = -0.5 * (departures / recalibration.STRATUM_STD) ** 2
    weights, means, squares = [], [], []
    for i, log_prior in enumerate(recalibration.LOG_PRIOR):
        a, b, f = (column[i, 0] for column in (recalibration.INTERCEPT, recalibration.SLOPE, recalibration.HIDDEN))
        for departure, log_density in zip(departures, log_normal, strict=True):
            p = f + (1 - f) * expit(a + b * logit(scores) + departure)
            log_likelihood = np.log(np.where(wrong, p[rows], 1 - p[rows])).sum()
            weights.append(log_prior + log_density + recalibration.TEMPER * log_likelihood)
            means.append(p[others].sum())
            squares.append((p[others] * (1 - p[others])).sum() + means[-1] ** 2)
    weights = np.exp(np.array(weights) - max(weights))
    mean, square = (np.average(values, weights=weights) for values in (means, squares))
    return mean, np.sqrt(square - mean**2)


def test_the_posterior_is_that_of_a_plain_sum():
    rng = np.random.default_rng(0)
    scores = rng.uniform(0.01, 0.99, 40)
    rows = np.arange(0, 40, 4)  # ten verdicts: one stratum
    wrong = rng.random(10) < scores[rows]
    found = recalibrate([scores], rows, wrong)
    mean, std = plain_posterior(scores, rows, wrong)
    assert float(found.n_wrong) == pytest.approx(mean, rel=0.01)
    assert found.std == pytest.approx(std, rel=0.03)


@pytest.mark.parametrize(("a", "b", "f"), [(0.0, 1.0, 0.0), (-2.0, 0.7, 0.0), (1.5, 1.2, 0.005)])
def test_the_interval_holds_the_number_of_wrong_labels(a, b, f):
    held = []
    for seed in range(20):
        rng = np.random.default_rng([1, seed])
        scores = expit(rng.normal(-2, 3, 2000))
        wrong = rng.random(2000) < f + (1 - f) * expit(a + b * logit(scores))
        rows = rng.choice(2000, 120, replace=False)
        found = recalibrate([scores], rows, wrong[rows])
        held.append(found.n_wrong.low <= np.delete(wrong, rows).sum() <= found.n_wrong.high)
    assert np.mean(held) > 0.9 - 5 * np.sqrt(0.9 * 0.1 / 20)


def test_verdicts_tell_which_reading_holds():
    rng = np.random.default_rng(2)
    right, other = expit(rng.normal(-1, 3, 3000)), expit(rng.normal(-1, 3, 3000))
    wrong = rng.random(3000) < right
    rows = rng.choice(3000, 150, replace=False)
    for scores in ([right, other], [other, right]):
        found = recalibrate(scores, rows, wrong[rows])
        assert np.corrcoef(found.probability_wrong, right)[0, 1] > 0.99


def test_probabilities_sum_to_the_number_and_keep_the_order_of_one_reading():
    rng = np.random.default_rng(3)
    scores = rng.uniform(0.001, 0.999, 500)
    rows = np.arange(50)
    found = recalibrate([scores], rows, rng.random(50) < 0.3)
    assert found.probability_wrong[50:].sum() == pytest.approx(float(found.n_wrong), rel=1e-4)
    assert (np.diff(found.probability_wrong[np.argsort(scores)]) > 0).all()


def test_many_verdicts_in_bins_give_nearly_the_same(monkeypatch):
    rng = np.random.default_rng(4)
    scores = expit(rng.normal(-2, 2, 6000))
    wrong = rng.random(6000) < scores
    rows = np.arange(2000)
    binned = recalibrate([scores], rows, wrong[:2000])
    monkeypatch.setattr(recalibration, "MOST_BINS", 10_000)
    exact = recalibrate([scores], rows, wrong[:2000])
    np.testing.assert_allclose(binned.n_wrong.interval, exact.n_wrong.interval, rtol=0.005)


def test_scores_of_zero_and_one_are_no_certainty():
    scores = np.repeat([0.0, 1.0], 200)
    rows = np.arange(0, 400, 10)
    found = recalibrate([scores], rows, (rows >= 200) & (rows != 300))
    assert 0 < found.probability_wrong[0] < 0.05
    assert 0.8 < found.probability_wrong[-1] < 1
