"""The network that is trained through noise: scikit-learn's checks, beside plain training, out-of-fold rows."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.utils.estimator_checks import parametrize_with_checks

torch = pytest.importorskip("torch", reason="needs the extra torch")

from noisewise import FlipMatrix, audit_probabilities  # noqa: E402
from noisewise.torch import NetworkClassifier, NoisyCrossEntropy  # noqa: E402
from noisewise.torch.training import BehindNoise  # noqa: E402

FAST = {"folds": 2, "epochs": 15, "learning_rate": 0.003, "random_state": 0}


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:1200] / 16, y[:1200], X[1200:] / 16, y[1200:]


@parametrize_with_checks([NetworkClassifier(folds=2, epochs=25, learning_rate=0.02, batch_size=16, random_state=0)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_corrected_training_beats_plain_training_under_pair_noise(digits):
    X, truth, X_test, y_test = digits
    matrix = 0.6 * np.eye(10) + 0.4 * np.roll(np.eye(10), 1, axis=1)
    y = FlipMatrix(matrix).corrupt(truth, rng=0)
    plain = NetworkClassifier(noise=FlipMatrix.none(10), **FAST).fit(X, y)
    corrected = NetworkClassifier(**FAST).fit(X, y)
    assert plain.out_of_fold_ is None
    assert corrected.score(X_test, y_test) > plain.score(X_test, y_test) + 0.1
    assert np.abs(corrected.noise_.matrix - matrix).mean() < 0.05


def test_symmetric_noise_is_found_to_be_symmetric_and_plain_training_is_no_better(digits):
    X, truth, X_test, y_test = digits
    y = FlipMatrix.symmetric(0.45, n_classes=10).corrupt(truth, rng=0)
    plain = NetworkClassifier(noise=FlipMatrix.none(10), **FAST).fit(X, y)
    corrected = NetworkClassifier(**FAST).fit(X, y)
    assert corrected.score(X_test, y_test) > plain.score(X_test, y_test)
    rates = corrected.noise_.matrix[~np.eye(10, dtype=bool)]
    np.testing.assert_allclose(rates, rates[0])
    assert 0.3 < 9 * rates[0] < 0.6


def test_clean_labels_are_fitted_as_by_plain_training(digits):
    X, truth, X_test, y_test = digits
    plain = NetworkClassifier(noise=FlipMatrix.none(10), **FAST).fit(X, truth)
    found = NetworkClassifier(**FAST).fit(X, truth)
    assert found.score(X_test, y_test) > plain.score(X_test, y_test) - 0.02
    assert found.noise_.matrix.diagonal().mean() > 0.97


def test_probabilities_of_observed_labels_are_read_through_the_noise(rng):
    noise = FlipMatrix(0.7 * np.eye(4) + 0.3 * np.roll(np.eye(4), 1, axis=1))
    truth = rng.dirichlet(np.ones(4), 20)
    observed = torch.as_tensor(np.log(truth @ noise.matrix), dtype=torch.float32)
    found = torch.softmax(BehindNoise(torch.nn.Identity(), noise)(observed), dim=1)
    np.testing.assert_allclose(found, truth, atol=1e-5)


@pytest.mark.parametrize("noise", ["learn", "judgements"])
def test_other_readings_of_the_noise_train_too(digits, noise):
    X, truth, X_test, y_test = digits
    y = FlipMatrix.symmetric(0.3, n_classes=10).corrupt(truth, rng=0)
    network = NetworkClassifier(noise=noise, **FAST).fit(X, y)
    assert network.score(X_test, y_test) > 0.8
    assert 0.6 < network.noise_.matrix.diagonal().mean() < 1
    assert (network.out_of_fold_ is None) == (noise == "learn")
    if network.out_of_fold_ is not None:
        audit = audit_probabilities(network.out_of_fold_, y)
        assert np.mean((y != truth)[audit.picked]) > 0.8


def test_pictures_go_through_a_network_of_ones_own(digits):
    X, truth, X_test, y_test = digits

    def convolutions(n_classes):
        return torch.nn.Sequential(
            torch.nn.Conv2d(1, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.Flatten(),
            torch.nn.LazyLinear(n_classes),
        )  # fmt: skip

    names = np.array(list("abcdefghij"))
    network = NetworkClassifier(convolutions, FlipMatrix.none(10), **FAST)
    network.fit(X.reshape(-1, 1, 8, 8), names[truth])
    assert network.score(X_test.reshape(-1, 1, 8, 8), names[y_test]) > 0.85
    assert min(network.history_) < network.history_[0]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"noise": "guess"}, "noise is 'guess'"),
        ({"epochs": 0}, "epochs is 0"),
        ({"folds": 1}, "folds is 1"),
        ({"held_out": 1.0}, "held_out is 1.0"),
        ({"learning_rate": 0}, "learning_rate is 0"),
    ],
)
def test_what_cannot_be_is_refused(digits, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        NetworkClassifier(**options).fit(digits[0], digits[1])


def test_a_seed_decides_all(digits):
    X, y, X_test, _ = digits
    first, second = (NetworkClassifier(noise="learn", **{**FAST, "epochs": 2}).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(first.predict_proba(X_test), second.predict_proba(X_test))


def test_skorch_trains_with_the_corrected_loss(digits):
    skorch = pytest.importorskip("skorch", reason="its loop is tried")
    X, truth, X_test, y_test = digits
    noise = FlipMatrix(0.6 * np.eye(10) + 0.4 * np.roll(np.eye(10), 1, axis=1))
    y = noise.corrupt(truth, rng=0)
    torch.manual_seed(0)
    net = skorch.NeuralNetClassifier(
        torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10)),
        criterion=NoisyCrossEntropy,
        criterion__noise=noise,
        optimizer=torch.optim.Adam,
        lr=0.003,
        max_epochs=15,
        train_split=None,
        verbose=0,
    ).fit(X.astype(np.float32), y.astype(np.int64))
    assert np.mean(net.predict(X_test.astype(np.float32)) == y_test) > 0.85
