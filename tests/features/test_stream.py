"""Online gradient descent on noisy rows: unbiased gradients, steps, averages and regret on clean rows."""

import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import StandardScaler

from helpers import assert_biased, assert_unbiased, z_scores
from noisewise import GaussianNoise
from noisewise._loops import descent
from noisewise.datasets import make_linear_stream
from noisewise.features import LaplaceNoise, MaskingNoise, OnlineNoisyRegressor
from noisewise.features.noise_argument import correction_of_mean
from noisewise.features.theory import best_in_ball, known_covariance_guarantee, regret, two_copies_guarantee
from noisewise.noise import unbiased

W, X, Y = np.array([0.5, -1.0, 2.0, 0.3]), np.array([1.0, 0.3, -0.7, 0.2]), 0.4
CLEAN = 2 * (W @ X - Y) * X
COVARIANCE = 0.3 * np.eye(4) + 0.1
DRAWS = 400_000


def gradients(copies, noise=None, row_covariances=None):
    """The loop's gradient at W for every row of copies."""
    correction = correction_of_mean(copies, noise, row_covariances)
    rows, found = copies.mean(axis=1), np.empty((len(copies), 4))
    for t in range(len(rows)):
        descent.fill_gradient(t, W, rows[t], rows[t], Y, *correction, found[t])
    return found


@pytest.mark.parametrize("noise", [GaussianNoise(COVARIANCE), LaplaceNoise(0.4)])
def test_two_copies_give_the_clean_gradient(noise, rng):
    copies = noise.copies(np.tile(X, (DRAWS, 1)), 2, rng)
    found = gradients(copies)
    np.testing.assert_allclose(found[:50], unbiased.by_copies(W, copies[:50, 0], copies[:50, 1], Y), atol=1e-12)
    assert np.abs(z_scores(found, CLEAN)).max() < 3.5
    assert_biased(gradients(copies[:, [0, 0]]), CLEAN, sigmas=50)


@pytest.mark.parametrize("noise", [GaussianNoise(COVARIANCE), LaplaceNoise(0.4)])
def test_one_copy_and_twice_the_covariance_give_the_clean_gradient(noise, rng):
    copies = noise.copies(np.tile(X, (DRAWS, 1)), 1, rng)
    found = gradients(copies, noise)
    np.testing.assert_allclose(found[:50], unbiased.by_second_moment(W, copies[:50, 0], Y, noise.matrix(4)), atol=1e-12)
    assert np.abs(z_scores(found, CLEAN)).max() < 3.5
    assert_biased(found + noise.matrix(4) @ W, CLEAN, sigmas=50)  # as printed: once, not twice


def test_masking_corrects_itself(rng):
    copies = MaskingNoise(0.7).copies(np.tile(X, (100_000, 1)), 1, rng)
    assert_unbiased(gradients(copies, MaskingNoise(0.7)), CLEAN)
    assert_biased(gradients(copies), CLEAN)


def test_covariances_of_each_round_give_the_clean_gradient(rng):
    variances = rng.exponential(0.3, size=(100_000, 4))
    copies = (X + rng.normal(size=variances.shape) * np.sqrt(variances))[:, None]
    assert_unbiased(gradients(copies, row_covariances=variances), CLEAN)
    full = variances[:1000, :, None] * np.eye(4)
    np.testing.assert_allclose(
        gradients(copies[:1000], row_covariances=full), gradients(copies[:1000], row_covariances=variances[:1000])
    )


def plain_descent(rows, targets, covariance, rate, radius):
    """Algorithm 2 with a constant step, in numpy."""
    w, path = np.zeros(rows.shape[1]), []
    for x, y in zip(rows, targets):
        w = w - rate * unbiased.by_second_moment(w, x, y, covariance)
        w = w * min(1.0, radius / np.linalg.norm(w))
        path.append(w)
    return np.array(path)


