"""Model files: data only, one file a model, and a loaded model goes on where the saved one stopped.

A file is a safetensors file: arrays, and one JSON document that says how they make up the model. Nothing in it is run;
objects are rebuilt from a closed list of classes (the public ones of noisewise, a few of scikit-learn, and those you
name), so a file from a stranger can be wrong but not do harm by being opened.

A class takes part in one of three ways: it is a scikit-learn style estimator (parameters, and whatever `fit` left,
except the names in its `_not_saved_`), or a dataclass or named tuple (its fields), or it says what to keep by
``__noisewise_state__(self) -> dict`` and makes itself anew by ``__from_noisewise_state__(cls, state)``.
"""

from noisewise.persistence.files import describe, load, save

__all__ = ["describe", "load", "save"]
