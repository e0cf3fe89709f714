"""Batch learning from noisy labels: scikit-learn classifiers that know what happened to the labels."""

from noisewise.labels._leave_one_out import LeftOut, PooledRidge, View
from noisewise.labels._neighbors import RobustKNeighborsClassifier
from noisewise.labels._nystroem import Landmarks, Standardizer
from noisewise.labels._ridge import RobustRidgeClassifier

__all__ = ["RobustKNeighborsClassifier", "RobustRidgeClassifier"]
__model_parts__ = [part.__name__ for part in (Landmarks, LeftOut, PooledRidge, Standardizer, View)]
