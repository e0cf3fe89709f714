"""Refusals: an error with a sentence, and an unchanged model."""

import copy

import numpy as np
import pytest


def state_of(model):
    """The state of a model, without its scratch buffers."""
    return copy.deepcopy({name: value for name, value in vars(model).items() if name not in model._not_saved_})


def same(one, other):
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    if hasattr(one, "__dict__") and not isinstance(one, type):
        return same(vars(one), vars(other))
    return one == other


def assert_refused(model, call, sentence):
    before = state_of(model)
    with pytest.raises(ValueError, match=sentence):
        call()
    assert same(before, state_of(model)), f"the model has changed: {sentence}"
