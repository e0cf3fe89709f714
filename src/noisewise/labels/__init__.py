"""Batch learning from noisy labels: scikit-learn classifiers that model how labels were corrupted.

Every classifier takes `noise`, the noise transition matrix T[true, observed] = P(observed | true) or how it is
estimated, and has the matrix used as `noise_` after `fit`. The argument has one meaning:

- None: estimated, with the model where the model learns it (k-NN, logistic regression, Gaussian process, Fisher
  discriminant, ridge), otherwise by the robust ridge (importance reweighting, label-dependent costs, unbiased loss);
- a `FlipMatrix`: used as given;
- "confident": the asymmetric part of what confident learning counts on leave-one-out scores;
- "fisher": the asymmetric part of what `RobustKernelFisherClassifier` estimates;
- "ridge": what `RobustRidgeClassifier` estimates;
- a function of (X, y), or an object with a method ``estimate(X, y)``: called with the rows and their observed classes
  0, 1, ...; returns a `FlipMatrix`.

`CrowdClassifier` has one flip matrix for each annotator, always estimated, and no such argument.
"""

from noisewise.labels import theory
from noisewise.labels.base import NoisyLabelClassifier as NoisyLabelClassifier
from noisewise.labels.corrections.reweighting import (
    ImportanceReweightedClassifier,
    LabelDependentClassifier,
    importance_weights,
    label_dependent_weights,
)
from noisewise.labels.corrections.unbiased import UnbiasedLogisticRegression
from noisewise.labels.crowd.aggregation import CrowdLabelling, dawid_skene, majority_vote, shared_flips
from noisewise.labels.crowd.agreement import krippendorff_alpha
from noisewise.labels.crowd.annotations import Annotations as Annotations
from noisewise.labels.crowd.annotations import indices_of as indices_of
from noisewise.labels.crowd.annotations import read_annotations as read_annotations
from noisewise.labels.crowd.annotations import read_wide as read_wide
from noisewise.labels.crowd.annotators import Annotators as Annotators
from noisewise.labels.crowd.classifier import CrowdClassifier
from noisewise.labels.crowd.row_prior import ItemEstimates as ItemEstimates
from noisewise.labels.crowd.row_prior import estimate_items as estimate_items
from noisewise.labels.crowd.row_prior import log_probabilities as log_probabilities
from noisewise.labels.crowd.row_scores import row_scores as row_scores
from noisewise.labels.crowd.soft_labels import SoftLogisticRegression
from noisewise.labels.displays import FlipMatrixDisplay, KernelWeightsDisplay, LabelQualityDisplay
from noisewise.labels.fisher.classifier import RobustKernelFisherClassifier
from noisewise.labels.fisher.em import Discriminants, NormalClasses
from noisewise.labels.gaussian_process.classifier import RobustGaussianProcessClassifier
from noisewise.labels.kernel_features import KernelFeatures
from noisewise.labels.logistic.kernel import RobustKernelLogisticRegression
from noisewise.labels.logistic.linear import RobustLogisticRegression
from noisewise.labels.logistic.multi_kernel import RobustMultiKernelLogisticRegression
from noisewise.labels.logistic.objective import FlipProblem as FlipProblem
from noisewise.labels.logistic.solvers import solve as solve
from noisewise.labels.neighbors.classifier import RobustKNeighborsClassifier
from noisewise.labels.neighbors.classifier_cv import RobustKNeighborsClassifierCV
from noisewise.labels.ridge.classifier import RobustRidgeClassifier
from noisewise.labels.ridge.halves import disagreement_of_halves as disagreement_of_halves
from noisewise.labels.ridge.landmarks import Landmarks
from noisewise.labels.ridge.leave_one_out import DuplicateRows, PooledRidge, View
from noisewise.labels.ridge.ordered_fit import OrderedRidgeClassifier as OrderedRidgeClassifier
from noisewise.labels.ridge.target_fit import TargetRidge as TargetRidge
from noisewise.labels.stacking.classifier import RobustClassifier
from noisewise.labels.stacking.readings import AmongAll, Calibrated
from noisewise.labels.standardizer import Standardizer
from noisewise.labels.trees.boosting import BoostedTrees
from noisewise.labels.trees.classifier import RobustTreesClassifier
from noisewise.labels.trees.soft_forest import SoftForest
from noisewise.labels.voting import RobustVotingClassifier

__all__ = [
    "CrowdClassifier",
    "CrowdLabelling",
    "FlipMatrixDisplay",
    "ImportanceReweightedClassifier",
    "KernelWeightsDisplay",
    "LabelDependentClassifier",
    "LabelQualityDisplay",
    "RobustClassifier",
    "RobustGaussianProcessClassifier",
    "RobustKNeighborsClassifier",
    "RobustKNeighborsClassifierCV",
    "RobustKernelFisherClassifier",
    "RobustKernelLogisticRegression",
    "RobustLogisticRegression",
    "RobustMultiKernelLogisticRegression",
    "RobustRidgeClassifier",
    "RobustTreesClassifier",
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
__shared__ = [
    "Annotations",
    "Annotators",
    "FlipProblem",
    "ItemEstimates",
    "NoisyLabelClassifier",
    "OrderedRidgeClassifier",
    "TargetRidge",
    "disagreement_of_halves",
    "estimate_items",
    "indices_of",
    "log_probabilities",
    "read_annotations",
    "read_wide",
    "row_scores",
    "solve",
]
__model_parts__ = [
    part.__name__
    for part in (
        AmongAll,
        Annotators,
        BoostedTrees,
        Calibrated,
        Discriminants,
        DuplicateRows,
        KernelFeatures,
        Landmarks,
        NormalClasses,
        PooledRidge,
        SoftForest,
        SoftLogisticRegression,
        Standardizer,
        View,
    )
]
