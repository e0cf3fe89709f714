"""Batch learning from noisy labels: scikit-learn classifiers that know what happened to the labels."""

from noisewise.labels._neighbors import RobustKNeighborsClassifier
from noisewise.labels._ridge import RobustRidgeClassifier

__all__ = ["RobustKNeighborsClassifier", "RobustRidgeClassifier"]