def test_the_loop_is_the_printed_algorithm(rng):
    X, y = make_linear_stream(100, rng)
    noise = GaussianNoise(0.05 * np.eye(10) + 0.04)
    options = {"step": "constant", "rate": 0.2, "radius": 0.8, "fit_intercept": False}
    noisy = noise.corrupt(X, rng)
    path = plain_descent(noisy, y, noise.matrix(10), 0.2, 0.8)
    last = OnlineNoisyRegressor(noise, averaging="last", **options).fit(noisy, y)
    np.testing.assert_allclose(last.coef_, path[-1])
    suffix = OnlineNoisyRegressor(noise, **options).fit(noisy, y)
    np.testing.assert_allclose(suffix.coef_, path[31:].mean(axis=0))  # from round 32 = 64 / 2 on
    before = np.vstack([np.zeros(10), path[:-1]])
    predictions = OnlineNoisyRegressor(noise, **options).play(noisy, y, clean=X)
    np.testing.assert_allclose(predictions, (before * X).sum(axis=1), atol=1e-12)


def test_one_sided_copies_are_the_printed_algorithm(rng):
    X, y = make_linear_stream(50, rng)
    copies = GaussianNoise(0.1).copies(X, 2, rng)
    w = np.zeros(10)
    for (x, other), target in zip(copies, y):
        w = w - 0.1 * 2 * (w @ x - target) * other
    model = OnlineNoisyRegressor(
        step="constant", rate=0.1, radius=1e9, averaging="last", symmetrised=False, fit_intercept=False
    )
    np.testing.assert_allclose(model.fit(copies[:, 0], y, copies=copies).coef_, w)


@pytest.mark.parametrize("step", ["auto", "scaled", "adagrad", "root"])
def test_pieces_are_the_whole_bit_for_bit(step, rng):
    X, y = make_linear_stream(300, rng)
    copies = GaussianNoise(0.1).copies(X, 2, rng)
    whole = OnlineNoisyRegressor(step=step).fit(copies[:, 0], y, copies=copies)
    pieces = OnlineNoisyRegressor(step=step)
    for part in (slice(0, 1), slice(1, 100), slice(100, 300)):
        pieces.partial_fit(copies[part, 0], y[part], copies=copies[part])
    np.testing.assert_array_equal(pieces.coef_, whole.coef_)
    assert pieces.intercept_ == whole.intercept_


@pytest.mark.parametrize("step", ["auto", "scaled", "adagrad", "root"])
def test_units_and_offsets_do_not_matter(step, rng):
    X, y = make_linear_stream(2000, rng)
    noise = GaussianNoise(0.02)
    noisy = noise.corrupt(X, rng)
    model = OnlineNoisyRegressor(noise, step=step).fit(noisy, y)
    moved = OnlineNoisyRegressor(GaussianNoise(2.0), step=step).fit(10 * noisy + 7, 100 * y - 300)
    np.testing.assert_allclose(moved.predict(10 * X + 7), 100 * model.predict(X) - 300, rtol=1e-6)


def test_the_losses_that_choose_the_step_are_unbiased_and_those_of_the_weights_before(rng):
    X, y = make_linear_stream(60, rng)
    noise = GaussianNoise(0.05)
    copies = noise.copies(X, 2, rng)
    for averaging in ("last", "suffix"):
        model = OnlineNoisyRegressor(noise, averaging=averaging, fit_intercept=False)
        rows, losses = copies.mean(axis=1), []
        for t in range(1, 60):
            part = model.fit(copies[:t, 0], y[:t], copies=copies[:t])
            state = descent.Descent(*part._state)
            w = state.weights if averaging == "last" else state.older / state.rounds[1]
            losses.append((w @ rows[t] - y[t]) ** 2 - w @ noise.matrix(10) @ w / 2)
        found, state, parts = np.zeros(60), descent.begin(10), tuple(correction_of_mean(copies, noise))
        rest = np.zeros((0, 10)), np.zeros(0), averaging == "suffix", found
        descent.descend(state, rows, rows, y, parts, descent.ROOT, 1.0, 0.0, False, *rest)
        np.testing.assert_allclose(found[1:], losses, atol=1e-12)


