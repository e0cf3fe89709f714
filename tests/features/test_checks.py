"""The stated noise is checked against the rows."""

import warnings

import numpy as np
import pandas as pd
import pytest

from noisewise import GaussianNoise
from noisewise.features import (
    DeconvolvedFourierRegressor,
    LaplaceNoise,
    MaskingNoise,
    NoisyFeatureClassifier,
    NoisyFeatureRegressor,
    NoisyKernelRegressor,
    OnlineNoisyRegressor,
    UnknownNoiseKernelRegressor,
)

LEARNERS = [NoisyFeatureRegressor, OnlineNoisyRegressor, DeconvolvedFourierRegressor, NoisyKernelRegressor]


def noisy(rng, noise, n=600):
    X = rng.normal(size=(n, 3))
    return X, noise.corrupt(X, rng), X @ [1.0, -2.0, 0.5]


@pytest.mark.parametrize("learner", LEARNERS)
def test_more_noise_than_a_column_has_variance_is_refused(learner, rng):
    _, Z, y = noisy(rng, GaussianNoise(0.5))
    frame = pd.DataFrame(Z, columns=["a", "b", "c"])
    sentence = r"variance 3 is stated for column b, which has a variance of 1\.\d+ in all: is a standard deviation"
    with pytest.raises(ValueError, match=sentence):
        learner(noise=GaussianNoise([0.5, 3.0, 0.5])).fit(frame, y)
    with pytest.raises(ValueError, match=r"column 2 \(and 1 more\)"):
        learner(noise=GaussianNoise([0.5, 2.5, 3.0])).fit(Z, y)


@pytest.mark.parametrize("learner", LEARNERS)
def test_more_noise_than_columns_that_predict_each_other_allow_is_refused(learner, rng):
    common, noise = rng.normal(size=(800, 1)), GaussianNoise(0.1)
    Z = noise.corrupt(common + 0.1 * rng.normal(size=(800, 3)), rng)
    learner(noise=noise).fit(Z, common[:, 0])
    with pytest.raises(ValueError, match=r"variance 0\.7 is stated for column \d, of which other columns predict"):
        learner(noise=GaussianNoise(0.7)).fit(Z, common[:, 0])  # less than the variance of every column


def test_later_pieces_get_a_warning(rng):
    _, Z, y = noisy(rng, GaussianNoise(0.5))
    for learner in (NoisyFeatureRegressor, OnlineNoisyRegressor, DeconvolvedFourierRegressor):
        model = learner(noise=GaussianNoise(0.5)).partial_fit(Z, y)
        with pytest.warns(RuntimeWarning, match="the fit can't be trusted") as caught:
            model.partial_fit(0.1 * Z, y)
        assert caught[0].filename == __file__


def test_noise_of_constant_columns_is_no_contradiction(rng):
    _, Z, y = noisy(rng, GaussianNoise(0.5))
    Z[:, 1] = 7.0
    assert NoisyFeatureRegressor(noise=GaussianNoise(0.5)).fit(Z, y).coef_[1] == 0


@pytest.mark.parametrize("learner", [*LEARNERS, NoisyFeatureClassifier, UnknownNoiseKernelRegressor])
def test_a_copy_given_twice_is_refused(learner, rng):
    _, Z, y = noisy(rng, GaussianNoise(0.5))
    y = np.sign(y) if learner is NoisyFeatureClassifier else y
    with pytest.raises(ValueError, match="copies 0 and 1 are the same, row for row"):
        learner().fit(Z, y, copies=np.stack([Z, Z], axis=1))


