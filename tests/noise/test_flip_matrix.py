"""FlipMatrix: the algebra every correction stands on."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from helpers import assert_unbiased
from noisewise import FlipMatrix, GaussianNoise


@st.composite
def flips(draw):
    """Matrices of 2 to 6 classes with a diagonal that dominates."""
    k = draw(st.integers(2, 6))
    mess = draw(arrays(float, (k, k), elements=st.floats(0.01, 1)))
    keep = draw(st.floats(0.55, 1))
    return FlipMatrix(keep * np.eye(k) + (1 - keep) * mess / mess.sum(axis=1, keepdims=True))


def posteriors(draw, k, n=7):
    p = draw(arrays(float, (n, k), elements=st.floats(0, 1)))
    assume((p.sum(axis=1) > 1e-3).all())
    return p / p.sum(axis=1, keepdims=True)


@given(st.data())
def test_pull_undoes_push(data):
    noise = data.draw(flips())
    p = posteriors(data.draw, noise.n_classes)
    np.testing.assert_allclose(noise.pull(noise.push(p)), p, atol=1e-9)


@given(st.data())
def test_pushed_and_pulled_posteriors_are_posteriors(data):
    noise = data.draw(flips())
    p = posteriors(data.draw, noise.n_classes)
    for moved in (noise.push(p), noise.pull(p)):
        assert moved.min() >= 0
        np.testing.assert_allclose(moved.sum(axis=1), 1, atol=1e-12)


@given(flips())
def test_unbiased_targets_sum_to_one(noise):
    targets = noise.unbiased_targets(np.arange(noise.n_classes))
    np.testing.assert_allclose(targets.sum(axis=1), 1, atol=1e-9)
    np.testing.assert_allclose(noise.matrix @ targets, np.eye(noise.n_classes), atol=1e-9)


@given(st.data())
def test_responsibilities_are_bayes_rule(data):
    noise = data.draw(flips())
    p = posteriors(data.draw, noise.n_classes)
    observed = data.draw(arrays(int, len(p), elements=st.integers(0, noise.n_classes - 1)))
    explained = noise.explain(p, observed)
    np.testing.assert_allclose(explained.sum(axis=1), 1, atol=1e-12)
    by_hand = [[p[n, j] * noise.matrix[j, y] for j in range(noise.n_classes)] for n, y in enumerate(observed)]
    evidence = noise.push(p)[np.arange(len(p)), observed]
    np.testing.assert_allclose(explained * evidence[:, None], by_hand, atol=1e-12)


def test_an_impossible_label_is_explained_by_the_noise_alone():
    explained = FlipMatrix.none(2).explain([[1.0, 0.0]], [1])
    np.testing.assert_array_equal(explained, [[0.0, 1.0]])


def test_corrupt_draws_from_the_row(rng):
    noise = FlipMatrix([[0.7, 0.2, 0.1], [0.0, 1.0, 0.0], [0.3, 0.3, 0.4]])
    for true, row in enumerate(noise.matrix):
        observed = noise.corrupt(np.full(50_000, true), rng)
        assert_unbiased(np.eye(3)[observed], row)


def test_corrupt_keeps_shape_kind_and_seed():
    noise = FlipMatrix.symmetric(0.3, 4)
    y = np.array([[0, 1], [2, 3]], dtype=np.int8)
    assert noise.corrupt(y, 1).dtype == np.int8
    np.testing.assert_array_equal(noise.corrupt(y, 1), noise.corrupt(y, np.random.default_rng(1)))
    named = noise.corrupt(["a", "d", "b"] * 50, 0, classes=["a", "b", "c", "d"])
    assert set(named) == {"a", "b", "c", "d"}


def test_corrupting_names_equals_corrupting_codes():
    noise = FlipMatrix.binary(0.2, 0.4)
    codes = np.array([0, 1] * 100)
    np.testing.assert_array_equal(noise.corrupt(2 * codes - 1, 5, classes=[-1, 1]), 2 * noise.corrupt(codes, 5) - 1)


def test_equal_matrices_are_equal():
    assert FlipMatrix.binary(0.1, 0.2) == FlipMatrix([[0.9, 0.1], [0.2, 0.8]])
    assert len({FlipMatrix.none(2), FlipMatrix.none(2), FlipMatrix.none(3)}) == 2


def test_a_flip_matrix_does_not_change():
    with pytest.raises(ValueError, match="read-only"):
        FlipMatrix.none(2).matrix[0, 0] = 0.5


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: FlipMatrix.binary(0.6, 0.4), "sum to 1.00; below 1"),
        (lambda: FlipMatrix([[0.2, 0.8], [0.7, 0.3]]), "sum to 1.50; below 1"),
        (lambda: FlipMatrix.binary(-0.1, 0.4), "between 0 and 1"),
        (lambda: FlipMatrix.symmetric(0.75, 4), "at or above 0.75, 4 classes carry no information"),
        (lambda: FlipMatrix.symmetric(-0.1, n_classes=3), "the rate is -0.1; a rate is a probability between 0 and 1"),
        (lambda: FlipMatrix.symmetric(np.nan, 3), "the rate is nan; a rate is a probability between 0 and 1"),
        (lambda: FlipMatrix([[0.5, 0.4], [0.1, 0.9]]), "row 0 .* sums to 0.9"),
        (lambda: FlipMatrix([[1.0, 0.0, 0.0]]), "square"),
        (lambda: FlipMatrix([[np.nan, 1.0], [0.0, 1.0]]), "between 0 and 1"),
        (lambda: FlipMatrix(np.full((3, 3), 1 / 3)), "can't be inverted"),
        (lambda: FlipMatrix.none(2).corrupt([0, 2]), "from 0 to 1"),
        (lambda: FlipMatrix.none(2).corrupt(["a", "b"]), "classes"),
        (lambda: FlipMatrix.none(2).corrupt(["a", "a"], classes=["a", "a"]), "name all 2 classes"),
        (lambda: FlipMatrix.none(2).push([[1.0, 0.0, 0.0]]), "2 classes"),
        (lambda: FlipMatrix.none(2).pull([[0.0, 0.0]]), "sum to one"),
        (lambda: FlipMatrix.none(2).push([[1.5, -0.5]]), "probabilities"),
        (lambda: FlipMatrix.none(2).explain([[np.nan, 1.0]], [0]), "none missing"),
    ],
)
def test_impossible_input_gets_a_sentence(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


def test_an_estimate_that_cannot_be_inverted_is_shrunk_with_a_warning():
    with pytest.warns(RuntimeWarning, match="shrunk by"):
        noise = FlipMatrix.estimated(np.full((3, 3), 1 / 3))
    assert np.all(np.diag(noise.matrix) > 1 / 3)


def test_a_sound_estimate_is_left_alone():
    np.testing.assert_array_equal(FlipMatrix.estimated([[0.75, 0.25], [0.5, 0.5]]).matrix, [[0.75, 0.25], [0.5, 0.5]])


@pytest.mark.parametrize("labels", [["x", 3], [("a", 1), ("b", 2)], ["longer", "b"]])
def test_labels_of_any_kind_stay_what_they_are_when_corrupted(labels):
    observed = FlipMatrix.binary(0.0, 0.5).corrupt(labels * 50, rng=0, classes=labels).tolist()
    assert set(observed) == set(labels)
    assert observed[::2] == labels[:1] * 50
    with pytest.raises(ValueError, match="the label 'z' is not among the classes"):
        FlipMatrix.none(2).corrupt(["z"], classes=labels)


def test_equal_noises_have_equal_hashes():
    assert hash(FlipMatrix([[1.0, -0.0], [0.0, 1.0]])) == hash(FlipMatrix.none(2))
    assert hash(GaussianNoise([-0.0, 1.0])) == hash(GaussianNoise([0.0, 1.0]))