def test_the_step_changes_for_a_rival_that_is_better_by_two_standard_errors(rng):
    ours, rivals = rng.normal(size=(2, 300))
    rivals += np.where(np.arange(300) < 100, 0.5, -0.5)
    chosen, record = np.zeros(301, dtype=np.bool_), np.zeros(7)
    descent.compare(record, ours, rivals, 2.0, chosen)
    for t in (2, 50, 127, 128, 200, 300):
        later = (rivals - ours)[2 ** (int(np.log2(t)) - 1) - 1 : t]  # from the restart before the last one on
        assert chosen[t] == (len(later) >= 20 and later.mean() + 2 * later.std(ddof=1) / np.sqrt(len(later)) < 0)
    assert chosen[-1]
    assert not chosen[:100].any()


@pytest.mark.parametrize("noise", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("seed", range(3))
def test_the_default_step_is_no_worse_than_the_root_and_better_in_uneven_units(noise, seed):
    X, y = load_diabetes(return_X_y=True)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    X, y = StandardScaler().fit_transform(X)[order], y[order]
    copies = GaussianNoise(noise**2).copies(X[:300], 2, rng) if noise else None

    def score(step, units):
        model = OnlineNoisyRegressor(step=step)
        given = None if copies is None else copies * units
        return model.fit((X[:300] if noise == 0 else copies[:, 0]) * units, y[:300], copies=given).score(
            X[300:] * units, y[300:]
        )

    assert score("auto", 1.0) > score("root", 1.0) - 0.01
    uneven = 10.0 ** np.arange(-4, 6)
    assert score("auto", uneven) > max(0.25, score("root", uneven) + 0.1)


@pytest.mark.skipif("NOISEWISE_DATA" not in os.environ, reason="NOISEWISE_DATA names no folder")
@pytest.mark.parametrize("seed", range(3))
def test_the_default_step_is_no_worse_than_the_root_on_housing(seed):
    data = np.load(Path(os.environ["NOISEWISE_DATA"]) / "housing.npz")
    order = np.random.default_rng(seed).permutation(506)
    X, y = StandardScaler().fit_transform(data["X"].astype(float))[order], data["medv"].astype(float)[order]
    auto, root, adagrad = (
        OnlineNoisyRegressor(step=step).fit(X[:350], y[:350]).score(X[350:], y[350:])
        for step in ("auto", "root", "adagrad")
    )
    assert auto > root - 0.01
    assert auto > adagrad - 0.05


def test_noisy_rows_are_predicted_by_the_mean_target_of_rows_like_them(rng):
    X = rng.normal(size=(20_000, 2)) * [1.0, 2.0] + 5
    noise, rows = GaussianNoise([1.0, 0.0]), np.array([[4.0, 5.0], [6.0, 7.0]])
    copies = noise.copies(X, 2, rng)
    for model in (
        OnlineNoisyRegressor(noise).fit(copies[:, 0], X.sum(axis=1)),
        OnlineNoisyRegressor().fit(copies[:, 0], X.sum(axis=1), copies=copies),
    ):
        np.testing.assert_allclose(model.predict(rows), rows.sum(axis=1), atol=0.15)
        np.testing.assert_allclose(model.predict(rows, noisy=True), [9.5, 12.5], atol=0.15)


def test_weights_stay_in_the_ball(rng):
    X, y = make_linear_stream(500, rng)
    model = OnlineNoisyRegressor(radius=0.25).fit(X, y)
    assert np.linalg.norm(model.coef_) <= 0.25 + 1e-12


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"step": "leap"}, "adagrad"),
        ({"step": "constant"}, "needs its rate"),
        ({"step": "theory"}, "give the radius"),
        ({"step": "root", "rate": 0.0}, "above 0"),
        ({"rate": 0.1}, "one step rule"),
        ({"radius": -1.0}, "above 0"),
        ({"averaging": "none"}, "suffix"),
        ({"noise": GaussianNoise([1.0, 2.0])}, "2 columns, the data have 3"),
    ],
)
def test_bad_settings_are_refused(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        OnlineNoisyRegressor(**options).fit(np.eye(3), np.arange(3.0))


def test_clean_rows_must_match():
    with pytest.raises(ValueError, match="should agree"):
        OnlineNoisyRegressor().play(np.eye(3), np.arange(3.0), clean=np.eye(2))


NOISE = GaussianNoise(0.09)
ROW_SQUARE = 1 + 10 * 0.09  # mean squared length of a noisy row
ROUNDS = 2000 * 2 ** np.arange(5)


def regret_at(rounds, how, seeds=10):
    """Mean regret on clean rows after so many rounds with theory's step, and its bound."""
    found = []
    y_bound = np.sqrt(0.11)
    guarantee = two_copies_guarantee(rounds, 1.0, np.sqrt(ROW_SQUARE), y_bound)
    bound = known_covariance_guarantee(rounds, 1.0, np.sqrt(ROW_SQUARE), y_bound, 0.09) if how == "one" else guarantee
    for seed in range(seeds):
        X, y = make_linear_stream(rounds, random_state=seed)
        copies = NOISE.copies(X, 2, np.random.default_rng([1, seed]))
        known = {"one": NOISE, "printed": GaussianNoise(0.045)}.get(how)  # half of 2 Sigma w is Sigma w
        rows = X if how == "clean" else copies[:, 0]
        model = OnlineNoisyRegressor(known, step="constant", rate=guarantee.step, radius=1.0, fit_intercept=False)
        predictions = model.play(rows, y, clean=X, copies=copies if how == "two" else None)
        found.append(regret(predictions, X @ best_in_ball(X, y, 1.0), y)[-1])
    return np.mean(found), bound.regret


@pytest.mark.slow
def test_regret_grows_as_the_root_of_the_rounds_unless_noise_is_ignored():
    exponents, last = {}, {}
    for how in ("clean", "two", "one", "printed", "naive"):
        regrets = [regret_at(rounds, how) for rounds in ROUNDS]
        assert how in ("printed", "naive") or all(measured <= bound for measured, bound in regrets)
        exponents[how] = np.polyfit(np.log(ROUNDS), np.log([measured for measured, _ in regrets]), 1)[0]
        last[how] = regrets[-1][0]
    for how in ("two", "one"):
        assert abs(exponents[how] - 0.57) < 0.04
    assert exponents["naive"] >= 0.80
    assert exponents["printed"] >= 0.70
    np.testing.assert_allclose([last["two"] / last["clean"], last["one"] / last["clean"]], 1.0, atol=0.15)
    np.testing.assert_allclose(last["naive"] / last["clean"], 3.1, rtol=0.15)


@pytest.mark.slow
def test_excess_risk_of_averaged_weights():
    variances = 0.7 ** np.arange(10) / (0.7 ** np.arange(10)).sum()
    risks = {"naive": [], "mean": [], "two": [], "one": [], "theory": []}
    for seed in range(10):
        X, y = make_linear_stream(16_000, random_state=seed)
        copies = NOISE.copies(X, 2, np.random.default_rng([2, seed]))
        models = {
            "naive": OnlineNoisyRegressor().fit(copies[:, 0], y),
            "mean": OnlineNoisyRegressor().fit(copies.mean(axis=1), y),
            "two": OnlineNoisyRegressor().fit(copies[:, 0], y, copies=copies),
            "one": OnlineNoisyRegressor(NOISE).fit(copies[:, 0], y),
            "theory": OnlineNoisyRegressor(step="theory", radius=1.0).fit(copies[:, 0], y, copies=copies),
        }
        for name, model in models.items():
            risks[name].append(1000 * variances @ (model.coef_ - 10**-0.5) ** 2)
    mean = {name: np.mean(found) for name, found in risks.items()}
    np.testing.assert_allclose([mean["naive"], mean["mean"]], [17.8, 8.9], rtol=0.05)
    assert mean["two"] < 0.24 * 1.3
    assert mean["one"] < 0.42 * 1.3
    assert mean["theory"] > 8 * mean["two"]
