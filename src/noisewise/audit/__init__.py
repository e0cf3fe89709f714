"""Which rows have wrong labels, and which methods would stand more of them."""

from noisewise.audit._audit import audit_labels
from noisewise.audit._contestants import Spoilt
from noisewise.audit._result import LabelAudit
from noisewise.audit._stress import stress_test
from noisewise.audit._stress_result import StressResult

__all__ = ["LabelAudit", "Spoilt", "StressResult", "audit_labels", "stress_test"]
