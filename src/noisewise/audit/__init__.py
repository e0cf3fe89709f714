"""Label audits: which rows of a table have wrong labels."""

from noisewise._deprecation import moved
from noisewise.audit.annotation_result import AnnotationAudit
from noisewise.audit.annotations import audit_annotations
from noisewise.audit.audit import Settings as Settings
from noisewise.audit.audit import audit_labels
from noisewise.audit.audit import run_audit as run_audit
from noisewise.audit.cluster import OnCluster as OnCluster
from noisewise.audit.cluster import dask_client as dask_client
from noisewise.audit.export import CANT_TELL as CANT_TELL
from noisewise.audit.export import FIRST_SPREADSHEET_ROW as FIRST_SPREADSHEET_ROW
from noisewise.audit.export import label_names as label_names
from noisewise.audit.export import patch_text as patch_text
from noisewise.audit.images import audit_images
from noisewise.audit.images import readable_in as readable_in
from noisewise.audit.images import run_image_audit as run_image_audit
from noisewise.audit.label_names import merge_labels
from noisewise.audit.label_names import merge_sentence as merge_sentence
from noisewise.audit.missing import predict_labels
from noisewise.audit.ordered import order_sentences as order_sentences
from noisewise.audit.probabilities import audit_probabilities
from noisewise.audit.report import annotations_page as annotations_page
from noisewise.audit.report import page as page
from noisewise.audit.report import pictures_of as pictures_of
from noisewise.audit.report import report_page as report_page
from noisewise.audit.report import svg as svg
from noisewise.audit.report import tag_page as tag_page
from noisewise.audit.report import target_page as target_page
from noisewise.audit.report import texts_of as texts_of
from noisewise.audit.report.features import features_of as features_of
from noisewise.audit.result import LabelAudit
from noisewise.audit.review import Batch, Review
from noisewise.audit.row_verdicts import NO_TAGS as NO_TAGS
from noisewise.audit.row_verdicts import as_number as as_number
from noisewise.audit.row_verdicts import as_tags as as_tags
from noisewise.audit.row_verdicts import number_verdicts as number_verdicts
from noisewise.audit.row_verdicts import tag_verdicts as tag_verdicts
from noisewise.audit.streaming import with_progress as with_progress
from noisewise.audit.summaries import count_with_interval as count_with_interval
from noisewise.audit.summaries import is_open as is_open
from noisewise.audit.summaries import probability_text as probability_text
from noisewise.audit.summaries import readings_sentence as readings_sentence
from noisewise.audit.table_issues import TableIssue, table_issues
from noisewise.audit.tag_result import TagAudit
from noisewise.audit.tags import audit_multilabel
from noisewise.audit.tags import separator_sentence as separator_sentence
from noisewise.audit.tags import split_tags as split_tags
from noisewise.audit.target_result import TargetAudit
from noisewise.audit.targets import audit_targets
from noisewise.audit.verdicts import earlier_decisions as earlier_decisions
from noisewise.audit.verdicts import given_decisions as given_decisions
from noisewise.audit.verdicts import new_labels as new_labels
from noisewise.audit.verdicts import refuse_decided as refuse_decided
from noisewise.audit.verdicts import verdicts_of as verdicts_of

__all__ = [
    "AnnotationAudit",
    "Batch",
    "LabelAudit",
    "Review",
    "TableIssue",
    "TagAudit",
    "TargetAudit",
    "audit_annotations",
    "audit_images",
    "audit_labels",
    "audit_multilabel",
    "audit_probabilities",
    "audit_targets",
    "merge_labels",
    "predict_labels",
    "table_issues",
]
__shared__ = [
    "CANT_TELL",
    "FIRST_SPREADSHEET_ROW",
    "NO_TAGS",
    "OnCluster",
    "Settings",
    "annotations_page",
    "as_number",
    "as_tags",
    "count_with_interval",
    "dask_client",
    "earlier_decisions",
    "features_of",
    "given_decisions",
    "is_open",
    "label_names",
    "new_labels",
    "number_verdicts",
    "order_sentences",
    "page",
    "patch_text",
    "pictures_of",
    "probability_text",
    "readable_in",
    "readings_sentence",
    "refuse_decided",
    "report_page",
    "run_audit",
    "run_image_audit",
    "merge_sentence",
    "separator_sentence",
    "split_tags",
    "svg",
    "texts_of",
    "verdicts_of",
    "tag_page",
    "tag_verdicts",
    "target_page",
    "with_progress",
]

_NOW = {"Spoilt": "Corrupted", "StressResult": "StressResult", "stress_test": "stress_test"}
__getattr__ = moved(__name__, {name: f"noisewise.stress.{now}" for name, now in _NOW.items()})
