"""GaussianNoise: what it accepts and what it draws."""

import numpy as np
import pytest

from noisewise import GaussianNoise


def test_corrupt_is_the_first_replicate():
    X = np.arange(6.0).reshape(3, 2)
    noise = GaussianNoise([[1.0, 0.3], [0.3, 2.0]])
    np.testing.assert_array_equal(noise.corrupt(X, 3), noise.copies(X, 1, 3)[:, 0])


@pytest.mark.parametrize("covariance", [2.0, [2.0, 2.0], 2 * np.eye(2)])
def test_a_number_a_row_and_a_matrix_agree(covariance):
    np.testing.assert_array_equal(GaussianNoise(covariance).matrix(2), 2 * np.eye(2))


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: GaussianNoise([[1.0, 2.0], [2.0, 1.0]]), "negative eigenvalue"),
        (lambda: GaussianNoise([[1.0, 0.5], [0.0, 1.0]]), "not symmetric"),
        (lambda: GaussianNoise([-1.0]), "can't be negative"),
        (lambda: GaussianNoise(np.ones((2, 3))), "square"),
        (lambda: GaussianNoise(np.nan), "finite"),
        (lambda: GaussianNoise([1.0, 1.0]).corrupt(np.zeros((4, 3))), "covers 2 columns, the data have 3"),
        (lambda: GaussianNoise(1.0).copies(np.zeros((4, 3)), 0), "at least one"),
        (lambda: GaussianNoise(1.0).corrupt(np.zeros(3)), "two axes"),
    ],
)
def test_impossible_input_gets_a_sentence(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()
