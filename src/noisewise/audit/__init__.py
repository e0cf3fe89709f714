"""Which rows have wrong labels."""

from noisewise.audit._audit import LabelAudit, audit_labels
from noisewise.audit._files import read_labelled, read_table, write_whole

__all__ = ["LabelAudit", "audit_labels", "read_labelled", "read_table", "write_whole"]
