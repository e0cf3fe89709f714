"""Which codec keeps which value."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from noisewise.persistence.arrays import ARRAY, OBJECTS, SCALAR, SPARSE_ARRAY, is_sparse
from noisewise.persistence.dtypes import DTYPE, NUMBER_TYPE
from noisewise.persistence.objects import BY_ITSELF, DATACLASS, ESTIMATOR, FUNCTION, NAMED_TUPLE, object_codec
from noisewise.persistence.random_states import RANDOM_CODECS
from noisewise.persistence.registry import Registry
from noisewise.persistence.tree import Codec
from noisewise.persistence.values import VALUE_CODECS

BY_TYPE = {**VALUE_CODECS, **RANDOM_CODECS}
BY_KIND = {
    codec.kind: codec
    for codec in (
        *BY_TYPE.values(),
        *(ARRAY, OBJECTS, SCALAR, SPARSE_ARRAY, DTYPE, NUMBER_TYPE),
        *(BY_ITSELF, ESTIMATOR, DATACLASS, NAMED_TUPLE, FUNCTION),
    )
}


def find_codec(value: Any, path: str, registry: Registry) -> Codec:
    """The codec of a value, or an error that says where it is and what would do."""
    kind = type(value)
    if kind in BY_TYPE:
        return BY_TYPE[kind]
    if kind in (np.ndarray, np.memmap):
        return OBJECTS if value.dtype == object else ARRAY
    if isinstance(value, np.generic):
        return SCALAR
    if isinstance(value, np.dtype):
        return DTYPE
    if is_sparse(value):
        return SPARSE_ARRAY
    if inspect.isclass(value) and issubclass(value, np.generic):
        return NUMBER_TYPE
    if inspect.isfunction(value) or inspect.isclass(value):
        return _function_codec(value, path, registry)
    codec = object_codec(value) if registry.name(kind) else None
    if codec is None:
        raise ValueError(_refusal(value, path, registry))
    return codec


def _function_codec(value: Any, path: str, registry: Registry) -> Codec:
    if inspect.isfunction(value) and registry.name(value):
        return FUNCTION
    what = "class" if inspect.isclass(value) else "function"
    would_do = "an object of it" if inspect.isclass(value) else "a public function of noisewise"
    raise ValueError(f"{path} is the {what} {value.__qualname__}, which a model file can't hold; {would_do} would do")


def _refusal(value: Any, path: str, registry: Registry) -> str:
    kind = type(value)
    named = f"{path} is a {kind.__module__}.{kind.__qualname__}"
    if registry.name(kind):
        return (
            f"{named}, which gives no way to keep it; a dataclass, a named tuple, an estimator with get_params, "
            "or a class with __noisewise_state__ and __from_noisewise_state__ would do"
        )
    return (
        f"{named}, which a model file can't hold; numbers, text, arrays, public classes of noisewise and simple ones "
        "of scikit-learn (scalers, encoders, linear models, pipelines of these) would do; for a class of your own, "
        "name it in extra=[...]; what can be made anew belongs in its owner's _not_saved_"
    )
