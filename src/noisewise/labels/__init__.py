"""Batch learning from noisy labels: scikit-learn classifiers that know what happened to the labels."""

from noisewise.labels import theory
from noisewise.labels.corrections.reweighting import (
    ImportanceReweightedClassifier,
    LabelDependentClassifier,
    importance_weights,
    label_dependent_weights,
)
from noisewise.labels.corrections.unbiased import UnbiasedLogisticRegression
from noisewise.labels.crowd.aggregation import CrowdLabelling, dawid_skene, majority_vote, shared_flips
from noisewise.labels.crowd.agreement import krippendorff_alpha
from noisewise.labels.crowd.annotators import Annotators
from noisewise.labels.crowd.classifier import CrowdClassifier
from noisewise.labels.crowd.soft_labels import SoftLogisticRegression
from noisewise.labels.displays import FlipMatrixDisplay, KernelWeightsDisplay, LabelQualityDisplay
from noisewise.labels.fisher.classifier import RobustKernelFisherClassifier
from noisewise.labels.fisher.em import Discriminants, NormalClasses
from noisewise.labels.gaussian_process.classifier import RobustGaussianProcessClassifier
from noisewise.labels.kernel_features import KernelFeatures
from noisewise.labels.logistic.kernel import RobustKernelLogisticRegression
from noisewise.labels.logistic.linear import RobustLogisticRegression
from noisewise.labels.logistic.multi_kernel import RobustMultiKernelLogisticRegression
from noisewise.labels.neighbors.classifier import RobustKNeighborsClassifier
from noisewise.labels.neighbors.classifier_cv import RobustKNeighborsClassifierCV
from noisewise.labels.ridge.classifier import RobustRidgeClassifier
from noisewise.labels.ridge.landmarks import Landmarks, Standardizer
from noisewise.labels.ridge.leave_one_out import LeftOut, PooledRidge, View
from noisewise.labels.voting import RobustVotingClassifier

__all__ = [
    "CrowdClassifier",
    "CrowdLabelling",
    "FlipMatrixDisplay",
    "ImportanceReweightedClassifier",
    "KernelWeightsDisplay",
    "LabelDependentClassifier",
    "LabelQualityDisplay",
    "RobustGaussianProcessClassifier",
    "RobustKNeighborsClassifier",
    "RobustKNeighborsClassifierCV",
    "RobustKernelFisherClassifier",
    "RobustKernelLogisticRegression",
    "RobustLogisticRegression",
    "RobustMultiKernelLogisticRegression",
    "RobustRidgeClassifier",
    "RobustVotingClassifier",
    "UnbiasedLogisticRegression",
    "dawid_skene",
    "importance_weights",
    "krippendorff_alpha",
    "label_dependent_weights",
    "majority_vote",
    "shared_flips",
    "theory",
]
__model_parts__ = [
    part.__name__
    for part in (
        Annotators,
        Discriminants,
        KernelFeatures,
        Landmarks,
        LeftOut,
        NormalClasses,
        PooledRidge,
        SoftLogisticRegression,
        Standardizer,
        View,
    )
]