@pytest.mark.parametrize("order", [np.repeat(np.arange(40), 25), np.tile(np.arange(40), 25)], ids=["runs", "rounds"])
@pytest.mark.parametrize("learner", [NoisyFeatureRegressor, DeconvolvedFourierRegressor, NoisyKernelRegressor])
@pytest.mark.parametrize("known", [True, False])
def test_repeated_noisy_rows_get_a_warning_and_do_no_harm(order, learner, known):
    rng, noise = np.random.default_rng(0), GaussianNoise(0.3)
    X = rng.normal(size=(500, 6)) @ (np.eye(6) + 0.5 * rng.normal(size=(6, 6)))
    copies, y = noise.copies(X, 2, rng)[order], (X @ rng.normal(size=6))
    options = {"random_state": 0} if learner is not NoisyFeatureRegressor else {}
    model = learner(noise=noise, **options) if known else learner(**options)
    with pytest.warns(RuntimeWarning, match="of 1000 noisy rows only 40 are distinct"):
        model.fit(copies[:, 0], y[order], copies=None if known else copies)
    assert model.score(X[40:], y[40:]) > 0.85


def test_classifiers_and_variances_of_rows_are_checked_too(rng):
    _, Z, y = noisy(rng, GaussianNoise(0.5))
    with pytest.raises(ValueError, match="column 0"):
        NoisyFeatureClassifier(noise=GaussianNoise([3.0, 0.1, 0.1])).fit(Z, y > 0)
    with pytest.raises(ValueError, match="column 1"):
        NoisyFeatureRegressor().fit(Z, y, row_covariances=np.tile([0.1, 3.0, 0.1], (len(Z), 1)))


@pytest.mark.parametrize("noise", [GaussianNoise(1.0), LaplaceNoise(1.0), MaskingNoise(0.1)])
@pytest.mark.parametrize("n", [2, 60, 1000])
def test_columns_of_noise_alone_are_no_contradiction(noise, n):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        Z = noise.copies(np.ones((n, 3)), 2, rng)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            NoisyFeatureRegressor(noise=noise).fit(Z[:, 0], rng.normal(size=n))
            NoisyFeatureRegressor(noise=noise).fit(Z[:, 0], rng.normal(size=n), copies=Z)
            NoisyFeatureRegressor(noise=noise).fit(Z[:, 0], rng.normal(size=n), copies=Z[:, 1:])


@pytest.mark.parametrize("learner", [NoisyFeatureRegressor, OnlineNoisyRegressor, DeconvolvedFourierRegressor])
def test_one_copy_shows_no_noise(learner, rng):
    _, Z, y = noisy(rng, GaussianNoise(0.5))
    with pytest.raises(ValueError, match="copies hold X alone, which can't show its noise; give a second copy"):
        learner().fit(Z, y, copies=Z[:, None])
    learner(noise=GaussianNoise(0.5)).fit(Z, y, copies=Z[:, None])


@pytest.mark.parametrize("change", [lambda Z: 7 + 0 * Z, lambda Z: Z + 1.5, lambda Z: Z[::-1], lambda Z: 3 * Z])
@pytest.mark.parametrize("learner", [NoisyFeatureRegressor, NoisyKernelRegressor])
def test_copies_of_other_rows_get_a_warning(change, learner, rng):
    noise = GaussianNoise(0.5)
    X, Z, y = noisy(rng, noise)
    with pytest.warns(RuntimeWarning, match="of X lies further from its copies than they from each other") as caught:
        learner().fit(change(Z), y, copies=noise.copies(X, 2, rng))
    assert caught[0].filename == __file__


@pytest.mark.parametrize("noise", [GaussianNoise(0.5), LaplaceNoise(1.0), MaskingNoise(0.5)])
def test_copies_of_the_same_rows_get_none(noise):
    for seed in range(15):
        rng = np.random.default_rng(seed)
        X, Z, y = noisy(rng, noise, 200)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            NoisyFeatureRegressor().fit(Z, y, copies=noise.copies(X, 3, rng))


@pytest.mark.parametrize("noise", [LaplaceNoise([0.1, 0.2, 0.3]), MaskingNoise([0.5, 0.5, 0.5])])
def test_copies_are_refused_in_a_sentence_where_there_is_nothing_to_copy(noise):
    with pytest.raises(ValueError, match=r"X has shape \(2,\); rows of features"):
        noise.corrupt([1.0, 2.0])
    with pytest.raises(ValueError, match="0 copies were asked for"):
        noise.copies(np.ones((4, 3)), 0)
    with pytest.raises(ValueError, match="the noise covers 3 columns, the data have 2"):
        noise.corrupt(np.ones((4, 2)))
