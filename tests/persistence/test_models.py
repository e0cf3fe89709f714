"""Models come back whole, and go on with the same bits."""

import dataclasses
import functools
import math
import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from noisewise import kernels, losses
from noisewise.noise import FlipMatrix, GaussianNoise
from noisewise.persistence import describe, load, save


class Walker(BaseEstimator):
    """Learns by random steps; its neighbour index is rebuilt on demand."""

    _not_saved_ = ("_index",)

    def __init__(self, noise=None, rng=None, rates=(0.1, 0.2)):
        self.noise = noise
        self.rng = rng
        self.rates = rates

    def partial_fit(self, X):
        if not hasattr(self, "mean_"):
            self.mean_, self.noise_, self._rng = np.zeros((X.shape[1], 2))[:, 0], self.noise, self.rng
        for x in X:
            step = self.rates[0] * (1 + self._rng.random())
            self.mean_ += step * (x - self.mean_) * (1 + 1e-3 * (self.mean_ @ x))
        self._index = object()
        return self


class Tally:
    """Says itself what to keep."""

    def __init__(self, log):
        self.total = math.fsum(log)
        self.handle = object()

    def __noisewise_state__(self):
        return {"total": self.total}

    @classmethod
    def __from_noisewise_state__(cls, state):
        return cls([state["total"]])


@dataclasses.dataclass(frozen=True, eq=False, slots=True)
class Rounded:
    """Rounds its field in the constructor, and derives another."""

    weights: np.ndarray
    total: float = dataclasses.field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "weights", self.weights / self.weights.sum())
        object.__setattr__(self, "total", float(self.weights.sum()))


class Move(NamedTuple):
    """A tuple with names."""

    action: str
    features: np.ndarray


class Plain:
    """Gives no way to keep it."""


OWN = (Walker, Tally, Rounded, Move, Plain)


@pytest.fixture
def through_own(through):
    return functools.partial(through, extra=OWN)


@pytest.mark.parametrize("seed", range(20))
def test_flip_matrices_come_back_bit_for_bit(seed, through):
    rates = np.random.default_rng(seed).random((7, 7)) + 10 * np.eye(7)
    noise = FlipMatrix(rates / rates.sum(axis=1, keepdims=True))
    assert noise.inverse is noise.inverse  # in the object's dictionary now, and not in the file
    back = through(noise)
    assert back.matrix.tobytes() == noise.matrix.tobytes()
    assert "inverse" not in vars(back)
    assert back.inverse.tobytes() == noise.inverse.tobytes()
    assert hash(back) == hash(noise)
    assert not back.matrix.flags.writeable


@pytest.mark.parametrize("covariance", [0.5, [1.0, 0.0], [[2.0, 1.0], [1.0, 2.0]]])
def test_gaussian_noise_comes_back(covariance, through):
    noise = GaussianNoise(covariance)
    assert through(noise) == noise


def test_losses_and_kernels_come_back(through):
    configuration = [losses.SmoothedHinge(), kernels.Gaussian(width=0.3), kernels.Polynomial(degree=2)]
    assert through(configuration) == configuration


def test_save_load_and_go_on_gives_the_same_bits(through_own):
    X = np.random.default_rng(1).normal(size=(200, 5))
    model = Walker(FlipMatrix.symmetric(0.1, 3), np.random.default_rng(0)).partial_fit(X[:100])
    back = through_own(model)
    assert model.partial_fit(X[100:]).mean_.tobytes() == back.partial_fit(X[100:]).mean_.tobytes()
    assert back.mean_.strides == model.mean_.strides
    assert back.rng is back._rng  # one generator stays one
    assert back.noise_ is back.noise


def test_attributes_made_anew_are_left_out(through_own):
    model = Walker(rng=np.random.default_rng(0)).partial_fit(np.ones((2, 3)))
    assert not hasattr(through_own(model), "_index")
    model._other = object()
    with pytest.raises(ValueError, match=r"model\._other is a builtins\.object.*_not_saved_"):
        through_own(model)


def test_a_class_may_say_what_to_keep(through_own):
    assert through_own(Tally([0.1, 0.2, 0.3])).total == math.fsum([0.1, 0.2, 0.3])


def test_named_tuples_come_back(through_own):
    back = through_own([Move("left", np.arange(3))])[0]
    assert type(back) is Move
    assert back.action == "left"
    assert back.features.tolist() == [0, 1, 2]


def test_fields_a_constructor_rounds_come_back_as_they_were(through_own):
    rounded = Rounded(np.random.default_rng(2).random(4))
    back = through_own(rounded)
    assert Rounded(rounded.weights).weights.tobytes() != rounded.weights.tobytes()  # else this shows nothing
    assert back.weights.tobytes() == rounded.weights.tobytes()
    assert back.total == rounded.total


def test_classes_off_the_list_are_refused(through, tmp_path):
    with pytest.raises(ValueError, match=r"model\.noise is a .*Tally, which a model file can't hold; .* would do"):
        through(Walker(noise=Tally([1])), extra=[Walker])
    with pytest.raises(ValueError, match="Plain, which gives no way to keep it; a dataclass"):
        through(Plain(), extra=OWN)
    save(Tally([1]), tmp_path / "tally.model", extra=[Tally])
    with pytest.raises(ValueError, match=r"it holds a .*Tally, which is not among what this version can load"):
        load(tmp_path / "tally.model")


def test_public_functions_are_kept_by_name(through, monkeypatch):
    def by_halves():
        return 0.5

    by_halves.__module__, by_halves.__qualname__ = "noisewise.noise.flip_matrix", "by_halves"
    import noisewise.noise

    with pytest.raises(ValueError, match="is the function by_halves"):
        through([by_halves])
    monkeypatch.setattr(noisewise.noise, "by_halves", by_halves, raising=False)
    monkeypatch.setattr(noisewise.noise, "__all__", [*noisewise.noise.__all__, "by_halves"])
    assert through([by_halves]) == [by_halves]


def test_a_file_is_described_without_building_the_model(tmp_path, monkeypatch):
    monkeypatch.setattr(FlipMatrix, "__post_init__", lambda self: None)
    noise = FlipMatrix(np.eye(2))
    save(Walker(noise, np.random.default_rng(0), [0.5, noise, {"a": math.inf}]), tmp_path / "a.model", extra=[Walker])
    monkeypatch.setattr(FlipMatrix, "__post_init__", lambda self: pytest.fail("built"))
    described = describe(tmp_path / "a.model")
    flip = {"class": "noisewise.noise.FlipMatrix", "matrix": "float64 array of shape (2, 2)"}
    assert described["class"].endswith(".Walker")
    assert described["parameters"] == {"noise": flip, "rng": "a generator", "rates": [0.5, flip, {"a": "a float"}]}
    assert described["arrays"] == {"model.noise.matrix": "float64 (2, 2)"}
    assert described["versions"].keys() == {"noisewise", "numpy", "python", "scikit-learn"}
    assert described["size"] == (tmp_path / "a.model").stat().st_size


def test_importing_is_light():
    code = "import sys, noisewise.persistence; print({'numba', 'pandas', 'sklearn', 'scipy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
