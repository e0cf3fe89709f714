"""Batch learning from noisy labels: scikit-learn classifiers that know what happened to the labels."""

from noisewise.labels import theory
from noisewise.labels._agreement import krippendorff_alpha
from noisewise.labels._annotators import Annotators
from noisewise.labels._crowd import CrowdLabelling, dawid_skene, majority_vote, shared_flips
from noisewise.labels._crowd_classifier import CrowdClassifier
from noisewise.labels._displays import FlipMatrixDisplay, KernelWeightsDisplay, LabelQualityDisplay
from noisewise.labels._fisher import RobustKernelFisherClassifier
from noisewise.labels._fisher_turns import Discriminants, NormalClasses
from noisewise.labels._gaussian_process import RobustGaussianProcessClassifier
from noisewise.labels._kernel_features import KernelFeatures
from noisewise.labels._kernel_logistic import RobustKernelLogisticRegression
from noisewise.labels._leave_one_out import LeftOut, PooledRidge, View
from noisewise.labels._logistic import RobustLogisticRegression
from noisewise.labels._multikernel import RobustMultiKernelLogisticRegression
from noisewise.labels._neighbors import RobustKNeighborsClassifier
from noisewise.labels._neighbors_cv import RobustKNeighborsClassifierCV
from noisewise.labels._nystroem import Landmarks, Standardizer
from noisewise.labels._reweighting import (
    ImportanceReweightedClassifier,
    LabelDependentClassifier,
    importance_weights,
    label_dependent_weights,
)
from noisewise.labels._ridge import RobustRidgeClassifier
from noisewise.labels._soft_logistic import SoftLogisticRegression
from noisewise.labels._unbiased import UnbiasedLogisticRegression
from noisewise.labels._voting import RobustVotingClassifier

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
