"""The disagreement of two fits to halves of the rows: the own error of the audit's model."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_iris

from noisewise.labels.ridge.halves import disagreement_of_halves
from noisewise.labels.ridge.pooled_fit import fit_pooled_ridge


def disagreement(X, y, weights=None):
    return disagreement_of_halves(X, y, int(y.max()) + 1, np.ones(len(y)) if weights is None else weights)


def test_it_is_that_of_two_fits_to_half_of_each_class():
    X, y = load_iris(return_X_y=True)
    fraction, n = disagreement(X, y)
    assert n == 150
    modes = []
    for start in (0, 1):  # any other halves of each class disagree about as often
        half = np.arange(len(y)) % 2 == start
        fit = fit_pooled_ridge(X[half], y[half], 3, 500, np.random.default_rng(0))
        modes.append(fit.leave_one_out_scores(X, y).argmax(axis=1))
    assert 0 < fraction < 0.15
    assert abs(np.mean(modes[0] != modes[1]) - fraction) < 0.07


def test_it_grows_with_the_noise_in_the_labels(rng):
    X, y = (part[:500] for part in load_digits(return_X_y=True))
    noisy = np.where(rng.random(500) < 0.4, rng.integers(0, 10, 500), y)
    coin = rng.permutation(y)
    fractions = [disagreement(X, labels)[0] for labels in (y, noisy, coin)]
    assert fractions[0] < 0.1 < fractions[1] < 0.5 < fractions[2]


def test_neither_order_nor_storage_nor_left_out_rows_matter(rng):
    X, y = (part[:300] for part in load_digits(return_X_y=True))
    order = rng.permutation(300)
    wanted, n = disagreement(X, y)
    assert disagreement(X[order], y[order]) == (pytest.approx(wanted, abs=2.5 / n), n)
    assert disagreement(sp.csr_array(X), y) == (pytest.approx(wanted, abs=2.5 / n), n)
    junk = np.vstack([X, rng.normal(size=(50, X.shape[1]))])
    labels = np.append(y, rng.integers(0, 10, 50))
    weights = np.append(np.ones(300), np.zeros(50))
    assert disagreement(junk, labels, weights)[1] == n


def test_of_a_small_table_it_hardly_depends_on_how_the_halves_are_drawn(rng):
    truth = rng.integers(0, 3, 300)
    X = np.column_stack([2.0 * truth, -truth]) + rng.normal(size=(300, 2))
    y = np.where(rng.random(300) < 0.1, (truth + 1) % 3, truth)
    fractions = [disagreement(unit * X, y)[0] for unit in np.linspace(1, 1.02, 12)]  # which changes the hashes alone
    assert 0.05 < np.mean(fractions) < 0.15
    assert np.std(fractions) < 0.02
