"""Batch learning from noisy labels: scikit-learn classifiers that know what happened to the labels."""

from noisewise.labels import theory
from noisewise.labels._leave_one_out import LeftOut, PooledRidge, View
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
from noisewise.labels._unbiased import UnbiasedLogisticRegression

__all__ = [
    "ImportanceReweightedClassifier",
    "LabelDependentClassifier",
    "RobustKNeighborsClassifier",
    "RobustKNeighborsClassifierCV",
    "RobustRidgeClassifier",
    "UnbiasedLogisticRegression",
    "importance_weights",
    "label_dependent_weights",
    "theory",
]
__model_parts__ = [part.__name__ for part in (Landmarks, LeftOut, PooledRidge, Standardizer, View)]
