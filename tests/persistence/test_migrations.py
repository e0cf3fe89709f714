"""Files of earlier versions load after classes and fields were renamed."""

import dataclasses
from collections import namedtuple

import pytest
from sklearn.base import BaseEstimator

from noisewise.noise import LaplaceNoise
from noisewise.persistence import describe, load, save
from noisewise.persistence.migrations import RENAMED_CLASSES, RENAMED_FIELDS
from noisewise.persistence.registry import Registry


class EstimatorBefore(BaseEstimator):
    def __init__(self, amount=0.1):
        self.amount = amount
        self.turns_ = 3


class EstimatorNow(BaseEstimator):
    def __init__(self, rate=0.2):
        self.rate = rate


class StateBefore:
    def __noisewise_state__(self):
        return {"amount": 0.1, "turns_": 3}


class StateNow:
    @classmethod
    def __from_noisewise_state__(cls, state):
        now = cls()
        vars(now).update(state)
        return now


TupleBefore, TupleNow = namedtuple("TupleBefore", "amount turns_"), namedtuple("TupleNow", "rate n_iter_")


@dataclasses.dataclass(frozen=True)
class DataBefore:
    amount: float
    turns_: int


@dataclasses.dataclass(frozen=True)
class DataNow:
    rate: float
    n_iter_: int


CHANGES = [
    (EstimatorBefore(), EstimatorNow),
    (StateBefore(), StateNow),
    (TupleBefore(0.1, 3), TupleNow),
    (DataBefore(0.1, 3), DataNow),
]
for before, now in CHANGES:
    type(before).__qualname__ = now.__qualname__  # one class, a version ago and now


@pytest.mark.parametrize(("before", "now"), CHANGES, ids=[now.__name__ for _, now in CHANGES])
def test_renamed_fields_come_back_under_their_new_names(before, now, tmp_path, monkeypatch):
    save(before, tmp_path / "before.model", extra=[type(before)])
    fields = {"amount": "rate", "turns_": "n_iter_"}
    monkeypatch.setitem(RENAMED_FIELDS, f"{__name__}.{now.__qualname__}", fields)
    back = load(tmp_path / "before.model", extra=[now])
    assert type(back) is now
    assert (back.rate, back.n_iter_) == (0.1, 3)
    assert not hasattr(back, "amount")


def test_fields_are_renamed_in_classes_that_were_renamed_too(tmp_path, monkeypatch):
    noise = LaplaceNoise(0.5)
    (field,) = (field.name for field in dataclasses.fields(noise))
    save(noise, tmp_path / "noise.model")
    monkeypatch.setitem(RENAMED_CLASSES, "noisewise.noise.LaplaceNoise", "noisewise.noise.GaussianNoise")
    monkeypatch.setitem(RENAMED_FIELDS, "noisewise.noise.GaussianNoise", {field: "covariance"})
    assert load(tmp_path / "noise.model").covariance == 0.5
    described = describe(tmp_path / "noise.model")
    assert described["class"] == "noisewise.noise.GaussianNoise"
    assert list(described["parameters"]) == ["covariance"]


def registry_for(name):
    """The registry of `load`, or that of the service, which names its own class as an extra one."""
    if not name.startswith("noisewise.serve."):
        return Registry()
    return Registry([pytest.importorskip("noisewise.serve.models.progress", exc_type=ImportError).Progress])


@pytest.mark.parametrize("old", RENAMED_CLASSES)
def test_every_renamed_class_is_found(old):
    registry = registry_for(old)
    found = registry._look_up(old)
    assert found is not None
    assert registry.name(found) == RENAMED_CLASSES[old]


@pytest.mark.parametrize("name", RENAMED_FIELDS)
def test_every_class_with_renamed_fields_exists(name):
    assert registry_for(name).find_class(name) is not None
