"""Model files: data only, one file a model; a loaded model continues where the saved one stopped.

A file is a safetensors file: arrays, and one JSON document that says how they make up the model. Nothing in it is run;
objects are rebuilt from a closed list of classes (the public ones of noisewise, a few of scikit-learn, and those you
name), so that opening a file of unknown origin is safe.

What is stored of an object: of a scikit-learn style estimator, parameters and fitted attributes (except the names in
its `_not_saved_`); of a dataclass or named tuple, its fields; of a class with ``__noisewise_state__(self) -> dict`` and
``__from_noisewise_state__(cls, state)``, that state.
"""

from noisewise.persistence.files import describe, load, save

__all__ = ["describe", "load", "save"]
