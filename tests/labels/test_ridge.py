import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from noisewise.labels._ridge import RobustRidgeClassifier


@parametrize_with_checks([RobustRidgeClassifier()])
def test_scikit_learn_finds_nothing_amiss(estimator, check):
    check(estimator)
