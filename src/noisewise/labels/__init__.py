"""Batch learning from noisy labels: scikit-learn classifiers that know what happened to the labels."""

from noisewise.labels._neighbors import RobustKNeighborsClassifier

__all__ = ["RobustKNeighborsClassifier"]
