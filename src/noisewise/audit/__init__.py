"""Which rows have wrong labels."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

from noisewise.audit.audit import audit_labels
from noisewise.audit.result import LabelAudit

__all__ = ["LabelAudit", "audit_labels"]

_MOVED = ("Spoilt", "StressResult", "stress_test")


def __getattr__(name: str) -> Any:
    if name in _MOVED:
        warnings.warn(f"noisewise.audit.{name} is now noisewise.stress.{name}", DeprecationWarning, stacklevel=2)
        return getattr(import_module("noisewise.stress"), name)
    raise AttributeError(f"module 'noisewise.audit' has no attribute {name!r}")
