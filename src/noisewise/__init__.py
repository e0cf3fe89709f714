"""Learn what is true from labels, clicks and sensors that are not."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from noisewise.audit import (
        AnnotationAudit,
        LabelAudit,
        TagAudit,
        TargetAudit,
        audit_annotations,
        audit_images,
        audit_labels,
        audit_multilabel,
        audit_probabilities,
        audit_targets,
    )
    from noisewise.noise import FlipMatrix, GaussianNoise
    from noisewise.persistence import load, save

__version__ = "0.1.0"
__all__ = [
    "AnnotationAudit",
    "FlipMatrix",
    "GaussianNoise",
    "LabelAudit",
    "TagAudit",
    "TargetAudit",
    "__version__",
    "audit_annotations",
    "audit_images",
    "audit_labels",
    "audit_multilabel",
    "audit_probabilities",
    "audit_targets",
    "load",
    "save",
]

_HOMES = {
    "AnnotationAudit": "noisewise.audit",
    "FlipMatrix": "noisewise.noise",
    "GaussianNoise": "noisewise.noise",
    "LabelAudit": "noisewise.audit",
    "audit_annotations": "noisewise.audit",
    "audit_images": "noisewise.audit",
    "TagAudit": "noisewise.audit",
    "TargetAudit": "noisewise.audit",
    "audit_labels": "noisewise.audit",
    "audit_multilabel": "noisewise.audit",
    "audit_probabilities": "noisewise.audit",
    "audit_targets": "noisewise.audit",
    "load": "noisewise.persistence",
    "save": "noisewise.persistence",
}
_PACKAGES = (
    "audit",
    "datasets",
    "embeddings",
    "features",
    "kernels",
    "labels",
    "losses",
    "metrics",
    "noise",
    "online",
    "persistence",
    "stress",
    "tables",
)


def __getattr__(name: str) -> Any:  # lazy: importing noisewise loads no numerics
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _PACKAGES:
        return import_module(f"noisewise.{name}")
    raise AttributeError(f"module 'noisewise' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_PACKAGES})
