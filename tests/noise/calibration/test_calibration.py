from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from scipy.special import softmax
from scipy.stats import beta, multivariate_normal, norm

from noisewise._numerics.em import symmetric_matrix
from noisewise.noise import FlipMatrix
from noisewise.noise.calibration.error_count import count_interval, mixture_quantiles
from noisewise.noise.calibration.newton import log_occam_factor, newton_ascent, penalised_likelihood
from noisewise.noise.calibration.noise_models import FittedNoiseModel, NoiseModel, calibrate
from noisewise.noise.calibration.read_noise import graded, likely_wrong, read_noise
from noisewise.noise.calibration.softmax_map import LOG_SCALE_STD, MOST_OFFSETS, CalibrationMap, LabelledScores
from noisewise.noise.calibration.variational import VariationalState, fit_variational, weighted_joint_counts

PAIR = FlipMatrix(0.8 * np.eye(3) + 0.2 * np.roll(np.eye(3), 1, axis=1))


def simulated(noise, n, seed, scale=6.0):
    """Scores whose softmax (times the scale) is the clean posterior, true and observed labels."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(scale=0.6, size=(n, noise.n_classes))
    uniforms = rng.random((n, 1))
    true = (uniforms > np.cumsum(softmax(scale * scores, axis=1), axis=1)[:, :-1]).sum(axis=1)
    return scores, true, noise.corrupt(true, rng)


def labelled(scores, codes):
    return LabelledScores(scores, codes, np.ones(len(codes)))


@pytest.mark.parametrize("dirichlet", [False, True])
@pytest.mark.parametrize("noise", [FlipMatrix.symmetric(0.3, 3), PAIR, FlipMatrix.none(4), FlipMatrix.binary(0.4, 0)])
def test_the_elbo_never_falls(noise, dirichlet):
    scores, _, observed = simulated(noise, 600, seed=0)
    rows = labelled(scores, observed)
    for start in (VariationalState.initial(rows), VariationalState.initial(rows).with_scale_per_class()):
        history = np.array(fit_variational(rows, dirichlet, start).history)
        assert len(history) > 2
        assert np.diff(history).min() > -1e-6


def test_symmetric_noise_takes_the_most_probable_rate():
    scores, _, observed = simulated(FlipMatrix.symmetric(0.2, 2), 80, seed=1)
    rows = labelled(scores, observed)
    found = fit_variational(rows, False, VariationalState.initial(rows))
    rates = np.linspace(0.001, 0.999, 999)
    fits = [
        penalised_likelihood(rows, np.log(symmetric_matrix(2, rate)), found.state.calibration_map)[0] for rate in rates
    ]
    assert found.history[-1] == pytest.approx((fits + beta(2, 5).logpdf(rates)).max(), abs=0.05)


@pytest.mark.parametrize("noise", [FlipMatrix.symmetric(0.25, 3), PAIR])
def test_the_flip_matrix_is_recovered(noise):
    found = np.array([read_noise(*simulated(noise, 2500, seed)[::2]).calibration.noise.matrix for seed in range(6)])
    deviation = found.std(axis=0, ddof=1)
    floor = np.sqrt(noise.matrix * (1 - noise.matrix) / 800) + 0.004  # entries at the edge do not vary; outlier weight
    error = np.abs(found.mean(axis=0) - noise.matrix)
    assert (error < 5 * np.maximum(deviation, floor) / np.sqrt(6)).all()


def test_the_count_and_its_interval_meet_the_truth():
    noise = FlipMatrix.binary(0.3, 0.05)
    inside = 0
    for seed in range(6):
        scores, true, observed = simulated(noise, 1000, seed)
        reading = read_noise(scores, observed)
        rows = np.arange(len(true))
        assert reading.n_wrong == pytest.approx((1 - reading.posterior[rows, observed]).sum(dtype=float), abs=0.1)
        assert reading.interval[0] <= reading.n_wrong <= reading.interval[1]
        inside += reading.interval[0] <= (observed != true).sum() <= reading.interval[1]
    assert inside >= 5


def test_stated_probabilities_are_met():
    scores, true, observed = simulated(PAIR, 6000, seed=3)
    reading = read_noise(scores, observed)
    probability = 1 - reading.posterior[np.arange(len(true)), observed].astype(float)
    for low, high in [(0.05, 0.4), (0.4, 0.7), (0.7, 0.95), (0.95, 1.0)]:
        rows = (probability >= low) & (probability < high)
        wrong, stated = (observed != true)[rows], probability[rows]
        assert abs(wrong.mean() - stated.mean()) < 5 * np.sqrt((stated * (1 - stated)).mean() / rows.sum()) + 0.03


@pytest.mark.parametrize("sign", [1, -1])
def test_labels_can_not_be_swapped(sign):
    """Inverted scores carry no information; they do not flip every label."""
    scores, _, observed = simulated(FlipMatrix.symmetric(0.1, 2), 800, seed=0)
    calibration, _ = calibrate(sign * scores, observed)
    scales = [model.calibration_map.scale for model in calibration.candidates]
    assert np.min(np.hstack(scales)) >= 0
    assert all(np.trace(model.matrix) > 1 for model in calibration.candidates)
    assert (np.max(np.hstack(scales)) < 0.1) == (sign < 0)


def test_a_given_flip_matrix_is_used_and_only_the_calibration_map_is_fitted():
    scores, _, observed = simulated(PAIR, 3000, seed=0)
    reading = read_noise(scores, observed, noise=PAIR)
    assert reading.calibration.noise == PAIR
    assert {model.matrix.tobytes() for model in reading.calibration.candidates} == {PAIR.matrix.tobytes()}
    expected = PAIR.explain(softmax(6.0 * scores, axis=1), observed)
    assert np.abs(reading.posterior - expected).mean() < 0.02


def test_rows_beyond_those_calibrated_on_are_read_too():
    scores, true, observed = simulated(PAIR, 9000, seed=0)
    reading = read_noise(scores, observed, rng=np.random.default_rng(0))
    assert reading.posterior.shape == (9000, 3)
    np.testing.assert_allclose(reading.posterior.sum(axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(reading.posterior, reading.calibration.explain(scores, observed), atol=1e-4)
    assert (reading.posterior.argmax(axis=1) == true).mean() > (observed == true).mean() + 0.05


@pytest.mark.parametrize("per_class", [False, True])
def test_newton_ascent_finds_the_maximum(per_class):
    scores, _, observed = simulated(PAIR, 400, seed=0)
    rows, log_flips = labelled(scores, observed), np.log(np.maximum(PAIR.matrix, 1e-12))
    start = CalibrationMap(np.ones(3) if per_class else 1.0, np.zeros(3))
    found, value, truth = newton_ascent(rows, log_flips, start, steps=50, tolerance=1e-10)

    def loss(point):
        scale = np.exp(point[:3] if per_class else point[0])
        return -penalised_likelihood(rows, log_flips, CalibrationMap(scale, point[-3:]))[0]

    best = minimize(loss, np.zeros(6 if per_class else 4), tol=1e-10)
    assert value == pytest.approx(-best.fun, abs=1e-4)
    np.testing.assert_allclose(np.append(np.log(found.scale), found.offset), best.x, atol=1e-2)
    joint = found.posterior(scores) * np.exp(log_flips).T[observed]
    np.testing.assert_allclose(truth, joint / joint.sum(axis=1, keepdims=True), atol=1e-9)


def test_with_many_classes_the_scale_alone_is_fitted():
    noise = FlipMatrix.symmetric(0.3, MOST_OFFSETS + 1)
    scores, _, observed = simulated(noise, 500, seed=3)
    rows, log_flips = labelled(scores, observed), np.log(noise.matrix)
    start = CalibrationMap.initial(rows)

    def value(scale):
        return penalised_likelihood(rows, log_flips, CalibrationMap(scale, start.offset, start.outlier_weight))[0]

    found, reached, _ = newton_ascent(rows, log_flips, start, steps=50)
    best = minimize_scalar(lambda scale: -value(scale), bounds=(0.1, 50), method="bounded", options={"xatol": 1e-9})
    assert not found.offset.any()
    assert found.scale == pytest.approx(best.x, rel=1e-4)
    assert reached == pytest.approx(-best.fun, rel=1e-9)
    step = 1e-3 * found.scale  # in the logarithm of the scale, as with one scale per class
    curvature = -(value(found.scale + step) - 2 * reached + value(found.scale - step)) / 1e-3**2
    assert log_occam_factor(rows, log_flips, found) == pytest.approx(-0.5 * np.log(curvature), abs=1e-2)


def test_the_evidence_is_the_integral_over_calibration_maps():
    """Two classes, so that scales and offsets can be integrated over by importance sampling around the mode."""
    noise = FlipMatrix.symmetric(0.1, 2)
    scores, _, observed = simulated(noise, 400, seed=2)
    rows, log_flips = labelled(scores, observed), np.log(noise.matrix)
    one, value, _ = newton_ascent(rows, log_flips, CalibrationMap.initial(rows), 50, 1e-9)
    many, many_value, _ = newton_ascent(rows, log_flips, one.with_scale_per_class(), 50, 1e-9)
    rng = np.random.default_rng(0)

    def integral(at, prior):
        steps = 1e-3 * np.eye(len(at))
        heights = [[prior(at + a + b) for b in (*steps, *-steps)] for a in (*steps, *-steps)]
        d, h = len(at), np.array(heights)
        hessian = (h[:d, :d] + h[d:, d:] - h[:d, d:] - h[d:, :d]) / 4e-6
        proposal = multivariate_normal(at, 1.3 * np.linalg.inv(-hessian))
        points = proposal.rvs(1200, random_state=rng)
        logs = np.array([prior(point) for point in points]) - proposal.logpdf(points)
        return logs.max() + np.log(np.exp(logs - logs.max()).mean())

    def with_one(point):
        return penalised_likelihood(rows, log_flips, CalibrationMap(np.exp(point[0]), point[1:]))[0]

    def with_many(point):  # flat in the geometric mean of the scales; the log of their ratio is normal
        mean, apart = point[0], point[1]
        tried = CalibrationMap(np.exp([mean + apart / np.sqrt(2), mean - apart / np.sqrt(2)]), point[2:])
        free = penalised_likelihood(rows, log_flips, tried)[0] + tried.penalty(rows.n)
        offsets = 0.5e-3 * rows.n * float(point[2:] @ point[2:])
        return free - offsets + norm(0, LOG_SCALE_STD).logpdf(apart)

    logs = np.log(many.scale)
    many_at = np.concatenate([[logs.mean(), (logs[0] - logs[1]) / np.sqrt(2)], many.offset])
    exact = integral(many_at, with_many) - integral(np.append(np.log(one.scale), one.offset), with_one)
    laplace = many_value + log_occam_factor(rows, log_flips, many) - value - log_occam_factor(rows, log_flips, one)
    assert laplace == pytest.approx(exact, abs=0.15)


@pytest.mark.parametrize("seed", [0, 1])
def test_classes_that_overlap_beside_others_that_do_not_are_no_noise(seed):
    """One scale is too steep for two classes that overlap where two others stand apart; so each has its own."""
    rng = np.random.default_rng(seed)
    true = rng.integers(0, 4, 1500)
    scores = np.eye(4)[true] + rng.normal(scale=0.15, size=(1500, 4))
    alike = true < 2
    scores[alike, :2] = 0.5 + 0.5 * rng.normal(size=(alike.sum(), 2))
    true[alike] = rng.random(alike.sum()) > 1 / (1 + np.exp(-3 * (scores[alike, 0] - scores[alike, 1])))
    reading = read_noise(scores, true)
    assert not reading.calibration.proven
    assert reading.interval[0] == 0
    assert reading.n_wrong < 0.03 * 1500


@pytest.mark.parametrize("noise", [None, PAIR])
def test_a_weight_counts_rows(noise):
    scores, _, observed = simulated(PAIR, 150, seed=4)
    weights = np.random.default_rng(0).integers(0, 4, 150)
    counted = read_noise(scores, observed, noise, weights=weights.astype(float))
    repeated = read_noise(scores.repeat(weights, axis=0), observed.repeat(weights), noise)
    assert counted.n_wrong == pytest.approx(repeated.n_wrong, rel=1e-6)
    assert counted.interval == pytest.approx(repeated.interval, rel=1e-4)
    np.testing.assert_allclose(counted.posterior.repeat(weights, axis=0), repeated.posterior, atol=1e-5)


def test_few_rows_never_give_certainty():
    scores = np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0]])
    codes = np.array([1, 1, 0, 0])
    few = read_noise(scores, codes)
    many = read_noise(np.tile(scores, (100, 1)), np.tile(codes, 100))
    assert few.posterior.max() < 0.97
    assert few.interval[1] > 1  # one label of four may well be wrong
    assert many.posterior[np.arange(400), np.tile(codes, 100)].min() > 0.99


def test_small_probabilities_have_no_floor_and_are_as_small_as_they_say():
    scores, true, observed = simulated(FlipMatrix.symmetric(0.2, 3), 9000, seed=11, scale=9.0)
    reading, rows = read_noise(scores, observed), np.arange(9000)
    found = graded(reading, scores, observed)
    right, before = (one.posterior[rows, observed].astype(float) for one in (found, reading))
    worst, worst_before = np.sort(right)[:200], np.sort(before)[:200]
    assert worst_before[-1] < 1.01 * worst_before[0]
    assert worst[-1] > 1.2 * worst[0]
    tail = right < 0.05
    stated = right[tail].sum()
    assert tail.sum() > 1000
    assert (true == observed)[tail].sum() < stated + 5 * np.sqrt(stated)
    exact = reading.calibration.explain(scores, observed)[rows, observed]
    for some, rank in ((before < 0.1, exact), (before >= 0.1, before)):  # ranked as by the model that was fitted
        assert (np.diff(right[some][np.argsort(rank[some], kind="stable")]) >= 0).all()
    np.testing.assert_allclose(found.posterior.sum(axis=1), 1, atol=1e-5)
    assert found.n_wrong == reading.n_wrong
    assert found.interval == reading.interval
    for small in (before < 0.1, before > 0.9):
        assert right[small].mean() == pytest.approx(before[small].mean(), rel=1e-4)
    between = (before >= 0.1) & (before <= 0.9)
    np.testing.assert_array_equal(right[between], before[between])
    np.testing.assert_array_equal(graded(reading, scores, observed, overwrite=True).posterior, found.posterior)
    np.testing.assert_array_equal(reading.posterior, found.posterior)


@pytest.mark.parametrize("others", [0.0, 1e-30, 1e-9, 1e-7])
def test_rows_nearly_certain_keep_posteriors_that_sum_to_one(others):
    """In single precision 1 - P(right) may be 0 where the other classes still have a little."""
    scores, _, observed = simulated(FlipMatrix.symmetric(0.2, 3), 600, seed=12)
    certain = np.where(np.eye(3)[observed] > 0, 1, others)
    certain[::2] = np.where(np.eye(3)[observed[::2]] > 0, 0.96, 0.02)
    reading = replace(read_noise(scores, observed), posterior=certain.astype(np.float32))
    found = graded(reading, scores, observed).posterior
    assert found.min() >= 0
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-6)


def test_labels_of_many_classes_that_look_wrong_are_told_apart():
    rng = np.random.default_rng(2)
    n_classes, rows = 100, np.arange(1000)
    true = rows % n_classes
    logits = rng.normal(0, 1.5, (len(rows), n_classes))
    logits[rows, true] += rng.normal(9, 2, len(rows))
    scores = softmax(logits, axis=1)  # most are below what the logarithm is cut at
    observed = np.where(rng.random(len(rows)) < 0.1, rng.integers(n_classes, size=len(rows)), true)
    reading = read_noise(scores, observed)
    before, after = (one.posterior[rows, observed] for one in (reading, graded(reading, scores, observed)))
    wrong = before < 0.1
    assert wrong.sum() > 60
    assert np.quantile(before[wrong], 0.8) < 1.05 * np.quantile(before[wrong], 0.1)
    assert np.quantile(after[wrong], 0.8) > 1.3 * np.quantile(after[wrong], 0.1)
    assert after[wrong].mean() == pytest.approx(before[wrong].mean(), rel=1e-4)


def test_the_order_of_classes_is_that_of_the_softmax():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(200, 4))
    read = CalibrationMap(6.0, rng.normal(size=4))
    np.testing.assert_array_equal(
        np.argsort(read.posterior(scores, graded=True), axis=1), np.argsort(read.softmax(scores), axis=1)
    )
    np.testing.assert_allclose(read.posterior(scores, graded=True).sum(axis=1), 1)


def test_noise_alike_in_two_classes_is_not_proven_where_they_overlap():
    """A small scale without flips and a large one with many fit about as well: the interval holds both."""
    noise = FlipMatrix.symmetric(0.25, 2)
    for seed in range(3):
        scores, true, observed = simulated(noise, 600, seed, scale=3.0)
        reading = read_noise(scores, observed)
        low, high = reading.interval
        assert low == 0
        assert not reading.calibration.proven
        assert high - low > 0.15 * 600
        assert high > (true != observed).sum()


def test_flips_of_a_rare_class_below_any_noise_rate_of_the_grid_are_read():
    rows = 3000
    codes = np.zeros(rows, dtype=np.intp)
    codes[: rows // 2], codes[-1] = 1, 2
    scores = 0.9 * np.eye(3)[np.where(codes == 2, 0, codes)] + 0.02
    reading = read_noise(scores, codes)
    assert np.isfinite(reading.posterior).all()
    assert reading.n_wrong < 0.01 * rows


def test_joint_counts_add_up_rows():
    rng = np.random.default_rng(0)
    truth, codes = rng.dirichlet(np.ones(4), 50), rng.choice([0, 1, 3], 50)
    expected = np.zeros((4, 4))
    for row, code in zip(truth, codes):
        expected[:, code] += row
    np.testing.assert_allclose(weighted_joint_counts(truth, labelled(truth, codes)), expected)


def test_the_interval_holds_quantiles_of_the_mixture():
    rng = np.random.default_rng(0)
    weights, means, deviations = np.array([0.3, 0.7]), np.array([50.0, 90.0]), np.array([5.0, 12.0])
    part = rng.choice(2, 200_000, p=weights)
    drawn = rng.normal(means[part], deviations[part])
    np.testing.assert_allclose(
        mixture_quantiles(weights, means, deviations, 1000, 0.9), np.quantile(drawn, [0.05, 0.95]), rtol=0.02
    )
    assert mixture_quantiles(weights, means, deviations, 70, 0.9)[1] == 70
    assert mixture_quantiles(weights, means - 80, deviations, 70, 0.9)[0] == 0


def test_the_interval_holds_all_noise_rates_about_as_likely_as_the_best():
    def fitted(weight, log_likelihood, wrong):
        model = NoiseModel(weight, False, CalibrationMap(1.0, np.zeros(2)), np.eye(2))
        return FittedNoiseModel(model, log_likelihood, wrong, 4.0)

    flat = [fitted(0.98, -100.0, 50.0), fitted(0.01, -100.5, 150.0), fitted(0.01, -120.0, 400.0)]
    low, high = count_interval(flat, 1000.0, True, 0.9)
    assert 30 < low < 50
    assert 150 < high < 180  # improbable a priori, but as likely as the best; 400 is not
    assert count_interval(flat[:1], 1000.0, True, 0.9)[1] < 80


def test_likely_wrong_has_the_largest_expected_f1():
    probability = np.random.default_rng(0).beta(0.3, 1, 60)
    picked = likely_wrong(probability)
    worst = np.sort(probability)[::-1]
    expected = [2 * worst[:k].sum() / (k + probability.sum()) for k in range(1, 61)]
    assert len(picked) == np.argmax(expected) + 1
    np.testing.assert_array_equal(probability[picked], worst[: len(picked)])


def test_a_row_that_counts_twice_is_two_rows_to_the_last_bit():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 40)
    scores = rng.dirichlet(np.ones(3), 40) + 0.2 * np.eye(3)[codes]
    weights = rng.integers(0, 4, 40)
    order = rng.permutation(weights.sum())
    counted = read_noise(scores, codes, weights=weights.astype(float))
    repeated = read_noise(scores.repeat(weights, axis=0)[order], codes.repeat(weights)[order])
    np.testing.assert_array_equal(counted.calibration.noise.matrix, repeated.calibration.noise.matrix)
    np.testing.assert_array_equal(counted.posterior.repeat(weights, axis=0)[order], repeated.posterior)
    assert counted.interval == pytest.approx(repeated.interval, rel=1e-12)


def test_lists_and_scores_of_any_sum_are_read():
    scores, _, observed = simulated(PAIR, 200, seed=0)
    p = softmax(scores, axis=1)
    reading = read_noise(p, observed)
    np.testing.assert_array_equal(read_noise(p.tolist(), observed.tolist()).posterior, reading.posterior)
    assert read_noise(3 * p, observed.astype(float)).n_wrong == pytest.approx(reading.n_wrong, rel=0.1, abs=1)


@pytest.mark.parametrize(
    ("scores", "codes", "sentence"),
    [
        (np.eye(3), ["a", "b", "c"], "whole numbers from 0 to 2.*audit_probabilities takes labels by name"),
        (np.eye(3), [0, 1, 3], "whole numbers from 0 to 2"),
        (np.eye(3), [0, 1, 0.5], "whole numbers from 0 to 2"),
        (np.eye(3), [0, 1], "3 rows of scores and 2 codes"),
        ([[0.5, np.nan]], [0], "finite numbers"),
        ([0.5, 0.5], [0, 1], "a column for each class"),
    ],
)
def test_what_is_no_score_or_code_gets_a_sentence(scores, codes, sentence):
    with pytest.raises(ValueError, match=sentence):
        read_noise(scores, codes)
