"""Which rows have wrong labels."""

from noisewise.audit._audit import audit_labels
from noisewise.audit._result import LabelAudit

__all__ = ["LabelAudit", "audit_labels"]
