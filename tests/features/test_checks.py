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
)

LEARNERS = [NoisyFeatureRegressor, OnlineNoisyRegressor, DeconvolvedFourierRegressor, NoisyKernelRegressor]


def noisy(rng, noise, n=600):
    X = rng.normal(size=(n, 3))
    return X, noise.corrupt(X, rng), X @ [1.0, -2.0, 0.5]


@pytest.mark.parametrize("learner", LEARNERS)
def test_more_noise_than_a_column_has_variance_gets_a_warning(learner, rng):
    _, Z, y = noisy(rng, GaussianNoise(0.5))
    frame = pd.DataFrame(Z, columns=["a", "b", "c"])
    sentence = r"variance 3 is stated for column b, which has a variance of 1\.\d+ in all: .* a standard deviation"
    with pytest.warns(RuntimeWarning, match=sentence) as caught:
        learner(noise=GaussianNoise([0.5, 3.0, 0.5])).fit(frame, y)
    assert caught[0].filename == __file__
    with pytest.warns(RuntimeWarning, match=r"column 2 \(and 1 more\)"):
        learner(noise=GaussianNoise([0.5, 2.5, 3.0])).fit(Z, y)


def test_classifiers_and_variances_of_rows_are_checked_too(rng):
    _, Z, y = noisy(rng, GaussianNoise(0.5))
    with pytest.warns(RuntimeWarning, match="column 0"):
        NoisyFeatureClassifier(noise=GaussianNoise([3.0, 0.1, 0.1])).fit(Z, y > 0)
    with pytest.warns(RuntimeWarning, match="column 1"):
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


@pytest.mark.parametrize("noise", [GaussianNoise(0.5), LaplaceNoise(1.0), MaskingNoise(0.5), GaussianNoise(0.0)])
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
