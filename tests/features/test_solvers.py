"""Solvers: sums with the noise covariance subtracted, and the k-standard-error rule."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

from helpers import assert_biased, assert_unbiased
from noisewise import GaussianNoise
from noisewise.features import LaplaceNoise, MaskingNoise, SymmetricNoise
from noisewise.features.noise_argument import characteristic_of_mean, correction_of_mean, gather_copies
from noisewise.features.solvers.cross_validation import (
    fold_numbers,
    fold_products,
    squared_loss,
    standard_error_rule,
    subtract_noise,
)
from noisewise.features.solvers.least_squares import STRENGTHS, ridge_of_ball, solve, solve_cross_validated
from noisewise.features.solvers.plain_ridge import RIDGES, fit_plain_ridge
from noisewise.kernels import Gaussian

ROW = np.array([1.0, -0.5, 2.0])
COVARIANCE = np.array([[0.5, 0.2, 0.0], [0.2, 0.4, 0.1], [0.0, 0.1, 0.3]])
N = 100_000


@pytest.mark.parametrize(
    ("noise", "known", "m"),
    [
        (GaussianNoise(COVARIANCE), True, 1),
        (GaussianNoise(COVARIANCE), True, 2),
        (GaussianNoise(COVARIANCE), False, 2),
        (GaussianNoise(COVARIANCE), False, 3),
        (LaplaceNoise([0.5, 0.3, 0.0]), True, 1),
        (LaplaceNoise(0.5), False, 2),
        (MaskingNoise(0.6), True, 1),
        (MaskingNoise([0.6, 0.9, 1.0]), True, 2),
        (MaskingNoise(0.6), False, 2),
    ],
)
def test_products_less_the_correction_are_those_of_clean_rows(noise, known, m, rng):
    copies = noise.copies(np.tile(ROW, (N, 1)), m, rng)
    mean = copies.mean(axis=1)
    correction = correction_of_mean(copies, noise if known else None)
    groups = 500
    products = fold_products(mean, groups) - correction.sums(np.arange(N) % groups, groups)
    assert_unbiased(products.reshape(groups, -1) / (N / groups), np.outer(ROW, ROW).ravel())


def test_without_the_correction_products_are_too_large(rng):
    noisy = GaussianNoise(COVARIANCE).corrupt(np.tile(ROW, (N, 1)), rng)
    assert_biased(fold_products(noisy, 500).reshape(500, -1) / (N / 500), np.outer(ROW, ROW).ravel())


def test_two_copies_are_corrected_to_their_symmetrised_product(rng):
    copies = rng.normal(size=(7, 2, 3))
    products = fold_products(copies.mean(axis=1), 1)[0] - correction_of_mean(copies).total(7)
    cross = copies[:, 0].T @ copies[:, 1]
    np.testing.assert_allclose(products, (cross + cross.T) / 2, atol=1e-12)


def test_covariances_of_each_row_are_summed_fold_by_fold(rng):
    roots = rng.normal(size=(10, 3, 3))
    covariances = roots @ roots.swapaxes(1, 2)
    correction = correction_of_mean(np.zeros((10, 1, 3)), row_covariances=covariances)
    expected = [covariances[(np.arange(10) + 1) % 3 == fold].sum(axis=0) for fold in range(3)]
    np.testing.assert_allclose(correction.sums((np.arange(10) + 1) % 3, 3), expected)


def test_folds_go_on_where_the_last_piece_ended(rng):
    Z = rng.normal(size=(11, 4))
    pieces = fold_products(Z[:5], 3) + fold_products(Z[5:], 3, fold_numbers(Z[5:], 3, first_fold=5 % 3))
    np.testing.assert_allclose(pieces, fold_products(Z, 3))


def test_plain_ridge_is_kernel_ridge_chosen_by_leave_one_out(rng):
    X, Y = rng.normal(size=(60, 2)), rng.normal(size=(60, 2))
    kernel = Gaussian(2.0)
    fitted = fit_plain_ridge(X[:, None], Y, kernel, rng)
    losses = []
    for ridge in RIDGES:  # with a column of ones for the intercept, which has no penalty
        ones = np.ones((60, 1))
        system = np.block([[kernel.gram(X) + ridge * np.eye(60), ones], [ones.T, np.zeros((1, 1))]])
        inverse = np.linalg.inv(system)
        dual = inverse[:60, :60] @ Y
        losses.append(np.mean(np.square(dual / np.diag(inverse)[:60, None]).sum(axis=1)))
    assert fitted.ridge == RIDGES[np.argmin(losses)]
    assert fitted.loss == pytest.approx(min(losses), rel=1e-6)
    system = kernel.gram(X) + fitted.ridge * np.eye(60)
    ones = np.linalg.solve(system, np.ones(60))
    intercept = ones @ Y / ones.sum()
    expected = kernel.gram(X[:5], X) @ np.linalg.solve(system, Y - intercept) + intercept
    np.testing.assert_allclose(fitted(X[:5]), expected, atol=1e-6)


def test_loss_from_sums_is_the_loss_of_the_rows(rng):
    X, Y, coefficients = rng.normal(size=(20, 3)), rng.normal(size=(20, 2)), rng.normal(size=(4, 2))
    Z = np.column_stack([np.ones(20), X])
    expected = ((Y - Z @ coefficients) ** 2).sum()
    np.testing.assert_allclose(squared_loss(coefficients, fold_products(np.column_stack([Z, Y]), 1)[0]), expected)


def test_held_out_loss_is_that_of_clean_rows(rng):
    noise, clean = GaussianNoise(0.5), np.tile(ROW, (N, 1))
    rows = np.column_stack([np.ones(N), noise.corrupt(clean, rng), np.full(N, 0.3)])
    coefficients = np.array([[0.1], [1.0], [2.0], [-1.0]])
    sums = subtract_noise(fold_products(rows, 500), N / 500 * noise.matrix(3))
    losses = [squared_loss(coefficients, part) / (N / 500) for part in sums]
    assert_unbiased(losses, (0.3 - 0.1 - ROW @ [1.0, 2.0, -1.0]) ** 2)


def test_without_noise_the_solution_is_scikit_learns_ridge(rng):
    X, y = rng.normal(size=(50, 3)) * [1.0, 10.0, 0.1] + 5, rng.normal(size=50)
    sums = fold_products(np.column_stack([np.ones(50), X, y]), 1)[0]
    ours = solve(sums, np.zeros((3, 3)), 1, np.array([0.2]))[0, :, 0]
    scaler = StandardScaler().fit(X)
    theirs = Ridge(alpha=0.2 * 50).fit(scaler.transform(X), y)
    np.testing.assert_allclose(ours[1:], theirs.coef_ / scaler.scale_)
    np.testing.assert_allclose(ours[0] + X @ ours[1:], theirs.predict(scaler.transform(X)))


def test_a_ball_is_reached_and_not_left(rng):
    values, rotated = np.array([0.0, 0.5, 2.0]), rng.normal(size=(3, 1))
    for length in (0.01, 0.3, 2.0):
        ridge = ridge_of_ball(values, rotated, length)
        np.testing.assert_allclose(np.linalg.norm(rotated[:, 0] / (values + ridge)), length, rtol=1e-6)
    assert ridge_of_ball(values + 1, rotated, 1e6) < 1e-9


def test_the_standard_error_rule_refuses_a_low_mean_of_high_variance():
    stable, unstable = np.full(20, 1.0), np.resize([-30.0, 20.0, 8.0], 20)
    losses = np.array([unstable, stable])
    assert unstable.mean() < stable.mean()
    assert standard_error_rule(losses, np.ones(20)).best == 1
    assert standard_error_rule(losses, np.ones(20), standard_errors=0.0).best == 0  # the minimum alone takes it


def test_the_standard_error_rule_takes_what_is_better_in_every_fold():
    common = np.array([0.0, 5.0, 1.0, 9.0])
    losses = np.array([common + 1, common])
    assert standard_error_rule(losses, np.ones(4)).best == 1
    assert standard_error_rule(losses, np.ones(4), start=0).best == 1


def test_on_few_rows_the_cross_validated_correction_is_stable_and_the_plain_one_is_not():
    worst = {"cross-validated": 0.0, "plain": 0.0}
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(60, 8)) @ rng.normal(size=(8, 8))
        noise = GaussianNoise(X.var(axis=0))
        noisy, y = noise.corrupt(X, rng), X @ np.ones(8)
        sums = fold_products(np.column_stack([np.ones(60), noisy - noisy.mean(0), y - y.mean()]), 20)
        corrections = np.full((20, 1, 1), 3.0) * noise.matrix(8)
        chosen = solve_cross_validated(sums, corrections, 1).coefficients
        plain = solve(sums.sum(0), corrections.sum(0), 1, np.array([1e-6]))[0]
        for name, found in (("cross-validated", chosen), ("plain", plain)):
            fitted = (X - X.mean(0)) @ found[1:, 0]
            worst[name] = max(worst[name], np.mean((fitted - y + y.mean()) ** 2) / y.var())
    assert worst["cross-validated"] < 1.1
    assert worst["plain"] > 100


def test_a_choice_that_starts_uncorrected_never_has_a_higher_held_out_loss_than_the_best_uncorrected_one():
    n_strengths, fractions = len(STRENGTHS["ridge"]), {True: [], False: []}
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(60, 4)) @ rng.normal(size=(4, 4))
        noise, Y = GaussianNoise(X.var(axis=0) / 2), np.eye(3)[(X @ rng.normal(size=(4, 3))).argmax(axis=1)]
        sums = fold_products(np.column_stack([np.ones(60), noise.corrupt(X, rng), 2 * Y - 1]), 20)
        corrections = np.full((20, 1, 1), 3.0) * noise.matrix(4)
        for uncorrected, found in fractions.items():
            fitted = solve_cross_validated(sums, corrections, 3, from_uncorrected=uncorrected)
            found.append(fitted.noise_fraction)
            if uncorrected:
                assert fitted.validation[0] <= fitted.choice.means[-n_strengths:].min()
    assert 0 < np.mean(fractions[True]) < np.mean(fractions[False])


@pytest.mark.parametrize(
    "noise",
    [
        GaussianNoise(COVARIANCE),
        LaplaceNoise([0.5, 0.2, 0.9]),
        SymmetricNoise(lambda w: np.exp(-0.5 * np.einsum("...i,ij,...j->...", w, COVARIANCE, w))),
    ],
)
@pytest.mark.parametrize("m", [1, 2])
def test_noise_damps_fourier_features_by_its_characteristic_function(noise, m, rng):
    drawn = noise if hasattr(noise, "copies") else GaussianNoise(COVARIANCE)
    mean = drawn.copies(np.zeros((N, 3)), m, rng).mean(axis=1)
    frequencies = rng.normal(size=(4, 3))
    assert_unbiased(np.cos(mean @ frequencies.T), characteristic_of_mean(noise, frequencies, m))


def test_x_among_the_copies_is_not_counted_twice(rng):
    copies = rng.normal(size=(5, 3, 2))
    for X in (copies[:, 1], copies.mean(axis=1)):
        np.testing.assert_array_equal(gather_copies(X, copies), copies)
    assert gather_copies(rng.normal(size=(5, 2)), copies).shape == (5, 4, 2)
    assert gather_copies(copies[:, 0], None).shape == (5, 1, 2)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: gather_copies(np.zeros((5, 2)), np.zeros((4, 1, 2))), r"\(5, m, 2\)"),
        (lambda: gather_copies(np.zeros((5, 2)), np.zeros((5, 2))), r"\(5, m, 2\)"),
        (lambda: gather_copies(np.zeros((1, 1)), [[[np.nan]]]), "NaN"),
        (lambda: correction_of_mean(np.zeros((5, 1, 2)), GaussianNoise(np.ones(3))), "3 columns, the data have 2"),
        (lambda: correction_of_mean(np.zeros((5, 1, 2)), row_covariances=np.ones((4, 2))), r"\(5, 2\)"),
        (lambda: correction_of_mean(np.zeros((5, 1, 2)), row_covariances=-np.ones((5, 2))), "semidefinite"),
        (lambda: correction_of_mean(np.zeros((1, 1, 2)), row_covariances=[[[0, 1], [1, 0]]]), "semidefinite"),
        (lambda: correction_of_mean(np.zeros((1, 1, 2)), row_covariances=[[[1, 1], [0, 1]]]), "symmetric"),
        (lambda: correction_of_mean(np.zeros((1, 1, 2)), GaussianNoise(1.0), np.ones((1, 2))), "both given"),
        (lambda: correction_of_mean(np.zeros((1, 1, 2)), 0.5), "GaussianNoise"),
        (lambda: GaussianNoise([[1.0, 2.0], [2.0, 1.0]]), "negative eigenvalue"),
        (lambda: LaplaceNoise(-1.0), "negative"),
        (lambda: LaplaceNoise([[1.0]]), "each column"),
        (lambda: MaskingNoise(0.0), "above 0"),
        (lambda: SymmetricNoise(np.cos).matrix(2), "covariance"),
        (lambda: SymmetricNoise(np.cos).characteristic(np.ones((3, 2))), "one value for each frequency"),
        (lambda: SymmetricNoise(lambda w: 2 + w[..., 0]).characteristic(np.ones((3, 2))), "real and within"),
        (lambda: characteristic_of_mean(MaskingNoise(0.5), np.ones((3, 2)), 1), "no characteristic function"),
    ],
)
def test_noise_that_makes_no_sense_is_refused(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
